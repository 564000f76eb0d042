//! Secrets: who is asked, who gets them, and that nobody else ever sees one.

use std::{fmt::Write as _, io::Write as _, path::Path};

use age::secrecy::ExposeSecret as _;
use agents_testkit::{
    endpoint::{Endpoint, Reply, Script},
    scratch::{self, Scratch},
    terminal::{Size, Terminal, keys},
};
use serde_json::{Value, json};

use super::Stage;
use crate::world::Run;

const BIG: Size = Size { columns: 160, rows: 40 };
const PLANTED: usize = 50;

/// What it takes to plant a secret.
struct Planted {
    key: String,
    value: String,
    /// Its table in the configuration.
    table: String,
    env: Option<(String, String)>,
}

/// Secrets in the environment, behind commands that stand for keyrings, and in encrypted files. Nothing of it is where the program works.
fn plant(out: &Scratch) -> Vec<Planted> {
    let identity = age::x25519::Identity::generate();
    let key = out.write("identity", identity.to_string().expose_secret());
    let mut team = String::new();
    let mut all: Vec<Planted> = Vec::new();
    for n in 0..PLANTED {
        let key_name = format!("SECRET_{n:02}");
        // Some that look different when they are quoted, and when they are in an address.
        let value = match n % 5 {
            0 => format!("planted-{n:02}-quote\"and\\slash"),
            1 => format!("planted{n:02}/with+signs=="),
            _ => format!("planted-{n:02}-{:x}", 0x00fa_ceb0_0c00_u64 + n as u64),
        };
        let (table, env) = match n % 4 {
            0 => {
                (format!("env = \"OUTER_{n:02}\""), Some((format!("OUTER_{n:02}"), value.clone())))
            }
            1 => {
                let script = format!("#!/bin/sh\ncat <<'END'\n{value}\nEND\n");
                let command = out.script(format!("keyring-{n:02}"), &script);
                (format!("command = [\"{command}\", \"lookup\"]"), None)
            }
            2 => {
                writeln!(team, "{key_name}={value}").unwrap();
                let file = out.path("team.age");
                (format!("age = \"{file}\"\nentry = \"{key_name}\"\nidentity = \"{key}\""), None)
            }
            _ => {
                let file = out.path(format!("own-{n:02}.age"));
                let mut to = age::scrypt::Recipient::new("open sesame".to_owned().into());
                to.set_work_factor(1);
                scratch::write(&file, sealed(value.as_bytes(), &to));
                let ask = out.script("passphrase", "#!/bin/sh\necho open sesame\n");
                (format!("age = \"{file}\"\npassphrase-command = \"{ask}\""), None)
            }
        };
        all.push(Planted { key: key_name, value, table, env });
    }
    out.write("team.age", sealed(team.as_bytes(), &identity.to_public()));
    all
}

fn sealed(plain: &[u8], to: &dyn age::Recipient) -> Vec<u8> {
    let mut writer = age::Encryptor::with_recipients(std::iter::once(to))
        .and_then(|it| it.wrap_output(Vec::new()).map_err(Into::into))
        .unwrap();
    writer.write_all(plain).unwrap();
    writer.finish().unwrap()
}

