//! One row for everything that is active.

use std::collections::BTreeMap;

use agents_plugin::{
    active::{Cause, Considered, State},
    confine::Confinement,
    consent::condition_pieces,
    plugin::Plugin,
    predicate::{Surroundings, evaluate::Asker},
    skills::{Contributor, Fetch},
};
use agents_system::finding::Finding;
use agents_trust::{
    agreement::LockFile,
    audit::{Records, subject},
    compare::{Compared, Item, Status, Trust, Verdict, compare},
    items::{PluginKey, Surveyor},
    lock::{Entry, Hash, Kind},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    RecordView, all_records,
    rights::{self, Rights},
};
use crate::{
    commands::{
        agreed::{suspicions, suspicions_of_agent},
        wanted::{self, agents},
    },
    failure::Failure,
    here::Here,
};

/// Something that is active.
pub(super) struct Row {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) plugin: String,
    /// What it comes from; for parts of a plugin, that of the plugin.
    pub(super) entry: Entry,
    pub(super) authors: Vec<String>,
    pub(super) rights: Rights,
    pub(super) trust: &'static str,
    pub(super) consent: String,
    pub(super) state: &'static str,
    pub(super) records: Vec<RecordView>,
}

/// Everything that is active here.
pub(super) fn rows(here: &Here<'_>) -> Result<(Vec<Row>, Vec<Finding>), Failure> {
    let Some(workspace) = here.workspace.as_ref() else { return Ok((Vec::new(), Vec::new())) };
    let records = all_records(here.settings, &workspace.root)?;
    let lock = LockFile::beside(&workspace.root).load()?.unwrap_or_default();
    let surveyor = Surveyor::new(here.registries, &here.set, workspace);
    let (cwd, fetch) = (&here.settings.cwd, Fetch::Never);
    let found = here.registries.skills(&here.set, Some(workspace), cwd, fetch);
    let mut findings = found.findings.clone();
    let (keys, mut items): (Vec<PluginKey>, Vec<Item>) = surveyor.plugins().into_iter().unzip();
    let plugins = items.len();
    let mut skills = Vec::new();
    for skill in &found.skills {
        let (tree, _) = skill.read();
        let Some(tree) = tree else { continue };
        items.push(surveyor.skill(skill, Hash::new(&tree.digest())));
        skills.push(skill);
    }
    let brought = agents::brought(here, &wanted::home()?, fetch);
    findings.extend(brought.findings);
    let agents = brought.agents;
    items.extend(
        agents
            .iter()
            .map(|it| surveyor.agent(it.definition.name.as_str(), &it.dir, &it.file, it.hash())),
    );
    let (all, texts) = (items.clone(), plugins + skills.len());
    let is_suspicious = |item: &Item| match all.iter().position(|it| it == item) {
        Some(at) if at >= texts => !suspicions_of_agent(&agents[at - texts]).is_empty(),
        Some(at) if at >= plugins => !suspicions(skills[at - plugins]).is_empty(),
        _ => false,
    };
    let compared = compare(items, &lock, is_suspicious, |_| false).items;
    let considered: Vec<_> = here.set.considered().filter(Considered::is_active).collect();
    let mut rows = Vec::new();
    let mut authors = Authors::default();
    let maker = Maker { records: &records };
    let (probes, _) = here.probes();
    let surroundings =
        Surroundings { workspace: Some(workspace), probes: &probes, asker: Asker::Other };
    let hooks = here.registries.hooks(&here.set, surroundings);
    let servers = here.set.mcp_servers(surroundings);
    for (it, key) in compared.iter().zip(&keys) {
        let is_it = |it: &&Considered<'_>| (&it.plugin.name, &it.plugin.origin) == (&key.0, &key.1);
        let Some(state) = considered.iter().find(is_it) else { continue };
        let plugin = state.plugin;
        let by = authors.of(plugin.dir());
        let consent = consent(state.state);
        let name = plugin.name.as_str();
        let row = |kind, name: &str, rights: Rights| {
            maker.row(kind, name, plugin.name.as_str(), it, &by, rights, &consent)
        };
        rows.push(row("plugin", name, Vec::new()));
        let confinement = Confinement::of(here.registries.config, &plugin.name, &plugin.origin);
        let needs = plugin.manifest().map(|it| it.sandbox.clone()).unwrap_or_default();
        let of_program = || rights::of_program(confinement, &needs);
        let own = |it: &&Plugin| it.name == plugin.name && it.origin == plugin.origin;
        let mine =
            hooks.hooks.iter().filter(|it| it.plugin == plugin.name && it.origin == plugin.origin);
        rows.extend(mine.map(|hook| row("hook", &hook.hook.name, of_program())));
        for (_, server, _) in servers.iter().filter(|(it, ..)| own(it)) {
            rows.push(row("mcp", &server.name, rights::of_server(server)));
        }
        let offered = here.set.subcommands().filter(|it| own(&it.plugin));
        rows.extend(offered.map(|it| row("subcommand", it.subcommand.name.as_str(), of_program())));
        let conditions = condition_pieces(plugin, &found);
        rows.extend(conditions.iter().map(|it| row("condition", &it.name, of_program())));
    }
    let consent_of = |by: &Contributor| {
        let is_it =
            |it: &&Considered<'_>| (&it.plugin.name, &it.plugin.origin) == (&by.name, &by.origin);
        considered.iter().find(is_it).map_or_else(String::new, |it| consent(it.state))
    };
    for (it, skill) in compared[plugins..texts].iter().zip(&skills) {
        let by = authors.of(&skill.root);
        let consent = consent_of(&skill.plugin);
        let (name, plugin) = (skill.name.as_str(), skill.plugin.name.as_str());
        rows.push(maker.row("skill", name, plugin, it, &by, rights::of_skill(), &consent));
        if it.verdict != Verdict::Take {
            findings.extend(suspicions(skill));
        }
    }
    for (it, agent) in compared[texts..].iter().zip(&agents) {
        let (by, consent) = (authors.of(&agent.dir.root), consent_of(&agent.dir.plugin));
        let (name, plugin) = (agent.definition.name.as_str(), agent.dir.plugin.name.as_str());
        let rights = rights::of_agent(&agent.definition);
        rows.push(maker.row("agent", name, plugin, it, &by, rights, &consent));
        if it.verdict != Verdict::Take {
            findings.extend(suspicions_of_agent(agent));
        }
    }
    for entry in lock.entries().iter().filter(|it| it.kind == Kind::Installation) {
        let (plugin, _) = entry.name.split_once('/').unwrap_or((&entry.name, ""));
        let owner = rows.iter().find(|row: &&Row| row.kind == "plugin" && row.name == plugin);
        let trust = owner.map_or("crate", |row| row.trust);
        rows.push(Row {
            kind: "installation",
            name: entry.name.clone(),
            plugin: plugin.to_owned(),
            entry: entry.clone(),
            authors: Vec::new(),
            rights: rights::of_free_program(),
            trust,
            consent: "its plugin".to_owned(),
            state: "agreed",
            records: maker.about(entry),
        });
    }
    Ok((rows, findings))
}

