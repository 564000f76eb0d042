//! What is measured: workspaces, registries of several sizes, and the programs to compare with.

use std::{
    fmt::Write as _,
    fs::File,
    process::Command,
    time::{Duration, SystemTime},
};

use agents_testkit::{
    repo::Repo,
    scratch::{Scratch, run},
};
use camino::{Utf8Path, Utf8PathBuf};

/// The sizes of the registries, in plugins.
pub(crate) const SIZES: [usize; 3] = [0, 100, 1000];

/// The subcommand that runs `/bin/true`.
pub(crate) const DISPATCHED: &str = "do-nothing";

/// How many skills a cold sync installs, all of which apply.
pub(crate) const COLD: usize = 100;

/// A direct dependency of the workspace.
pub(crate) const KNOWN: &str = "direct-07";

/// A workspace of the usual size.
pub(crate) const MEDIUM: Shape = Shape { members: 20, direct: 40, transitive: 90 };
/// One of the largest that people work in.
pub(crate) const LARGE: Shape = Shape { members: 60, direct: 200, transitive: 740 };
const VERSION: &str = "1.2.3";

/// One plugin in so many applies to the workspace.
const APPLIES: usize = 20;

/// How many packages of which kind a workspace has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    members: usize,
    direct: usize,
    transitive: usize,
}

impl Shape {
    pub(crate) fn packages(self) -> usize {
        self.members + self.direct + self.transitive
    }
}

/// Everything that is measured, gone when dropped.
pub(crate) struct Ground {
    pub(crate) scratch: Scratch,
    /// An empty `main`.
    pub(crate) floor: String,
    /// Starts `/bin/true` and waits for it.
    pub(crate) spawner: String,
    /// Looks at every file that an answer depends on and reads one cache file, and nothing else.
    pub(crate) unavoidable: String,
    cargo: Utf8PathBuf,
}

impl Ground {
    pub(crate) fn make() -> Self {
        let scratch = Scratch::new();
        write_workspace(&scratch, "workspace", MEDIUM);
        write_workspace(&scratch, "cold-workspace", MEDIUM);
        for size in SIZES {
            write_registry(&scratch, &format!("registry-{size}"), size);
        }
        write_cold_registry(&scratch);
        let floor = compile(&scratch, "floor", "fn main() {}");
        let spawner = compile(&scratch, "spawner", SPAWNER);
        let unavoidable = compile(&scratch, "unavoidable", UNAVOIDABLE);
        // A cargo that is asked and has no answer: the command fails, and the call is on record.
        let calls = scratch.path("cargo-calls");
        let cargo = scratch.script("cargo", &format!("echo \"$@\" >> '{calls}'; exit 1"));
        Self { scratch, floor, spawner, unavoidable, cargo }
    }

    /// A command in a workspace, with the registry of this size. Builds may disagree about the layout of
    /// caches, so each has a home of its own; and what is agreed to is a file of the workspace, so that is its own, too.
    pub(crate) fn command(
        &self,
        build: usize,
        program: &str,
        args: &[&str],
        size: usize,
    ) -> Command {
        let (home, workspace) =
            (format!("home-{build}-{size}"), format!("workspace-{build}-{size}"));
        if !self.scratch.path(&workspace).exists() {
            write_workspace(&self.scratch, &workspace, MEDIUM);
        }
        self.command_at(program, args, &workspace, &home, &format!("path = \"../registry-{size}\""))
    }

