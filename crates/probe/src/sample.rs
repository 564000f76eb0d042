//! What is brought to a host so that one can tell whether it arrived: a plugin with one thing of each kind.
//!
//! Every name and sentence is one that no model and no host has by itself.

use std::{collections::BTreeMap, io};

use agents_system::atomic;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::client::Client;

/// The crate that the plugin is about.
pub const CRATE: &str = "tiny-sql";
/// The name of the MCP server that the plugin brings.
pub const SERVER: &str = "notes";
/// Its tool.
pub const TOOL: &str = "look_up";
/// What only that server knows.
pub const TOKEN: &str = "quartz-lantern-4711";
/// The name of the skill that the plugin brings.
pub const SKILL: &str = "tiny-sql-queries";
/// Its description.
pub const SKILL_DESCRIPTION: &str = "Use when writing queries with the tiny-sql crate";
/// The name of the agent that the plugin brings.
pub const AGENT: &str = "query-reviewer";
/// Its description.
pub const AGENT_DESCRIPTION: &str =
    "Reads queries written with tiny-sql and says what is wrong with them";
/// What only that agent is told.
pub const AGENT_PROMPT: &str = "You are marble-kestrel-5530, who reads queries.";
/// Why the plugin's hook denies a command.
pub const REASON: &str = "basalt-heron-8123 forbids it";
/// The file that a command makes which the hook denies.
pub const FORBIDDEN: &str = "forbidden.txt";
/// The file that a command makes which the hook says nothing about.
pub const ALLOWED: &str = "allowed.txt";
/// What every session is told by us.
pub const HINT: &str = "Run `cargo agents --help`";

/// How MCP servers of plugins are registered, as `mcp-register` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// As one server that stands for all of them.
    One,
    /// Each by itself.
    Each,
}

impl Servers {
    /// Its word in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Each => "each",
        }
    }

    /// What the model calls to have the plugin's server look something up, and with what.
    #[must_use]
    pub fn call(self, client: &dyn Client) -> (String, Value) {
        let input = json!({"krate": CRATE});
        match self {
            Self::Each => (client.tool(SERVER, TOOL), input),
            Self::One => (
                client.tool("cargo-agents", "call_tool"),
                json!({"server": SERVER, "tool": TOOL, "arguments": input}),
            ),
        }
    }
}

/// A registry with the plugin, to be.
#[derive(Debug)]
pub struct Registry<'a> {
    /// Where it is.
    pub dir: &'a Utf8Path,
    /// The program of the MCP server, with arguments in front of its own.
    pub server: (&'a Utf8Path, &'a [&'a str]),
    /// What the server writes when its tool is called.
    pub log: &'a Utf8Path,
    /// Events that leave a mark, and where.
    pub marks: Option<Marks<'a>>,
}

/// A hook for each of these events leaves a mark: a line in a file with the event's name.
#[derive(Debug, Clone, Copy)]
pub struct Marks<'a> {
    /// As manifests write them.
    pub events: &'a [&'a str],
    /// Where the files are.
    pub dir: &'a Utf8Path,
}

/// How often each event left its mark.
pub type Counts = BTreeMap<String, usize>;

/// What a script does to leave one.
#[must_use]
pub fn leave_mark(dir: &Utf8Path, event: &str) -> String {
    format!("cat > /dev/null\necho >> '{dir}/{event}'")
}

/// The marks that were left in a directory so far.
///
/// # Errors
/// They cannot be read.
pub fn count_marks(dir: &Utf8Path) -> io::Result<Counts> {
    let mut counts = Counts::new();
    for entry in dir.read_dir_utf8()? {
        let entry = entry?;
        let lines = fs_err::read_to_string(entry.path())?.lines().count();
        counts.insert(entry.file_name().to_owned(), lines);
    }
    Ok(counts)
}

