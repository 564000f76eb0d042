//! From the text of a descriptor to a [`Host`].

use agents_system::{
    decode::{Table, Text},
    finding::Finding,
};
use semver::Version;

use crate::{
    event::Event,
    host::{
        AgentFormat, Agents, Confidence, Detect, FileFormat, ForeignReads, Headless,
        HeadlessFormat, HookShape, Hooks, Host, Instructions, Mcp, Reads, Rights, Skills, Surface,
        Timeout, Transport, Trust, TrustKind,
    },
    id::HostId,
    layered::Layered,
    mcp::McpShape,
    path::{PathError, ProjectPath, UserPath},
};

const CONFIDENCE: &[(&str, Confidence)] =
    &[("seen", Confidence::Seen), ("high", Confidence::High), ("medium", Confidence::Medium)];
const AGENT_FORMATS: &[(&str, AgentFormat)] = &[
    ("markdown", AgentFormat::Markdown),
    ("toml", AgentFormat::Toml),
    ("json", AgentFormat::Json),
];
const FILE_FORMATS: &[(&str, FileFormat)] =
    &[("json", FileFormat::Json), ("toml", FileFormat::Toml), ("yaml", FileFormat::Yaml)];
const HOOK_SHAPES: &[(&str, HookShape)] = &[
    ("groups", HookShape::Groups),
    ("named-groups", HookShape::NamedGroups),
    ("groups-file", HookShape::GroupsFile),
    ("antigravity", HookShape::Antigravity),
    ("copilot", HookShape::Copilot),
    ("cursor", HookShape::Cursor),
    ("kiro", HookShape::Kiro),
    ("opencode", HookShape::OpenCode),
];
const HEADLESS_FORMATS: &[(&str, HeadlessFormat)] = &[
    ("claude", HeadlessFormat::Claude),
    ("codex", HeadlessFormat::Codex),
    ("gemini", HeadlessFormat::Gemini),
    ("opencode", HeadlessFormat::OpenCode),
    ("copilot", HeadlessFormat::Copilot),
    ("goose", HeadlessFormat::Goose),
];
const TRUST_KINDS: &[(&str, TrustKind)] =
    &[("folder", TrustKind::Folder), ("definition", TrustKind::Definition)];

/// `None` when something is missing that a host cannot be without; the document has the findings.
pub(crate) fn decode<'d>(base: Table<'d>, over: Option<Table<'d>>) -> Option<Host> {
    let id = base.required_string("id").and_then(|text| {
        let id = HostId::new(&text);
        if id.is_none() {
            text.error("`id` must be made of lower-case letters, digits and hyphens");
        }
        id
    });
    let root = Layered::new(base, over);
    let name = root.required_string("name");
    let aliases = root.strings("aliases");
    let confidence = root.required("confidence", |it| it.choice("confidence", CONFIDENCE));
    let home = root.required("home", |it| {
        let home = user_path_in(it, "home")?;
        if home.is_in_host_home() {
            it.report(Finding::error("`home` cannot be inside `{home}`"));
            return None;
        }
        Some(home)
    });
    let detect = root.table("detect").map(|table| decode_detect(&table));
    let skills = root.table("skills").and_then(|table| decode_skills(&table));
    let agents = root.table("agents").and_then(|table| surface(table, decode_agents));
    let hooks = root.table("hooks").and_then(|table| surface(table, decode_hooks));
    let mcp = root.table("mcp").and_then(|table| surface(table, decode_mcp));
    let instructions = root.table("instructions").and_then(|table| decode_instructions(&table));
    let reads = root.optional_table("reads").map(|table| decode_reads(&table)).unwrap_or_default();
    let headless = root.optional_table("headless").and_then(|table| decode_headless(&table));
    let plugins = root.string("plugins");
    let notes = root.strings("notes");
    root.finish();
    Some(Host {
        id: id?,
        name: name?,
        aliases,
        confidence: confidence?,
        home: home?,
        detect: detect?,
        skills: skills?,
        agents: agents?,
        hooks: hooks?,
        mcp: mcp?,
        instructions: instructions?,
        reads,
        headless,
        plugins,
        notes,
    })
}

