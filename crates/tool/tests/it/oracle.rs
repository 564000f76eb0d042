//! What is judged is what the shell does: bash itself is asked.
//!
//! Whatever `bash(cargo *)` allows is run by a real bash in which every other program that a test command could name leaves a trace.

use agents_testkit::scratch::Scratch;
use agents_tool::{Rights, Subject};
use proptest::{prelude::*, sample::select};

const PIECES: &[&str] = &[
    "cargo",
    "cargo ",
    " ",
    "rm",
    "rm x",
    "test",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "$",
    "$X",
    "${X}",
    "$(",
    "`",
    "#",
    " #",
    "=",
    "X=1",
    "<",
    ">",
    ">&",
    "2>&1",
    "<<",
    "<<<",
    "<<E\n",
    "E\n",
    "!",
    "*",
    "?",
    "[",
    "]",
    "~",
    "\t",
    "$'",
    "\\n",
    "\\\n",
    "sh -c",
    "eval",
    "env",
    "if",
    "then",
    "fi",
    "do",
    "done",
    "for",
    "in",
    ">/dev/null",
    "rm;",
    ";rm",
    "function",
    "cargo()",
    "time",
    "exec",
    "command",
    "--",
    "-x",
    "ä",
    "[[",
    "]]",
    "((",
    "))",
    "<(",
    ">(",
    "|&",
    "&>",
    "coproc",
    "%",
    "@",
    ",",
    "{a,b}",
];

fn judge(command: &str) -> bool {
    Rights::only(["bash(cargo *)"]).cover("bash", &Subject::Command(command.to_owned())).is_ok()
}

struct Bash {
    scratch: Scratch,
}

impl Bash {
    fn new() -> Self {
        let scratch = Scratch::new();
        for name in [
            "rm",
            "sh",
            "env",
            "test",
            "x",
            "a",
            "b",
            "E",
            "bash",
            "time",
            "ä",
            "n",
            "in",
            "do",
            "cargotest",
            "cargorm",
        ] {
            scratch.script(format!("bin/{name}"), "echo \"$0 $*\" >> \"$TRACE\"");
        }
        scratch.script("bin/cargo", ":");
        fs_err::create_dir(scratch.path("work")).unwrap();
        Self { scratch }
    }

    /// Runs a command; gives what ran that is not cargo, and which files appeared.
    fn strangers(&self, command: &str) -> (String, Vec<String>) {
        let trace = self.scratch.path("trace");
        let _ = fs_err::remove_file(&trace);
        #[allow(clippy::disallowed_methods, reason = "the shell is what is tested against")]
        let mut bash = std::process::Command::new("/bin/bash");
        bash.args(["--noprofile", "--norc", "-c", command]).env_clear();
        bash.env("PATH", self.scratch.path("bin")).env("TRACE", &trace).env("X", "rm x");
        bash.current_dir(self.scratch.path("work")).stdin(std::process::Stdio::null());
        let output = bash.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut ran = fs_err::read_to_string(&trace).unwrap_or_default();
        // A program that does not exist was called as well.
        ran.extend(
            said.lines().filter(|it| it.contains("command not found")).map(|it| format!("{it}\n")),
        );
        let made = self.scratch.path("work").read_dir_utf8().unwrap();
        (ran, made.flatten().map(|it| it.file_name().to_owned()).collect())
    }
}

/// Things that were once thought of, whatever chance brings.
const HARD: &[&str] = &[
    "cargo a\\\n;rm x",
    "cargo \"a\\\"\";rm x",
    "cargo 'a'\\'';rm x'",
    "cargo \"$X\"",
    "cargo $X",
    "cargo a &\nrm x",
    "cargo {rm,x}",
    "cargo a \\# b",
    "cargo <<< \"`rm x`\"",
    "cargo <<< a\nrm x",
    "cargo a # b\n",
    "cargo a 2>&1 2>&1",
    "cargo $",
    "cargo a$",
    "cargo \"$\"",
    "cargo ''\"\"a",
    "! ! cargo a",
    "cargo a | ! rm",
    "{ cargo a; } > /dev/null",
    "(cargo a) 2>&1 & cargo b",
    "cargo a >/dev/null rm x",
    "cargo a;;",
    "cargo [a-b]* ~ ~rm",
    "cargo !x",
    "cargo a=~",
    "cargo a\u{a0}b",
    "cargo a &&\n cargo b",
    "cargo a |\ncargo b",
    "#\ncargo a\n#rm\n",
    "cargo 1>&2",
    "cargo 3>&-",
    "cargo a <&-",
];

#[test]
fn hard_cases_run_nothing_else() {
    let bash = Bash::new();
    let mut allowed = 0;
    for command in HARD {
        if judge(command) {
            allowed += 1;
            assert_eq!(bash.strangers(command), (String::new(), Vec::new()), "{command:?}");
        }
    }
    assert!(allowed >= 12, "only {allowed}: nothing was compared");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_allowed_runs_nothing_else(pieces in proptest::collection::vec(select(PIECES), 0..7)) {
        thread_local!(static BASH: Bash = Bash::new());
        let command = format!("cargo {}", pieces.concat());
        if judge(&command) {
            let found = BASH.with(|bash| bash.strangers(&command));
            prop_assert_eq!(found, (String::new(), Vec::<String>::new()), "{:?}", command);
        }
    }
}
