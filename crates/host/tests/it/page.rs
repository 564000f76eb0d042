//! `docs/hosts.md`.

use std::fmt::{Display, Write};

use agents_host::{Event, Host, Transport, host::Rights, hosts};

const HEAD: &str = "\
# Hosts

A *host* is a coding agent that `cargo agents` configures and that calls it back. Everything below is data: one
file per host in `crates/host/hosts`, of which single keys can be replaced in `hosts.toml` beside the
configuration:

```toml
# hosts.toml
[host.codex]
skills.user = \"~/.codex/skills\"
hooks.timeout = \"20 s\"
```

This page is generated from the descriptors (`UPDATE_DOCS=1 cargo test -p agents-host`).

`{home}` is the directory that the host calls its home. Of several paths the first whose variable is set counts; a
variable that is empty or not an absolute path counts as not set. *Known from*: *seen* means that the published
program was watched reading these files, *high* the vendor's documentation or sources, *medium* several others
who agree.

";

#[test]
fn the_page_of_hosts_is_up_to_date() {
    let (hosts, findings) = hosts(None);
    assert_eq!(findings, []);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hosts.md");
    agents_testkit::pages::check_generated(file, &page(&hosts));
}

fn page(hosts: &[Host]) -> String {
    let mut text = HEAD.to_owned();
    overview(&mut text, hosts);
    events(&mut text, hosts);
    headless(&mut text, hosts);
    for host in hosts {
        section(&mut text, host);
    }
    text
}

fn overview(text: &mut String, hosts: &[Host]) {
    text.push_str("| host | called | skills | hooks | MCP | sub-agents | known from |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for host in hosts {
        let hooks =
            host.hooks.get().map_or("-".to_owned(), |it| format!("{} events", it.events.len()));
        let words = |transports: &[Transport]| {
            transports.iter().map(|it| it.word()).collect::<Vec<_>>().join(", ")
        };
        let mcp = host.mcp.get().map_or("-".to_owned(), |it| words(&it.transports));
        let agents = host.agents.get().map_or("-".to_owned(), |it| format!("`{}`", it.suffix));
        let (id, name, known) = (&host.id, &host.name, host.confidence.word());
        let skills = host.skills.project.to_string();
        writeln!(text, "| {name} | `{id}` | `{skills}` | {hooks} | {mcp} | {agents} | {known} |")
            .unwrap();
    }
    text.push('\n');
}

fn events(text: &mut String, hosts: &[Host]) {
    let with: Vec<&Host> = hosts.iter().filter(|host| host.hooks.get().is_some()).collect();
    text.push_str("## Events\n\nWhat each host calls the moment; `-` where it has no such moment.\n\n| event |");
    for host in &with {
        write!(text, " {} |", host.id).unwrap();
    }
    writeln!(text, "\n|---|{}", "---|".repeat(with.len())).unwrap();
    for event in Event::ALL {
        write!(text, "| {event} |").unwrap();
        for host in &with {
            let name = host.hooks.get().and_then(|hooks| hooks.event(event));
            write!(text, " {} |", name.unwrap_or("-")).unwrap();
        }
        text.push('\n');
    }
    text.push('\n');
}

fn headless(text: &mut String, hosts: &[Host]) {
    text.push_str(
        "## Without a terminal\n\nHow a host is run to [answer as a model](models.md). The prompt comes on standard input. \
         What its rights add keeps it to reading, to\nchanging files of the workspace as well, or to nothing; `-` where it cannot be kept to that.\n\n\
         | host | arguments | model | instructions | effort | may read | may change files | may do everything | models |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let list = |items: &[String]| match items {
        [] => "-".to_owned(),
        items => format!("`{}`", items.join(" ")),
    };
    let flag = |flag: &Option<String>| list(flag.as_slice());
    let rights = |rights: &Rights| {
        let env = rights.env.iter().map(|(name, value)| format!("{name}={value}"));
        list(&env.chain(rights.args.iter().cloned()).collect::<Vec<_>>())
    };
    let some = |it: &Option<Rights>| it.as_ref().map_or_else(|| "-".to_owned(), rights);
    for host in hosts {
        let Some(it) = &host.headless else { continue };
        let args: Vec<String> = it.args.iter().chain(&it.last).cloned().collect();
        let cells = [
            list(&args),
            flag(&it.model),
            flag(&it.system),
            flag(&it.effort),
            rights(&it.read),
            some(&it.edit),
            some(&it.all),
            it.models.iter().map(code).collect::<Vec<_>>().join(", "),
        ];
        writeln!(text, "| {} | {} |", host.id, cells.join(" | ")).unwrap();
    }
    let without = hosts.iter().filter(|host| host.headless.is_none());
    let without: Vec<String> = without.map(|host| host.name.to_string()).collect();
    writeln!(text, "\nIt is not known how to run the others like this: {}.\n", without.join(", "))
        .unwrap();
}

