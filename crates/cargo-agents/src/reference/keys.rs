//! The pages of keys are written by hand, and hold the keys that are read: no more, and no less.
//!
//! A table says itself what it may hold, to whoever writes something else: so each is given a key that nobody has.

use std::collections::BTreeSet;

use agents_agent::search::families;
use agents_hook::Wire;
use agents_host::Roots;
use agents_model::settings::ModelSettings;
use agents_plan::engine::settings::RestateSettings;
use agents_plugin::{
    config::{Config, ConfigError, Setting},
    manifest::{EVENTS, HOSTS, Manner, RESERVED, WITHOUT_HOOKS, parse::parse_manifest},
    predicate::BUILT_IN,
};
use agents_system::{dirs::Dirs, finding::Finding};
use agents_task::{secret::SecretSettings, settings::TaskSettings, telemetry::TelemetrySettings};
use agents_testkit::{book, scratch::Scratch};
use agents_tool::settings::ToolSettings;
use camino::{Utf8Path, Utf8PathBuf};

use crate::commands;

/// Like no key that there is, so that none is suggested.
const STRANGE: &str = "qqqqqqqqqqqqqqqqqqqqqqqq";

/// Keys with all that stands in front of them, as `tasks.max-turns`.
type Keys = BTreeSet<String>;

/// `[[tasks.start-hooks]]` is `tasks.start-hooks`, `[[skills]] source` is `skills.source`, and the name that somebody chooses is
/// `NAME`.
fn path(label: &str, key: &str) -> String {
    let label = label.replace("]] ", ".").replace("<name>", "NAME");
    let label = label.trim_matches(['[', ']']);
    [label, key].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(".")
}

/// A table that has a key is one itself.
fn with_tables(keys: Keys) -> Keys {
    let mut all = keys.clone();
    for key in keys {
        let mut rest = key.as_str();
        while let Some((table, _)) = rest.rsplit_once('.') {
            all.insert(table.to_owned());
            rest = table;
        }
    }
    all
}

/// The keys that are allowed where a strange one was found.
fn allowed(findings: &[Finding]) -> Keys {
    let unknown = format!("unknown key `{STRANGE}`");
    let mut keys = Keys::new();
    for finding in findings {
        let Some(rest) = finding.message.strip_prefix(&unknown) else { continue };
        let label = rest.strip_prefix(" in ").unwrap_or_default();
        let hint = finding.hint.as_deref().unwrap();
        let list = hint.strip_prefix("allowed here: ").unwrap();
        keys.extend(list.split('`').skip(1).step_by(2).map(|key| path(label, key)));
    }
    keys
}

/// The keys that a page has rows for: in tables whose first column is `key`, or ``key of `[table]` ``. In the first one the
/// table is that of the heading, if it is one.
fn rows(page: &str) -> Keys {
    let (mut heading, mut of) = (String::new(), None::<String>);
    let mut keys = Keys::new();
    for line in page.lines() {
        if line.starts_with('#') {
            let name = line.split('`').nth(1).filter(|it| it.starts_with('['));
            heading = name.unwrap_or_default().to_owned();
            keys.extend(name.map(|table| path(table, "")));
        }
        let Some(cells) = line.strip_prefix("| ") else {
            of = of.filter(|_| line.starts_with('|'));
            continue;
        };
        let cell = cells.split(" |").next().unwrap_or_default();
        if let Some(table) = &of {
            for name in cell.split('`').skip(1).step_by(2) {
                let name = name.split(" = ").next().unwrap_or_default();
                keys.insert(match name.split_once("] ") {
                    Some((label, key)) => path(label, key),
                    None if name.starts_with('[') => path(name, ""),
                    None => path(table, name),
                });
            }
        } else if cell == "key" {
            of = Some(heading.clone());
        } else if let Some(table) = cell.strip_prefix("key of `[") {
            of = Some(table.trim_end_matches('`').to_owned());
        }
    }
    keys
}

fn page(name: &str) -> String {
    book::read(&book::root().join("docs").join(name))
}

/// What a page says of one key.
struct Row {
    key: String,
    /// What its value is.
    kind: String,
    default: Option<String>,
}

