use agents_install::Entry;

use super::*;

/// A hook on installation `i`.
fn hook(installation: &str, hook: &str) -> String {
    format!(
        "[[hooks]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = \"i\"\n{hook}\n\
         [[installations]]\nname = \"i\"\n{installation}\n"
    )
}

const CARGO: &str = "source = \"cargo\"\ncrate = \"tool\"\n";
const GITHUB: &str = "source = \"github\"\nurl = \"https://x/y\"\n";

#[test]
fn a_hook_has_a_moment_and_a_command() {
    let found = demo(&hook(CARGO, "")).hooks.remove(0);
    let expected = Hook {
        name: "h".to_owned(),
        event: "PreToolUse".to_owned(),
        host: None,
        matcher: None,
        requirements: Vec::new(),
        command: InstallationName::new("i"),
        entry: None,
        args: Vec::new(),
        format: "symposium".to_owned(),
        gate: Gate::open(),
    };
    assert_eq!(found, expected);
}

#[test]
fn a_hook_that_can_never_run_is_loaded_with_a_doubt() {
    for (said, key) in [("agent = \"amp\"", "agent"), ("format = \"zed\"", "format")] {
        let text = format!("name = \"demo\"\n{}", hook(CARGO, said));
        let parsed = parse_as(Manner::Registry, &text);
        assert_eq!(parsed.manifest.unwrap().hooks.len(), 1, "manifests of others keep loading");
        let [doubt] = &parsed.findings[..] else { panic!("{:?}", parsed.findings) };
        assert!(doubt.message.starts_with("hook `h` can never run: `"), "{doubt:?}");
        assert!(doubt.place.as_ref().unwrap().spot.is_some(), "{doubt:?}");
        let hint = doubt.hint.as_deref().unwrap();
        assert!(hint.starts_with(&format!("`{key}` can be `")), "{hint}");
        assert!(hint.contains("`claude`") && !hint.contains("`amp`"), "{hint}");
        assert_eq!(hint.contains("`symposium`"), key == "format", "{hint}");
    }
}

#[test]
fn a_hook_may_say_more() {
    let more = "agent = \"claude\"\nmatcher = \"Bash|Edit\"\nformat = \"codex\"\nargs = [\"-v\"]\n\
                predicates = [\"env(CI)\"]";
    let found = demo(&hook(CARGO, more)).hooks.remove(0);
    assert_eq!(found.host.as_deref(), Some("claude"));
    assert_eq!(found.matcher.as_deref(), Some("Bash|Edit"));
    assert_eq!(found.format, "codex");
    assert_eq!(found.args, ["-v"]);
    assert_eq!(found.gate.to_string(), "env(CI)");
}

#[test]
fn events_hosts_and_formats_are_known_words() {
    for event in ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"] {
        let text = hook(CARGO, "").replace("PreToolUse", event);
        assert_eq!(demo(&text).hooks[0].event, event);
    }
    for format in ["symposium", "claude", "codex", "copilot", "gemini", "antigravity", "kiro"] {
        assert_eq!(demo(&hook(CARGO, &format!("format = \"{format}\""))).hooks[0].format, format);
    }
    let text = hook(CARGO, "").replace("PreToolUse", "BeforeTool");
    check_error(&text, "`event` cannot be `BeforeTool` in [[hooks]]");
    check_error(&hook(CARGO, "agent = \"vim\""), "`agent` cannot be `vim` in [[hooks]]");
    check_error(&hook(CARGO, "format = \"xml\""), "`format` cannot be `xml` in [[hooks]]");
}

#[test]
fn the_hook_or_its_installation_says_what_to_run() {
    let entry =
        |installation: &str, text: &str| demo(&hook(installation, text)).hooks.remove(0).entry;
    assert_eq!(entry(&format!("{GITHUB}script = \"a.sh\""), ""), None);
    let script = Some(Entry::Script("a.sh".to_owned()));
    assert_eq!(entry(GITHUB, "script = \"a.sh\""), script);
    assert_eq!(entry("", "script = \"a.sh\""), script);
    assert_eq!(entry(CARGO, "executable = \"x\""), Some(Entry::Executable("x".to_owned())));
}

