//! Programs of plugins that run in a sandbox: the real kernel decides.

use std::net::TcpListener;

use agents_system::sandbox::{Availability, available};
use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    hooks::{bash, call, denied},
    world::{Run, World},
};

const NO_DEFAULTS: &str = "[defaults]\nsymposium-recommendations = false\n";

/// A plugin whose hook tries what a script says, and writes down what it could do in its answer.
struct Place {
    world: World,
}

impl Place {
    /// `None`, with a note, where nothing can be confined.
    #[expect(clippy::print_stdout, reason = "that a test did nothing must be seen")]
    fn new() -> Option<Self> {
        if let Availability::Unavailable(lack) = available() {
            println!("not tested: {lack}");
            return None;
        }
        Some(Self { world: World::new() })
    }

    fn root(&self) -> Utf8PathBuf {
        self.world.sample.root()
    }

    /// A directory beside the workspace, where no confined program has business.
    fn outside(&self) -> Utf8PathBuf {
        self.world.sample.scratch().root().join("private")
    }

    /// What is the temporary directory of whoever is not confined.
    fn temporary(&self) -> Utf8PathBuf {
        self.world.outside()
    }

    /// The hook denies with the words that the script prints.
    fn hook(&self, sandbox: &str, script: &str) {
        self.world.plugin(
            "trial",
            &format!(
                "name = \"trial\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"try\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"try.sh\" }}\n{sandbox}"
            ),
        );
        let body = format!("#!/bin/sh\ncat >/dev/null\n{{\n{script}\n}} 2>/dev/null\nexit 2\n");
        self.world.plugin_script("trial", "try.sh", &body);
    }

    fn confine(&self, plugins: &str) {
        self.world.config(&format!("{NO_DEFAULTS}[sandbox]\nplugins = {plugins}\n"));
    }

    fn call(&self) -> Run {
        call(&self.world, "claude", "pre-tool-use", &bash("true"))
    }
}

fn write_to(file: &Utf8Path) -> String {
    format!("echo text > '{file}'")
}

#[test]
fn a_confined_hook_writes_where_it_said_and_nowhere_else() {
    let Some(place) = Place::new() else { return };
    let declared = place.root().join("notes");
    std::fs::create_dir_all(&declared).unwrap();
    std::fs::create_dir_all(place.outside()).unwrap();
    let files = [place.outside().join("made"), place.root().join("made"), declared.join("made")];
    let script: Vec<String> = files.iter().map(|file| write_to(file)).collect();
    place.hook("[sandbox]\nwrite = [\"notes\"]\n", &script.join("\n"));
    let made = || files.clone().map(|file| std::fs::remove_file(file).is_ok());
    place.confine("[\"trial\"]");
    // The hook has run: what it says is heard.
    assert!(denied(&place.call()));
    assert_eq!(made(), [false, false, true]);
    place.confine("\"*\"");
    assert!(denied(&place.call()));
    assert_eq!(made(), [false, false, true]);
    place.confine("[\"another\"]");
    assert!(denied(&place.call()));
    assert_eq!(made(), [true, true, true], "with the user's rights, as before");
}

/// A fresh clone has no `target`, and what does not exist cannot be granted.
#[test]
fn a_directory_that_is_declared_is_made() {
    let Some(place) = Place::new() else { return };
    let (directory, other) = (place.root().join("made/here"), place.root().join("other"));
    place.hook(
        "[sandbox]\nwrite = [\"made/here/\", \"other\"]\n",
        &format!("{}\n{}", write_to(&directory.join("file")), write_to(&other)),
    );
    place.confine("\"*\"");
    assert!(denied(&place.call()));
    assert_eq!((directory.join("file").exists(), other.exists()), (true, false));
}

#[test]
fn a_confined_hook_reads_the_workspace_and_no_secrets() {
    let Some(place) = Place::new() else { return };
    let secret = scratch::write(&place.outside().join("id_ed25519"), "the secret key");
    let inside = scratch::write(&place.root().join("notes.txt"), "the notes");
    place.hook("", "");
    // What the hook prints to standard error is its reason.
    let script =
        format!("#!/bin/sh\ncat >/dev/null\ncat '{inside}' >&2\ncat '{secret}' >&2\nexit 2\n");
    place.world.plugin_script("trial", "try.sh", &script);
    let said = || {
        let run = place.call();
        let all = format!("{}{}", run.stdout, run.stderr);
        (all.contains("the notes"), all.contains("the secret key"))
    };
    place.confine("[]");
    assert_eq!(said(), (true, true));
    place.confine("\"*\"");
    assert_eq!(said(), (true, false));
}