/// A model that asks for all of them and has each shown in every way that there is.
fn curious(planted: &[Planted]) -> Vec<Reply> {
    let mut replies = Vec::new();
    for some in planted.chunks(10) {
        let ask = |reply: Reply, it: &Planted| {
            reply.and_call("request_secret", json!({ "key": it.key, "reason": "to see\nit" }))
        };
        replies.push(some.iter().fold(Reply::text("I need these."), ask));
    }
    for some in planted.chunks(5) {
        let call =
            |reply: Reply, command: String| reply.and_call("bash", json!({ "command": command }));
        let shown = |reply, it: &Planted| {
            let key = &it.key;
            call(
                reply,
                format!(
                    "echo whole: \"${key}\"; echo {key} hash: $(printf %s \"${key}\" | sha256sum)\n\
                 printf 'json: '; python3 -c 'import json, os; print(json.dumps({{\"a\": [os.environ[\"{key}\"]]}}))'\n\
                 printf '%s\\n' \"${key}\" | fold -w 7\n\
                 printf 'url: '; python3 -c 'import os, urllib.parse; print(urllib.parse.quote(os.environ[\"{key}\"], safe=\"\"))'\n\
                 printf %s \"${{{key}:0:9}}\"; sleep 0.02; printf '%s\\n' \"${{{key}:9}}\"\n\
                 printf '%s\\n' \"${key}\" | fold -w 8 >> leak.txt"
                ),
            )
        };
        replies.push(some.iter().fold(Reply::text("Look."), shown));
        replies.push(
            Reply::call("read", json!({ "path": "leak.txt" }))
                .and_call("search", json!({ "pattern": "planted", "path": "." })),
        );
        let wrong = |reply, it: &Planted| {
            let key = &it.key;
            call(reply, format!("rm -f leak.txt; echo \"wrong: ${key}\" >&2; exit 3"))
                .and_call("read", json!({ "path": format!("no/such/${key}") }))
        };
        replies.push(some.iter().fold(Reply::text("And now."), wrong));
    }
    // In pieces that cut anywhere, and as the result.
    replies.push(Reply::text("Done with all of them.").in_fragments_of(3));
    replies
}

/// Every file below a directory in which a value stands, in any form.
pub(crate) fn files_with(dir: &Path, forms: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files_with(&path, forms, found);
        } else if let Some(form) = held(&std::fs::read(&path).unwrap_or_default(), forms) {
            found.push(format!("{}: {form}", path.display()));
        }
    }
}

fn held<'f>(bytes: &[u8], forms: &'f [String]) -> Option<&'f String> {
    let text = String::from_utf8_lossy(bytes);
    // Over lines it is the same value.
    let flat: String = text.replace("\\n", "").split_whitespace().collect();
    forms.iter().find(|it| text.contains(it.as_str()) || flat.contains(it.as_str()))
}

