//! Random small workspaces, each compared with cargo: locked, and after an edit.

use std::fmt::Write as _;

use agents_testkit::sample::Sample;
use proptest::{option, prelude::*};

use crate::reference::{Ours, Set, cargo_says};

const REQUIREMENTS: [&str; 5] = ["1", "=1.0.0", "1.1", "~1.1", ">=1.0, <1.2"];
const TABLES: [&str; 6] = [
    "dependencies",
    "build-dependencies",
    "dev-dependencies",
    "target.'cfg(windows)'.dependencies",
    "target.'cfg(unix)'.dev-dependencies",
    "target.wasm32-unknown-unknown.build-dependencies",
];

#[derive(Debug, Clone)]
struct Dependency {
    table: usize,
    requirement: usize,
    optional: bool,
}

#[derive(Debug, Clone)]
struct Package {
    /// Of `a`, `b` and `c`.
    dependencies: Vec<Option<Dependency>>,
    /// A second version of `a` under another name.
    renamed: bool,
    /// Tables in which the packages before it are path dependencies.
    paths: Vec<Option<usize>>,
    outside: bool,
}

fn dependency() -> impl Strategy<Value = Dependency> {
    (0..TABLES.len(), 0..REQUIREMENTS.len(), any::<bool>())
        .prop_map(|(table, requirement, optional)| Dependency { table, requirement, optional })
}

fn package() -> impl Strategy<Value = Package> {
    let dependencies = prop::collection::vec(option::of(dependency()), 3);
    let paths = prop::collection::vec(option::of(0..TABLES.len()), 3);
    (dependencies, any::<bool>(), paths, any::<bool>()).prop_map(
        |(dependencies, renamed, paths, outside)| Package { dependencies, renamed, paths, outside },
    )
}

fn write(sample: &Sample, at: usize, package: &Package) {
    let mut rest = String::new();
    let mut line = |table: usize, line: String| {
        writeln!(rest, "[{}.{line}", TABLES[table]).unwrap();
    };
    for (name, dependency) in ["a", "b", "c"].iter().zip(&package.dependencies) {
        let Some(dependency) = dependency else {
            continue;
        };
        let optional = dependency.optional && !TABLES[dependency.table].contains("dev-");
        let requirement = REQUIREMENTS[dependency.requirement];
        line(
            dependency.table,
            format!("{name}]\nversion = \"{requirement}\"\noptional = {optional}"),
        );
    }
    if package.renamed {
        line(0, "renamed]\npackage = \"a\"\nversion = \"2\"".to_owned());
    }
    for (other, table) in package.paths.iter().enumerate().take(at) {
        if let Some(table) = table {
            line(*table, format!("p{other}]\npath = \"../p{other}\""));
        }
    }
    if package.outside {
        line(0, "outside]\npath = \"../../../outside\"".to_owned());
    }
    let rest = rest.replace("optional = false\n", "");
    sample.package(&format!("crates/p{at}"), &format!("p{at}"), "0.1.0", &rest);
}

/// What is not a member: the root, a package outside, and a fork that replaces `b`.
#[derive(Debug, Clone)]
struct Around {
    fork: Option<usize>,
    outside: usize,
}

const FORKS: [&str; 3] = ["1.0.5", "1.3.0", "2.5.0"];
const OUTSIDE: [&str; 4] = [
    "",
    "[dependencies]\nb = \"1\"\nc = { version = \"1\", optional = true }\n[dev-dependencies]\na = \"2\"",
    "[dependencies]\nb = \"1\"\n[build-dependencies]\na = \"1\"",
    "[features]\ndefault = [\"c\"]\n[dependencies]\nc = { version = \"1\", optional = true }",
];

fn around() -> impl Strategy<Value = Around> {
    (option::of(0..FORKS.len()), 0..OUTSIDE.len())
        .prop_map(|(fork, outside)| Around { fork, outside })
}

fn write_around(sample: &Sample, around: &Around) {
    let mut table = "members = [\"crates/*\"]\n".to_owned();
    if let Some(fork) = around.fork {
        table.push_str("[patch.crates-io]\nb = { path = \"../fork\" }\n");
        sample.package("../fork", "b", FORKS[fork], "");
    }
    sample.workspace(&table);
    sample.package("../outside", "outside", "0.5.0", OUTSIDE[around.outside]);
}

/// Whether cargo can resolve what there is now, tried without leaving a trace.
fn is_resolvable(sample: &Sample) -> bool {
    let _ = std::fs::remove_dir_all(sample.scratch().path("tried"));
    let mut cargo = agents_testkit::vendor::cargo(&sample.home());
    cargo.args(["metadata", "--format-version=1", "--all-features"]);
    cargo.current_dir(sample.copy("tried")).output().unwrap().status.success()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_same_as_cargo(
        packages in prop::collection::vec(package(), 1..4),
        before in around(),
        after in around(),
        edited in option::of(package()),
        at in 0..3_usize,
    ) {
        let sample = Sample::new();
        for version in ["1.0.0", "1.1.0", "1.1.5", "1.2.0", "2.0.0"] {
            for name in ["a", "b", "c"] {
                let rest = if name == "c" { "[dependencies]\nb = \"1\"" } else { "" };
                sample.vendor().library(name, version, rest);
            }
        }
        for (at, package) in packages.iter().enumerate() {
            write(&sample, at, package);
        }
        write_around(&sample, &before);
        // Two members can ask for what cannot be had together.
        prop_assume!(is_resolvable(&sample));
        sample.lock();
        let ours = Ours::new(&sample);
        prop_assert_eq!(Set::from(&ours.find(&sample.root())), cargo_says(&sample, ""));
        write_around(&sample, &after);
        if let Some(edited) = &edited {
            write(&sample, at % packages.len(), edited);
        }
        let found = ours.try_find(&sample.root());
        prop_assert_eq!(found.is_ok(), is_resolvable(&sample));
        if let Ok(Some(found)) = found {
            prop_assert_eq!(Set::from(&found), cargo_says(&sample, ""));
        }
    }
}
