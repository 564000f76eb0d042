//! A key never appears in anything that is written, whatever goes wrong.

use std::path::Path;

use agents_testkit::{
    endpoint::{Endpoint, Fault, Reply, Script},
    scratch,
};

use super::run;
use crate::world::World;

const ENV: &str = "sk-planted-environment-4711";
const COMMAND: &str = "sk-planted-command-0815";
const FILE: &str = "sk-planted-file-1234";

/// Whether something of a planted key stands there. Some like to quote the beginning and the end.
fn holds_key(text: &str) -> bool {
    [ENV, COMMAND, FILE]
        .iter()
        .any(|key| text.contains(key) || text.contains(&key[..key.len() - 4]))
}

/// Every file below a directory in which a planted key stands.
fn files_with_keys(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files_with_keys(&path, found);
        } else if holds_key(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default())) {
            found.push(path.display().to_string());
        }
    }
}

fn failing(message: &'static str) -> impl Iterator<Item = Reply> {
    let status = move |code| {
        let message = format!("{message}: {ENV} and {COMMAND} are wrong");
        Reply::text("x").with_fault(Fault::Status { code, headers: Vec::new(), message })
    };
    [400, 401, 403, 404, 413, 422].map(status).into_iter()
}

#[test]
fn a_key_of_the_environment_or_of_a_command_is_never_written() {
    let world = World::new();
    let script =
        world.sample.scratch().script("print-key", &format!("#!/bin/sh\necho {COMMAND}\n"));
    let failing_script = world.sample.scratch().script(
        "print-and-fail",
        &format!("#!/bin/sh\necho {COMMAND}\necho {COMMAND} >&2\nexit 3\n"),
    );
    let endpoint = Endpoint::start(Script::of(
        [Reply::text(format!("ready {ENV}"))]
            .into_iter()
            .chain(failing("no"))
            .chain(failing("no"))
            .chain(failing("no"))
            .chain(failing("no")),
    ));
    let nowhere = "http://127.0.0.1:1";
    let mut said = String::new();
    let mut asked = 0;
    for (url, command) in
        [(endpoint.url().as_str(), &script), (nowhere, &script), (nowhere, &failing_script)]
    {
        world.config(&format!(
            "[defaults]\nsymposium-recommendations = false\n\
             [providers.by-command]\nkind = \"anthropic\"\nurl = \"{url}\"\nkey-command = [\"{command}\"]\nheaders = {{ X-Team = \"core\" }}\n\
             [providers.by-env]\nkind = \"openai\"\nurl = \"{url}/v1\"\nkey-env = \"MY_SECRET_KEY\"\nmodels = [\"m\"]\n\
             [providers.agent]\nkind = \"acp\"\ncommand = [\"sh\", \"-c\", \"echo $MY_SECRET_KEY >&2; exit 1\"]\n\
             [providers.told]\nkind = \"openai-compatible\"\nurl = \"{url}/v1\"\nkey-env = \"MY_SECRET_KEY\"\n"
        ));
        for provider in ["by-command", "by-env", "agent", "told"] {
            for args in [
                &["model", "list", "--provider", provider][..],
                &["model", "list", "--provider", provider, "--json", "--verbose"],
                &["model", "test", "--provider", provider],
                &["model", "test", "--provider", provider, "--json", "--verbose"],
            ] {
                let run = run(
                    &world,
                    &[("MY_SECRET_KEY", ENV), ("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")],
                    args,
                );
                said += &format!("{args:?} -> {:?}\n{}\n{}\n", run.code, run.stdout, run.stderr);
                asked += 1;
            }
        }
        for args in [
            &["config", "show", "--origin"][..],
            &["config", "show", "--json"],
            &["model", "explain", "reviewer"],
            &["status"],
            &["doctor"],
        ] {
            let run = run(&world, &[("MY_SECRET_KEY", ENV)], args);
            said += &format!("{args:?}\n{}\n{}\n", run.stdout, run.stderr);
        }
    }
    assert!(asked > 40 && endpoint.received().len() > 8, "{said}");
    // The endpoint did get the keys: the test looks for what was really there.
    let sent = format!("{:?}", endpoint.received());
    assert!(sent.contains(ENV) && sent.contains(COMMAND));
    // What a model says is what it says; this one was told by nobody but us.
    let said = said.replace(&format!("ready {ENV}"), "");
    let line = said.lines().find(|line| holds_key(line));
    assert_eq!(line, None, "{said}");
    let mut files = Vec::new();
    for dir in [world.home(), world.user(), world.sample.root()] {
        files_with_keys(dir.as_std_path(), &mut files);
    }
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn a_key_in_the_configuration_is_refused_without_a_word_of_it() {
    let world = World::new();
    for line in [
        format!("api-key = \"{FILE}\""),
        format!("token = \"{FILE}\""),
        format!("apikeey = \"{FILE}"),
        format!("headers = {{ Authorization = \"Bearer {FILE}\" }}"),
        format!("url = \"https://user:{FILE}@example.com\""),
    ] {
        world.config(&format!("[providers.anthropic]\n{line}\n"));
        for args in [
            &["model", "list"][..],
            &["model", "test", "--json"],
            &["config", "show"],
            &["doctor"],
            &["status"],
        ] {
            let run = run(&world, &[], args);
            let all = format!("{}{}", run.stdout, run.stderr);
            assert!(!holds_key(&all), "{line} {args:?}\n{all}");
        }
        let run = run(&world, &[], &["model", "list"]);
        assert_eq!(run.code, Some(2), "{line} {run:?}");
    }
    scratch::write(&world.home().join("config.toml"), "");
}