#[test]
fn fifty_planted_secrets_are_in_the_tools_and_in_no_byte_elsewhere() {
    let stage = Stage::new("");
    let out = Scratch::new();
    let planted = plant(&out);
    let once = curious(&planted);
    let endpoint = Endpoint::start(Script::of(once.clone().into_iter().chain(once)));
    let tables = planted.iter().fold(String::new(), |mut text, it| {
        write!(text, "[secrets.{}]\n{}\n", it.key, it.table).unwrap();
        text
    });
    stage.world.config(&format!(
        "[defaults]\nsymposium-recommendations = false\n[tasks]\nmax-turns = 1000\n{tables}"
    ));
    let names: Vec<&str> = planted.iter().map(|it| it.key.as_str()).collect();
    stage.agent("helper", &format!("secrets: [{}]\n", names.join(", ")));
    let run = |args: &[&str]| {
        let mut command = stage.command(args);
        command
            .env("ANTHROPIC_API_KEY", "sk-of-the-model")
            .env("ANTHROPIC_BASE_URL", endpoint.url());
        command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "5").env("RUST_LOG", "trace");
        planted.iter().filter_map(|it| it.env.clone()).for_each(|(name, value)| {
            command.env(name, value);
        });
        Run::from(command.output().unwrap())
    };
    let agreed = names.iter().flat_map(|it| ["--secret", it]);
    let mut args = vec!["run", "helper", "show me everything", "--allow", "bash"];
    args.extend(agreed);
    let mut said = Vec::new();
    let in_front = run(&[&args[..], &["--json", "-v"]].concat());
    assert_eq!(in_front.code, Some(0), "{}", in_front.stderr);
    said.push(in_front);
    let begun = run(&[&args[..], &["--background"]].concat());
    let id = begun.stdout.trim().to_owned();
    said.push(begun);
    for args in [
        &["attach", id.as_str()][..],
        &["collect", id.as_str()],
        &["show", "last"],
        &["show", "last", "--format", "html"],
        &["logs", "last"],
        &["list", "--json"],
        &["supervisor", "--stop", "--cancel"],
    ] {
        let run = run(args);
        assert_eq!(run.code, Some(0), "{args:?} {run:?}");
        said.push(run);
    }
    // What is looked for was really there: the hash of each value came back from the tools, twice.
    let received = endpoint.received();
    let sent = format!("{received:?}");
    let forms: Vec<String> = planted
        .iter()
        .flat_map(|it| {
            let quoted = serde_json::to_string(&it.value).unwrap();
            [it.value.clone(), quoted.trim_matches('"').to_owned()]
        })
        .collect();
    for it in &planted {
        let mut hash = std::process::Command::new("sh");
        hash.args(["-c", "printf %s \"$V\" | sha256sum"]).env("V", &it.value);
        let hash = String::from_utf8(hash.output().unwrap().stdout).unwrap();
        let told = format!("{} hash: {}", it.key, hash.split_whitespace().next().unwrap());
        assert!(sent.contains(&told), "{told} did not come back");
    }
    assert!(sent.contains("<SECRET:"), "the values were shown as something else");
    for request in &received {
        let text = format!("{request:?}").replace("\\\\", "\\").replace("\\\"", "\"");
        assert_eq!(held(text.as_bytes(), &forms), None, "{text}");
    }
    for run in &said {
        assert_eq!(held(run.stdout.as_bytes(), &forms), None, "{}", run.stdout);
        assert_eq!(held(run.stderr.as_bytes(), &forms), None, "{}", run.stderr);
    }
    let mut files = Vec::new();
    for dir in [stage.world.home(), stage.world.user(), stage.world.sample.root()] {
        files_with(dir.as_std_path(), &forms, &mut files);
    }
    assert_eq!(files, Vec::<String>::new());
}

const ASKS: &str = r#"
[[replies]]
calls = [{ name = "request_secret", input = { key = "CI_TOKEN", reason = "to publish\nit" } }]
[[replies]]
when = { result = "approved" }
calls = [{ name = "bash", input = { command = "test \"$CI_TOKEN\" = planted-by-hand && touch got-it; echo \"$CI_TOKEN\"" } }]
[[replies]]
when = { result = "denied" }
text = "Then not."
[[replies]]
text = "Published."
"#;

/// The value that is looked for.
pub(crate) const VALUE: &str = "planted-by-hand";

/// An agent that asks for a secret, uses it, and shows it.
pub(crate) fn asking() -> Stage {
    let stage = Stage::new(ASKS);
    stage.config("[secrets]\nCI_TOKEN = { env = \"OUTER\" }\n");
    with_secret(&stage);
    stage
}

/// Lets `helper` ask for it.
pub(crate) fn with_secret(stage: &Stage) {
    stage.agent("helper", "secrets: [CI_TOKEN]\n");
}

fn with_value(stage: &Stage, args: &[&str]) -> std::process::Command {
    let mut command = stage.command(args);
    command.env("OUTER", VALUE);
    command
}

pub(crate) fn got_it(stage: &Stage) -> bool {
    stage.world.sample.root().join("got-it").exists()
}

#[test]
fn whoever_sits_at_the_terminal_decides() {
    let args = ["run", "helper", "x", "--allow", "bash"];
    for (key, got) in [("y", true), ("t", true), ("n", false)] {
        let stage = asking();
        let mut terminal = Terminal::start(&with_value(&stage, &args), BIG);
        terminal.wait_for(
            "helper: `helper` wants the secret `CI_TOKEN` (from `OUTER`) for commands that name it, and says: to publish it",
        );
        terminal.press([key]);
        let ended = terminal.end();
        assert_eq!(ended.code, Some(0), "{}", ended.screen);
        assert!(!ended.screen.contains("planted"), "{}", ended.screen);
        assert_eq!(got_it(&stage), got, "{}", ended.screen);
    }
    let stage = asking();
    let mut terminal = Terminal::start(&with_value(&stage, &args), BIG);
    terminal.wait_for("wants the secret");
    terminal.press([keys::CTRL_C]);
    assert_eq!(terminal.end().code, Some(130));
}

