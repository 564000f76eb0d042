use super::*;

/// What `Bash(cargo *)` says about a command.
fn cargo(command: &str) -> bool {
    allowed(&["cargo *"], command)
}

fn allowed(patterns: &[&str], command: &str) -> bool {
    let patterns: Vec<Pattern> = patterns.iter().map(|it| Pattern::new(it)).collect();
    parse(command).is_ok_and(|script| script.covered_by(&patterns).is_ok())
}

fn forbidden(pattern: &str, command: &str) -> bool {
    match parse(command) {
        Ok(script) => script.touched_by(&[Pattern::new(pattern)]).is_err(),
        Err(_) => true,
    }
}

/// What is cargo, and nothing but cargo.
pub(super) const YES: &[&str] = &[
    "cargo",
    "cargo test",
    "  cargo test  ",
    "cargo\ttest",
    "cargo test --all -- --nocapture",
    "cargo 'test'",
    "cargo \"test\"",
    "'cargo' test",
    "\"cargo\" test",
    "c'arg'o test",
    "\\cargo test",
    "cargo run -- 'a; rm -rf b'",
    "cargo run -- \"a && rm b | c > d\"",
    "cargo run -- 'a `rm b` $(rm c)'",
    "cargo run -- a\\;rm",
    "cargo run -- \"\\$(rm a)\"",
    "cargo run -- '#' a",
    "cargo run -- $HOME",
    "cargo run -- ${HOME}",
    "cargo run -- \"$HOME/x\"",
    "cargo test *.rs",
    "cargo test a?b [ab] {a,b}",
    "cargo test ~/x",
    "cargo test && cargo build",
    "cargo test; cargo build",
    "cargo test ;",
    "cargo test || cargo build",
    "cargo test | cargo x",
    "cargo test & cargo build",
    "cargo test &",
    "cargo a\ncargo b",
    "cargo a\n\n\ncargo b\n",
    "cargo test \\\n  --all",
    "(cargo test)",
    "{ cargo test; }",
    "! cargo test",
    "cargo test 2>&1",
    "cargo test >/dev/null",
    "cargo test > /dev/null 2>&1",
    "cargo test 2>/dev/null | cargo x",
    "cargo test &>/dev/null",
    "cargo test < /dev/null",
    "# what this does\ncargo test",
    "cargo run <<< 'some text'",
    "cargo run <<< \"$X\"",
    "cargo test --config 'a.b=1'",
    "cargo +nightly test",
    "cargo run -- ''",
    "cargo run -- \"\"",
    "cargo run -- a=b",
    "cargo run -- ä 漢字",
    // One word.
    "cargo test\u{2028}rm",
];

