//! What happens to files that are wrong.

use agents_agent::{
    Standing,
    shelf::{MAX_BYTES, MAX_FILES},
};
use agents_system::explain::Explain as _;

use crate::trees::{Tree, agent, standings};

#[test]
fn one_bad_file_is_skipped_with_a_finding_and_the_others_load() {
    let tree = Tree::new();
    tree.scratch.write("home/.claude/agents/a.md", "no header");
    tree.scratch.write("home/.claude/agents/b.md", b"---\nname: \xff\n---\n");
    tree.scratch.write("home/.claude/agents/c.md", "---\nname: c\n---\n");
    tree.agent("home/.claude/agents/d.md", "d");
    assert_eq!(tree.shown(), ["d: home/.claude/agents/d.md"]);
    let agents = tree.find();
    assert_eq!(
        standings(&agents, "a"),
        [Standing::Invalid],
        "a file called `a` is in the chain of `a`"
    );
    let findings = tree.findings();
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings[1].ends_with("b.md: the file is not valid UTF-8"), "{findings:?}");
}

#[test]
fn a_bad_file_does_not_take_the_name() {
    let tree = Tree::new();
    tree.scratch.write("home/work/app/.claude/agents/a.md", "---\nname: a\n---\n");
    tree.agent("home/.claude/agents/a.md", "a");
    assert_eq!(tree.shown(), ["a: home/.claude/agents/a.md"]);
    assert_eq!(standings(&tree.find(), "a"), [Standing::Invalid, Standing::Wins]);
}

#[test]
fn a_bad_file_that_was_named_is_an_error() {
    let mut tree = Tree::new();
    tree.search.named = vec![tree.scratch.write("mine.md", "no header")];
    let error = tree.try_find().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("which was named with --agents, is not a definition of an agent")
    );
    assert_eq!(error.findings().len(), 1);
    tree.search.named = vec![tree.scratch.root().to_owned()];
    assert!(tree.try_find().is_err(), "a bad file in a directory that was named as well");
    tree.search.named = vec![tree.scratch.path("gone.md")];
    let error = tree.try_find().unwrap_err().to_string();
    assert!(error.contains("--agents path does not exist"), "{error}");
}

#[test]
fn a_file_may_have_256_kib_and_not_a_byte_more() {
    let tree = Tree::new();
    let fill = |name: &str, size: u64| {
        let text = agent(name, "big");
        let size = usize::try_from(size).unwrap();
        text.clone() + &" ".repeat(size - text.len())
    };
    tree.scratch.write("home/.claude/agents/fits.md", fill("fits", MAX_BYTES));
    tree.scratch.write("home/.claude/agents/over.md", fill("over", MAX_BYTES + 1));
    assert_eq!(tree.shown(), ["fits: big"]);
    let findings = tree.findings();
    assert!(findings[0].contains("over.md: the file is left out"), "{findings:?}");
    assert!(findings[0].contains("larger than 256 KiB"), "{findings:?}");
}

#[test]
fn no_more_than_a_hundred_files_of_a_directory_are_read() {
    let tree = Tree::new();
    for number in 0..=MAX_FILES {
        tree.agent(&format!("home/.claude/agents/{number:04}.md"), &format!("a{number}"));
    }
    assert_eq!(tree.shown().len(), MAX_FILES);
    assert!(tree.find().get("a100").is_none());
    assert_eq!(
        tree.findings(),
        ["home/.claude/agents: 101 files in one directory; only the first 100 are read"]
    );
}

#[cfg(unix)]
#[test]
fn pipes_and_directories_are_no_definitions_and_nobody_waits_for_them() {
    let tree = Tree::new();
    fs_err::create_dir_all(tree.scratch.path("home/.claude/agents/dir.md")).unwrap();
    let pipe = tree.scratch.path("home/.claude/agents/pipe.md");
    agents_testkit::scratch::run(std::process::Command::new("mkfifo").arg(pipe.as_std_path()));
    tree.agent("home/.claude/agents/z.md", "z");
    assert_eq!(tree.shown(), ["z: home/.claude/agents/z.md"]);
    let findings = tree.findings();
    assert_eq!(findings.iter().filter(|it| it.contains(", not a file")).count(), 2);
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_not_be_read_is_empty_with_a_finding() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    let dir = tree.scratch.path("home/.claude/agents");
    let mode = |mode| fs_err::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o000);
    let readable = fs_err::read_dir(&dir).is_ok();
    let (shown, findings) = (tree.shown(), tree.findings());
    mode(0o755);
    // To the superuser nothing is closed.
    if !readable {
        assert_eq!(shown, [""; 0]);
        assert!(findings[0].starts_with("home/.claude/agents: the directory cannot be read"));
    }
}