#[test]
fn where_nobody_is_a_secret_is_given_only_if_it_was_agreed_to_before() {
    let stage = asking();
    let run = |args: &[&str]| Run::from(with_value(&stage, args).output().unwrap());
    let told = run(&["run", "helper", "x", "--allow", "bash"]);
    assert_eq!((told.stdout.as_str(), got_it(&stage)), ("Then not.\n", false), "{told:?}");
    let told = run(&["run", "helper", "x", "--allow", "bash", "--secret", "CI_TOKEN"]);
    assert_eq!((told.stdout.as_str(), got_it(&stage)), ("Published.\n", true), "{told:?}");
    let told = run(&["run", "helper", "x", "--secret", "OTHER"]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("no secret `OTHER` is configured"), "{told:?}");
    // One that is listed and configured nowhere, and one that is not where it should be.
    stage.config("");
    let told = run(&["run", "helper", "x"]);
    assert!(
        told.stderr.contains("asked for the secret `CI_TOKEN`, which is not configured"),
        "{told:?}"
    );
    stage.config("[secrets]\nCI_TOKEN = { env = \"NO_SUCH_VARIABLE\" }\n");
    let told = run(&["run", "helper", "x", "--secret", "CI_TOKEN"]);
    assert!(told.stderr.contains("the secret `CI_TOKEN` is not in `NO_SUCH_VARIABLE`"), "{told:?}");
}

#[test]
fn a_definition_that_came_along_gets_no_secret() {
    let stage = asking();
    let text = "---\nname: stranger\ndescription: helps\nsecrets: [CI_TOKEN]\n---\nYou help.\n";
    scratch::write(&stage.world.sample.root().join(".agents/agents/stranger.md"), text);
    let args = ["run", "stranger", "x", "--allow", "bash", "--secret", "CI_TOKEN"];
    let told = Run::from(with_value(&stage, &args).output().unwrap());
    assert_eq!(told.code, Some(0), "{told:?}");
    let shown = stage.run(&["logs", "last"]).stdout;
    assert!(shown.contains("there is no tool `request_secret`"), "{shown}");
    assert!(!got_it(&stage));
}

#[cfg(unix)]
#[test]
fn in_the_background_a_secret_is_denied_unless_the_user_wants_to_be_asked() {
    let stage = asking();
    let run = |args: &[&str]| {
        let mut command = with_value(&stage, args);
        command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "5");
        Run::from(command.output().unwrap())
    };
    let start =
        || run(&["run", "helper", "x", "--allow", "bash", "--background"]).stdout.trim().to_owned();
    let told = run(&["collect", &start()]);
    assert_eq!((told.stdout.as_str(), got_it(&stage)), ("Then not.\n", false), "{told:?}");
    stage.config(
        "[tasks]\nbackground-secrets = \"ask\"\n[secrets]\nCI_TOKEN = { env = \"OUTER\" }\n",
    );
    let id = start();
    let ask = (0..1500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let asks: Value = serde_json::from_str(&run(&["asks", "--json"]).stdout).unwrap();
        let ask = asks["asks"].as_array()?.first()?.clone();
        assert_eq!(
            ask["question"],
            "`helper` wants the secret `CI_TOKEN` (from `OUTER`) for commands that name it, and says: to publish it"
        );
        ask["ask"].as_str().map(str::to_owned)
    });
    let told = run(&["approve", &ask.unwrap()]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let told = run(&["collect", &id]);
    assert_eq!((told.stdout.as_str(), got_it(&stage)), ("Published.\n", true), "{told:?}");
    run(&["supervisor", "--stop", "--cancel"]);
}

