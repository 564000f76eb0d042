//! What is looked at, client by client.
//!
//! The order is that of a user's life: own files, `init` and `sync`, a session in which the model calls
//! the tool, `uninstall`, another session.

use agents_system::process::{Captured, ending};
use agents_testkit::endpoint::{Endpoint, Reply, Request, Script, Tool};
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use hosts_suite::{
    client::{Client, Place, Scope},
    install::Prefix,
    table::Verdict,
    tree::{Tree, lost_line},
};

use crate::{
    ground::{
        AGENT, AGENT_DESCRIPTION, AGENT_PROMPT, ALLOWED, FORBIDDEN, Ground, REASON, SERVER, SKILL,
        SKILL_DESCRIPTION, TOKEN, TOOL,
    },
    report::{Column, Row},
};

/// What the user types. It names nothing that we bring.
const PROMPT: &str = "Say what you know about the crates of this workspace.";

/// What the agent answers.
const ANSWER: &str = "amber-plover-3094 is wrong with them.";

/// What every session is told by us.
const HINT: &str = "Run `cargo agents --help`";

/// Brings one client everything, lets it work, and takes everything back.
pub(crate) fn check(
    client: &dyn Client,
    scope: Scope,
    prefix: &Prefix,
    built: &Utf8Path,
    keep: bool,
) -> anyhow::Result<Row> {
    let version = prefix.version(client.package())?;
    let mut row = Row::new([client.host(), &version, scope.word()]);
    let touch = |file: &str| client.shell_input(&format!("touch {file}"));
    let (hand_over, task) = client.delegate(AGENT, "Read them all.");
    let calls = [
        (client.tool(SERVER, TOOL), json!({"krate": "tiny-sql"})),
        (client.shell().to_owned(), touch(FORBIDDEN)),
        (client.shell().to_owned(), touch(ALLOWED)),
        (hand_over.to_owned(), task),
    ];
    let hear = client.hear();
    let endpoint = Endpoint::start(Script::rule(move |request| model(request, &calls, hear)));
    let ground = Ground::new(built)?;
    let (ours, home, workspace) = (ground.bin(), ground.home(), ground.workspace());
    let (url, model) = (endpoint.url(), endpoint.model());
    let place = Place { prefix, ours: &ours, home: &home, workspace: &workspace, url: &url, model };
    let files = client.files(&place);
    for (path, text) in &files {
        ground.own(path, text);
    }

    let before = ground.tree()?;
    ground.sync(client.host(), scope)?;
    let synced = ground.tree()?;
    row.set(Column::Kept, kept(&home, &files, &synced));

    for (path, text) in client.accepted(&place) {
        ground.own(&path, &text);
    }
    let session = client.prompt(&place, PROMPT).capture();
    let requests = endpoint.requests();
    let said = session.map_or_else(|error| error.to_string(), |done| account(&done));
    row.set(Column::Skill, skill_arrived(&requests));
    row.set(Column::Offered, tool_arrived(&requests, &client.tool(SERVER, TOOL)));
    row.set(Column::Called, tool_answered(&requests, &ground.log()));
    row.set(Column::Hint, hint_arrived(&requests));
    row.set(Column::Denied, was_denied(&requests, client.shell(), &workspace));
    row.set(Column::Reason, reason_arrived(&requests));
    row.set(Column::Others, others_run(&requests, &workspace));
    row.set(Column::Agent, agent_arrived(&requests));
    row.set(Column::Delegated, agent_ran(&requests));

    let used = ground.tree()?;
    ground.agents(&["uninstall"])?;
    let after = ground.tree()?;
    row.set(Column::Clean, is_clean(&before, &synced, &used, &after));

    endpoint.forget();
    let again = client.prompt(&place, PROMPT).capture().context("the second session")?;
    let requests = endpoint.requests();
    row.set(Column::Restarts, restarted(&again, &requests, &client.tool(SERVER, TOOL)));

    if !row.is_good() {
        row.note(format!("{said}\n--- after uninstall\n{}", account(&again)));
    }
    if keep {
        row.note(format!("  left in {}", ground.keep()));
    }
    Ok(row)
}

/// The model makes one call after the other and then thanks; what an agent answers is always the same. What else a client asks
/// (a title for the session) has no such tools, and gets a word.
fn model(request: &Request, calls: &[(String, Value)], hear: Hear) -> Reply {
    if is_agent(request) {
        // Agents of Gemini say it through a tool.
        let tool = request.tool("complete_task").map(|it| it.call(json!({"result": ANSWER})));
        return tool.map_or_else(|| Reply::text(ANSWER), Reply::from);
    }
    let made = request.results().count();
    let heard = || hear(request.results().last()?).filter(|_| made == calls.len());
    let next = calls.get(made).map(|(name, input)| (name.as_str(), input.clone())).or_else(heard);
    let call = next.and_then(|(name, input)| Some(request.tool(name)?.call(input)));
    call.map_or_else(|| Reply::text("Thank you, that is all."), Reply::from)
}

