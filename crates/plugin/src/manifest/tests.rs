mod broken;
mod chained;
mod gates;
mod groups;
mod hooks;
mod inline;
mod installations;
mod mcp_servers;
mod overlay;
mod properties;
mod sandbox;
mod subcommands;

use agents_install::InstallationName;
use agents_system::finding::{Finding, Severity};

use super::{
    parse::{Manner, Parsed, parse_crate_metadata, parse_manifest},
    *,
};

fn parse_as(manner: Manner, text: &str) -> Parsed {
    parse_manifest("SYMPOSIUM.toml".into(), text, manner, Some("crate-name"))
}

/// What a registry's plugin `demo` with this text below its name says.
#[track_caller]
fn demo(text: &str) -> Manifest {
    let (manifest, findings) = demo_with_findings(text);
    assert_eq!(findings, [""; 0]);
    manifest.unwrap()
}

fn demo_with_findings(text: &str) -> (Option<Manifest>, Vec<String>) {
    let parsed = parse_as(Manner::Registry, &format!("name = \"demo\"\n{text}"));
    (parsed.manifest, parsed.findings.iter().map(|finding| finding.message.clone()).collect())
}

/// The plugin `demo` with this text has exactly this error, and is therefore refused.
#[track_caller]
fn check_error(text: &str, message: &str) {
    let (manifest, findings) = demo_with_findings(text);
    assert_eq!(findings, [message]);
    assert_eq!(manifest, None);
}

/// `message | line:column | label | hint`; what is not there is a dash.
fn render(finding: &Finding) -> String {
    let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref());
    let spot = spot.map(|spot| format!("{}:{}", spot.line, spot.column));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let (spot, label, hint) =
        (or_dash(spot), or_dash(finding.label.clone()), or_dash(finding.hint.clone()));
    format!("{} | {spot} | {label} | {hint}", finding.message)
}

fn names(names: &[InstallationName]) -> Vec<&str> {
    names.iter().map(InstallationName::as_str).collect()
}

#[test]
fn the_smallest_manifest_is_a_name() {
    let manifest = demo("");
    assert_eq!(
        manifest,
        Manifest { name: PluginName::new("demo").unwrap(), ..Manifest::default() }
    );
    assert_eq!(manifest.gate, Gate::open());
}

#[test]
fn a_full_manifest_parses() {
    let manifest = demo(
        r#"
        crates = ["sqlx>=0.8"]
        predicates = ["not(env(CI))"]

        [[installations]]
        name = "tool"
        source = "cargo"
        crate = "sqlx-cli"

        [[hooks]]
        name = "check"
        event = "PreToolUse"
        command = "tool"

        [[skills]]
        source.path = "skills"

        [[mcp_servers]]
        name = "explain"
        command = "sqlx-mcp"
        args = []
        env = []

        [subcommand.sqlx-schema]
        description = "Show the schema"
        command = "tool"

        [[predicate]]
        name = "uses_postgres"
        command = "tool"

        [[plugins]]
        source.cargo = "widget"
        "#,
    );
    assert_eq!(manifest.gate.to_string(), "depends-on(sqlx>=0.8), not(env(CI))");
    assert_eq!(manifest.installations.len(), 1);
    assert_eq!(manifest.hooks.len(), 1);
    assert_eq!(manifest.skills.len(), 1);
    assert_eq!(manifest.mcp_servers.len(), 1);
    assert_eq!(manifest.subcommands.len(), 1);
    assert_eq!(manifest.predicates.len(), 1);
    assert_eq!(manifest.chained.len(), 1);
}

#[test]
fn a_registry_plugin_must_have_a_name_and_an_embedded_one_is_called_like_its_crate() {
    let parsed = parse_as(Manner::Registry, "");
    assert_eq!(parsed.manifest, None);
    let rendered: Vec<String> = parsed.findings.iter().map(render).collect();
    assert_eq!(rendered, ["`name` is missing | - | - | start with `name = \"my-plugin\"`"]);
    let place = parsed.findings[0].place.as_ref().unwrap();
    assert_eq!(place.to_string(), "SYMPOSIUM.toml");

    assert_eq!(parse_as(Manner::Embedded, "").manifest.unwrap().name.as_str(), "crate-name");
    let named = parse_as(Manner::Embedded, "name = \"own\"").manifest.unwrap();
    assert_eq!(named.name.as_str(), "own");
}

#[test]
fn one_pass_reports_everything_in_the_order_of_the_file() {
    let (_, findings) =
        demo_with_findings("z = 1\n[[hooks]]\nname = \"h\"\n[[skills]]\npath = \"x\"");
    assert_eq!(
        findings,
        [
            "unknown key `z`",
            "`event` is missing in [[hooks]]",
            "`command` is missing in [[hooks]]",
            "unknown key `path` in [[skills]]",
        ]
    );
}

