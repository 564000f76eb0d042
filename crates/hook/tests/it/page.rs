//! `docs/hooks.md`.

use std::fmt::Write as _;

use agents_hook::{Part, Wire};
use agents_host::{Event, hosts};

const HEAD: &str = r#"# Hooks

A plugin's hook is a program that runs when something happens in a host. It gets one JSON object on
standard input and may print one. `cargo agents` sits between the two: hosts call it, and it runs all
hooks that apply, at the same time, and merges their answers into one in the host's own format. So a hook that
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
matcher = "Bash"                        # by the calling host's own rules; if absent: every use
command = { script = "no-publish.sh" }  # or an installation, see manifest.md
```

and in `no-publish.sh` beside it:

<!-- file: ~/.config/cargo-agents/plugins/release/no-publish.sh -->
```sh
case $(cat) in *"cargo publish"*) echo "releases are made by CI; push a tag instead" >&2; exit 2 ;; esac
```

`cargo agents sync` registers it with the coding agents that you use and installs what it needs; nothing is installed during a
hook call. In Rust it takes ten lines: see [the examples](../crates/hook/examples). Try it without a coding agent, with the input that
one would send:

```console
echo '{"tool_name": "Bash", "tool_input": {"command": "cargo publish"}}' > call.json
cargo agents hook test claude pre-tool-use --input call.json   # every step: what ran, what was skipped and why, what the host sees
cargo agents hook test claude pre-tool-use --input call.json --record trace.jsonl
cargo agents hook replay trace.jsonl                           # the same calls again; exits with 1 if an answer differs
cargo agents hook explain codex pre-tool-use                   # what a host understands, and what happens to the rest
```

`CARGO_AGENTS_HOOK_TRACE=<file>` records the calls of hosts in the same way.

## The neutral format

`format = "symposium"` in the manifest, and the default. Input
([schema](json/hook-input.schema.json)): one key names the event, its value holds the facts. A fact that the
host does not provide is `null`; anything else that it sends is under `extra`, with the host's names.

```json hook-input
{"PreToolUse": {"host": "claude", "session_id": "s1", "cwd": "/src/app", "transcript_path": null, "agent_id": null,
  "agent_type": null, "tool_name": "Bash", "tool_input": {"command": "cargo publish"}, "tool_use_id": "t1"}}