    /// A command in a directory, with a home and the place of a registry.
    pub(crate) fn command_at(
        &self,
        program: &str,
        args: &[&str],
        dir: &str,
        home: &str,
        registry: &str,
    ) -> Command {
        self.scratch.write(
            format!("{home}/config.toml"),
            format!(
                "hosts = [\"claude\", \"codex\", \"kiro\"]\nhook-scope = \"project\"\n\n\
                 [defaults]\nsymposium-recommendations = false\n\n\
                 [[registry]]\nname = \"bench\"\n{registry}\n"
            ),
        );
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.scratch.path(dir))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.scratch.path("user"))
            .env("CARGO_HOME", self.scratch.path("cargo-home"))
            .env("CARGO_AGENTS_HOME", self.scratch.path(home))
            .env("CARGO_AGENTS_CARGO", &self.cargo);
        command
    }

    /// A first sync of [`COLD`] skills, and the same files copied: each with what is to be done before every start.
    /// Nothing is there but the registry, the workspace and the configuration.
    pub(crate) fn cold_sync(&self, build: usize, program: &str) -> (Command, impl Fn() + use<>) {
        let home = format!("cold-home-{build}");
        let registry = "path = \"../cold-registry\"";
        let command = self.command_at(program, &["sync"], "cold-workspace", &home, registry);
        let (config, home) =
            (self.scratch.path(&home).join("config.toml"), self.scratch.path(home));
        let workspace = self.scratch.path("cold-workspace");
        let prepare = move || {
            let text = fs_err::read(&config).unwrap();
            remove(&home);
            fs_err::create_dir(&home).unwrap();
            fs_err::write(&config, text).unwrap();
            WRITTEN.iter().for_each(|dir| remove(&workspace.join(dir)));
        };
        (command, prepare)
    }

    /// Keeps a copy of what a cold sync has just written, which `cp -r` then copies again.
    pub(crate) fn cold_copy(&self) -> (Command, impl Fn() + use<>) {
        let (model, target) = (self.scratch.path("cold-model"), self.scratch.path("cold-copy"));
        fs_err::create_dir(&model).unwrap();
        let mut copy = Command::new("cp");
        copy.arg("-r");
        copy.args(WRITTEN.iter().map(|dir| self.scratch.path("cold-workspace").join(dir)));
        run(copy.arg(&model));
        let mut command = Command::new("cp");
        command.arg("-r").args(WRITTEN.iter().map(|dir| model.join(dir))).arg(&target);
        let prepare = move || {
            remove(&target);
            fs_err::create_dir(&target).unwrap();
        };
        (command, prepare)
    }

    /// Another workspace.
    pub(crate) fn workspace(&self, name: &str, shape: Shape) {
        write_workspace(&self.scratch, name, shape);
    }

    /// A registry with one plugin that has a hook.
    pub(crate) fn hooked_registry(&self, name: &str, size: usize) {
        write_registry(&self.scratch, name, size);
        self.scratch.write(
            format!("{name}/hooked/SYMPOSIUM.toml"),
            "name = \"hooked\"\ncrates = [\"*\"]\n\n[[hooks]]\nname = \"nothing\"\nevent = \"PreToolUse\"\n\
             command = { executable = \"/bin/true\" }\n",
        );
    }

    /// The same plugins in a git repository.
    pub(crate) fn git_registry(&self, size: usize) -> String {
        let name = format!("git-registry-{size}");
        let repo = Repo::init(self.scratch.path(&name));
        write_registry(&self.scratch, &name, size);
        repo.commit("all");
        repo.url()
    }

    /// A file with the paths that an answer about this registry depends on.
    pub(crate) fn inputs(&self, size: usize) -> Utf8PathBuf {
        let mut paths = vec![self.scratch.path("workspace/Cargo.lock")];
        let roots = [self.scratch.path("workspace"), self.scratch.path(format!("registry-{size}"))];
        for root in roots {
            walk(&root, &mut |path| {
                if matches!(path.file_name(), Some("Cargo.toml" | "SYMPOSIUM.toml")) {
                    paths.push(path.to_owned());
                }
            });
        }
        let lines: String = paths.iter().map(|path| format!("{path}\n")).collect();
        self.scratch.write(format!("inputs-{size}"), lines)
    }

    /// Makes everything an hour old, so that its time alone tells a change.
    pub(crate) fn age(&self) {
        let then = SystemTime::now() - Duration::from_secs(3600);
        walk(self.scratch.root(), &mut |path| {
            File::open(path).unwrap().set_modified(then).unwrap();
        });
    }

    /// How often the cargo that cannot answer was asked.
    pub(crate) fn calls_of_cargo(&self) -> usize {
        let calls = fs_err::read_to_string(self.scratch.path("cargo-calls"));
        calls.map_or(0, |calls| calls.lines().count())
    }
}

