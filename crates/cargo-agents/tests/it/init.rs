//! `cargo agents init`: by flags, and by a person at a real terminal.

use std::{
    fs::Permissions,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::{Command, Stdio},
};

use agents_testkit::{
    scratch,
    terminal::{Editing, Ended, Size, Terminal, keys},
    through::bound_by_modes,
};
use camino::Utf8PathBuf;
use nix::sys::signal::Signal;

use crate::world::{Run, World};

const DEFAULTS: &str = "# mine\n\n[defaults]  # keep\nsymposium-recommendations = false\n";
const HOSTS: &str = "Which coding agents do you use?";
const SCOPE: &str = "Where are hooks and MCP servers registered?";
const SYNC: &str = "Bring them what this workspace offers now?";

/// A user with Claude Code and Amp installed, and nothing configured.
struct Desk {
    world: World,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { world: World::new() };
        desk.world.config(DEFAULTS);
        for program in ["claude", "amp"] {
            desk.world.sample.scratch().script(format!("programs/{program}"), "");
        }
        desk
    }

    fn configured(text: &str) -> Self {
        let desk = Self::new();
        desk.world.config(text);
        desk
    }

    fn config_file(&self) -> Utf8PathBuf {
        self.world.home().join("config.toml")
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.config_file()).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let scratch = self.world.sample.scratch();
        let mut command = self.world.command(args);
        command.env("PATH", format!("{}:/usr/bin:/bin", scratch.path("programs")));
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    }

    /// `init` at a terminal, with the first question on it.
    fn sit_down(&self) -> Terminal {
        let terminal = Terminal::start(&self.command(&["init"]), Size::USUAL);
        terminal.wait_for("esc: cancel");
        terminal
    }
}

/// The file with these lines at the top.
fn with(lines: &str) -> String {
    DEFAULTS.replace("# mine\n", &format!("# mine\n\n{lines}\n"))
}

/// The question was cancelled, and everything is as it was.
#[track_caller]
fn assert_cancelled(desk: &Desk, ended: &Ended, before: &str) {
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.screen.contains("error: cancelled, and nothing was written"), "{ended:?}");
    assert!(!ended.screen.contains("[x]"), "the question is gone: {ended:?}");
    assert_eq!((ended.editing, ended.shows_cursor), (Editing::Lines, true), "{ended:?}");
    assert_eq!(desk.config(), before);
    assert!(!desk.world.home().join("state").exists());
}

#[test]
fn installed_hosts_are_offered_and_enter_accepts_them() {
    let desk = Desk::new();
    let mut terminal = desk.sit_down();
    assert_eq!(
        terminal.screen(),
        "Which coding agents do you use?
> [x] Claude Code         installed
  [ ] Codex CLI
  [ ] GitHub Copilot CLI
  [ ] Gemini CLI
  [ ] Antigravity CLI
  [ ] Kiro
  [ ] OpenCode
  [ ] Goose
  [ ] Cursor
  [ ] Qwen Code
  [ ] Factory Droid
  [x] Amp                 installed
  [ ] Zed
space: change, a: all, enter: accept, esc: cancel"
    );
    assert_eq!((terminal.editing(), terminal.shows_cursor()), (Editing::Keys, false));
    terminal.press([keys::ENTER]);
    terminal.wait_for(SCOPE);
    assert_eq!(desk.config(), DEFAULTS, "nothing is written before the last answer");
    terminal.press([keys::ENTER]);
    terminal.wait_for(SYNC);
    terminal.press(["n"]);
    let ended = terminal.end();
    assert_eq!(
        ended.screen.replace(desk.config_file().as_str(), "config.toml"),
        "Which coding agents do you use?  Claude Code, Amp
Where are hooks and MCP servers registered?  in your own settings
Bring them what this workspace offers now? (`cargo agents sync`)  no
Hosts: claude, amp  (config.toml)
`cargo agents sync` in a workspace brings them what its crates offer."
    );
    assert_eq!((ended.code, ended.editing, ended.shows_cursor), (Some(0), Editing::Lines, true));
    assert_eq!(desk.config(), with("hosts = [\"claude\", \"amp\"]"));
}

