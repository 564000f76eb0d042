//! The tools' names in all hosts.
//!
//! One table: a row for each tool that more than one host has or that matters for what an agent may do, with our name first. A name
//! that stands in several rows of one column means all of them: `edit` of Copilot writes files, too.

use super::ToolPattern;
use crate::{
    definition::Dialect,
    dialect::grammar::{McpNames, Patterns},
};

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It looks.
    Reads,
    /// It may change something, or run what does.
    Changes,
}

/// Whose tool a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Familiar {
    /// One of the host in question, of an MCP server, or a pattern.
    Own,
    /// One of another host.
    Foreign,
    /// Nobody's that we know of.
    Unknown,
}

use Effect::{Changes, Reads};

struct Row {
    name: &'static str,
    effect: Effect,
    /// The names in the order of [`COLUMNS`]; of several in one place, the first one is written.
    hosts: [&'static str; 10],
}

const COLUMNS: [Dialect; 10] = [
    Dialect::Claude,
    Dialect::Zeph,
    Dialect::OhMyPi,
    Dialect::AgentSdk,
    Dialect::Copilot,
    Dialect::Gemini,
    Dialect::OpenCode,
    Dialect::Kiro,
    Dialect::Qwen,
    Dialect::Factory,
];

const fn row(name: &'static str, effect: Effect, hosts: [&'static str; 10]) -> Row {
    Row { name, effect, hosts }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    //                           Claude              Zeph             oh-my-pi      agentsdk           Copilot                       Gemini                           OpenCode                Kiro                            Qwen                       Factory
    row("read", Reads,          ["Read",             "read",          "read",       "read",            "read view",                  "read_file read_many_files",     "read",                 "read fs_read",                 "read_file read_many_files", "Read read-only"]),
    row("list", Reads,          ["LS",               "list_directory", "ls",        "ls",              "",                           "list_directory",                "list",                 "",                             "list_directory",          "LS read-only"]),
    row("grep", Reads,          ["Grep",             "grep",          "search grep", "grep",           "grep search",                "grep_search search_file_content", "grep",               "grep",                         "grep_search",             "Grep read-only"]),
    row("glob", Reads,          ["Glob",             "find_path glob", "find glob",  "glob",           "glob search",                "glob",                          "glob",                 "glob",                         "glob",                    "Glob read-only"]),
    row("write", Changes,       ["Write",            "write",         "write",      "write",           "edit create write",          "write_file",                    "edit write patch multiedit", "write fs_write",               "write_file",              "Create edit"]),
    row("edit", Changes,        ["Edit MultiEdit",   "edit",          "edit",       "edit",            "edit",                       "replace",                       "edit write patch multiedit", "write fs_write",               "edit replace",            "Edit MultiEdit ApplyPatch edit"]),
    row("notebook_edit", Changes, ["NotebookEdit",   "",              "notebook",   "notebookedit",    "",                           "",                              "",                     "",                             "notebook_edit",           ""]),
    row("bash", Changes,        ["Bash",             "bash",          "bash",       "bash",            "execute bash shell powershell", "run_shell_command",           "bash",                 "shell execute_bash execute_cmd", "run_shell_command",      "Execute execute"]),
    row("bash_output", Reads,   ["BashOutput TaskOutput", "",         "",           "bash_output",     "",                           "",                              "",                     "",                             "",                        ""]),
    row("kill_shell", Changes,  ["KillShell TaskStop", "",            "",           "kill_task",       "",                           "",                              "",                     "",                             "",                        ""]),
    row("web_fetch", Reads,     ["WebFetch",         "fetch web_scrape", "fetch",   "webfetch",        "web web_fetch",              "web_fetch",                     "webfetch",             "web_fetch",                    "web_fetch",               "FetchUrl web"]),
    row("web_search", Reads,    ["WebSearch",        "web_search",    "web_search", "websearch",       "web",                        "google_web_search",             "websearch",            "web_search",                   "web_search",              "WebSearch web"]),
    row("task", Changes,        ["Agent Task",       "",              "task",       "task",            "agent task custom-agent",    "",                              "task",                 "subagent use_subagent",        "agent task",              ""]),
    row("todo", Reads,          ["TodoWrite",        "",              "todo todo_write", "todowrite",  "todo",                       "write_todos",                   "todowrite todoread",   "todo todo_list",               "todo_write",              "TodoWrite"]),
    row("skill", Reads,         ["Skill",            "load_skill",    "",           "skill",           "skill",                      "activate_skill",                "skill",                "",                             "skill",                   "Skill"]),
    row("ask", Reads,           ["AskUserQuestion",  "",              "ask",        "askuserquestion", "ask_user",                   "ask_user",                      "question",             "",                             "ask_user_question",       "AskUser"]),
    row("lsp", Reads,           ["LSP",              "",              "lsp",        "lsp",             "",                           "",                              "lsp",                  "code",                         "lsp",                     ""]),
    row("exit_plan", Reads,     ["ExitPlanMode",     "",              "",           "exitplanmode",    "",                           "exit_plan_mode",                "",                     "",                             "exit_plan_mode",          "ExitSpecMode"]),
    row("memory", Changes,      ["",                 "memory_save",   "",           "",                "",                           "save_memory",                   "",                     "knowledge",                    "save_memory",             ""]),
    row("ast_grep", Reads,      ["",                 "",              "ast_grep",   "",                "",                           "",                              "",                     "",                             "",                        ""]),
    row("ast_edit", Changes,    ["",                 "",              "ast_edit",   "",                "",                           "",                              "",                     "",                             "",                        ""]),
    row("python", Changes,      ["",                 "",              "python eval", "",               "",                           "",                              "",                     "",                             "",                        ""]),
    row("browser", Changes,     ["",                 "",              "browser puppeteer", "",         "",                           "",                              "",                     "",                             "",                        ""]),
    row("report_finding", Reads, ["",                "",              "report_finding", "",            "",                           "",                              "",                     "",                             "",                        ""]),
    row("use_aws", Changes,     ["",                 "",              "",           "",                "",                           "",                              "",                     "aws use_aws",                  "",                        ""]),
];