/// Where the three hosts have their skills.
const WRITTEN: [&str; 3] = [".claude", ".agents", ".kiro"];

fn remove(dir: &Utf8Path) {
    if dir.exists() {
        fs_err::remove_dir_all(dir).unwrap();
    }
}

/// Everything below a directory, each directory after what is in it.
fn walk(dir: &Utf8Path, see: &mut impl FnMut(&Utf8Path)) {
    for entry in dir.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(entry.path(), see);
        } else {
            see(entry.path());
        }
    }
    see(dir);
}

const UNAVOIDABLE: &str = r#"
fn main() {
    let inputs = std::env::args().nth(1).unwrap();
    let inputs = std::fs::read_to_string(inputs).unwrap();
    let there = inputs.lines().filter(|path| std::fs::metadata(path).is_ok()).count();
    println!("{there}");
}
"#;

const SPAWNER: &str = r#"
fn main() {
    std::process::Command::new("/bin/true").status().unwrap();
}
"#;

fn compile(scratch: &Scratch, name: &str, text: &str) -> String {
    let source = scratch.write(format!("{name}.rs"), text);
    let program = scratch.path(name);
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    run(Command::new(rustc).args([
        "--edition=2024",
        "-O",
        "-o",
        program.as_str(),
        source.as_str(),
    ]));
    program.into_string()
}

fn member(at: usize) -> String {
    format!("member-{at:02}")
}

fn direct(at: usize) -> String {
    format!("direct-{at:02}")
}

fn transitive(at: usize) -> String {
    format!("transitive-{at:02}")
}

/// The direct dependencies of a member.
fn needs(at: usize, shape: Shape) -> impl Iterator<Item = usize> {
    let mut all: Vec<usize> = (0..6).map(|step| (at * 2 + step * 7) % shape.direct).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

fn write_workspace(scratch: &Scratch, dir: &str, shape: Shape) {
    let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n";
    scratch.write(format!("{dir}/Cargo.toml"), manifest);
    let mut lock = "# This file is automatically @generated by Cargo.\n\
                    # It is not intended for manual editing.\nversion = 4\n"
        .to_owned();
    for at in 0..shape.direct {
        let edges = [transitive(at), transitive(at + shape.direct)];
        add_crate(scratch, &mut lock, &direct(at), &edges);
    }
    for at in 0..shape.members {
        let name = member(at);
        let mut manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n"
        );
        let mut edges: Vec<String> = needs(at, shape).map(direct).collect();
        for edge in &edges {
            writeln!(manifest, "{edge} = \"1.2\"").unwrap();
        }
        if at > 0 {
            writeln!(manifest, "{0} = {{ path = \"../{0}\" }}", member(at - 1)).unwrap();
            edges.push(member(at - 1));
        }
        scratch.write(format!("{dir}/crates/{name}/Cargo.toml"), manifest);
        scratch.write(format!("{dir}/crates/{name}/src/lib.rs"), "");
        add_package(&mut lock, &name, "0.1.0", "", &edges);
    }
    for at in 0..shape.transitive {
        let edges: Vec<String> = (at + 1..shape.transitive).step_by(30).map(transitive).collect();
        add_crate(scratch, &mut lock, &transitive(at), &edges);
    }
    scratch.write(format!("{dir}/Cargo.lock"), lock);
}

