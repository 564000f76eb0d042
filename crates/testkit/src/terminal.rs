//! A program on a real terminal, with somebody at the keyboard.
//!
//! The program gets a pseudo-terminal of a given size as its controlling one, so that Ctrl-C is a signal unless the
//! program takes it as a key. What it draws is kept as a screen by a terminal emulator of its own, so that a
//! test sees what a person would see and not the bytes that lead to it.
//!
//! `setsid` of util-linux makes the pseudo-terminal the controlling one: what that takes is not safe Rust.
//!
//! ```
//! use std::process::Command;
//! use agents_testkit::terminal::{Size, Terminal, keys};
//! let mut shell = Command::new("sh");
//! shell.args(["-c", "printf 'name? '; read name; printf '\\033[31mhello %s\\n' \"$name\"; exit 3"]);
//! let mut terminal = Terminal::start(&shell, Size::USUAL);
//! terminal.wait_for("name?");
//! terminal.press(["you", keys::ENTER]);
//! let ended = terminal.end();
//! assert_eq!((ended.screen.as_str(), ended.code), ("name? you\nhello you", Some(3)));
//! ```

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::AsFd as _,
    process::{Child, Command},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use nix::{
    pty::{Winsize, openpty},
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use rustix::termios::{LocalModes, tcgetattr, tcsetwinsize};

use crate::through::through;

/// What keys send.
pub mod keys {
    /// Arrow up.
    pub const UP: &str = "\x1b[A";
    /// Arrow down.
    pub const DOWN: &str = "\x1b[B";
    /// Enter.
    pub const ENTER: &str = "\r";
    /// Escape.
    pub const ESCAPE: &str = "\x1b";
    /// Ctrl-C.
    pub const CTRL_C: &str = "\x03";
    /// Ctrl-D.
    pub const CTRL_D: &str = "\x04";
    /// Space.
    pub const SPACE: &str = " ";
}

/// How long anything may take. Nothing waits for it but a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How wide.
    pub columns: u16,
    /// How high.
    pub rows: u16,
}

impl Size {
    /// 80 x 24.
    pub const USUAL: Self = Self { columns: 80, rows: 24 };

    fn window(self) -> Winsize {
        Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// Who answers what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editing {
    /// The terminal shows what is typed and hands it over by lines: how a shell wants to find it.
    Lines,
    /// The program sees every key.
    Keys,
}

/// A running program on a terminal. It is killed when this is dropped, and so is what it started in its process group.
pub struct Terminal {
    child: Child,
    keyboard: File,
    seen: Arc<Seen>,
    reader: Option<JoinHandle<()>>,
}

/// How a program ended and what it left on the screen.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, if no signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The screen, without blank lines at the end.
    pub screen: String,
    /// Every byte that it wrote.
    pub bytes: Vec<u8>,
    /// Who would answer what is typed after it.
    pub editing: Editing,
    /// Whether the cursor can be seen after it.
    pub shows_cursor: bool,
}

struct Seen {
    state: Mutex<State>,
    more: Condvar,
}

struct State {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
}

impl Terminal {
    /// Starts the program on a new terminal. Program, arguments, directory and environment of the command count, its
    /// standard streams do not.
    #[must_use]
    pub fn start(command: &Command, size: Size) -> Self {
        let pair = openpty(Some(&size.window()), None).unwrap();
        let own = || pair.slave.try_clone().unwrap();
        let mut on_terminal = through(&["setsid", "--ctty"], command);
        on_terminal.stdin(own()).stdout(own()).stderr(own());
        let child = on_terminal.spawn().expect("`setsid` of util-linux");
        // Only when nobody else has the other end is its end seen.
        drop((on_terminal, pair.slave));
        let keyboard = File::from(pair.master);
        let state = State {
            parser: vt100::Parser::new(size.rows, size.columns, 0),
            bytes: Vec::new(),
            ended: false,
        };
        let seen = Arc::new(Seen { state: Mutex::new(state), more: Condvar::new() });
        let (screen, shared) = (keyboard.try_clone().unwrap(), Arc::clone(&seen));
        let reader = std::thread::spawn(move || shared.watch(screen));
        Self { child, keyboard, seen, reader: Some(reader) }
    }

    /// Types something: text, or [`keys`].
    pub fn press<'k>(&mut self, typed: impl IntoIterator<Item = &'k str>) {
        for key in typed {
            self.keyboard.write_all(key.as_bytes()).unwrap();
        }
    }

    /// Waits until this is somewhere on the screen; the screen then.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, which `what` says in words; the screen then.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut state = self.seen.state();
        loop {
            let screen = state.screen();
            if is_so(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what:?} on\n{screen}");
            assert!(!state.ended, "the program ended without {what:?} on\n{screen}");
            let waited = self.seen.more.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The screen now, without blank lines at the end.
    #[must_use]
    pub fn screen(&self) -> String {
        self.seen.state().screen()
    }

    /// Whether nobody draws on it any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.seen.state().ended
    }

    /// Whether the cursor can be seen.
    #[must_use]
    pub fn shows_cursor(&self) -> bool {
        !self.seen.state().parser.screen().hide_cursor()
    }

    /// Who answers what is typed now.
    #[must_use]
    pub fn editing(&self) -> Editing {
        let modes = tcgetattr(self.keyboard.as_fd()).unwrap().local_modes;
        let lines = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        if modes.contains(lines) { Editing::Lines } else { Editing::Keys }
    }

    /// Makes the window another size.
    pub fn resize(&self, size: Size) {
        self.seen.state().parser.screen_mut().set_size(size.rows, size.columns);
        let window = rustix::termios::Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(self.keyboard.as_fd(), window).unwrap();
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt as _;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        };
        // The rest of what it wrote.
        self.reader.take().unwrap().join().unwrap();
        let (editing, shows_cursor) = (self.editing(), self.shows_cursor());
        let mut state = self.seen.state();
        Ended {
            editing,
            shows_cursor,
            code: status.code(),
            signal: status.signal(),
            screen: state.screen(),
            bytes: std::mem::take(&mut state.bytes),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already. It leads a session, and so a group.
        if let (Ok(None), Ok(id)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until nobody has the other end any more.
    fn watch(&self, mut screen: File) {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = screen.read(&mut bytes) {
            let mut state = self.state();
            state.parser.process(&bytes[..length]);
            state.bytes.extend_from_slice(&bytes[..length]);
            self.more.notify_all();
        }
        self.state().ended = true;
        self.more.notify_all();
    }
}

impl State {
    fn screen(&self) -> String {
        let text = self.parser.screen().contents();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }
}