struct Maker<'m> {
    records: &'m [(Utf8PathBuf, Records)],
}

impl Maker<'_> {
    /// Who has looked at it.
    fn about(&self, entry: &Entry) -> Vec<RecordView> {
        let Some(hash) = subject(entry) else { return Vec::new() };
        let about = self.records.iter().flat_map(|(_, records)| {
            records.about(&hash).map(|record| RecordView {
                who: record.who.clone(),
                date: record.date.clone(),
                note: record.note.clone(),
                origin: records.origin.clone(),
            })
        });
        about.collect()
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of a table")]
    fn row(
        &self,
        kind: &'static str,
        name: &str,
        plugin: &str,
        it: &Compared,
        authors: &[String],
        rights: Rights,
        consent: &str,
    ) -> Row {
        let entry = it.item.entry.clone();
        Row {
            records: self.about(&entry),
            kind,
            name: name.to_owned(),
            plugin: plugin.to_owned(),
            authors: authors.to_vec(),
            rights: if rights.is_empty() { vec!["-"] } else { rights },
            trust: match it.item.trust {
                Trust::Own => "workspace",
                Trust::Vouched => "registry",
                Trust::Embedded => "crate",
            },
            consent: consent.to_owned(),
            state: match (it.verdict, &it.status) {
                (Verdict::Refuse, _) => "altered",
                (Verdict::Hold, status) if !matches!(status, Status::Moved { .. }) => "waiting",
                _ => "agreed",
            },
            entry,
        }
    }
}

/// Who said that it may be active. The configuration has no dates, so there is none to tell.
fn consent(state: &State) -> String {
    match state {
        State::Active(Cause::Gate) => "its conditions hold".to_owned(),
        State::Active(Cause::Used) => "config: `use`".to_owned(),
        State::Active(Cause::AutoEnabled) => "config: `auto-enable`".to_owned(),
        State::Active(Cause::Chained(by)) => format!("`{by}` brings it"),
        State::Inactive(_) => String::new(),
    }
}

/// The authors of crates, each read once.
#[derive(Default)]
struct Authors(BTreeMap<Utf8PathBuf, Vec<String>>);

impl Authors {
    fn of(&mut self, dir: &Utf8Path) -> Vec<String> {
        let read = || {
            let text = fs_err::read_to_string(dir.join("Cargo.toml")).ok()?;
            let root: toml::Table = toml::from_str(&text).ok()?;
            let authors = root.get("package")?.get("authors")?.as_array()?;
            Some(authors.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect())
        };
        self.0.entry(dir.to_owned()).or_insert_with(|| read().unwrap_or_default()).clone()
    }
}