/// A crate of crates.io, locked and unpacked.
fn add_crate(scratch: &Scratch, lock: &mut String, name: &str, edges: &[String]) {
    let source = format!(
        "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{}\"\n",
        "0".repeat(64)
    );
    add_package(lock, name, VERSION, &source, edges);
    let dir = format!("cargo-home/registry/src/index.crates.io-1949cf8c6b5b557f/{name}-{VERSION}");
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"{VERSION}\"\n");
    scratch.write(format!("{dir}/Cargo.toml"), manifest);
    scratch.write(format!("{dir}/src/lib.rs"), "");
    scratch.write(format!("{dir}/.cargo-ok"), "{\"v\":1}");
}

fn add_package(lock: &mut String, name: &str, version: &str, source: &str, edges: &[String]) {
    write!(lock, "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}").unwrap();
    if !edges.is_empty() {
        let edges: String = edges.iter().map(|edge| format!(" \"{edge}\",\n")).collect();
        write!(lock, "dependencies = [\n{edges}]\n").unwrap();
    }
}

fn write_registry(scratch: &Scratch, registry: &str, size: usize) {
    scratch.write(
        format!("{registry}/{DISPATCHED}/SYMPOSIUM.toml"),
        format!(
            "name = \"{DISPATCHED}\"\ncrates = [\"*\"]\n\n[subcommand.{DISPATCHED}]\n\
             description = \"Do nothing\"\ncommand = {{ executable = \"/bin/true\" }}\n"
        ),
    );
    for at in 0..size {
        let dir = format!("{registry}/plugin-{at:04}");
        scratch.write(format!("{dir}/SYMPOSIUM.toml"), manifest(at));
        scratch.write(
            format!("{dir}/skills/plugin-{at:04}/SKILL.md"),
            format!("---\nname: plugin-{at:04}\ndescription: How to do {at}\n---\nDo it.\n"),
        );
    }
}

/// Plugins that all apply, each with a skill of a usual size: its text, a longer one to look things up in, and a script.
fn write_cold_registry(scratch: &Scratch) {
    for at in 0..COLD {
        let dir = format!("cold-registry/plugin-{at:04}");
        let crates = direct(at % MEDIUM.direct);
        scratch.write(
            format!("{dir}/SYMPOSIUM.toml"),
            format!(
                "name = \"plugin-{at:04}\"\ncrates = [\"{crates}\"]\n\n\
                 [[skills]]\nsource.path = \"skills\"\n"
            ),
        );
        let skill = format!("{dir}/skills/plugin-{at:04}");
        let line = format!("Line of skill {at:04}, as long as lines of prose usually are.\n");
        scratch.write(
            format!("{skill}/SKILL.md"),
            format!(
                "---\nname: plugin-{at:04}\ndescription: How to do {at}\n---\n{}",
                line.repeat(80)
            ),
        );
        scratch.write(format!("{skill}/references/more.md"), line.repeat(250));
        scratch.write(format!("{skill}/scripts/check.sh"), line.repeat(10));
    }
}

/// A plugin gated on one to three crates, with one subcommand, one installation and one group of skills.
fn manifest(at: usize) -> String {
    let applies = at.is_multiple_of(APPLIES);
    let mut crates = vec![match applies {
        true => format!("\"{}>=1.0\"", direct(at / APPLIES % MEDIUM.direct)),
        false => format!("\"elsewhere-{at:04}\""),
    }];
    crates.extend((0..at % 3).map(|more| format!("\"elsewhere-{at:04}-{more}>=0.{more}\"")));
    format!(
        "name = \"plugin-{at:04}\"\ncrates = [{crates}]\n\n\
         [[installations]]\nname = \"tool\"\nsource = \"cargo\"\ncrate = \"tool-{at:04}\"\n\n\
         [subcommand.run-{at:04}]\ndescription = \"Run what plugin {at:04} brings along\"\n\
         command = \"tool\"\n\n\
         [[skills]]\nsource.path = \"skills\"\n",
        crates = crates.join(", ")
    )
}
