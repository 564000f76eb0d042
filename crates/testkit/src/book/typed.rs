//! Pages that are typed: every command of a page is run, in order, in a home of its own, and must print what the page says.
//! [`steps`](super::steps) says how pages are read.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    stays::{PATIENCE, Staying},
    steps::{Step, steps},
    told::{is_as_told, says_nothing},
};
use crate::{
    scratch::{self, Scratch},
    terminal::{Size, Terminal},
};

/// What the home is called in pages.
const SHOWN_HOME: &str = "/home/ann";
/// Wide enough for every line of a page.
const WIDE: Size = Size { columns: 240, rows: 100 };

/// Somebody at an empty machine, with cargo, git and one program.
pub struct Reader {
    scratch: Scratch,
    /// Where the program is.
    programs: Utf8PathBuf,
    /// What it was built with, besides the usual, and what else there is.
    features: Vec<&'static str>,
    /// What was said with `export`.
    exported: Vec<(String, String)>,
    /// What ports of the page are here.
    ports: Vec<(String, String)>,
    /// What goes on in other terminals.
    staying: Vec<Staying>,
    at: Utf8PathBuf,
}

impl Reader {
    /// With this program, whose name is what is typed. Its directory is all that is known besides cargo and the system.
    #[must_use]
    pub fn with(program: &str) -> Self {
        let scratch = Scratch::new();
        let user =
            "[user]\nname = Ann Author\nemail = ann@example.com\n[init]\ndefaultBranch = main\n";
        scratch.write("home/.gitconfig", user);
        let at = scratch.path("home/src");
        fs_err::create_dir_all(&at).unwrap();
        Self {
            scratch,
            programs: beside(program),
            features: Vec::new(),
            exported: Vec::new(),
            ports: Vec::new(),
            staying: Vec::new(),
            at,
        }
    }