#[test]
fn defaults_are_for_crates_only() {
    check_error("[defaults]\nskills = false", "`[defaults]` is only for manifests inside a crate");
    let skills = |text| parse_as(Manner::Embedded, text).manifest.unwrap().default_skills;
    assert_eq!(skills(""), DefaultSkills::On);
    assert_eq!(skills("[defaults]"), DefaultSkills::On);
    assert_eq!(skills("[defaults]\nskills = true"), DefaultSkills::On);
    assert_eq!(skills("[defaults]\nskills = false"), DefaultSkills::Off);
}

#[test]
fn only_errors_refuse_a_manifest() {
    let text = r#"
        [[installations]]
        name = "tool"
        source = "cargo"
        crate = "tool"

        [[hooks]]
        name = "h"
        event = "Stop"
        command = "tool"
        script = "x.sh"
    "#;
    let parsed = parse_as(Manner::Registry, &format!("name = \"demo\"{text}"));
    assert!(parsed.manifest.is_some());
    assert_eq!(parsed.findings[0].severity, Severity::Warning);
}

#[test]
fn crate_metadata_is_the_same_schema() {
    let text = "[package]\nname = \"c\"\n[package.metadata.symposium]\ncrates = [\"serde\"]\n\
                [[package.metadata.symposium.skills]]\nsource.path = \"guides\"\n";
    let parsed = parse_crate_metadata("Cargo.toml".into(), text, "c").unwrap();
    assert_eq!(parsed.findings, []);
    let manifest = parsed.manifest.unwrap();
    assert_eq!(manifest.name.as_str(), "c");
    assert_eq!(manifest.gate.to_string(), "depends-on(serde)");
    assert_eq!(manifest.skills[0].source, ContentSource::Path("guides".to_owned()));
}

#[test]
fn a_crate_without_such_metadata_has_no_manifest() {
    for text in [
        "[package]\nname = \"c\"\n",
        "[package]\nname = \"c\"\n[package.metadata.docs]\nsymposium = 1\n",
        "[package]\nname = \"symposium\"\n",
        "[workspace]\nmembers = [\"symposium\"]\n",
        "",
    ] {
        assert_eq!(parse_crate_metadata("Cargo.toml".into(), text, "c"), None, "{text}");
    }
}

#[test]
fn crate_metadata_of_the_wrong_type_is_reported() {
    let text = "[package.metadata]\nsymposium = 3\n";
    let parsed = parse_crate_metadata("Cargo.toml".into(), text, "c").unwrap();
    let rendered: Vec<String> = parsed.findings.iter().map(render).collect();
    assert_eq!(rendered, ["`symposium` must be a table, not an integer | 2:13 | - | -"]);
    assert_eq!(parsed.manifest, None);
}

#[test]
fn the_older_list_of_a_crate_says_where_its_skills_are() {
    let listed = |list: &str| {
        let text = format!("[package.metadata.symposium]\nskills = {list}\n");
        let parsed = parse_crate_metadata("Cargo.toml".into(), &text, "c").unwrap();
        let messages: Vec<String> = parsed.findings.iter().map(render).collect();
        (parsed.manifest.map(|manifest| manifest.crate_skills), messages)
    };
    let path = |path: &str| SkillEntry::Path(path.to_owned());
    let other = |name: &str, version: Option<&str>| SkillEntry::Crate {
        name: CrateName::new(name),
        version: version.map(str::to_owned),
    };
    let good = |entries| (Some(CrateSkills::Listed(entries)), Vec::new());
    assert_eq!(listed("[]"), good(vec![]));
    assert_eq!(listed("[{ path = \"guides\" }]"), good(vec![path("guides")]));
    assert_eq!(listed("[{ crate = { name = \"other\" } }]"), good(vec![other("other", None)]));
    assert_eq!(
        listed("[{ path = \"a\" }, { crate = { name = \"b\", version = \"1.2\" } }]"),
        good(vec![path("a"), other("b", Some("1.2"))])
    );
    for (list, message) in [
        (
            "[{ path = \"a\", crate = { name = \"b\" } }]",
            "an entry of `skills` has both `path` and `crate` | 2:11 | - | write two entries",
        ),
        (
            "[{ crate = { version = \"1\" } }]",
            "`name` is missing in [an entry of `skills`.crate] | 2:21 | - | -",
        ),
        ("[{ crate = \"b\" }]", "`crate` must be a table, not a string | 2:21 | - | -"),
        (
            "[{ path = \"a\", crates = [] }]",
            "unknown key `crates` in an entry of `skills` | 2:25 | did you mean `crate`? | -",
        ),
    ] {
        assert_eq!(listed(list), (None, vec![message.to_owned()]));
    }
}

#[test]
fn names_of_plugins_are_free_but_neither_empty_nor_invisible() {
    for good in ["a", "My Plugin", "größe", "@scope/x"] {
        assert!(PluginName::new(good).is_some(), "{good}");
    }
    for bad in ["", "  ", "a\nb", "\u{1b}[31m"] {
        assert!(PluginName::new(bad).is_none(), "{bad:?}");
    }
    let name = PluginName::new("sqlx-tools").unwrap();
    assert!(name.is("sqlx_tools") && !name.is("sqlx"));
}