#[test]
fn what_is_picked_is_written_and_synced_at_once_if_that_is_wanted() {
    let desk = Desk::configured("hosts = [\"claude-code\", \"gone\"] # ours\n");
    desk.world.plugin(
        "p",
        "name = \"p\"\ncrates = [\"serde\"]\n[[mcp_servers]]\nname = \"explain\"\ncommand = \"explain\"\n",
    );
    let mut terminal = desk.sit_down();
    let screen = terminal.screen();
    assert!(screen.contains("[x] Claude Code"), "{screen}");
    assert!(screen.contains("[ ] Amp      "), "installed, but left out before: {screen}");
    terminal.press([keys::SPACE, keys::DOWN, keys::SPACE]);
    terminal.wait_for("> [x] Codex");
    terminal.press([keys::ENTER]);
    terminal.wait_for(SCOPE);
    terminal.press([keys::DOWN, keys::ENTER]);
    terminal.wait_for(SYNC);
    terminal.press([keys::ENTER]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.screen.contains("What claude-code had is taken back"), "{}", ended.screen);
    assert!(ended.screen.contains("mcp    cargo-agents"), "{}", ended.screen);
    assert_eq!(desk.config(), "hosts = [\"gone\", \"codex\"] # ours\nhook-scope = \"project\"\n");
    assert!(desk.world.sample.root().join(".codex/config.toml").exists());
    assert!(!desk.world.sample.root().join(".mcp.json").exists());
}

#[test]
fn escape_ctrl_c_and_ctrl_d_cancel_at_every_question_and_nothing_is_written() {
    for key in [keys::ESCAPE, keys::CTRL_C, keys::CTRL_D] {
        for question in [HOSTS, SCOPE, SYNC] {
            let desk = Desk::new();
            let mut terminal = desk.sit_down();
            for earlier in [HOSTS, SCOPE].into_iter().take_while(|it| *it != question) {
                terminal.wait_until(earlier, |screen| {
                    screen.contains(&format!("{earlier}\n")) && screen.ends_with("cancel")
                });
                terminal.press([keys::ENTER]);
            }
            terminal.wait_until(question, |screen| {
                let rest = screen.rsplit(question).next().unwrap_or_default();
                screen.contains(question) && rest.ends_with("esc: cancel")
            });
            terminal.press([key]);
            assert_cancelled(&desk, &terminal.end(), DEFAULTS);
        }
    }
}

#[test]
fn a_signal_cancels_and_gives_the_terminal_back() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let desk = Desk::new();
        let terminal = desk.sit_down();
        terminal.signal(signal);
        assert_cancelled(&desk, &terminal.end(), DEFAULTS);
    }
}

#[test]
fn a_process_killed_at_a_question_leaves_the_configuration_alone() {
    let desk = Desk::new();
    let mut terminal = desk.sit_down();
    terminal.press([keys::SPACE, keys::ENTER]);
    terminal.wait_for(SCOPE);
    terminal.signal(Signal::SIGKILL);
    assert_eq!(terminal.end().signal, Some(Signal::SIGKILL as i32));
    assert_eq!(desk.config(), DEFAULTS);
    // Nobody holds a lock while a question stands.
    desk.ok(&["init", "--add-agent", "codex"]);
}

#[test]
fn a_narrow_and_low_terminal_shows_what_fits_around_the_cursor() {
    let desk = Desk::new();
    let size = Size { columns: 20, rows: 7 };
    let mut terminal = Terminal::start(&desk.command(&["init"]), size);
    terminal.wait_for("1/13");
    terminal.press([keys::UP]);
    assert_eq!(
        terminal.wait_for("> [ ] Zed"),
        "Which coding agent…
  [ ] Qwen Code
  [ ] Factory Droid
  [x] Amp         …
> [ ] Zed
13/13  space: chan…"
    );
    // The same question in a larger window, drawn once.
    terminal.resize(Size::USUAL);
    let screen = terminal.wait_for(HOSTS);
    assert_eq!(screen.matches("Which coding").count(), 1, "{screen}");
    assert!(screen.contains("[x] Claude Code"), "{screen}");
    terminal.press([keys::ESCAPE]);
    assert_cancelled(&desk, &terminal.end(), DEFAULTS);
}

#[test]
fn a_window_that_becomes_narrow_shows_the_question_once() {
    let desk = Desk::new();
    let mut terminal = desk.sit_down();
    terminal.resize(Size { columns: 30, rows: 24 });
    let screen = terminal
        .wait_until("a cut line", |screen| screen.contains("Which coding agents do you u…"));
    assert_eq!(screen.matches("Which coding").count(), 1, "{screen}");
    terminal.press([keys::ESCAPE]);
    assert_cancelled(&desk, &terminal.end(), DEFAULTS);
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    let desk = Desk::new();
    for (variable, colored) in [(None, true), (Some(("NO_COLOR", "1")), false)] {
        let mut command = desk.command(&["init"]);
        command.envs(variable);
        let mut terminal = Terminal::start(&command, Size::USUAL);
        terminal.wait_for("esc: cancel");
        terminal.press([keys::ESCAPE]);
        let bytes = String::from_utf8_lossy(&terminal.end().bytes).into_owned();
        assert_eq!(bytes.contains("\u{1b}[1m"), colored, "{bytes:?}");
    }
}

