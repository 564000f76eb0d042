//! Files that are read as a whole.

use agents_host::{Overrides, catalog};
use agents_install::git::GitAddress;
use agents_plugin::{
    manifest::{
        Manner,
        parse::{Parsed, parse_crate_metadata, parse_manifest},
    },
    predicate::{Gate, custom::parse_output, parse_atoms, parse_predicates},
    scan::parse_entry,
    skill::{SkillHeader, parse_own_skill, parse_skill},
};
use agents_system::{
    edit::{Format, read},
    finding::{Finding, Severity},
    ledger::Ledger,
    progress::Progress,
};
use agents_workspace::{Cargo, Glance, Network, Workspaces};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

/// Findings point into the text.
pub(crate) fn check_findings(findings: &[Finding], text: &str) {
    for spot in findings.iter().filter_map(|it| it.place.as_ref()?.spot.as_ref()) {
        assert!(spot.line as usize <= text.split('\n').count(), "{spot:?}");
        assert!(spot.text.get(spot.part.start as usize..spot.part.end as usize).is_some());
    }
}

pub(crate) fn has_error(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// What is printed can be read again and means the same. A lone parenthesis in a command or a path is allowed where a
/// predicate is a string of its own, and a list of them in one string cannot say it.
fn check_gate(gate: &Gate) {
    let printed = gate.to_string();
    if !has_matching_parentheses(&printed) {
        return;
    }
    let again = parse_predicates(&printed).unwrap_or_else(|error| panic!("{error}: {printed:?}"));
    assert_eq!(Gate::new(Vec::new(), again).to_string(), printed);
}

fn has_matching_parentheses(text: &str) -> bool {
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

/// A skill has a header, or a finding says why not. A registry that has nothing else of it has a plugin, which is there when the skill is.
pub fn skill(text: &str) {
    let file = Utf8Path::new("SKILL.md");
    let entry = parse_entry(file, text);
    check_parsed(&entry, text);
    if let (Some(manifest), (Some(header), _)) = (&entry.manifest, parse_skill(file, text)) {
        assert_eq!((manifest.name.as_str(), &manifest.gate), (header.name.as_str(), &header.gate));
    }
    assert!(entry.manifest.is_none() || parse_skill(file, text).0.is_some(), "a plugin of nothing");
    for (header, findings) in [parse_skill(file, text), parse_own_skill(file, text, "own")] {
        check_findings(&findings, text);
        assert_eq!(header.is_none(), has_error(&findings), "{findings:?}");
        if let Some(SkillHeader { name, gate, .. }) = header {
            let is_one = Utf8Path::new(&name).components().count() == 1;
            assert!(is_one && name != ".." && name != ".", "{name:?} leads elsewhere");
            check_gate(&gate);
        }
    }
}

fn check_parsed(parsed: &Parsed, text: &str) {
    check_findings(&parsed.findings, text);
    assert_eq!(parsed.manifest.is_none(), has_error(&parsed.findings), "{:?}", parsed.findings);
    if let Some(manifest) = &parsed.manifest {
        manifest.gates().for_each(check_gate);
        let stored = serde_json::to_string(manifest).expect("it can be cached");
        assert_eq!(serde_json::from_str(&stored).ok().as_ref(), Some(manifest));
    }
}

/// A plugin manifest, wherever it stands.
pub fn manifest(text: &str) {
    for manner in [Manner::Registry, Manner::Embedded, Manner::FirstParty] {
        let parsed = parse_manifest("SYMPOSIUM.toml".into(), text, manner, Some("own"));
        check_parsed(&parsed, text);
    }
    check_parsed(&parse_entry("SYMPOSIUM.toml".into(), text), text);
}

/// The `Cargo.toml` of a crate.
pub fn crate_metadata(text: &str) {
    if let Some(parsed) = parse_crate_metadata("Cargo.toml".into(), text, "own") {
        check_parsed(&parsed, text);
    }
}

/// The text as `crates` and as `predicates`.
pub fn predicate(text: &str) {
    match parse_predicates(text) {
        Ok(predicates) => {
            let gate = Gate::new(Vec::new(), predicates);
            check_gate(&gate);
            let printed = gate.to_string();
            let again = parse_predicates(&printed).expect("it was printed");
            assert_eq!(Gate::new(Vec::new(), again), gate, "{printed:?}");
        }
        Err(error) => drop((error.to_string(), error.hint())),
    }
    match parse_atoms(text) {
        Ok(atoms) => check_gate(&Gate::new(atoms, Vec::new())),
        Err(error) => drop((error.to_string(), error.hint())),
    }
}

/// Whatever the user's `hosts.toml` says, every host is still there.
pub fn hosts(text: &str) {
    let overrides = Overrides { file: "hosts.toml".into(), text };
    let (hosts, findings) = catalog::hosts(Some(overrides));
    check_findings(&findings, text);
    assert!(hosts.iter().map(|host| host.id.as_str()).eq(catalog::ids()), "{findings:?}");
}

/// Writes a file below a directory that stays for the next input, and looks at it.
pub(crate) fn in_scratch(name: &str, data: &[u8], look: impl FnOnce(&Utf8Path)) {
    thread_local! {
        static DIR: tempfile::TempDir = tempfile::tempdir().expect("a scratch directory");
    }
    let file = DIR.with(|dir| Utf8PathBuf::from_path_buf(dir.path().join(name)).unwrap());
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, data).unwrap();
    look(&file);
}

/// A ledger that can be read is written again without a loss.
pub fn ledger(data: &[u8]) {
    in_scratch("ledger.json", data, |file| {
        let Ok(ledger) = Ledger::load(file) else { return };
        ledger.save(file).expect("what was read can be written");
        let written = fs_err::read(file).unwrap();
        assert_eq!(Ledger::load(file).expect("what was written can be read"), ledger);
        ledger.save(file).unwrap();
        assert_eq!(fs_err::read(file).unwrap(), written);
    });
}

/// `Cargo.toml`, `.cargo/config.toml` and `Cargo.lock`, with `%%` between them: a workspace, or nothing, or a reason to ask cargo.
pub fn cargo_files(input: &str) {
    let mut parts = input.split("\n%%\n");
    let (cargo, progress) = (Cargo::at("/nowhere/cargo", Network::Offline), Progress::silent());
    let names = ["ws/.cargo/config.toml", "ws/src/lib.rs", "ws/Cargo.lock"];
    let manifest = parts.next().unwrap_or_default().as_bytes();
    in_scratch("ws/Cargo.toml", manifest, |file| {
        for name in names {
            let text = if name.ends_with(".rs") { "" } else { parts.next().unwrap_or_default() };
            in_scratch(name, text.as_bytes(), |_| ());
        }
        let root = file.parent().unwrap();
        let cargo = cargo.with_home(&root.join("home"));
        // Nothing is remembered: every input is looked at.
        let cache = root.join("Cargo.toml/cache");
        let workspaces = Workspaces { cache: &cache, cargo: &cargo, progress: &progress };
        match workspaces.glance(root) {
            Ok(Glance::Known(workspace)) => assert!(root.starts_with(&workspace.root)),
            Ok(Glance::Outside | Glance::NeedsCargo { .. }) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

/// An address that is accepted is understood again in its printed form, cannot be an option of git or a program that it runs, and
/// never shows a password.
pub fn git_address(text: &str) {
    let Ok(address) = GitAddress::parse(text) else { return };
    let url = address.url();
    let odd = |it: char| it.is_whitespace() || it.is_control();
    assert!(!url.starts_with('-') && !url.contains(odd), "{url:?}");
    let scheme = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
    let after = url.trim_start_matches(scheme);
    assert!(!after.starts_with("::"), "{url:?} runs a program");
    // What git is given of it begins with `refs/`, or is a commit.
    let odd = |it: &str| matches!(it, "" | "." | "..");
    assert!(!address.tree().is_some_and(|it| it.split('/').any(odd)), "{address}");
    if let Some((_, rest)) = url.split_once("://")
        && let Some((user, _)) = rest.split('/').next().unwrap_or_default().rsplit_once('@')
        && let Some((_, password)) = user.split_once(':')
        && password.len() > 3
        && text.matches(password).count() == 1
    {
        assert!(!address.to_string().contains(password), "{address} shows {password}");
    }
}

/// What a program that is a predicate prints.
pub fn predicate_output(data: &[u8]) {
    match parse_output(data) {
        Ok((packages, watched)) => {
            assert!(packages.len() + watched.files.len() + watched.variables.len() <= data.len());
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

/// What the reader of lock files understands, a TOML parser reads the same.
pub fn lockfile(text: &str) {
    let Some(packages) = agents_workspace::locked_packages(text) else { return };
    let document = match read(Format::Toml, text) {
        Ok(document) => document,
        // The checksums of layout 1 are not looked at.
        Err(_) if text.contains("[metadata]") => return,
        Err(error) => panic!("understood, but {error}: {text:?}"),
    };
    let expected = document.get("package").and_then(Value::as_array).cloned().unwrap_or_default();
    assert_eq!(packages.len(), expected.len(), "{text:?}");
    for (is, expected) in packages.iter().zip(&expected) {
        let [name, version, source] = ["name", "version", "source"]
            .map(|key| expected.get(key).map(|text| text.as_str().expect("a string")));
        let edges = expected.get("dependencies").and_then(Value::as_array);
        let edges: Vec<&str> = edges.into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!((Some(is.name), Some(is.version), is.source), (name, version, source));
        assert_eq!(is.edges, edges, "{text:?}");
    }
}
