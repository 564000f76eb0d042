use agents_install::{CargoPlace, Entry, Installation, Source};

use super::*;

fn installation(text: &str) -> Installation {
    let manifest = demo(&format!("[[installations]]\nname = \"i\"\n{text}"));
    manifest.installations[&InstallationName::new("i")].clone()
}

#[track_caller]
fn error(text: &str, message: &str) {
    check_error(&format!("[[installations]]\nname = \"i\"\n{text}"), message);
}

fn cargo(version: Option<&str>, git: Option<&str>, place: CargoPlace) -> Option<Source> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Some(Source::Cargo { name: "tool".to_owned(), version: owned(version), git: owned(git), place })
}

#[test]
fn a_cargo_installation_names_a_crate() {
    let own = CargoPlace::Own;
    let source =
        |text: &str| installation(&format!("source = \"cargo\"\ncrate = \"tool\"\n{text}"));
    assert_eq!(source("").source, cargo(None, None, own));
    assert_eq!(source("").entry, None);
    assert_eq!(source("version = \"1.2.3\"").source, cargo(Some("1.2.3"), None, own));
    assert_eq!(source("version = \"=1.2.3-rc.1\"").source, cargo(Some("1.2.3-rc.1"), None, own));
    let git = source("git = \"https://x/y\"\nexecutable = \"tool\"");
    assert_eq!(git.source, cargo(None, Some("https://x/y"), own));
    let global = source("global = true\nexecutable = \"tool\"");
    assert_eq!(global.source, cargo(None, None, CargoPlace::Global));
    assert_eq!(source("global = false").source, cargo(None, None, own));
}

#[test]
fn from_git_or_into_the_cargo_home_the_binary_must_be_named() {
    let text = "source = \"cargo\"\ncrate = \"tool\"\n";
    let message = "a cargo installation with `git` needs `executable`";
    error(&format!("{text}git = \"https://x\""), message);
    error(&format!("{text}git = \"https://x\"\nscript = \"x.sh\""), message);
    let message = "a cargo installation with `global = true` needs `executable`";
    error(&format!("{text}global = true"), message);
}

#[test]
fn a_github_installation_has_an_address_in_either_spelling() {
    let source = Some(Source::Git { url: "https://github.com/a/b".to_owned() });
    for (kind, key) in [("github", "url"), ("github", "git"), ("git", "url")] {
        let text = format!("source = \"{kind}\"\n{key} = \"https://github.com/a/b\"");
        assert_eq!(installation(&text).source, source);
    }
    error("source = \"github\"", "`url` is missing in [[installations]]");
}

#[test]
fn an_installation_may_be_a_program_a_setup_or_a_list() {
    let program = installation("executable = \"rustc\"\nargs = [\"-V\"]");
    assert_eq!(program.source, None);
    assert_eq!(program.entry, Some(Entry::Executable("rustc".to_owned())));
    assert_eq!(program.args, ["-V"]);
    let setup = installation("install_commands = [\"make\", \"make install\"]");
    assert_eq!(setup.install_commands, ["make", "make install"]);
    assert_eq!(setup.entry, None);
    let list = installation("requirements = [\"j\"]\n[[installations]]\nname = \"j\"");
    assert_eq!(names(&list.requirements), ["j"]);
}

#[test]
fn one_mistake_in_a_source_is_one_error() {
    // Upstream these silently become "no source".
    error("source = \"shell\"", "`source` cannot be `shell` in [[installations]]");
    error(
        "source = \"crate\"\ncrate = \"tool\"\nversion = \"1.0.0\"",
        "`source` cannot be `crate` in [[installations]]",
    );
    error("source = \"cargo\"", "`crate` is missing in [[installations]]");
    error(
        "source = \"cargo\"\nversion = \"1.0.0\"\ngit = \"https://x\"\nglobal = true",
        "`crate` is missing in [[installations]]",
    );
    error(
        "source = \"cargo\"\ncrate = 3\nversion = \"1.0.0\"",
        "`crate` must be a string, not an integer",
    );
    error("source = \"github\"\nurl = 3", "`url` must be a string, not an integer");
    error("source = \"cargo\"\ncrate = \"\"", "`crate` cannot be empty");
    error(
        "source = \"cargo\"\ncrate = \"t\"\nurl = \"x\"",
        "unknown key `url` in [[installations]]",
    );
    error(
        "source = \"github\"\nurl = \"https://x\"\ncrate = \"t\"",
        "unknown key `crate` in [[installations]]",
    );
    for (key, source) in [("url", "github"), ("git", "cargo\"\nexecutable = \"t\"\ncrate = \"t")] {
        for address in ["owner/repo", "not an address", "ext::sh", "--upload-pack=x"] {
            error(
                &format!("source = \"{source}\"\n{key} = \"{address}\""),
                &format!("`{address}` is not an address that git can fetch from"),
            );
        }
    }
    for name in ["a b", "a/../b", "tool@1.0.0", "--config=x"] {
        error(
            &format!("source = \"cargo\"\ncrate = \"{name}\""),
            &format!("`{name}` is not a crate name: only letters, digits, `-` and `_`"),
        );
    }
    error("crate = \"tool\"", "`crate` means nothing without a `source`");
}

#[test]
fn a_version_is_exact() {
    for version in ["1", "1.2", "^1.2.3", "latest"] {
        error(
            &format!("source = \"cargo\"\ncrate = \"tool\"\nversion = \"{version}\""),
            &format!("`{version}` is not an exact version"),
        );
    }
}

#[test]
fn there_is_one_thing_to_run() {
    error("executable = \"a\"\nscript = \"b\"", "`executable` and `script` exclude each other");
    error("executable = \" \"", "what to run cannot be empty");
    error("script = \"\"", "what to run cannot be empty");
}

#[test]
fn names_are_unique_and_required() {
    error("[[installations]]\nname = \"i\"", "there are two installations with the name `i`");
    check_error("[[installations]]\nexecutable = \"x\"", "`name` is missing in [[installations]]");
    error("exectuable = \"x\"", "unknown key `exectuable` in [[installations]]");
}

#[test]
fn a_requirement_must_exist() {
    error("requirements = [\"j\"]", "installation `i` references unknown installation `j`");
    error(
        "requirements = \"j\"",
        "`requirements` must be a list of installation names or tables, not a string",
    );
    error(
        "requirements = [1]",
        "`requirements` must be the name of an installation or a table, not an integer",
    );
}

#[test]
fn installations_that_require_each_other_are_refused() {
    let text = "name = \"p\"\ncrates = [\"*\"]\n[[installations]]\nname = \"a\"\nrequirements = [\"b\"]\n[[installations]]\nname = \"b\"\nrequirements = [\"a\"]\n";
    let parsed = parse_manifest("SYMPOSIUM.toml".into(), text, Manner::Registry, None);
    let messages: Vec<&str> = parsed.findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["installations require each other: a -> b -> a"]);
}