/// Our names for all tools that we know.
pub fn all() -> impl Iterator<Item = (&'static str, Effect)> {
    ROWS.iter().map(|row| (row.name, row.effect))
}

/// Our names for the tools that a host has.
pub fn of_host(dialect: Dialect) -> impl Iterator<Item = (&'static str, Effect)> {
    ROWS.iter().filter(move |row| first(row, dialect).is_some()).map(|row| (row.name, row.effect))
}

/// What a tool does; one that we do not know may do anything.
#[must_use]
pub fn effect(tool: &str) -> Effect {
    ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(tool)).map_or(Changes, |row| row.effect)
}

/// What a name in a file of this dialect means, in our names. The argument in parentheses, if there is one, stays.
#[must_use]
pub fn from_host(dialect: Dialect, text: &str) -> (Vec<ToolPattern>, Familiar) {
    let pattern = ToolPattern::new(text);
    let name = pattern.tool();
    if name == "*" || name.is_empty() {
        return (vec![pattern.clone()], Familiar::Own);
    }
    if let Some(mcp) = Mcp::parse(McpNames::Double, name) {
        return (vec![mcp.pattern()], Familiar::Own);
    }
    let with_argument = |row: &Row| match pattern.argument() {
        Some(argument) => ToolPattern::new(&format!("{}({argument})", row.name)),
        None => ToolPattern::new(row.name),
    };
    let meant = |rows: Vec<&Row>, familiar| {
        (rows.into_iter().map(with_argument).collect::<Vec<_>>(), familiar)
    };
    let own = rows_called(dialect, name);
    if !own.is_empty() {
        return meant(own, Familiar::Own);
    }
    let names = dialect.grammar().mcp_names;
    if dialect == Dialect::Kiro && name == "@builtin" {
        return meant(
            ROWS.iter().filter(|row| first(row, dialect).is_some()).collect(),
            Familiar::Own,
        );
    }
    // A plain name with `_` in it may be anybody's.
    if names != McpNames::Bare
        && let Some(mcp) = Mcp::parse(names, name)
    {
        return (vec![mcp.pattern()], Familiar::Own);
    }
    let familiar = if dialect == Dialect::Ours { Familiar::Own } else { Familiar::Foreign };
    let canonical = rows_called(Dialect::Ours, name);
    if !canonical.is_empty() {
        return meant(canonical, familiar);
    }
    let foreign = COLUMNS.iter().map(|it| rows_called(*it, name)).find(|rows| !rows.is_empty());
    if let Some(rows) = foreign {
        return meant(rows, familiar);
    }
    if let Some(mcp) = Mcp::parse(names, name) {
        return (vec![mcp.pattern()], Familiar::Own);
    }
    let familiar = if name.contains('*') { Familiar::Own } else { Familiar::Unknown };
    (vec![pattern], familiar)
}