/// How a client hears what became of an agent: [`Client::hear`].
type Hear = fn(&str) -> Option<(&'static str, Value)>;

/// Whether it is the agent that asks, and not the session.
fn is_agent(request: &Request) -> bool {
    request.text().contains(AGENT_PROMPT)
}

fn account(done: &Captured) -> String {
    format!("{}\n{}", ending(done.status), done.said())
}

/// Nothing that the user wrote is gone: every line of every file still stands, in its order.
fn kept(home: &Utf8Path, files: &[(Utf8PathBuf, String)], synced: &Tree) -> Verdict {
    for (path, text) in files {
        let bytes = synced.get(&home.join(path)).map(Vec::as_slice).unwrap_or_default();
        let now = String::from_utf8_lossy(bytes).into_owned();
        if let Some(line) = lost_line(text, &now) {
            return Verdict::No(format!("`{line}` is missing in `{path}`:\n{now}"));
        }
    }
    Verdict::Yes
}

fn skill_arrived(requests: &[Request]) -> Verdict {
    let reads = |request: &Request| {
        let text = request.text();
        text.contains(SKILL) && text.contains(SKILL_DESCRIPTION)
    };
    Verdict::from(requests.iter().any(reads), || {
        format!("none of {} requests has `{SKILL}` with its description", requests.len())
    })
}

fn tool_arrived(requests: &[Request], tool: &str) -> Verdict {
    Verdict::from(requests.iter().any(|request| request.tool(tool).is_some()), || {
        let mut names: Vec<String> =
            requests.iter().flat_map(|it| &it.tools).map(Tool::full_name).collect();
        names.sort();
        names.dedup();
        format!("`{tool}` is not among {}", names.join(", "))
    })
}

fn tool_answered(requests: &[Request], log: &Utf8Path) -> Verdict {
    let answers: Vec<&str> = requests.iter().flat_map(Request::results).collect();
    if !answers.iter().any(|answer| answer.contains(TOKEN)) {
        return Verdict::No(format!("`{TOKEN}` is not in {answers:?}"));
    }
    let calls = fs_err::read_to_string(log).unwrap_or_default();
    Verdict::from(calls == "tiny-sql\n", || format!("the server noted `{calls}`"))
}

fn hint_arrived(requests: &[Request]) -> Verdict {
    Verdict::from(requests.iter().any(|request| request.text().contains(HINT)), || {
        format!("none of {} requests has `{HINT}`", requests.len())
    })
}

/// The command that the hook denies was tried, and left no trace.
fn was_denied(requests: &[Request], shell: &str, workspace: &Utf8Path) -> Verdict {
    if requests.iter().all(|request| request.results().count() < 2) {
        let tools = requests.iter().flat_map(|it| &it.tools).map(Tool::full_name);
        let mut tools: Vec<String> = tools.collect();
        tools.dedup();
        return Verdict::No(format!("`{shell}` was not tried; there are {}", tools.join(", ")));
    }
    Verdict::from(!workspace.join(FORBIDDEN).exists(), || format!("`{FORBIDDEN}` was made"))
}

fn reason_arrived(requests: &[Request]) -> Verdict {
    let results: Vec<&str> = requests.iter().flat_map(Request::results).collect();
    Verdict::from(results.iter().any(|result| result.contains(REASON)), || {
        format!("`{REASON}` is not in {results:?}")
    })
}

fn others_run(requests: &[Request], workspace: &Utf8Path) -> Verdict {
    Verdict::from(workspace.join(ALLOWED).exists(), || {
        let results: Vec<&str> = requests.iter().flat_map(Request::results).collect();
        format!("`{ALLOWED}` was not made: {results:?}")
    })
}

/// What we touched is as it was before. Where the client wrote to the same file in the meantime, only its
/// own change may be left.
fn agent_arrived(requests: &[Request]) -> Verdict {
    let offered = |request: &Request| {
        let text = request.text();
        let schemas = request.tools.iter().map(|it| it.schema.to_string());
        let all = schemas.chain([text]).collect::<String>();
        all.contains(AGENT) && all.contains(AGENT_DESCRIPTION)
    };
    Verdict::from(requests.iter().any(|it| !is_agent(it) && offered(it)), || {
        format!("`{AGENT}` is not in any of {} requests", requests.len())
    })
}

/// It was asked with its own prompt, and the session heard its answer.
fn agent_ran(requests: &[Request]) -> Verdict {
    if !requests.iter().any(is_agent) {
        let tools = requests.iter().flat_map(|it| &it.tools).map(Tool::full_name);
        let tools: std::collections::BTreeSet<String> = tools.collect();
        return Verdict::No(format!("it was not asked; there are {tools:?}"));
    }
    let heard = requests.iter().filter(|it| !is_agent(it)).any(|it| it.text().contains(ANSWER));
    Verdict::from(heard, || "its answer did not reach the session".to_owned())
}

fn is_clean(before: &Tree, synced: &Tree, used: &Tree, after: &Tree) -> Verdict {
    // What was agreed to is the workspace's, like `Cargo.lock`, and stays.
    let is_ours = |path: &str| !path.ends_with("/agents.lock");
    let touched = synced
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes) && is_ours(path.as_ref()));
    for (path, bytes) in touched {
        let was = before.get(path);
        let is = after.get(path);
        let by_client = used.get(path) != Some(bytes);
        let text = String::from_utf8_lossy(is.map(Vec::as_slice).unwrap_or_default());
        if was != is && (!by_client || text.contains(TOKEN) || text.contains(SKILL)) {
            return Verdict::No(format!("`{path}` is not as before:\n{text}"));
        }
    }
    Verdict::Yes
}

fn restarted(again: &Captured, requests: &[Request], tool: &str) -> Verdict {
    if requests.is_empty() || !again.status.success() {
        return Verdict::No(format!("it made {} requests", requests.len()));
    }
    let ours = |request: &Request| {
        let text = request.text();
        request.tool(tool).is_some() || text.contains(SKILL) || text.contains(HINT)
    };
    Verdict::from(!requests.iter().any(ours), || {
        "it still knows the skill, the tool or the hint".to_owned()
    })
}

#[cfg(test)]
mod tests;
