//! `docs/hooks.md`.

use std::fmt::Write as _;

use agents_hook::{Part, Wire};
use agents_host::{Event, hosts};

const HEAD: &str = r#"# Hooks

A plugin's hook is a program that is run when something happens in a host. It gets one JSON object on
standard input and may print one. `cargo agents` stands between the two: hosts call it, and it calls all
hooks that apply, at the same time, and makes one answer of theirs in the host's own format. So a hook that
is written once, in the *neutral* format, works in every host that has the event.

The tables on this page are generated (`UPDATE_DOCS=1 cargo test -p agents-hook`).

## Write one

In a plugin's `SYMPOSIUM.toml`:

<!-- do: cargo new -q --lib cargo-release && cargo new -q shop && cargo add -q --manifest-path shop/Cargo.toml --path cargo-release -->
<!-- in: shop -->
<!-- file: ~/.config/cargo-agents/plugins/release/SYMPOSIUM.toml -->
```toml
# SYMPOSIUM.toml
name = "release"
crates = ["cargo-release"]              # only where the workspace depends on it

[[hooks]]
name = "no-publish"
event = "PreToolUse"                    # one of the events below
matcher = "Bash"                        # by the calling host's own rules; left out: every use
command = { script = "no-publish.sh" }  # or an installation, see the page of manifests
```

and in `no-publish.sh` beside it:

<!-- file: ~/.config/cargo-agents/plugins/release/no-publish.sh -->
```sh
case $(cat) in *"cargo publish"*) echo "releases are made by CI; push a tag instead" >&2; exit 2 ;; esac
```

`cargo agents sync` registers it with the coding agents that you use and installs what it needs; nothing is installed while one of
them waits. In Rust it takes ten lines: see `crates/hook/examples`. Try it without any coding agent, with what that
one would send:

```console
echo '{"tool_name": "Bash", "tool_input": {"command": "cargo publish"}}' > call.json
cargo agents hook test claude pre-tool-use --input call.json   # every step: who ran, who was skipped and why, what the host sees
cargo agents hook test claude pre-tool-use --input call.json --record trace.jsonl
cargo agents hook replay trace.jsonl                           # the same calls again; ends with 1 if an answer differs
cargo agents hook explain codex pre-tool-use                   # what a host can be told, and what happens instead
```

`CARGO_AGENTS_HOOK_TRACE=<file>` records what hosts call, in the same way.

## The neutral format

`format = "symposium"` in the manifest, and the default. Input
([schema](json/hook-input.schema.json)): one key names the event, its value holds the facts. A fact that the
host does not tell is `null`; what it tells besides stands under `extra`, under the host's names.

```json hook-input
{"PreToolUse": {"host": "claude", "session_id": "s1", "cwd": "/src/app", "transcript_path": null, "agent_id": null,
  "agent_type": null, "tool_name": "Bash", "tool_input": {"command": "cargo publish"}, "tool_use_id": "t1"}}
```

Answer ([schema](json/hook-output.schema.json)): under the same key; the key may be left out, and nothing to
say may be said with `{}` or with no output at all.

```json hook-output
{"PreToolUse": {"decision": "deny", "reason": "releases are made by CI; push a tag instead"}}
```

| key | meaning |
|---|---|
| `decision` | `deny`: it must not happen (the tool does not run, the prompt is not sent, the agent does not stop; after a tool ran, the model is told the reason). `ask`: the user shall be asked. `allow`: without asking the user, where the host lets a hook say so. Left out: as if there were no hook |
| `reason` | why, with `deny` and `ask`; the model sees the reason of a denial |
| `updatedInput` | what the tool shall be given instead (`PreToolUse`; with `allow` also `PermissionRequest`) |
| `additionalContext` | what the model shall know |
| `updatedOutput` | what the model shall see instead of what the tool gave back (`PostToolUse`) |
| `continue`, `stopReason` | `false`: the host shall stop working, and why |
| `systemMessage` | what the user shall see |
| `suppressOutput` | `true`: the host shall not show what the hook printed |

Exit codes: 0, and what was printed counts. 2, and it is denied; the reason is what was said on standard
error. Anything else is a failure: it is reported and otherwise ignored, unless a denial was printed before.
A hook that runs past its deadline, prints without end or leaves children behind is ended with its process
group. All hooks of an event run at the same time and have 25 seconds together, since hosts wait for thirty
(`CARGO_AGENTS_HOOK_DEADLINE` makes it less); each may print 8 MiB.

## When a host calls

A host runs `cargo-agents hook <host> <event>`. One small index says which hooks apply where it stands; it is made anew when a
manifest, the lock file, the configuration or a registry changes, and an index of another version of the program is none. A hook whose conditions look at
files, variables or programs is decided about at every call. Until cargo has resolved a workspace whose manifests changed, the hooks of before run;
in one that it never resolved, those that are for every workspace (`crates = ["*"]`). With nothing to do that takes about a quarter longer than
starting an empty program ([figures](performance.md)).

Standard output carries the host's protocol and nothing else. No mistake of ours or of a plugin looks like a denial, with one
exception: what a host sends before a tool is used, or to ask for a permission, and nobody can read, is denied where hooks
guard that event. Otherwise a call could be made that its guards do not understand.

## While a host works