fn section(text: &mut String, host: &Host) {
    writeln!(text, "## {}\n", host.name).unwrap();
    let aliases: Vec<String> = host.aliases.iter().map(code).collect();
    writeln!(text, "`{}` (also {}), home {}.\n", host.id, aliases.join(", "), code(&host.home))
        .unwrap();
    text.push_str("| | project | user |\n|---|---|---|\n");
    let skills = &host.skills;
    row(text, "skills, written", &[&skills.project], &[&skills.user]);
    row(text, "skills, read too", &refs(&skills.also_project), &refs(&skills.also_user));
    if let Some(agents) = host.agents.get() {
        row(text, "sub-agents", &opt(&agents.project), &opt(&agents.user));
    }
    let (here, there) = (&host.reads.project, &host.reads.user);
    row(text, "sub-agents, read too", &refs(&here.agents), &refs(&there.agents));
    if let Some(hooks) = host.hooks.get() {
        row(text, "hooks", &opt(&hooks.project), &opt(&hooks.user));
    }
    row(text, "hooks, run too", &refs(&here.hooks), &refs(&there.hooks));
    if let Some(mcp) = host.mcp.get() {
        row(text, "MCP", &opt(&mcp.project), &opt(&mcp.user));
        row(
            text,
            "MCP, instead where it exists",
            &refs(&mcp.instead_project),
            &refs(&mcp.instead_user),
        );
    }
    row(text, "MCP, read too", &refs(&here.mcp), &refs(&there.mcp));
    let instructions = &host.instructions;
    row(text, "instructions", &[&instructions.project], &opt(&instructions.user));
    row(text, "instructions, read too", &refs(&instructions.also_project), &[] as &[&String]);
    text.push('\n');
    if let Some(oldest) = &host.detect.oldest {
        writeln!(text, "- Works with what we write since {oldest}.").unwrap();
    }
    if let Some(listing) = host.skills.listing {
        writeln!(text, "- Its list of skills has room for about {listing} characters.").unwrap();
    }
    if let Some(mcp) = host.mcp.get() {
        let (format, keys) = (mcp.format.word().to_uppercase(), mcp.container.join("` / `"));
        writeln!(text, "- MCP servers stand below `{keys}` ({format}).").unwrap();
    }
    if let Some(hooks) = host.hooks.get() {
        if let Some(timeout) = hooks.timeout {
            writeln!(text, "- A hook gets {timeout}.").unwrap();
        }
        if let Some(trust) = &hooks.trust {
            writeln!(text, "- Before hooks run: {}.", trust.hint).unwrap();
        }
    }
    if let Some(it) = host.headless.as_ref().filter(|it| !it.unset.is_empty()) {
        let names: Vec<String> = it.unset.iter().map(code).collect();
        writeln!(text, "- Run without a terminal, it must not find {}.", names.join(", ")).unwrap();
    }
    for (what, reason) in [("Hooks", host.hooks.reason()), ("Sub-agents", host.agents.reason())] {
        if let Some(reason) = reason {
            writeln!(text, "- {what}: none; {reason}.").unwrap();
        }
    }
    if let Some(plugins) = &host.plugins {
        writeln!(text, "- Plugins: {plugins}.").unwrap();
    }
    for note in &host.notes {
        writeln!(text, "- Note: {note}.").unwrap();
    }
    text.push('\n');
}

fn row<A: Display, B: Display>(text: &mut String, what: &str, project: &[&A], user: &[&B]) {
    if !project.is_empty() || !user.is_empty() {
        let project: Vec<String> = project.iter().map(|path| code(*path)).collect();
        let user: Vec<String> = user.iter().map(|path| code(*path)).collect();
        let or_dash = |list: Vec<String>| match list.is_empty() {
            true => "-".to_owned(),
            false => list.join(", "),
        };
        writeln!(text, "| {what} | {} | {} |", or_dash(project), or_dash(user)).unwrap();
    }
}

fn refs<T>(list: &[T]) -> Vec<&T> {
    list.iter().collect()
}

fn opt<T>(one: &Option<T>) -> Vec<&T> {
    one.iter().collect()
}

fn code(text: impl Display) -> String {
    format!("`{}`", text.to_string().replace(" or ", "` or `"))
}