/// Takes them: the next ones are those of whatever comes next.
///
/// # Errors
/// They cannot be read, or not be removed.
pub fn take_marks(dir: &Utf8Path) -> io::Result<Counts> {
    let counts = count_marks(dir)?;
    counts.keys().try_for_each(|event| fs_err::remove_file(dir.join(event)))?;
    Ok(counts)
}

impl Registry<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let plugin = self.dir.join(CRATE);
        let (server, first) = self.server;
        let args: Vec<&str> = first.iter().copied().chain(["--log", self.log.as_str()]).collect();
        let mut manifest = format!(
            "name = \"tiny-sql-notes\"\ncrates = [\"{CRATE}\"]\n\n\
             [[skills]]\nsource.path = \"skills\"\n\n\
             [[agents]]\nsource.path = \"agents\"\n\n\
             [[mcp_servers]]\nname = \"{SERVER}\"\ncommand = \"{server}\"\n\
             args = {args:?}\nenv = {{ NOTES_TOKEN = \"{TOKEN}\" }}\n\n\
             [[hooks]]\nname = \"guard\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"guard.sh\" }}\n"
        );
        for mark in self.marks.iter().flat_map(|marks| marks.events) {
            manifest += &format!(
                "\n[[hooks]]\nname = \"mark-{mark}\"\nevent = \"{mark}\"\ncommand = {{ script = \"mark-{mark}.sh\" }}\n"
            );
        }
        let guard = format!("case $(cat) in *{FORBIDDEN}*) echo '{REASON}' >&2; exit 2;; esac");
        let skill = format!(
            "---\nname: {SKILL}\ndescription: {SKILL_DESCRIPTION}\n---\nBind every value.\n"
        );
        let agent =
            format!("---\nname: {AGENT}\ndescription: {AGENT_DESCRIPTION}\n---\n{AGENT_PROMPT}\n");
        let write = |path: String, text: String| atomic::write(&plugin.join(path), text.as_bytes());
        write("SYMPOSIUM.toml".to_owned(), manifest)?;
        write(format!("skills/{SKILL}/SKILL.md"), skill)?;
        write(format!("agents/{AGENT}.md"), agent)?;
        write_script(&plugin.join("guard.sh"), &guard)?;
        if let Some(Marks { events, dir }) = &self.marks {
            for event in *events {
                write_script(&plugin.join(format!("mark-{event}.sh")), &leave_mark(dir, event))?;
            }
        }
        Ok(())
    }

    /// What our configuration says for a user of this registry.
    #[must_use]
    pub fn config(&self, servers: Servers) -> String {
        format!(
            "mcp-register = \"{}\"\n\n[defaults]\nsymposium-recommendations = false\n\n\
             [[registry]]\nname = \"team\"\npath = \"{}\"\n",
            servers.word(),
            self.dir
        )
    }
}

fn write_script(path: &Utf8Path, body: &str) -> io::Result<()> {
    atomic::write(path, format!("#!/bin/sh\n{body}\n").as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Writes a workspace that depends on the crate, from a directory beside it: cargo needs neither network nor registry.
///
/// # Errors
/// A file cannot be written.
pub fn write_workspace(root: &Utf8Path) -> io::Result<Utf8PathBuf> {
    let workspace = root.join("work");
    let package = |name: &str, version: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n")
    };
    let app = package("app", "0.1.0")
        + &format!("\n[dependencies]\n{CRATE} = {{ path = \"../{CRATE}\" }}\n\n[workspace]\n");
    let lock = format!(
        "version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"{CRATE}\",\n]\n\n\
         [[package]]\nname = \"{CRATE}\"\nversion = \"0.3.1\"\n"
    );
    for (path, text) in [
        (workspace.join("Cargo.toml"), app),
        (workspace.join("Cargo.lock"), lock),
        (workspace.join("src/lib.rs"), String::new()),
        (root.join(CRATE).join("Cargo.toml"), package(CRATE, "0.3.1") + "\n[workspace]\n"),
        (root.join(CRATE).join("src/lib.rs"), String::new()),
    ] {
        atomic::write(&path, text.as_bytes())?;
    }
    Ok(workspace)
}