/// What a page says of keys: in tables with columns for the type and the default. Of several keys in a row, each has its own default, or all
/// have one.
fn told(page: &str) -> Vec<Row> {
    let (mut of, mut found) = (None::<String>, Vec::new());
    for line in page.lines() {
        let Some(cells) = line.strip_prefix("| ") else {
            of = of.filter(|_| line.starts_with('|'));
            continue;
        };
        let cells: Vec<&str> = cells.split(" |").map(str::trim).collect();
        let [first, kind, third, ..] = cells[..] else { continue };
        if third == "default" {
            let table = first.strip_prefix("key of `[").map(|it| it.trim_end_matches([']', '`']));
            of = (first == "key" || table.is_some()).then(|| table.unwrap_or("").to_owned());
        } else if let Some(table) = &of {
            let quoted = |cell: &str| {
                cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>()
            };
            let (names, values) = (quoted(first), quoted(third));
            for (at, name) in names.iter().enumerate() {
                let key = match name.split_once("] ") {
                    Some((label, key)) => path(label, key),
                    None => path(table, name),
                };
                let default = values.get(at).or(values.first()).cloned();
                found.push(Row { key, kind: kind.to_owned(), default });
            }
        }
    }
    found
}

/// What all that read the configuration find wrong with a text.
fn complaints(text: &str) -> Vec<Finding> {
    let scratch = Scratch::new();
    let dirs = Dirs::below(scratch.root());
    let file = Config::file(&dirs);
    fs_err::create_dir_all(&dirs.config).unwrap();
    fs_err::write(&file, text).unwrap();
    let told: [Option<ConfigError>; 7] = [
        Config::load(&dirs).err(),
        TaskSettings::parse(&file, text).err(),
        RestateSettings::parse(&file, text).err(),
        TelemetrySettings::parse(&file, text).err(),
        SecretSettings::parse(&file, text, &dirs.config).err(),
        ToolSettings::parse(&file, text, &dirs.config).err(),
        ModelSettings::parse(&file, text, &dirs.config).err(),
    ];
    let findings = told.into_iter().flatten().map(|error| match error {
        ConfigError::Invalid { findings, .. } => findings,
        error => panic!("{error}\n{text}"),
    });
    findings.flatten().collect()
}

/// A configuration with one key in it.
fn with_key(key: &str, value: &str) -> String {
    let Some((table, key)) = key.rsplit_once('.') else { return format!("{key} = {value}\n") };
    let lists = ["registry", "tasks.start-hooks", "tasks.stop-hooks", "models.known"];
    let head = match table.rsplit_once('.') {
        _ if lists.contains(&table) => format!("[[{table}]]"),
        Some((list, _)) if lists.contains(&list) => format!("[[{list}]]\n[{table}]"),
        _ => format!("[{table}]"),
    };
    format!("{head}\n{key} = {value}\n")
}

/// Values of a type as a page calls it, and one of another.
fn samples(kind: &str) -> Option<(Vec<String>, &'static str)> {
    let words = || kind.split('`').skip(1).step_by(2).map(str::to_owned);
    let (good, bad): (Vec<String>, _) = match kind {
        "boolean" => (vec!["true".to_owned()], "\"yes\""),
        it if it.starts_with("number") => {
            (std::iter::once("3".to_owned()).chain(words()).collect(), "\"many\"")
        }
        it if it.starts_with("list of") => (
            std::iter::once("[]".to_owned()).chain(words().filter(|it| it.contains('"'))).collect(),
            "1",
        ),
        it if it.starts_with("time") => {
            (vec!["\"90s\"".to_owned(), "\"2h\"".to_owned()], "\"soon\"")
        }
        it if it.starts_with("dollars") => (vec!["\"0.50\"".to_owned()], "\"cheap\""),
        it if it.starts_with("`\"") => (words().collect(), "\"qqqqqq\""),
        it if it.starts_with("table") => return None,
        _ => (Vec::new(), "1"),
    };
    Some((good, bad))
}

/// Holds `rows` against what is `read`; the keys of `elsewhere` are known by other words, which the text has.
fn compare(rows: Keys, read: Keys, elsewhere: &[&str], text: &str) {
    let (rows, mut read) = (with_tables(rows), with_tables(read));
    assert!(read.len() > 40, "tables say no longer what they may hold: {read:?}");
    for key in elsewhere {
        assert!(read.remove(*key), "`{key}` is not read");
        let word = key.rsplit('.').next().unwrap();
        assert!(text.contains(word), "`{word}` is nowhere on the page");
    }
    let missing: Vec<&String> = read.difference(&rows).collect();
    let invented: Vec<&String> = rows.difference(&read).collect();
    assert!(missing.is_empty(), "read, and on no page: {missing:?}");
    assert!(invented.is_empty(), "on a page, and not read: {invented:?}");
}