When a session begins the model is told about `cargo agents --help`, if there is something to find, and about plugins that wait for the
user's word. Goose takes no context from hooks; its model reads the same in the description of a skill. And the configured hosts are brought up to date (`auto-sync`, on by default): when a session begins, and
at a prompt or after a tool when what the workspace is made of has changed. Nothing is fetched or asked, nobody who holds the lock is waited
for, and where a host's sandbox forbids writing nothing happens and nothing is said. What is new is named to the model
in one line of the same answer, which waits for it three seconds at most.

When a session begins, the installed programs of the hooks here are also brought up to date, by a process of its own that the host does not
wait for: once a day for each, if `auto-sync` is on and the network is not off (`CARGO_NET_OFFLINE`). Nothing is installed that
was not there, a `version` in the manifest stays, your own programs (`global`) are not touched, and the next `sync` records the
new version in [`agents.lock`](trust.md). Whatever goes wrong, what is installed stays.

## The sandbox

The programs of a plugin run with your rights. With `[sandbox] plugins = ["name"]` (or `"*"`) in [`config.toml`](configuration.md#configtoml) those that we
start for these plugins run confined, on Linux, by Landlock, no-new-privileges, no capabilities and a filter of system calls: hooks, commands (`cargo agents <name>`), the programs of
custom predicates, and `shell(...)` conditions, installed or not.

| | a confined program |
|---|---|
| reads and executes | the system (`/usr`, `/bin`, `/lib`, `/etc`, `/proc`), the plugin's own directory, what was installed for plugins, cargo's and rustup's homes without cargo's credentials, the workspace, and what the [manifest](manifest.md#sandbox) declares; a command also the directory that you stand in |
| writes | the directory that `TMPDIR` names, and what the manifest declares; a command also to your terminal. A command that builds has to declare `target/` |
| uses the network | only if the manifest declares `network`: without it no socket of any kind can be made, neither TCP nor UDP nor one in the file system (a filter of system calls denies `socket` and `io_uring_setup`) |
| has capabilities | none, also if you are root |
| signals | nobody outside, from Linux 6.12 |

The directory in `TMPDIR` is fresh and is removed when all have answered; the commands of a plugin share one in our cache, since nobody is left to tidy up after
them. What a command gets through its standard streams (`cargo agents <name> < file`) was opened by you and is not confined.

What is not confined: the variables of the environment, which it gets as you have them; what other processes made readable below `/proc`; and with `network`, whom it talks to. A plugin declares for itself, so look at
`cargo agents status`: it says for each plugin whether its programs are confined and what it declared. MCP servers are started by
hosts, and `install_commands` run when something is installed; neither is confined. A name in `[sandbox] plugins` that no plugin here has is pointed out by `sync`,
`status` and `doctor`.

Where the sandbox is not available (another system, a kernel without Landlock) a program that should be confined does not run, and
that is said; a condition of it does not hold. It never runs unconfined. A guard that does not run does not guard.

## Several answers

- Deny beats ask beats allow beats none. The reasons of those who decided so are joined.
- Contexts and messages are all told, in the order of the plugins, each after the name of its plugin in
  brackets, and cut at 10,000 characters.
- If one says stop, it stops.
- Of several inputs or outputs for the same tool the first one counts; that another one differs is reported.

## The format of a host

With `format = "<host>"` a hook speaks that host's own format. Called by that host it gets what the host sent,
byte for byte; called by another one, what the former would have sent, except for facts that the other one
does not know. Names of tools and their inputs are never translated: `tool_name` is what the calling host
says.

"#;

const LOSSES: &str = r"
## What a host can be told

At each event a host understands its own selection. What it cannot be told becomes the nearest thing that it
can, which is never more permissive, and `hook explain` says so:

- `ask`: before a tool, denied; the reason says that the user must approve. `PermissionRequest` asks anyway.
- another input: denied; the reason holds the input to use.
- stop: denied, with the reason; at `Stop` and `SubagentStop` nothing, since it stops anyway.
- deny: the model is told the reason as context, or else the user.
- another output: denied with the output as the reason, or else told as context.
- context: added to the reason of a denial, or else told to the user.
- allow, message, suppress: nothing.

`-` where the host does not have the event; `none` where it has it and listens to nothing.

";

#[test]
fn the_page_of_hooks_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hooks.md");
    agents_testkit::pages::check_generated(file, &page());
}

fn page() -> String {
    let (hosts, _) = hosts(None);
    let mut text = HEAD.to_owned();
    text.push_str(LOSSES.trim_start());
    for wire in Wire::ALL {
        let host = agents_host::find(&hosts, wire.host()).unwrap();
        writeln!(text, "### {}\n\n| event | called | understands |\n|---|---|---|", host.name)
            .unwrap();
        for event in Event::ALL {
            let (name, said) = match wire.event(event) {
                Some(name) => (format!("`{name}`"), words(wire.can(event))),
                None => ("-".to_owned(), "-".to_owned()),
            };
            writeln!(text, "| {event} | {name} | {said} |").unwrap();
        }
        text.push('\n');
    }
    let without: Vec<&str> = hosts
        .iter()
        .filter(|host| Wire::of(host.id.as_str()).is_none())
        .map(|host| host.name.as_str())
        .collect();
    writeln!(text, "Without hooks: {}.", without.join(", ")).unwrap();
    text
}

fn words(parts: &[Part]) -> String {
    match parts {
        [] => "none".to_owned(),
        parts => parts.iter().map(|part| part.word()).collect::<Vec<_>>().join(", "),
    }
}