/// What is something else, does something else, or cannot be judged.
pub(super) const NO: &[&str] = &[
    "",
    "   ",
    "rm -rf x",
    "cargox test",
    "cargo-clippy",
    "/usr/bin/cargo test",
    "./cargo test",
    "../cargo test",
    "~/cargo test",
    "Cargo test",
    "cargo test; rm x",
    "cargo test ;rm x",
    "cargo test;rm x",
    "cargo test&&rm x",
    "cargo test || rm x",
    "cargo test | sh",
    "cargo test |& sh",
    "cargo test & rm x",
    "cargo test\nrm x",
    "cargo test\n\nrm x",
    "cargo test\r\nrm x",
    "cargo test \\\n; rm x",
    "cargo te\\\nst",
    "car\\\ngo test",
    "rm x # cargo test",
    "cargo test # ; rm x",
    "cargo test \\# ; rm x",
    "cargo a#b ; rm x",
    "cargo \\ # ; rm x",
    "cargo test && \\ cargo x",
    "\\ cargo test",
    "# cargo\nrm x",
    "cargo $(rm x)",
    "cargo `rm x`",
    "cargo \"$(rm x)\"",
    "cargo \"`rm x`\"",
    "cargo \"a${b:-$(rm x)}\"",
    "cargo ${x:=y}",
    "cargo ${x@P}",
    "cargo ${!x}",
    "cargo ${x[$(rm y)]}",
    "cargo $((1 + 1))",
    "cargo $[1 + 1]",
    "cargo $((a[$(rm x)]))",
    "cargo <(rm x)",
    "cargo >(rm x)",
    "cargo test < <(rm x)",
    "cargo test > >(sh)",
    "cargo test > file",
    "cargo test >file",
    "cargo test >> ~/.bashrc",
    "cargo test 2> file",
    "cargo test >| file",
    "cargo test &> file",
    "cargo test >& file",
    "cargo test <> file",
    "cargo test < file",
    "cargo test > $X",
    "cargo test > /dev/null/../../tmp/x",
    "> file cargo test",
    "> file",
    "cargo run << EOF\n$(rm x)\nEOF",
    "cargo run << 'EOF'\ntext\nEOF",
    "cargo run <<EOF | sh\nrm x\nEOF",
    "cargo run <<< $(rm x)",
    "cargo run <<< \"a\\\nb\"",
    "X=1 cargo test",
    "PATH=/tmp cargo test",
    "RUSTC_WRAPPER=./x cargo build",
    "X=$(rm x) cargo test",
    "X=1",
    "PATH=/tmp; cargo test",
    "PATH=/tmp && cargo test",
    "X=1 Y=2\ncargo test",
    "A[$(rm x)]=1 cargo test",
    "env cargo test",
    "env X=1 cargo test",
    "env -S 'rm x' cargo",
    "sh -c 'cargo test'",
    "sh -c 'rm x'",
    "bash -lc 'cargo test'",
    "bash <<< 'rm x'",
    "xargs cargo",
    "cargo test | xargs rm",
    "find . -exec cargo test ;",
    "find . -exec rm {} +",
    "nice cargo test",
    "time rm x",
    "time -p rm x",
    "timeout 5 rm x",
    "command rm x",
    "command cargo test",
    "exec rm x",
    "exec cargo test",
    "builtin eval rm x",
    "eval cargo test",
    "eval 'rm x'",
    "source x",
    ". x",
    "sudo cargo test",
    "cargo() { rm x; }; cargo test",
    "function cargo { rm x; }; cargo test",
    "function cargo { rm x; }\ncargo test",
    "alias cargo='rm x'; cargo test",
    "alias cargo='rm x'\ncargo test",
    "trap 'rm x' EXIT; cargo test",
    "hash -p /bin/rm cargo; cargo x",
    "enable -f ./x cargo; cargo x",
    "set -- rm; cargo test",
    "export X=1; cargo test",
    "declare -x X=1",
    "unset X",
    "cd .. && cargo test",
    "$CARGO test",
    "${X} test",
    "$X",
    "car$X test",
    "\"$X\" cargo",
    "$'\\x72m' x",
    "cargo $'a\\'; rm x'",
    "cargo $\"a\"",
    "ca*o test",
    "carg? test",
    "{cargo,rm} x",
    "r\\m x",
    "'rm' x",
    "r''m x",
    "\"r\"m x",
    "cargo 'a\\'; rm x #'",
    "cargo \"a\\\\\"; rm x #\"",
    "cargo 'open",
    "cargo \"open",
    "cargo `open",
    "cargo $(open",
    "(cargo test",
    "cargo test)",
    "{ cargo test; rm x; }",
    "(cargo test; rm x)",
    "! rm x",
    "if cargo test; then rm x; fi",
    "if true; then cargo test; fi",
    "while cargo test; do rm x; done",
    "for x in a; do rm $x; done",
    "for x in $(rm y); do cargo $x; done",
    "case x in x) rm y;; esac",
    "[[ -f x ]] && cargo test",
    "[[ $(rm x) ]]",
    "((x = 1)) && cargo test",
    "coproc rm x",
    "select x in a; do rm y; done",
    "cargo test && (rm x)",
    "cargo test &&",
    "&& cargo test",
    "; cargo test",
    "cargo test ;; rm x",
    "cargo test \u{a0}; rm x",
    "cargo test\u{0}; rm x",
    "cargo test\u{b}rm x",
    "cargo test \u{7f}",
    "if",
    "!",
    "{",
    "}",
    "$",
    "$(",
    "`",
    "<<",
    "<<<",
    "''",
    "\"\"",
    "'' cargo",
    "\\",
];

#[test]
fn bash_of_cargo_is_cargo_and_nothing_else() {
    assert!(YES.len() + NO.len() >= 100);
    let wrong: Vec<&str> = YES.iter().copied().filter(|it| !cargo(it)).collect();
    assert!(wrong.is_empty(), "refused: {wrong:#?}\n{:?}", wrong.first().map(|it| parse(it)));
    let wrong: Vec<&str> = NO.iter().copied().filter(|it| cargo(it)).collect();
    assert!(wrong.is_empty(), "allowed: {wrong:#?}\n{:?}", wrong.first().map(|it| parse(it)));
}

#[test]
fn patterns_with_more_words() {
    for (pattern, command, yes) in [
        ("cargo test *", "cargo test", true),
        ("cargo test *", "cargo test -q", true),
        ("cargo test *", "cargo build", false),
        ("cargo test *", "cargo $X", false),
        ("cargo test *", "cargo 'test x'", false),
        ("cargo test *", "cargo te*", false),
        ("cargo test", "cargo test -q", false),
        ("cargo test:*", "cargo test -q", true),
        ("git commit -m *", "git commit -m 'a; b'", true),
        ("npm run *", "npm run build && npm run test", true),
        ("X=* cargo *", "X=1 cargo test", true),
        ("X=* cargo *", "X=1 Y=2 rm", false),
        ("cargo --config=a", "cargo --config=a", true),
        // What the shell puts there is not what is written.
        ("cargo --config=~/a", "cargo --config=~/a", false),
        ("cargo $#", "cargo $#", false),
        // No program has this name.
        ("* cargo", "'' cargo", false),
    ] {
        assert_eq!(allowed(&[pattern], command), yes, "{pattern}: {command}");
    }
    for word in RESERVED {
        assert!(!allowed(&[&format!("{word} *")], &format!("{word} x")), "{word}");
    }
    assert!(allowed(&["cargo *", "grep *"], "cargo test 2>&1 | grep -v 'ok'"));
}