#[test]
fn the_pages_of_the_configuration_hold_every_key() {
    let tables = [
        "",
        "[defaults]",
        "[[registry]]",
        "[plugins]",
        "[sandbox]",
        "[agents]",
        "[tasks]",
        "[[tasks.start-hooks]]",
        "[[tasks.stop-hooks]]",
        "[engine]",
        "[engine.restate]",
        "[telemetry]",
        "[secrets.NAME]",
        "[web]",
        "[web.search]",
        "[mcp-servers.NAME]",
        "[providers.NAME]",
        "[models]",
        "[[models.known]]",
        "[models.known.price]",
    ];
    let text: String = tables.iter().map(|table| format!("{table}\n{STRANGE} = 1\n")).collect();
    let mut read = allowed(&complaints(&text));
    // What anybody may call as they like.
    read.extend(["roles", "aliases", "agents"].map(|it| format!("models.{it}.NAME")));
    let pages = ["configuration.md", "models.md", "tools.md", "secrets.md", "telemetry.md"];
    let rows = pages.iter().flat_map(|name| rows(&page(name))).collect();
    // The words of Symposium.
    let elsewhere = ["agent", "plugin-source", "logging", "sync-debounce-secs"];
    compare(rows, read, &elsewhere, &page("configuration.md"));
}

#[test]
fn the_pages_of_the_configuration_have_the_defaults_that_count() {
    let scratch = Scratch::new();
    let shown = commands::config::all(&Dirs::below(scratch.root())).unwrap();
    let pages = ["configuration.md", "tools.md", "telemetry.md"];
    let told = pages.iter().flat_map(|name| told(&page(name)));
    let told: Vec<_> = told.filter_map(|it| Some((it.key, it.default?))).collect();
    assert!(shown.len() > 30 && told.len() > 30, "{shown:?}\n{told:?}");
    let is_same = |value: &str, setting: &Setting| {
        let parsed: Result<toml::Table, _> = toml::from_str(&format!("v = {value}"));
        parsed.is_ok_and(|it| serde_json::to_value(&it["v"]).unwrap() == setting.value)
    };
    for setting in &shown {
        let rows: Vec<_> = told.iter().filter(|(key, _)| *key == setting.key).collect();
        assert!(!rows.is_empty(), "`{}` has no default on any page", setting.key);
        for (key, value) in rows {
            assert!(is_same(value, setting), "`{key}` is {}, not `{value}`", setting.value);
        }
    }
    // Those of one of many; and what is shown only where it means something.
    let of_each = ["registry.", "tasks.start-hooks.", "tasks.stop-hooks."];
    let elsewhere = ["telemetry.enabled", "web.hosts", "web.private-addresses"];
    let is_shown = |key: &str| shown.iter().any(|it| it.key == key);
    for (key, value) in &told {
        let excused = of_each.iter().any(|it| key.starts_with(it))
            || elsewhere.contains(&key.as_str())
            || key.starts_with("web.search.");
        assert!(is_shown(key) || excused, "nobody shows that `{key}` is `{value}`");
    }
}

#[test]
fn the_pages_of_the_configuration_have_the_types_that_are_read() {
    let pages = ["configuration.md", "tools.md", "telemetry.md"];
    let mut tried = 0;
    for row in pages.iter().flat_map(|name| told(&page(name))) {
        let Some((good, bad)) = samples(&row.kind) else { continue };
        let name = row.key.rsplit('.').next().unwrap();
        let refuses = |value: &str| {
            let found = complaints(&with_key(&row.key, value));
            found.into_iter().find(|it| it.message.contains(&format!("`{name}`")))
        };
        for value in good {
            let refused = refuses(&value);
            assert!(refused.is_none(), "`{} = {value}` is {}: {refused:?}", row.key, row.kind);
        }
        assert!(refuses(bad).is_some(), "`{} = {bad}` is not {}, and is read", row.key, row.kind);
        tried += 1;
    }
    assert!(tried > 40, "only {tried} types were found");
}