    /// The program was built with these features, which are not there by default, or there is something else that not everybody has.
    #[must_use]
    pub fn having(mut self, features: &[&'static str]) -> Self {
        self.features = features.to_vec();
        self
    }

    /// Copies a directory to `~/src`, without what was built in it, and goes there.
    pub fn copy(&mut self, dir: &Utf8Path) {
        let root = self.place(dir.file_name().unwrap());
        let mut waiting = vec![Utf8PathBuf::new()];
        while let Some(inside) = waiting.pop() {
            fs_err::create_dir_all(root.join(&inside)).unwrap();
            for entry in dir.join(&inside).read_dir_utf8().unwrap() {
                let entry = entry.unwrap();
                let path = inside.join(entry.file_name());
                if !entry.file_type().unwrap().is_dir() {
                    fs_err::copy(entry.path(), root.join(path)).unwrap();
                } else if entry.file_name() != "target" {
                    waiting.push(path);
                }
            }
        }
        self.at = root;
    }

    /// Puts a link to something big at a place of the home.
    pub fn link(&self, to: &Utf8Path, at: &str) {
        std::os::unix::fs::symlink(to, self.place(at)).unwrap();
    }

    /// Does what a page says, and returns what is different from what it says. What stays goes on for the next page.
    #[must_use]
    pub fn follow(&mut self, page: &str) -> Vec<String> {
        steps(page, &self.features).into_iter().filter_map(|step| self.take(step)).collect()
    }

    fn place(&self, path: &str) -> Utf8PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.scratch.path("home").join(rest),
            None => self.scratch.path("home/src").join(path),
        }
    }

    /// Takes a step; what is not as the page says is returned.
    fn take(&mut self, step: Step) -> Option<String> {
        match step {
            Step::In(dir) => self.at = self.place(&dir),
            Step::Port(number) => self.ports.push((number, free_port().to_string())),
            Step::Copy(path) => {
                let from = super::root().join(path);
                fs_err::copy(&from, self.at.join(from.file_name().unwrap())).unwrap();
            }
            Step::Write(path, text) => drop(scratch::write(&self.place(&path), self.meant(&text))),
            Step::Append(path, text) => {
                let path = self.place(&path);
                let before = fs_err::read_to_string(&path).unwrap_or_default();
                scratch::write(&path, before + &self.meant(&text));
            }
            // Commands run in shells of their own; this is meant for all that follow.
            Step::Do(command) | Step::Type(command, _) if command.starts_with("export ") => {
                let assignment = command.trim_start_matches("export ");
                let (name, _) = assignment.split_once('=').unwrap();
                let value = self.run(&format!("{command}; printf %s \"${name}\"")).printed;
                self.exported.push((name.to_owned(), self.unshown(&value)));
            }
            Step::Do(command) | Step::Type(command, _) if command.starts_with("cd ") => {
                let seen = self.run(&format!("{command} && pwd"));
                if !seen.succeeded {
                    return Some(format!("`{command}` failed:\n{}", seen.printed));
                }
                self.at = self.unshown(seen.printed.trim_end()).into();
            }
            Step::Do(command) => {
                let seen = self.run(&command);
                return (!seen.succeeded).then(|| format!("`{command}` failed:\n{}", seen.printed));
            }
            Step::Type(command, expected) => {
                return self.run(&command).complaint(&command, &expected);
            }
            Step::Answer(command, expected, answer) => {
                return self.answer(&command, &answer).complaint(&command, &expected);
            }
            Step::Start(command, expected) => {
                let log = self.scratch.path(format!("staying-{}", self.staying.len()));
                let mut staying = Staying::start(self.shell(&command), log);
                let said = self.watch(&mut staying, &command, &expected);
                self.staying.push(staying);
                return said;
            }
        }
        None
    }

    fn run(&self, command: &str) -> Seen {
        let output = self.shell(command).stdin(Stdio::null()).output().unwrap();
        let printed = self.shown(&String::from_utf8_lossy(&output.stdout));
        Seen { succeeded: output.status.success(), printed }
    }

    /// At a terminal, with an answer to the question.
    fn answer(&self, command: &str, answer: &str) -> Seen {
        let mut terminal = Terminal::start(&self.shell(&format!("TERM=xterm; {command}")), WIDE);
        let is_question = |line: &str| line.contains('?') || line.contains("esc: cancel");
        terminal.wait_until("a question", |screen| screen.lines().last().is_some_and(is_question));
        terminal.press([answer]);
        let ended = terminal.end();
        Seen { succeeded: ended.code == Some(0), printed: self.shown(&ended.screen) }
    }

    /// Waits until what stays has said what the page says, or anything if the page says nothing.
    fn watch(&self, staying: &mut Staying, command: &str, expected: &[String]) -> Option<String> {
        let since = Instant::now();
        loop {
            let has_ended = staying.has_ended();
            let late = since.elapsed() > PATIENCE;
            let seen = Seen { succeeded: !late, printed: self.shown(&staying.printed()) };
            if has_ended {
                return Some(format!("`{command}` does not stay:\n{}", seen.printed));
            }
            let said = seen.complaint(command, expected);
            if late || (said.is_none() && !seen.printed.is_empty()) {
                return said;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a page says, as it is here.
    fn meant(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (shown, here)| text.replace(shown, here))
    }

    /// What is here, as a page says it.
    fn shown(&self, text: &str) -> String {
        let text = text.replace(self.scratch.path("home").as_str(), SHOWN_HOME);
        self.ports.iter().fold(text, |text, (shown, here)| text.replace(here, shown))
    }

    /// What was shown, as it is here.
    fn unshown(&self, text: &str) -> String {
        text.replace(SHOWN_HOME, self.scratch.path("home").as_str())
    }

    /// A shell that does this, and knows nothing of whoever runs the test.
    fn shell(&self, command: &str) -> Command {
        let home = self.scratch.path("home");
        let cargo = beside(&std::env::var("CARGO").unwrap());
        // The sandbox lets agents use the toolchains that rustup has, so it must know where.
        let rustup = cargo.ancestors().find(|it| it.join("toolchains").is_dir());
        let ours = &self.programs;
        let path = format!("{ours}:{home}/.cargo/bin:{cargo}:/usr/local/bin:/usr/bin:/bin");
        let mut variables = vec![
            ("PATH", path),
            ("HOME", home.to_string()),
            ("CARGO_HOME", home.join(".cargo").into_string()),
            ("CARGO_NET_OFFLINE", "true".to_owned()),
            ("CARGO_AGENTS_SUPERVISOR_IDLE", "1".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("NO_COLOR", "1".to_owned()),
            ("TERM", "dumb".to_owned()),
        ];
        variables.extend(rustup.map(|it| ("RUSTUP_HOME", it.to_string())));
        let exported = self.exported.iter().map(|(name, value)| (name.as_str(), value.clone()));
        // As an argument, so that it is an empty environment whoever else starts the shell.
        let mut shell = Command::new("env");
        shell.arg("-i");
        for (name, value) in variables.into_iter().chain(exported) {
            shell.arg(format!("{name}={value}"));
        }
        shell.args(["sh", "-c", &format!("{{ {}\n}} 2>&1", self.meant(command))]);
        shell.current_dir(&self.at);
        shell
    }
}

fn beside(program: &str) -> Utf8PathBuf {
    Utf8Path::new(program).parent().unwrap().to_owned()
}

/// One that nobody uses now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What came of a command.
struct Seen {
    succeeded: bool,
    /// In the order in which it was.
    printed: String,
}

impl Seen {
    /// What is different from what the page says.
    fn complaint(&self, command: &str, expected: &[String]) -> Option<String> {
        let Self { succeeded, printed } = self;
        // Where nothing is compared, only this tells that something went wrong.
        if !succeeded && says_nothing(expected) {
            return Some(format!("`{command}` failed:\n{printed}"));
        }
        let lines: Vec<&str> = printed.trim_end().lines().collect();
        let told: Vec<&str> = expected.iter().map(String::as_str).collect();
        let page = told.join("\n");
        (!is_as_told(&told, &lines))
            .then(|| format!("$ {command}\n--- the page\n{page}\n--- now\n{printed}"))
    }
}

#[test]
fn what_fails_is_shown_to_fail() {
    let page = |lines: &str| format!("```console\n{lines}\n```\n");
    for (lines, complaints) in [
        ("$ echo no; false\nno", 0),
        ("$ echo no; false\n…", 1),
        ("$ false", 1),
        ("$ echo yes\n…", 0),
        ("false", 1),
    ] {
        let said = Reader::with("/usr/bin/true").follow(&page(lines));
        assert_eq!(said.len(), complaints, "{lines}: {said:?}");
    }
}

#[test]
fn whoever_goes_somewhere_is_there_for_the_rest_of_the_page() {
    let page = "```console\n$ mkdir -p a/b\n$ cd a\n$ pwd\n/home/ann/src/a\n```\n```console\ncd b\n```\n```console\n$ pwd\n/home/ann/src/a/b\n$ cd ~\n$ pwd\n/home/ann\n```\n";
    assert_eq!(Reader::with("/usr/bin/true").follow(page), Vec::<String>::new());
    let nowhere = "```console\n$ cd a\n$ pwd\n/home/ann/src\n```\n";
    assert_eq!(Reader::with("/usr/bin/true").follow(nowhere).len(), 1);
}

#[test]
fn what_stays_is_there_for_the_rest_of_the_page_and_gone_afterwards() {
    let page = "<!-- port: 4711 -->\n<!-- stays: in a terminal of its own -->\n```console\n$ echo at 4711; touch begun; sleep 1000\nat 4711\n```\n```console\n$ ls\nbegun\n```\n";
    let mut reader = Reader::with("/usr/bin/true");
    assert_eq!(reader.follow(page), Vec::<String>::new());
    let [staying] = reader.staying.as_mut_slice() else { panic!("one of them") };
    assert!(!staying.has_ended());
    assert!(!staying.printed().contains("4711"), "another port: {}", staying.printed());
    let group = nix::unistd::Pid::from_raw(i32::try_from(staying.id()).unwrap());
    drop(reader);
    // What was killed is there until somebody has taken note of it.
    let since = Instant::now();
    while nix::sys::signal::killpg(group, None).is_ok() {
        assert!(since.elapsed() < PATIENCE, "something of it is left");
        std::thread::sleep(Duration::from_millis(20));
    }
    for (lines, complains) in [("echo a", true), ("echo a; sleep 1000", false)] {
        let page = format!("<!-- stays: there -->\n```console\n{lines}\n```\n");
        assert_eq!(!Reader::with("/usr/bin/true").follow(&page).is_empty(), complains, "{lines}");
    }
}

#[test]
fn what_asks_is_answered_at_a_terminal() {
    let page = "<!-- answer: y -->\n```console\n$ test -t 0 && printf 'sure? ' && stty -icanon && dd bs=1 count=1 2> /dev/null && echo es\nsure? yyes\n```\n";
    assert_eq!(Reader::with("/usr/bin/true").follow(page), Vec::<String>::new());
}