#[test]
fn a_denial_holds_wherever_it_could_matter() {
    for command in [
        "rm x",
        "/bin/rm x",
        "r\\m x",
        "'rm' x",
        "ls; rm x",
        "ls && rm x",
        "ls | rm",
        "$(rm x)",
        "echo `rm x`",
        "echo \"$(rm x)\"",
        "if true; then rm x; fi",
        "for a in b; do rm $a; done",
        "f() { rm x; }",
        "X=1 rm x",
        "env rm x",
        "env -i X=1 rm x",
        "timeout 5 rm x",
        "nice -n 5 rm x",
        "xargs rm",
        "ls | xargs -n1 rm -f",
        "find . -exec rm {} +",
        "command rm x",
        "exec rm x",
        "sudo rm x",
        "sh -c 'rm x'",
        "bash -lc 'ls; rm x'",
        "env sh -c 'rm x'",
        "eval rm x",
        "eval 'r''m x'",
        "eval \"$X\"",
        "sh -c \"$X\"",
        "sh -c 'sh -c \"rm x\"'",
        "$X x",
        "r* x",
        "python3 -c 'x'",
        "cat x | sh",
        "bash <<< 'rm x'",
        "echo ${X:-$(rm x)}",
        "eval eval eval eval rm x",
        "rm 'open",
    ] {
        assert!(forbidden("rm *", command), "{command}");
    }
    for command in [
        "ls",
        "cargo test",
        "echo rm",
        "grep 'rm x' file",
        "timeout 5 cargo test",
        "for a in *.rs; do wc -l $a; done",
        "ls > file",
        "sh -c 'cargo test'",
        "rmdir x",
        "./script.sh",
        "sh check.sh rm",
        "sh -x check.sh",
        "=x rm y",
        "eval eval eval eval ls",
    ] {
        assert!(!forbidden("rm *", command), "{command}");
    }
    assert!(forbidden("git push *", "git $X"));
    assert!(!forbidden("git push *", "git status"));
    assert!(forbidden("rm *", "eval eval eval eval eval ls"), "nobody looks as deep as that");
}

#[test]
fn what_cannot_be_judged_has_a_name() {
    for (command, said) in [
        ("cargo $(x)", "a command inside of a command cannot be judged: `$(x)`"),
        ("cargo ${x:-y}", "an expansion cannot be judged: `${x:-y}`"),
        ("cargo $'x'", "a string of the shell's own kind cannot be judged: `$'x'`"),
        ("cargo <(x)", "a process in the place of a file cannot be judged: `<(x)`"),
        ("cargo <<A\nx\nA", "a here-document cannot be judged: `<<A\nx\nA`"),
        ("cargo > x", "a file opened by the shell cannot be judged: `> x`"),
        ("f() { x; }", "a function cannot be judged: `f() { x; }`"),
        ("if x; then y; fi", "a statement cannot be judged: `if x; then y; fi`"),
        ("export X=1", "a declaration cannot be judged: `export X=1`"),
        ("X=1", "this part of the command cannot be judged: `X=1`"),
        ("time x", "a word of the shell's grammar cannot be judged: `time x`"),
        ("cargo x # y", "a comment behind a command cannot be judged: `# y`"),
    ] {
        let plain = parse(command).unwrap().plain;
        assert_eq!(plain.unwrap_err().to_string(), said, "{command}");
    }
}

#[test]
fn garbage_is_refused_in_no_time() {
    for text in
        ["(", "{", "$(", "`", "\"", "[[", "<<A\n", "a|", "if ", "${", "((", "$((", "case x in "]
    {
        for count in [10, 500, MAX_LENGTH] {
            let command = &text.repeat(count)[..MAX_LENGTH.min(text.len() * count)];
            assert!(!cargo(command), "{text} {count}");
        }
    }
    assert_eq!(parse(&"x".repeat(4_097)), Err(Unjudged::TooLong));
}

#[test]
fn a_long_command_is_judged_and_a_tangled_one_given_up() {
    let long = format!("cargo test{}", " a".repeat((4_096 - 10) / 2));
    assert_eq!(long.len(), 4_096);
    assert!(cargo(&long));
    assert_eq!(parse_within(&long, 2), Err(Unjudged::TooLong));
}

#[test]
fn what_is_quoted_is_one_word() {
    for word in ["", "a b", "it's", "$(rm x)", "a\nb", "\\", "''", "`x`; y"] {
        let script = parse(&format!("cargo {}", quoted(word))).unwrap();
        let echo = agents_system::process::Call::new("sh");
        let echo = echo.args(["-c", &format!("printf %s {}", quoted(word))]).capture().unwrap();
        assert_eq!(echo.stdout_text(), word);
        assert_eq!(script.programs(), ["cargo"], "{word}");
    }
}

#[test]
fn programs_are_named_in_order() {
    assert_eq!(parse("a | b && c $(d)").unwrap().programs(), ["a", "b", "c", "d"]);
}