#[test]
fn but_not_both() {
    let message =
        "hook `h`: at most one of `executable` / `script` may be set across hook and installation";
    for (installation, own) in [
        ("executable = \"a\"", "executable = \"b\""),
        ("script = \"a\"", "script = \"b\""),
        ("executable = \"a\"", "script = \"b\""),
        ("script = \"a\"", "executable = \"b\""),
    ] {
        check_error(&hook(installation, own), message);
    }
    check_error(
        &hook(CARGO, "executable = \"a\"\nscript = \"b\""),
        "`executable` and `script` exclude each other",
    );
}

#[test]
fn a_hook_must_have_something_to_run() {
    check_error(&hook("", ""), "hook `h` has nothing to run");
    check_error(&hook(GITHUB, ""), "hook `h` has nothing to run");
    check_error(&hook("install_commands = [\"make\"]", ""), "hook `h` has nothing to run");
}

#[test]
fn arguments_stand_in_one_place() {
    assert_eq!(demo(&hook(CARGO, "args = [\"a\"]")).hooks[0].args, ["a"]);
    let inherited = demo(&hook(&format!("{CARGO}args = [\"a\"]"), ""));
    assert_eq!(inherited.hooks[0].args, [""; 0]);
    assert_eq!(inherited.installations[&InstallationName::new("i")].args, ["a"]);
    let message = "hook `h` and its installation both set `args`";
    check_error(&hook(&format!("{CARGO}args = [\"a\"]"), "args = [\"b\"]"), message);
    check_error(
        "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { executable = \"x\", args = [\"a\"] }\nargs = [\"b\"]",
        message,
    );
}

#[test]
fn references_may_point_forward_but_must_point_at_something() {
    assert_eq!(demo(&hook(CARGO, "")).hooks[0].command.as_str(), "i");
    let text = hook(CARGO, "").replace("command = \"i\"", "command = \"j\"");
    check_error(&text, "hook `h` references unknown installation `j`");
    check_error(
        &hook(CARGO, "requirements = [\"j\"]"),
        "hook `h` references unknown installation `j`",
    );
}

#[test]
fn requirements_come_prerequisites_first_and_each_once() {
    let text = hook(
        "executable = \"x\"\nrequirements = [\"base\"]",
        "requirements = [\"extra\", \"base\"]",
    ) + "[[installations]]\nname = \"base\"\n\
           [[installations]]\nname = \"deep\"\n\
           [[installations]]\nname = \"extra\"\nrequirements = [\"deep\", \"base\"]";
    assert_eq!(names(&demo(&text).hooks[0].requirements), ["base", "deep", "extra"]);
}

#[test]
fn the_rtk_example_parses() {
    let manifest = demo(
        r#"
        crates = []

        [[installations]]
        name = "rtk"
        source = "cargo"
        crate = "rtk"
        git = "https://github.com/rtk-ai/rtk"
        executable = "rtk"

        [[hooks]]
        name = "rewrite"
        event = "PreToolUse"
        matcher = "Bash"
        agent = "claude"
        requirements = ["rtk"]
        command = { source = "github", url = "https://github.com/rtk-ai/rtk", script = "hooks/rewrite.sh" }
        "#,
    );
    assert_eq!(names(&manifest.hooks[0].requirements), ["rtk"]);
    assert_eq!(manifest.hooks[0].command.as_str(), "rewrite");
}

#[test]
fn a_hook_without_its_essentials_is_refused() {
    let command = "command = { executable = \"x\" }";
    check_error(
        &format!("[[hooks]]\nevent = \"Stop\"\n{command}"),
        "`name` is missing in [[hooks]]",
    );
    check_error(&format!("[[hooks]]\nname = \"h\"\n{command}"), "`event` is missing in [[hooks]]");
    check_error("[[hooks]]\nname = \"h\"\nevent = \"Stop\"", "`command` is missing in [[hooks]]");
    check_error(
        "[hooks]\nname = \"h\"",
        "`hooks` must be a list of tables, written as `[[hooks]]`, not a table",
    );
}
