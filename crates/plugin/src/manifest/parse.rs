//! From text to a checked [`Manifest`].

use agents_system::{
    decode::{Document, Table},
    finding::{Finding, Place, Severity},
};
use camino::Utf8Path;

use super::{
    ContentKind, CrateSkills, DefaultSkills, MAX_NAME, Manifest, PluginName, contributions,
    crate_metadata, gates, groups, hooks, installations::Book, sandbox, subcommands,
};

const MAX_MANIFEST: usize = 1024 * 1024;

/// Where a manifest stands, which decides what it may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// In a registry: must have a name.
    Registry,
    /// In a crate or a workspace member: the name defaults to the crate's, and `[defaults]` is allowed.
    Embedded,
    /// Inside the program: may use reserved names.
    FirstParty,
}

/// A manifest with what there is to say about it, or only the latter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The manifest, if nothing in it is an error.
    pub manifest: Option<Manifest>,
    /// What there is to say.
    pub findings: Vec<Finding>,
}

impl Parsed {
    fn failed(finding: Finding) -> Self {
        Self { manifest: None, findings: vec![finding] }
    }
}

/// Parses a `SYMPOSIUM.toml`. `default_name` names an embedded plugin that does not name itself.
///
/// ```
/// use agents_plugin::manifest::{Manner, parse::parse_manifest};
/// let text = "name = \"demo\"\ncrates = [\"serde\"]\n";
/// let parsed = parse_manifest("SYMPOSIUM.toml".into(), text, Manner::Registry, None);
/// assert_eq!(parsed.manifest.unwrap().name.as_str(), "demo");
/// ```
#[must_use]
pub fn parse_manifest(
    file: &Utf8Path,
    text: &str,
    manner: Manner,
    default_name: Option<&str>,
) -> Parsed {
    let document = match parse_document(file, text) {
        Ok(document) => document,
        Err(finding) => return Parsed::failed(*finding),
    };
    let manifest = decode(&document.root(), manner, default_name);
    finish(document, manifest)
}

/// Parses `[package.metadata.symposium]` of a crate's `Cargo.toml`; `None` if there is no such table.
#[must_use]
pub fn parse_crate_metadata(file: &Utf8Path, text: &str, crate_name: &str) -> Option<Parsed> {
    // Most crates have none, and parsing a large manifest is not free.
    if !text.contains("symposium") {
        return None;
    }
    let document = match parse_document(file, text) {
        Ok(document) => document,
        Err(finding) => return Some(Parsed::failed(*finding)),
    };
    let manifest = {
        let root = document.root();
        let metadata = root.table("package")?.table("metadata")?;
        let value = metadata.get("symposium")?;
        let table = value.table("[package.metadata.symposium]");
        if table.is_none() {
            value.wrong_type("symposium", "a table");
        }
        table.and_then(|table| decode(&table, Manner::Embedded, Some(crate_name)))
    };
    Some(finish(document, manifest))
}

fn parse_document<'t>(file: &Utf8Path, text: &'t str) -> Result<Document<'t>, Box<Finding>> {
    check_size(file, text)?;
    Document::parse(file.to_owned(), text)
}

/// A manifest larger than [`MAX_MANIFEST`] is not one, whoever ships it.
pub(crate) fn check_size(file: &Utf8Path, text: &str) -> Result<(), Box<Finding>> {
    if text.len() <= MAX_MANIFEST {
        return Ok(());
    }
    let message = format!("the file is larger than {MAX_MANIFEST} bytes");
    Err(Box::new(Finding::error(message).at(Place::file(file))))
}

fn finish(document: Document<'_>, manifest: Option<Manifest>) -> Parsed {
    let mut findings = document.into_findings();
    findings.sort_by_key(|finding| {
        let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref());
        spot.map_or((0, 0), |spot| (spot.line, spot.column))
    });
    let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    Parsed { manifest: manifest.filter(|_| sound), findings }
}

fn decode(root: &Table<'_>, manner: Manner, default_name: Option<&str>) -> Option<Manifest> {
    let name = decode_name(root, manner, default_name);
    let gate = gates::decode(root);
    let mut book = Book::default();
    book.declare(&root.tables("installations"));
    let (skills, crate_skills) =
        if manner == Manner::Embedded && crate_metadata::is_older_list(root) {
            (Vec::new(), crate_metadata::decode(root))
        } else {
            (groups::decode(root, ContentKind::Skills, &gate), CrateSkills::Unsaid)
        };
    let agents = groups::decode(root, ContentKind::Agents, &gate);
    let unchecked = hooks::decode(root, &mut book);
    let mcp_servers = contributions::decode_mcp_servers(root);
    let subcommands = subcommands::decode(root, &mut book, manner);
    let predicates = contributions::decode_predicates(root, &mut book);
    let chained = contributions::decode_chained(root);
    let default_skills = decode_defaults(root, manner);
    let sandbox = sandbox::decode(root);
    root.deny_unknown();
    let hooks = hooks::finish(unchecked, &book);
    Some(Manifest {
        name: name?,
        gate,
        installations: book.finish(),
        hooks,
        skills,
        agents,
        mcp_servers,
        subcommands,
        predicates,
        chained,
        default_skills,
        sandbox,
        crate_skills,
    })
}

fn decode_name(root: &Table<'_>, manner: Manner, default_name: Option<&str>) -> Option<PluginName> {
    let Some(text) = root.string("name") else {
        if manner == Manner::Embedded
            && let Some(name) = default_name.and_then(PluginName::new)
        {
            return Some(name);
        }
        if !root.has("name") {
            root.report(
                Finding::error("`name` is missing").hint("start with `name = \"my-plugin\"`"),
            );
        }
        return None;
    };
    let name = PluginName::new(&text);
    if name.is_none() {
        text.error(format!(
            "the name of a plugin has 1 to {MAX_NAME} characters and no control characters"
        ));
    }
    name
}

fn decode_defaults(root: &Table<'_>, manner: Manner) -> DefaultSkills {
    let Some(table) = root.table("defaults") else { return DefaultSkills::On };
    if manner != Manner::Embedded {
        table.report(
            Finding::error("`[defaults]` is only for manifests inside a crate")
                .hint("a registry plugin says everything with `[[skills]]`"),
        );
    }
    let skills = table.boolean("skills");
    table.deny_unknown();
    if skills == Some(false) { DefaultSkills::Off } else { DefaultSkills::On }
}