#[test]
fn whoever_watches_from_afar_sees_for_how_long_a_yes_gives_a_secret() {
    let stage = asking();
    stage.config(
        "[tasks]\nbackground-secrets = \"ask\"\n[secrets]\nCI_TOKEN = { env = \"OUTER\" }\n",
    );
    let command = |args: &[&str]| {
        let mut command = with_value(&stage, args);
        command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "5");
        command
    };
    let run = |args: &[&str]| Run::from(command(args).output().unwrap());
    let id = run(&["run", "helper", "x", "--allow", "bash", "--background"]).stdout;
    let mut terminal = Terminal::start(&command(&["attach", id.trim()]), BIG);
    terminal.wait_for("as long as this task runs");
    terminal.press(["n"]);
    let ended = terminal.end();
    assert!(!ended.screen.contains("this time"), "{}", ended.screen);
    assert!(!got_it(&stage), "{}", ended.screen);
    run(&["supervisor", "--stop", "--cancel"]);
}

#[test]
fn what_is_wrong_with_a_secret_is_said_of_what_is_wrong() {
    let stage = asking();
    let out = Scratch::new();
    let (sealed, key) = (out.write("sealed.age", "x"), out.path("key"));
    let lines = out.script("lines", "#!/bin/sh\necho planted-one\necho planted-two\n");
    stage.config(&format!(
        "[secrets]\nAGE = {{ age = \"{sealed}\", identity = \"{key}\" }}\nLINES = {{ command = \"{lines}\" }}\n"
    ));
    let list = stage.world.ok(&["secret", "list"]);
    assert!(list.contains(&format!("there is no `{key}`, which opens it")), "{list}");
    let check = stage.world.agents(&["secret", "check", "LINES"]);
    let said = format!("{}{}", check.stdout, check.stderr);
    assert!(said.contains("printed more than one line, which is no key"), "{said}");
    assert!(!said.contains("planted"), "{said}");
}

#[test]
fn secrets_are_listed_and_checked_and_never_shown() {
    let stage = asking();
    let out = Scratch::new();
    let fails = out.script("fails", "#!/bin/sh\necho planted-by-hand\nexit 1\n");
    stage.config(&format!(
        "[secrets]\nCI_TOKEN = {{ env = \"OUTER\" }}\nGONE = {{ env = \"NO_SUCH\" }}\nSHORT = {{ command = [\"echo\", \"x\"] }}\n\
         BROKEN = {{ command = \"{fails}\" }}\n"
    ));
    let run = |args: &[&str]| {
        let mut command = stage.world.command(args);
        command.env("OUTER", "planted-by-hand");
        Run::from(command.output().unwrap())
    };
    let list = run(&["secret", "list"]);
    assert_eq!(
        (list.code, list.stdout.replace(out.root().as_str(), "")),
        (
            Some(0),
            "BROKEN    unknown    the command `/fails`\nCI_TOKEN  present    `OUTER`\nGONE      missing    `NO_SUCH`\n\
             SHORT     unknown    the command `echo`\n"
                .to_owned()
        )
    );
    let check = run(&["secret", "check", "--json"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    let states: Value = serde_json::from_str(&check.stdout).unwrap();
    let states: Vec<&str> = states["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["wrong", "present", "missing", "too-short"]);
    assert_eq!(run(&["secret", "check", "CI_TOKEN"]).code, Some(0));
    assert_eq!(run(&["secret", "check", "OTHER"]).code, Some(2));
    for args in [&["secret", "check"][..], &["config", "show"], &["doctor"], &["status"]] {
        let told = run(args);
        assert!(!format!("{told:?}").contains("planted"), "{args:?} {told:?}");
    }
}