#[test]
fn a_terminal_that_cannot_move_the_cursor_is_asked_by_numbers() {
    let desk = Desk::new();
    let dumb = || {
        let mut command = desk.command(&["init"]);
        command.env("TERM", "dumb");
        Terminal::start(&command, Size::USUAL)
    };
    let mut terminal = dumb();
    let screen = terminal.wait_for("enter to accept:");
    assert!(screen.contains("   1  [x] Claude Code         installed"), "{screen}");
    terminal.press(["2 12 99", keys::ENTER]);
    terminal.wait_for("`99` is not a number from 1 to 13");
    terminal.press(["2 12", keys::ENTER]);
    terminal.wait_for("2  [x] Codex CLI");
    terminal.press([keys::ENTER]);
    terminal.wait_for("enter for 1:");
    terminal.press(["2", keys::ENTER]);
    terminal.wait_for(SYNC);
    terminal.press(["n", keys::ENTER]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.bytes.contains(&0x1b), "{}", String::from_utf8_lossy(&ended.bytes));
    let expected = with("hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"");
    assert_eq!(desk.config(), expected);
    // Here Ctrl-C is a signal, and Ctrl-D the end of the input.
    for key in [keys::CTRL_C, keys::CTRL_D] {
        let mut terminal = dumb();
        terminal.wait_for("enter to accept:");
        terminal.press([key]);
        let ended = terminal.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        // After it has sent the signal, the terminal throws away what is on its way to the screen.
        if key != keys::CTRL_C {
            assert!(
                ended.screen.contains("\nerror: cancelled, and nothing was written"),
                "{ended:?}"
            );
        }
        assert_eq!(desk.config(), expected);
    }
}

#[test]
fn nobody_is_asked_who_cannot_answer_or_has_answered() {
    let written = with("hosts = [\"claude\", \"amp\"]");
    for args in [&["init", "--yes"][..], &["init", "--json"], &["init", "--quiet"]] {
        let desk = Desk::new();
        let ended = Terminal::start(&desk.command(args), Size::USUAL).end();
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        assert!(!ended.screen.contains(HOSTS), "{args:?}: {ended:?}");
        assert_eq!(desk.config(), written, "{args:?}");
    }
    let desk = Desk::new();
    let ended = Terminal::start(desk.command(&["init"]).env("CI", "true"), Size::USUAL).end();
    assert_eq!((ended.code, desk.config()), (Some(0), written.clone()), "{ended:?}");
    let desk = Desk::new();
    let flags = ["init", "--add-agent", "goose", "--hook-scope", "project"];
    let ended = Terminal::start(&desk.command(&flags), Size::USUAL).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(desk.config(), with("hosts = [\"goose\"]\nhook-scope = \"project\""));
}

#[test]
fn a_pipe_is_never_asked_even_if_the_rest_is_a_terminal() {
    let desk = Desk::new();
    let terminal = nix::pty::openpty(None, None).unwrap();
    let own = || terminal.slave.try_clone().unwrap();
    let mut child =
        desk.command(&["init"]).stdin(Stdio::piped()).stdout(own()).stderr(own()).spawn().unwrap();
    // The pipe stays open: whoever asked would wait for ever.
    let typed = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(typed);
    assert_eq!(desk.config(), with("hosts = [\"claude\", \"amp\"]"));
}

#[test]
fn the_scope_alone_does_not_say_which_hosts() {
    let desk = Desk::new();
    let mut terminal =
        Terminal::start(&desk.command(&["init", "--hook-scope", "project"]), Size::USUAL);
    terminal.wait_for("esc: cancel");
    terminal.press([keys::ENTER]);
    let screen = terminal.wait_for(SYNC);
    assert!(!screen.contains(SCOPE), "{screen}");
    terminal.press(["n"]);
    assert_eq!(terminal.end().code, Some(0));
    assert!(desk.config().contains("hook-scope = \"project\""));
}

#[test]
fn a_second_run_writes_nothing() {
    let desk = Desk::new();
    desk.ok(&["init"]);
    let modified = || std::fs::metadata(desk.config_file()).unwrap().modified().unwrap();
    let before = (desk.config(), modified());
    let said = desk.ok(&["init"]);
    assert!(said.starts_with("Hosts: claude, amp  ("), "{said}");
    assert!(said.contains("unchanged"), "{said}");
    assert_eq!((desk.config(), modified()), before);
    let document: serde_json::Value = serde_json::from_str(&desk.ok(&["init", "--json"])).unwrap();
    assert_eq!(document["written"], false);
    assert_eq!(document["hosts"], serde_json::json!(["claude", "amp"]));
}

#[test]
fn a_removed_host_is_named_with_what_happens_to_it() {
    let desk = Desk::configured("[[agent]]\nname = \"claude\"\n\n[[agent]]\nname = \"codex\"\n");
    let said = desk.ok(&["init", "--remove-agent", "codex"]);
    assert!(said.starts_with("Hosts: claude  ("), "{said}");
    assert!(
        said.contains("What codex had is taken back by the next `cargo agents sync`"),
        "{said}"
    );
    let json = ["init", "--json", "--remove-agent", "claude-code", "--hook-scope", "global"];
    let document: serde_json::Value = serde_json::from_str(&desk.ok(&json)).unwrap();
    assert_eq!(document["removed"], serde_json::json!(["claude"]));
    assert_eq!(document["hook_scope"], "global");
    assert_eq!(desk.config(), "hosts = []\nhook-scope = \"global\"\n");
}

#[test]
fn a_broken_configuration_is_an_error_with_its_place_and_stays() {
    for (text, place) in [
        ("hosts = [\"claude\"\n# mine\n", "config.toml:1:18"),
        ("hosts = \"claude\"\n", "config.toml:1:9"),
        ("hook-scope = \"everywhere\"\n", "config.toml:1:14"),
    ] {
        let desk = Desk::configured(text);
        for args in [&["init"][..], &["init", "--add-agent", "codex"]] {
            let run = desk.run(args);
            assert_eq!(run.code, Some(2), "{run:?}");
            assert!(run.stderr.contains(place), "{place}: {run:?}");
            assert_eq!(desk.config(), text);
        }
        // At a terminal too, and before any question.
        let ended = Terminal::start(&desk.command(&["init"]), Size::USUAL).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(!ended.screen.contains(HOSTS), "{ended:?}");
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let desk = Desk::configured("# mine\nhosts = [] # these\n");
    let names = ["claude", "codex", "copilot", "gemini", "kiro", "goose", "cursor", "zed"];
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = desk.command(&["init", "--add-agent", name]);
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let config = desk.config();
    for name in names {
        assert!(config.contains(&format!("\"{name}\"")), "{name}: {config}");
    }
    assert!(config.starts_with("# mine\nhosts = [") && config.ends_with("] # these\n"), "{config}");
}

#[test]
fn an_answer_counts_beside_what_was_written_while_the_question_stood() {
    let desk = Desk::configured("hosts = [\"claude\"]\n");
    let mut terminal = desk.sit_down();
    desk.ok(&["init", "--add-agent", "goose"]);
    terminal.press([keys::DOWN, keys::SPACE, keys::ENTER]);
    terminal.wait_for(SCOPE);
    terminal.press([keys::ENTER]);
    terminal.wait_for(SYNC);
    terminal.press(["n"]);
    assert_eq!(terminal.end().code, Some(0));
    assert_eq!(desk.config(), "hosts = [\"claude\", \"goose\", \"codex\"]\n");
}

#[test]
fn a_symbolic_link_stays_one_and_one_that_leads_nowhere_is_an_error() {
    let desk = Desk::new();
    let real = scratch::write(&desk.world.sample.scratch().path("dotfiles/agents.toml"), DEFAULTS);
    std::fs::remove_file(desk.config_file()).unwrap();
    symlink(&real, desk.config_file()).unwrap();
    desk.ok(&["init"]);
    assert!(desk.config_file().is_symlink());
    let written = std::fs::read_to_string(&real).unwrap();
    assert_eq!(written, with("hosts = [\"claude\", \"amp\"]"));
    std::fs::remove_file(&real).unwrap();
    for args in [&["init"][..], &["host", "list"]] {
        let run = desk.run(args);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("is a symbolic link to"), "{run:?}");
        assert!(run.stderr.contains("hint: create"), "{run:?}");
    }
}

#[test]
fn what_must_not_be_written_gives_a_clear_error() {
    let desk = Desk::new();
    let (file, dir) = (desk.config_file(), desk.world.home());
    let state = dir.join("state");
    let refused = |path: &Utf8PathBuf, mode: u32, says: &str| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let run = Run::from(bound_by_modes(&desk.command(&["init"])).output().unwrap());
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(says), "{says}: {run:?}");
        assert_eq!(desk.config(), DEFAULTS);
    };
    refused(&dir, 0o555, &format!("cannot lock `{state}/config.lock`"));
    refused(
        &dir,
        0o555,
        "hint: this directory must be writable, or `CARGO_AGENTS_HOME` another one",
    );
    std::fs::create_dir_all(&state).unwrap();
    refused(&dir, 0o555, &format!("no permission to write `{file}`"));
    refused(&file, 0o444, "config.toml` is read-only\nhint: make it writable");
}

#[test]
fn an_unknown_host_is_an_error_in_a_flag_and_a_warning_in_the_file() {
    let desk = Desk::configured("hosts = [\"cluade\"]\n");
    let run = desk.run(&["init", "--add-agent", "codx"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("did you mean `codex`?"), "{run:?}");
    let run = desk.run(&["init", "--add-agent", "codex"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("cluade"), "{run:?}");
    assert_eq!(desk.config(), "hosts = [\"cluade\", \"codex\"]\n");
}