#[test]
fn the_page_of_manifests_holds_every_key() {
    let tables = [
        "name = \"demo\"",
        "[[installations]]\nname = \"tool\"",
        "[subcommand.NAME]",
        "[[skills]]",
        "[skills.source]",
        "[[agents]]",
        "[agents.source]",
        "[[hooks]]",
        "[sandbox]",
        "[[predicate]]",
        "[[plugins]]",
        "[plugins.source]",
        "[defaults]",
    ];
    let text: String = tables.iter().map(|table| format!("{table}\n{STRANGE} = 1\n")).collect();
    let parsed = parse_manifest("SYMPOSIUM.toml".into(), &text, Manner::Embedded, None);
    let text = page("manifest.md");
    let (agents, read): (Keys, Keys) =
        allowed(&parsed.findings).into_iter().partition(|it| it.starts_with("agents."));
    let of = |table: &str, keys: &Keys| -> Keys {
        keys.iter().filter_map(|it| it.strip_prefix(table).map(str::to_owned)).collect()
    };
    assert_eq!(
        of("agents.", &agents),
        of("skills.", &read),
        "the page says that they are the same"
    );
    // Other tools keep keys of their own there, so that none is strange: what is read is told from its value.
    let (servers, rows): (Keys, Keys) =
        rows(&text).into_iter().partition(|it| it.starts_with("mcp_servers."));
    assert!(servers.len() > 8, "{servers:?}");
    for key in of("mcp_servers.", &servers) {
        let kind = if ["url", "headers"].contains(&key.as_str()) { "http" } else { "stdio" };
        let rest = [("name", "\"a\""), ("type", &format!("\"{kind}\"")), ("command", "\"b\"")];
        let rest = rest.iter().filter(|(name, _)| *name != key);
        let rest: String = rest.map(|(name, value)| format!("{name} = {value}\n")).collect();
        let address = if key == "url" { "" } else { "url = \"https://a.example\"\n" };
        let wrong = format!("name = \"demo\"\n[[mcp_servers]]\n{rest}{address}{key} = 1\n");
        let parsed = parse_manifest("SYMPOSIUM.toml".into(), &wrong, Manner::Embedded, None);
        assert!(!parsed.findings.is_empty(), "`{key}` of a server is not read");
    }
    // The other vocabulary; and what is known in order to say that there is no such thing.
    let refused = ["plugins.source.git", "plugins.source.path", "skills.source.crate"];
    let is_told_otherwise =
        |key: &&String| key.ends_with("depends-on") || refused.contains(&key.as_str());
    let elsewhere: Vec<String> = read.iter().filter(is_told_otherwise).cloned().collect();
    let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
    compare(rows, read, &elsewhere, &text);
}

#[test]
fn the_page_of_the_manifest_has_every_event_and_host() {
    let page = book::read("docs/manifest.md".into());
    let row = |key: &str| {
        let row = page.lines().find(|it| it.starts_with(&format!("| `{key}` | string |"))).unwrap();
        let meaning = row.split(" | ").last().unwrap();
        meaning.split('`').skip(1).step_by(2).collect::<BTreeSet<&str>>()
    };
    assert_eq!(row("event"), EVENTS.iter().copied().collect());
    assert_eq!(row("agent"), HOSTS.iter().copied().collect());
}

#[test]
fn manifests_know_which_hosts_call_no_hooks() {
    let silent = HOSTS.iter().copied().filter(|host| Wire::of(host).is_none());
    assert_eq!(silent.collect::<Vec<&str>>(), WITHOUT_HOOKS);
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_of_the_manifest_has_every_reserved_name() {
    let page = page("manifest.md");
    let (_, section) = page.split_once("\n## Reserved names\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let (subcommands, predicates) = section.split_once("\nPredicates:").unwrap();
    assert_eq!(quoted(subcommands), RESERVED);
    let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<&str>>();
    assert_eq!(quoted(predicates).into_iter().collect::<BTreeSet<_>>(), set(BUILT_IN));
}

#[test]
fn the_page_of_agents_has_every_family_in_the_order_that_counts() {
    let page = page("agents.md");
    let (_, table) = page.split_once("   | family | project | user |\n   |---|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.trim_start().strip_prefix("| "));
    let rows = rows.map(|row| {
        let cells: Vec<&str> = row.split(" |").collect();
        // One that is the same as that of a family above is looked into once.
        let own = |cell: &str| !cell.ends_with("as above");
        let path = |cell: &str| quoted(cell).first().filter(|_| own(cell)).map(ToString::to_string);
        (quoted(cells[0])[0].to_owned(), path(cells[1]), path(cells[2]))
    });
    let home = Utf8Path::new("/home/ann");
    let roots = Roots { home, workspace: None, env: &|_| None };
    let told = |path: Utf8PathBuf| match path.strip_prefix(home) {
        Ok(below) => format!("~/{below}"),
        Err(_) => path.to_string(),
    };
    let families = families(&agents_host::hosts(None).0, &roots).into_iter();
    let families = families.map(|it| (it.name, it.project.map(told), it.user.map(told)));
    assert_eq!(rows.collect::<Vec<_>>(), families.collect::<Vec<_>>());
}