/// How a pattern is written in this dialect; `None` if the host has no such tool or no such pattern. The argument is left to
/// the caller.
#[must_use]
pub fn to_host(dialect: Dialect, pattern: &ToolPattern) -> Option<String> {
    let name = pattern.tool();
    if dialect == Dialect::Ours {
        // A host's name for a tool is read as ours.
        let same = |it: &ToolPattern| it.tool() == name;
        return from_host(dialect, name).0.iter().any(same).then(|| name.to_owned());
    }
    let grammar = dialect.grammar();
    if let Some(mcp) = Mcp::parse(McpNames::Double, name) {
        let whole = mcp.tool == "*";
        let fine = !whole || grammar.patterns >= Patterns::Servers;
        return mcp.text(grammar.mcp_names).filter(|_| fine);
    }
    if name.contains('*') {
        return (grammar.patterns == Patterns::All).then(|| name.to_owned());
    }
    match ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name)) {
        Some(row) => first(row, dialect).map(str::to_owned),
        // A tool that somebody made; it is called the same everywhere, unless the host calls another one that.
        None => Some(name.to_owned())
            .filter(|name| from_host(dialect, name).0 == [ToolPattern::new(name)]),
    }
}

/// The rows that a name stands in: as it is written, or else in any case.
fn rows_called(dialect: Dialect, name: &str) -> Vec<&'static Row> {
    let column = COLUMNS.iter().position(|it| *it == dialect);
    let rows = |same: fn(&str, &str) -> bool| -> Vec<&'static Row> {
        let theirs = |row: &Row| {
            column.is_some_and(|at| row.hosts[at].split_ascii_whitespace().any(|it| same(it, name)))
        };
        let ours = |row: &Row| dialect == Dialect::Ours && same(row.name, name);
        ROWS.iter().filter(|row| ours(row) || theirs(row)).collect()
    };
    let exact = rows(|a, b| a == b);
    if exact.is_empty() { rows(str::eq_ignore_ascii_case) } else { exact }
}

fn cell(row: &Row, dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let column = COLUMNS.iter().position(|it| *it == dialect);
    let own = (dialect == Dialect::Ours).then_some(row.name);
    own.into_iter().chain(column.into_iter().flat_map(|at| row.hosts[at].split_ascii_whitespace()))
}

fn first(row: &Row, dialect: Dialect) -> Option<&'static str> {
    cell(row, dialect).next()
}

/// A tool of an MCP server; `*` for all of them.
struct Mcp<'t> {
    server: &'t str,
    tool: &'t str,
}

impl<'t> Mcp<'t> {
    fn parse(names: McpNames, name: &'t str) -> Option<Self> {
        let (server, tool) = match names {
            McpNames::Double => {
                let rest = name.strip_prefix("mcp__")?;
                rest.split_once("__").unwrap_or((rest, "*"))
            }
            McpNames::Single => {
                let rest = name.strip_prefix("mcp_")?;
                rest.split_once('_').unwrap_or((rest, "*"))
            }
            McpNames::Slash => name.split_once('/')?,
            McpNames::At => {
                let rest = name.strip_prefix('@')?;
                rest.split_once('/').unwrap_or((rest, "*"))
            }
            McpNames::Bare => name.split_once('_')?,
        };
        (!server.is_empty() && !tool.is_empty()).then_some(Self { server, tool })
    }

    /// In our names.
    fn pattern(&self) -> ToolPattern {
        match (self.server, self.tool) {
            ("*", "*") => ToolPattern::new("mcp__*"),
            (server, tool) => ToolPattern::new(&format!("mcp__{server}__{tool}")),
        }
    }

    fn text(&self, names: McpNames) -> Option<String> {
        let (server, tool) = (self.server, self.tool);
        if server == "*" {
            // That of all servers, in the hosts that can say it.
            return match names {
                McpNames::Double => Some("mcp__*".to_owned()),
                McpNames::Single => Some("mcp_*".to_owned()),
                McpNames::Slash | McpNames::At | McpNames::Bare => None,
            };
        }
        let text = match names {
            McpNames::Double => format!("mcp__{server}__{tool}"),
            McpNames::Single => format!("mcp_{server}_{tool}"),
            McpNames::Slash => format!("{server}/{tool}"),
            McpNames::At if tool == "*" => format!("@{server}"),
            McpNames::At => format!("@{server}/{tool}"),
            McpNames::Bare => format!("{server}_{tool}"),
        };
        // A server with the wrong character in its name would be another one there.
        let same =
            Mcp::parse(names, &text).is_some_and(|it| (it.server, it.tool) == (server, tool));
        same.then_some(text)
    }
}

#[cfg(test)]
mod tests;