```

Answer ([schema](json/hook-output.schema.json)): under the same key; the key may be omitted. A hook with nothing to
say prints `{}` or nothing at all.

```json hook-output
{"PreToolUse": {"decision": "deny", "reason": "releases are made by CI; push a tag instead"}}
```

| key | meaning |
|---|---|
| `decision` | `deny`: it must not happen (the tool does not run, the prompt is not sent, the agent does not stop; after a tool ran, the model is told the reason). `ask`: the user must be asked. `allow`: without asking the user, where the host lets a hook say so. If absent: as if there were no hook |
| `reason` | why, with `deny` and `ask`; the model sees the reason of a denial |
| `updatedInput` | what the tool gets instead (`PreToolUse`; with `allow` also `PermissionRequest`) |
| `additionalContext` | what the model should know |
| `updatedOutput` | what the model sees instead of the tool's result (`PostToolUse`) |
| `continue`, `stopReason` | `false`: the host must stop working, and why |
| `systemMessage` | what the user should see |
| `suppressOutput` | `true`: the host does not show what the hook printed |

Exit codes: with 0, what was printed counts. With 2, the call is denied; the reason is what was printed to standard
error. Anything else is a failure: it is reported and otherwise ignored, unless a denial was printed before.
A hook that runs past its deadline, prints endlessly or leaves children behind is killed with its process
group. All hooks of an event run at the same time and have 25 seconds together, since hosts wait for thirty
(`CARGO_AGENTS_HOOK_DEADLINE` makes it less); each may print 8 MiB.

## When a host calls

A host runs `cargo-agents hook <host> <event>`. One small index says which hooks apply in its directory; it is rebuilt when a
manifest, the lock file, the configuration or a registry changes, and an index written by another version of the program is not used. The conditions of a hook that look at
files, variables or programs are evaluated at every call. Until cargo has resolved a workspace whose manifests changed, the previous hooks run;
in one that it never resolved, those that are for every workspace (`crates = ["*"]`). With nothing to do that takes about a quarter longer than
starting an empty program ([figures](performance.md)).

Standard output carries the host's protocol and nothing else. A failure of ours or of a plugin never looks like a denial, with one
exception: unreadable input before a tool call or for a permission request is denied where hooks
guard that event. Otherwise a call that its guards do not understand could get through.

## While a host works

When a session begins the model is told about `cargo agents --help`, if there is something to find, and about plugins that need the
user's approval. Goose takes no context from hooks; its model reads the same in the description of a skill. The configured hosts are also brought up to date (`auto-sync`, on by default): when a session begins, and
at a prompt or after a tool when the workspace's packages have changed. Nothing is fetched or asked, a lock held by another process is not waited
for, and where a host's sandbox forbids writing, nothing happens and nothing is said. What is new is mentioned to the model
in one line of the same answer, which waits for it three seconds at most.

When a session begins, the installed programs of the hooks here are also updated, by a separate process that the host does not
wait for: once a day for each, if `auto-sync` is on and the network is not off (`CARGO_NET_OFFLINE`). Nothing new is
installed, a `version` in the manifest stays, your own programs (`global`) are not touched, and the next `sync` records the
new version in [`agents.lock`](trust.md). Whatever goes wrong, what is installed stays.

## The sandbox

The programs of a plugin run with your rights. With `[sandbox] plugins = ["name"]` (or `"*"`) in [`config.toml`](configuration.md#configtoml) the programs that we
start for these plugins run confined, on Linux, by Landlock, no-new-privileges, no capabilities and a filter of system calls: hooks, commands (`cargo agents <name>`), the programs of
custom predicates, and `shell(...)` conditions, installed or not.

| | a confined program |
|---|---|
| reads and executes | the system (`/usr`, `/bin`, `/lib`, `/etc`, `/proc`), the plugin's own directory, what was installed for plugins, cargo's and rustup's homes without cargo's credentials, the workspace, and what the [manifest](manifest.md#sandbox) declares; a command also the current directory |
| writes | the directory that `TMPDIR` names, and what the manifest declares; a command also to your terminal. A command that builds has to declare `target/` |
| uses the network | only if the manifest declares `network`: without it no socket of any kind can be made, neither TCP nor UDP nor one in the file system (a filter of system calls denies `socket` and `io_uring_setup`) |
| has capabilities | none, even if you are root |
| signals | no process outside the sandbox, from Linux 6.12 |

The directory in `TMPDIR` is fresh and is removed when all hooks have answered; the commands of a plugin share one in our cache, since nothing is left to clean up after
them. What a command gets through its standard streams (`cargo agents <name> < file`) was opened by you and is not confined.

What is not confined: environment variables, which it gets as you have them; what other processes expose below `/proc`; and with `network`, which machines it talks to. A plugin makes its own declaration, so look at
`cargo agents status`: it says for each plugin whether its programs are confined and what it declared. MCP servers are started by
hosts, and `install_commands` run when something is installed; neither is confined. `sync`, `status` and `doctor` point out a name in `[sandbox] plugins` that no
plugin here has.

Where the sandbox is not available (another system, a kernel without Landlock) a program that should be confined does not run, and
this is reported; a condition that it decides does not hold. It never runs unconfined. A guard that does not run does not guard.

## Several answers

- Deny beats ask beats allow beats none. The reasons of the deciding hooks are joined.
- Contexts and messages are all passed on, in the order of the plugins, each after the name of its plugin in
  brackets, and cut at 10,000 characters.
- If one says stop, the host stops.
- Of several inputs or outputs for the same tool the first one wins; if another one differs, that is reported.

## The format of a host

With `format = "<host>"` a hook speaks that host's own format. Called by that host it gets what the host sent,
byte for byte; called by another one, it gets what the former would have sent, except for facts that the other one
does not know. Names of tools and their inputs are never translated: `tool_name` is what the calling host
says.

"#;

const LOSSES: &str = r"
## What a host can be told

At each event a host understands only some answers. Before a tool call every host that has hooks understands a denial. What a host does not understand becomes the nearest thing that it
does, which is never more permissive where it can be denied at all, and `hook explain` says so:

- `ask`: before a tool, denied; the reason says that the user must approve. `PermissionRequest` asks anyway.
- another input: denied; the reason holds the input to use.
- stop: denied, with the reason; at `Stop` and `SubagentStop` nothing, since it stops anyway.
- deny, where nothing can be denied any more or the host does not let us (the result of a tool; a prompt in Copilot, Kiro, Antigravity and Goose): it goes on, and the model is told the reason as context, or else the user.
- another output: denied with the output as the reason, or else told as context.
- context: added to the reason of a denial, or else told to the user.
- allow, message, suppress: nothing.

`-` where the host does not have the event; `none` where it has it and ignores every answer.

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