#[test]
fn a_confined_hook_has_a_temporary_directory_that_goes_with_it() {
    let Some(place) = Place::new() else { return };
    let body = "#!/bin/sh\ncat >/dev/null\necho text > \"$TMPDIR/file\" && echo \"wrote $TMPDIR\" >&2\nexit 2\n";
    place.hook("", "");
    place.world.plugin_script("trial", "try.sh", body);
    place.confine("\"*\"");
    let run = place.call();
    let all = format!("{}{}", run.stdout, run.stderr);
    let dir = all.split("wrote ").nth(1).unwrap();
    let dir = dir.split(|c: char| !(c.is_ascii_alphanumeric() || "/-_.".contains(c))).next();
    let dir = Utf8Path::new(dir.unwrap());
    assert!(dir.is_absolute() && dir.file_name().unwrap().starts_with("cargo-agents-"), "{all}");
    assert!(!dir.exists(), "{dir}");
}

#[test]
fn a_confined_hook_has_the_network_only_if_it_said_so() {
    let Some(place) = Place::new() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let connected = |sandbox: &str| {
        place.hook(sandbox, &connect);
        assert!(denied(&place.call()));
        listener.accept().is_ok()
    };
    place.confine("[]");
    assert!(connected(""), "with the user's rights");
    place.confine("\"*\"");
    assert!(!connected(""));
    assert!(connected("[sandbox]\nnetwork = true\n"));
    // Nor by anything else that needs a socket.
    let datagram = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    datagram.set_nonblocking(true).unwrap();
    let port = datagram.local_addr().unwrap().port();
    let send = format!("bash -c 'echo secret > /dev/udp/127.0.0.1/{port}'");
    let sent = |sandbox: &str| {
        place.hook(sandbox, &send);
        assert!(denied(&place.call()));
        datagram.recv(&mut [0; 16]).is_ok()
    };
    assert!(!sent(""));
    assert!(sent("[sandbox]\nnetwork = true\n"));
}

/// While cargo has not resolved the workspace again the hooks of before run, and confined if they are to be now.
#[test]
fn who_is_confined_does_not_wait_for_cargo() {
    let Some(place) = Place::new() else { return };
    let made = place.root().join("made");
    place.hook("", &write_to(&made));
    assert!(denied(&place.call()));
    std::fs::remove_file(&made).unwrap();
    place.world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\nserde = \"1\"\nmissing = \"9\"\n",
    );
    place.confine("\"*\"");
    assert!(denied(&place.call()), "what held still does");
    assert!(!made.exists());
}

#[test]
fn status_says_who_is_confined() {
    let Some(place) = Place::new() else { return };
    place.hook("[sandbox]\nwrite = [\"notes\"]\nnetwork = true\n", "");
    let status = || {
        let json = place.world.json(&["status"]);
        let plugins = json["plugins"].as_array().unwrap().clone();
        let trial = plugins.iter().find(|it| it["name"] == "trial").unwrap()["sandboxed"].clone();
        let shown = place.world.ok(&["status"]);
        let line = shown.lines().find(|line| line.contains("sandbox")).unwrap().trim().to_owned();
        (trial.as_bool().unwrap(), line)
    };
    let free = "its programs run with your rights, outside any sandbox";
    assert_eq!(status(), (false, free.to_owned()));
    place.confine("[\"trial\"]");
    let confined = "its programs run in a sandbox that writes `notes` and uses the network";
    assert_eq!(status(), (true, confined.to_owned()));
}

/// What a program could do of: write beside the workspace, in it, where the plugin said, in its temporary directory; read
/// beside the workspace, in it, where it stands.
fn trials(place: &Place) -> (String, impl Fn() -> [bool; 4] + use<>) {
    let declared = place.root().join("notes");
    std::fs::create_dir_all(&declared).unwrap();
    std::fs::create_dir_all(place.outside()).unwrap();
    let report = declared.join("temporary");
    let files = [place.outside().join("made"), place.root().join("made"), declared.join("made")];
    let mut script: Vec<String> = files.iter().map(|file| write_to(file)).collect();
    script.push(format!("echo text > \"$TMPDIR/file\" && echo yes > '{report}'"));
    let all: Vec<_> = files.into_iter().chain([report]).collect();
    let made = move || {
        let made: Vec<bool> = all.iter().map(|file| std::fs::remove_file(file).is_ok()).collect();
        <[bool; 4]>::try_from(made).unwrap()
    };
    (script.join("\n"), made)
}