/// `none = "why"`, or what `decode` makes of the table.
fn surface<T>(
    mut table: Layered<'_>,
    decode: impl Fn(&Layered<'_>) -> Option<T>,
) -> Option<Surface<T>> {
    let surface = match table.none() {
        Some(reason) => Surface::Absent { reason },
        None => Surface::Present(decode(&table)?),
    };
    table.finish();
    Some(surface)
}

fn decode_detect(table: &Layered<'_>) -> Detect {
    let detect = Detect {
        programs: table.strings("programs"),
        paths: table.list("paths", UserPath::parse),
        oldest: table.parsed("oldest", Version::parse),
    };
    table.finish();
    detect
}

fn decode_skills(table: &Layered<'_>) -> Option<Skills> {
    let project = table.required("project", |it| path_in(it, "project"));
    let user = table.required("user", |it| user_path_in(it, "user"));
    let also_project = table.list("also-project", ProjectPath::parse);
    let also_user = table.list("also-user", UserPath::parse);
    let listing = table.parsed("listing", |text| {
        let number = text.strip_suffix(" characters").and_then(|number| number.parse().ok());
        number.ok_or("`listing` must look like `8000 characters`")
    });
    table.finish();
    Some(Skills { project: project?, also_project, user: user?, also_user, listing })
}

fn decode_agents(table: &Layered<'_>) -> Option<Agents> {
    let format = table.required("format", |it| it.choice("format", AGENT_FORMATS));
    let suffix = table.required_string("suffix");
    Some(Agents {
        project: project_path(table, "project"),
        user: user_path(table, "user"),
        format: format?,
        suffix: suffix?,
    })
}

fn decode_hooks(table: &Layered<'_>) -> Option<Hooks> {
    let shape = table.required("shape", |it| it.choice("shape", HOOK_SHAPES));
    let container = table.strings("container");
    let matcher = table.string("matcher");
    let timeout = table.parsed("timeout", |text| {
        Timeout::parse(text).ok_or("`timeout` must look like `10 s` or `10000 ms`")
    });
    let trust = table.read("trust", |it| it.choice("trust", TRUST_KINDS));
    let trust_hint = match trust {
        Some(_) => table.required_string("trust-hint"),
        None => table.string("trust-hint"),
    };
    let events = table.table("events").map(|table| decode_events(&table)).unwrap_or_default();
    Some(Hooks {
        project: project_path(table, "project"),
        user: user_path(table, "user"),
        fallback_project: project_path(table, "fallback-project"),
        fallback_user: user_path(table, "fallback-user"),
        hint_project: project_path(table, "hint-project"),
        hint_user: user_path(table, "hint-user"),
        shape: shape?,
        container,
        matcher,
        timeout,
        trust: trust.zip(trust_hint).map(|(kind, hint)| Trust { kind, hint }),
        events,
    })
}

/// An empty name means that the host has no such event, so that a user can take one away.
fn decode_events(table: &Layered<'_>) -> Vec<(Event, String)> {
    let events = Event::ALL.into_iter().filter_map(|event| {
        let name = table.string(event.name())?;
        (!name.is_empty()).then_some((event, name))
    });
    let events = events.collect();
    table.finish();
    events
}

fn decode_mcp(table: &Layered<'_>) -> Option<Mcp> {
    let format = table.required("format", |it| it.choice("format", FILE_FORMATS));
    let container = table.strings("container");
    let shape = table.required("shape", |it| it.choice("shape", McpShape::ALL));
    let shape_project = table.read("shape-project", |it| it.choice("shape-project", McpShape::ALL));
    let transports = table.list("transports", |text| {
        let all = [Transport::Stdio, Transport::Http, Transport::Sse];
        let found = all.into_iter().find(|transport| transport.word() == text);
        found.ok_or("a transport is `stdio`, `http` or `sse`")
    });
    Some(Mcp {
        project: project_path(table, "project"),
        instead_project: table.list("instead-project", ProjectPath::parse),
        user: user_path(table, "user"),
        instead_user: table.list("instead-user", UserPath::parse),
        format: format?,
        container,
        shape: shape?,
        shape_project: shape_project.or(shape)?,
        transports,
    })
}

fn decode_instructions(table: &Layered<'_>) -> Option<Instructions> {
    let project = table.required("project", |it| path_in(it, "project"));
    let also_project = table.list("also-project", ProjectPath::parse);
    let user = user_path(table, "user");
    table.finish();
    Some(Instructions { project: project?, also_project, user })
}

fn decode_headless(table: &Layered<'_>) -> Option<Headless> {
    let format = table.required("format", |it| it.choice("format", HEADLESS_FORMATS));
    let env = |key| {
        table.list(key, |text| {
            let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
            let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
            pair.ok_or("a variable is written as `NAME=value`")
        })
    };
    let some = |rights: Rights| (rights != Rights::default()).then_some(rights);
    let headless = Headless {
        args: table.strings("args"),
        last: table.strings("last"),
        model: table.string("model"),
        models: table.strings("models"),
        system: table.string("system"),
        effort: table.string("effort"),
        read: Rights { args: table.strings("read"), env: env("read-env") },
        edit: some(Rights { args: table.strings("edit"), env: env("edit-env") }),
        all: some(Rights { args: table.strings("all"), env: env("all-env") }),
        unset: table.strings("unset"),
        format: format?,
    };
    table.finish();
    Some(headless)
}

fn decode_reads(table: &Layered<'_>) -> Reads {
    let project = table.optional_table("project").map(|it| reads_in(&it, ProjectPath::parse));
    let user = table.optional_table("user").map(|it| reads_in(&it, UserPath::parse));
    table.finish();
    Reads { project: project.unwrap_or_default(), user: user.unwrap_or_default() }
}

fn reads_in<P>(
    table: &Layered<'_>,
    parse: impl Fn(&str) -> Result<P, PathError> + Copy,
) -> ForeignReads<P> {
    let reads = ForeignReads {
        hooks: table.list("hooks", parse),
        agents: table.list("agents", parse),
        mcp: table.list("mcp", parse),
    };
    table.finish();
    reads
}

fn project_path(table: &Layered<'_>, key: &'static str) -> Option<ProjectPath> {
    table.read(key, |it| path_in(it, key))
}

fn user_path(table: &Layered<'_>, key: &'static str) -> Option<UserPath> {
    table.read(key, |it| user_path_in(it, key))
}

fn path_in(table: &Table<'_>, key: &'static str) -> Option<ProjectPath> {
    let text = table.string(key)?;
    ProjectPath::parse(&text).map_err(|error| text.error(error.to_string())).ok()
}

/// A string, or a list of alternatives.
fn user_path_in(table: &Table<'_>, key: &'static str) -> Option<UserPath> {
    let value = table.get(key)?;
    let texts = table.string_or_strings(key);
    if texts.is_empty() && !value.is_array() {
        return None;
    }
    let wrong = texts.iter().find_map(|text| Some((text, UserPath::parse(text).err()?)));
    if let Some((text, error)) = wrong {
        text.error(error.to_string());
        return None;
    }
    let path = UserPath::parse_list(texts.iter().map(Text::as_str));
    path.map_err(|error| value.report(Finding::error(error.to_string()))).ok()
}