const DECLARED: &str = "[sandbox]\nwrite = [\"notes\"]\n";
const CONFINED: [bool; 4] = [false, false, true, true];

#[test]
fn a_confined_command_writes_where_it_said_and_is_still_the_users() {
    let Some(place) = Place::new() else { return };
    let (script, made) = trials(&place);
    let manifest =
        crate::world::subcommand("trial", "crates = [\"serde\"]", "try", "{ script = \"try.sh\" }");
    place.world.plugin("trial", &format!("{manifest}{DECLARED}"));
    let private = scratch::write(&place.outside().join("id_ed25519"), "the secret key");
    let body = format!(
        "exec 2>/dev/null\n{script}\ncat '{private}'\ncat Cargo.toml notes.txt | head -c 9\nread line; echo \"$1 $line\"; exit 7\n"
    );
    place.world.plugin_script("trial", "try.sh", &body);
    let here = place.world.outside();
    scratch::write(&here.join("notes.txt"), "the notes");
    let run = |dir: &Utf8Path| {
        use std::io::Write as _;
        let mut command = place.world.command_in(dir, &["try", "argument"]);
        command.env("TMPDIR", place.temporary());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"typed\n").unwrap();
        Run::from(child.wait_with_output().unwrap())
    };
    let free = run(&place.root());
    assert_eq!(made(), [true; 4]);
    assert!(free.stdout.contains("the secret key"), "{free:?}");
    place.confine("[\"trial\"]");
    let confined = run(&place.root());
    assert_eq!(made(), CONFINED);
    assert_eq!((confined.code, confined.stdout.as_str()), (Some(7), "[package]argument typed\n"));
}

#[test]
fn a_confined_command_reads_the_directory_that_the_user_stands_in() {
    let Some(place) = Place::new() else { return };
    let manifest =
        crate::world::subcommand("trial", "crates = [\"*\"]", "try", "{ script = \"try.sh\" }");
    place.world.plugin("trial", &manifest);
    place.world.plugin_script("trial", "try.sh", "cat notes.txt; cat ../private/secret");
    place.confine("\"*\"");
    let here = place.world.outside();
    scratch::write(&here.join("notes.txt"), "the notes\n");
    scratch::write(&place.outside().join("secret"), "the secret\n");
    let run = place.world.agents_in(&here, &["try"]);
    assert_eq!(run.stdout, "the notes\n", "{run:?}");
}

/// A plugin that is confined would otherwise get out through its own conditions.
#[test]
fn conditions_are_confined_too() {
    let Some(place) = Place::new() else { return };
    let (script, made) = trials(&place);
    let file = place.world.plugin_script(
        "trial",
        "try.sh",
        &format!("{{\n{script}\n}} 2>/dev/null\nexit 0\n"),
    );
    let command = "[subcommand.cmd]\ndescription = \"x\"\ncommand = { executable = \"echo\", args = [\"ran\"] }\n";
    let shell = format!("shell('{file}')");
    for (condition, rest) in [
        (shell.as_str(), ""),
        ("probe()", "[[predicate]]\nname = \"probe\"\ncommand = { executable = \"./try.sh\" }\n"),
    ] {
        let gate = format!("name = \"trial\"\ncrates = [\"*\"]\npredicates = [\"{condition}\"]\n");
        place.world.plugin("trial", &format!("{gate}{command}{rest}{DECLARED}"));
        place.confine("[]");
        let ask = || {
            let mut command = place.world.command(&["plugin", "list"]);
            let run = Run::from(command.env("TMPDIR", place.temporary()).output().unwrap());
            assert!(run.stdout.contains("trial"), "{run:?}");
        };
        ask();
        assert_eq!(made(), [true; 4], "{condition}");
        place.confine("[\"trial\"]");
        ask();
        assert_eq!(made(), CONFINED, "{condition}");
        assert_eq!(place.world.ok(&["cmd"]), "ran\n", "the condition holds");
    }
}

#[test]
fn a_name_that_nobody_has_is_pointed_out_with_the_one_that_was_meant() {
    let Some(place) = Place::new() else { return };
    place.hook("", "");
    place.confine("[\"trail\", \"of-another-workspace\"]");
    let said = "`[sandbox] plugins` names `trail`, and no plugin here is called that";
    for args in [&["sync"][..], &["status"], &["doctor"]] {
        let run = place.world.agents(args);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains(said) && all.contains("did you mean `trial`?"), "{args:?}: {run:?}");
    }
    // It may be right elsewhere, so it is only a note.
    let all = place.world.json(&["doctor"]).to_string();
    assert!(all.contains("names `of-another-workspace`"), "{all}");
    place.confine("[\"trial\"]");
    let run = place.world.agents(&["status"]);
    assert!(!run.stderr.contains("no plugin here"), "{run:?}");
}

/// What hosts start is not ours to confine, and that is said.
#[test]
fn status_says_what_is_left_outside() {
    let Some(place) = Place::new() else { return };
    let server = "[[mcp_servers]]\nname = \"s\"\ncommand = \"echo\"\n";
    place.hook(server, "");
    place.confine("\"*\"");
    let shown = place.world.ok(&["status"]);
    let line =
        "its programs run in a sandbox; hosts run its MCP servers with your rights, outside of it";
    assert!(shown.contains(line), "{shown}");
    let plugins = place.world.json(&["status"])["plugins"].clone();
    let trial =
        plugins.as_array().unwrap().iter().find(|it| it["name"] == "trial").unwrap().clone();
    assert_eq!(trial["sandboxed"], false);
    let rows = place.world.json(&["audit"]);
    let rights = |kind: &str| {
        let mut rows = rows["active"].as_array().unwrap().iter();
        rows.find(|it| it["kind"] == kind).unwrap()["rights"].to_string()
    };
    assert!(rights("hook").contains("\"sandboxed\""), "{rows}");
    assert!(rights("mcp").contains("not sandboxed"), "{rows}");
}

/// A plugin may bring nothing but a program that others ask, whether it applies here or not.
#[test]
fn status_names_the_programs_of_predicates() {
    let Some(place) = Place::new() else { return };
    let predicate = "[[predicate]]\nname = \"probe\"\ncommand = { executable = \"./try.sh\" }\n";
    place.world.plugin_script("trial", "try.sh", "exit 0");
    let standing = |krate: &str| {
        let manifest = format!("name = \"trial\"\ncrates = [\"{krate}\"]\n{predicate}");
        place.world.plugin("trial", &manifest);
        let plugins = place.world.json(&["status"])["plugins"].as_array().unwrap().clone();
        let trial = plugins.iter().find(|it| it["name"] == "trial").unwrap().clone();
        (trial["runs_programs"].as_bool().unwrap(), trial["sandboxed"].as_bool().unwrap())
    };
    for krate in ["serde", "diesel"] {
        place.confine("[]");
        assert_eq!(standing(krate), (true, false), "{krate}");
        place.confine("\"*\"");
        assert_eq!(standing(krate), (true, true), "{krate}");
    }
}

#[test]
fn audit_says_who_is_confined_and_who_is_not() {
    let Some(place) = Place::new() else { return };
    let command = "[subcommand.t]\ndescription = \"x\"\ncommand = { script = \"try.sh\" }\n";
    let rights = || {
        let json = place.world.json(&["audit"]);
        let of = |kind: &str| {
            let row = json["active"].as_array().unwrap().iter().find(|it| it["kind"] == kind);
            let rights = row.unwrap_or_else(|| panic!("{kind}: {json}"))["rights"].clone();
            let rights: Vec<String> = serde_json::from_value(rights).unwrap();
            rights.join(", ")
        };
        (of("hook"), of("subcommand"))
    };
    let free = "runs code, writes files, network unknown, not sandboxed".to_owned();
    place.hook(&format!("{command}[sandbox]\nwrite = [\"notes\"]\nnetwork = true\n"), "");
    assert_eq!(rights(), (free.clone(), free.clone()), "to declare needs confines nothing");
    place.confine("[\"trial\"]");
    let declared = "runs code, writes files, uses the network, sandboxed".to_owned();
    assert_eq!(rights(), (declared.clone(), declared));
    place.hook(command, "");
    let confined = "runs code, no network, sandboxed".to_owned();
    assert_eq!(rights(), (confined.clone(), confined));
}
