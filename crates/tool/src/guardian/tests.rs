use agents_testkit::scratch::Scratch;
use rustix::fs::{CWD, FileType, Mode};
use std::os::unix::fs::symlink;

use super::*;

/// What is told after a program did something to a workspace: paths below it, `!` before those that could not be put back.
#[track_caller]
fn told(scratch: &Scratch, program: impl FnOnce()) -> Vec<String> {
    let area = Area::workspace(scratch.root()).unwrap();
    let guardian = Guardian::remember(&area);
    program();
    let shown = |it: Changed| {
        let mark = if it.now == Now::Changed { "!" } else { "" };
        format!("{mark}{}", it.path.strip_prefix(scratch.root()).unwrap())
    };
    guardian.restore().into_iter().map(shown).collect()
}

fn set_mode(path: &Utf8Path, mode: u32) {
    fs_err::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Utf8Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn text(path: &Utf8Path) -> String {
    fs_err::read_to_string(path).unwrap()
}

#[test]
fn a_file_gets_back_what_it_said_and_who_may_run_it() {
    let scratch = Scratch::new();
    let sample = scratch.script(".git/hooks/pre-commit", "true");
    let plain = scratch.write(".git/config", "[core]\n");
    set_mode(&plain, 0o640);
    let told = told(&scratch, || {
        fs_err::write(&sample, "evil").unwrap();
        set_mode(&plain, 0o755);
        scratch.write("src/lib.rs", "this is work");
    });
    assert_eq!(told, [".git/config", ".git/hooks/pre-commit"]);
    assert_eq!((text(&sample).as_str(), mode(&sample)), ("#!/bin/sh\ntrue\n", 0o755));
    assert_eq!((text(&plain).as_str(), mode(&plain)), ("[core]\n", 0o640));
    assert_eq!(text(&scratch.path("src/lib.rs")), "this is work");
}

#[test]
fn where_nothing_is_changed_nothing_is_told() {
    let scratch = Scratch::new();
    scratch.write(".git/config", "[core]\n");
    symlink("elsewhere", scratch.path(".vscode")).unwrap();
    let same = || drop(scratch.write(".git/config", "[core]\n"));
    assert_eq!(told(&scratch, same), [""; 0]);
}

/// As in a worktree of git.
#[test]
fn a_file_in_the_place_of_a_directory_keeps_its_mode() {
    let scratch = Scratch::new();
    let file = scratch.write(".git", "gitdir: elsewhere\n");
    set_mode(&file, 0o440);
    assert_eq!(told(&scratch, || ()), [""; 0]);
    assert_eq!(mode(&file), 0o440);
}

#[test]
fn what_is_new_goes_and_links_lead_where_they_did() {
    let scratch = Scratch::new();
    let [link, theirs] = [".mcp.json", ".claude/settings.json"].map(|it| scratch.path(it));
    symlink("real.json", &link).unwrap();
    fs_err::create_dir(scratch.path(".claude")).unwrap();
    symlink("../dotfiles/settings.json", &theirs).unwrap();
    let told = told(&scratch, || {
        fs_err::remove_file(&link).unwrap();
        symlink("evil.json", &link).unwrap();
        fs_err::remove_dir_all(scratch.path(".claude")).unwrap();
        scratch.write(".husky/pre-push", "evil");
        symlink("evil", scratch.path(".envrc")).unwrap();
    });
    assert_eq!(told, [".envrc", ".husky/pre-push", ".mcp.json", ".claude/settings.json"]);
    assert_eq!(link.read_link_utf8().unwrap(), "real.json");
    assert_eq!(theirs.read_link_utf8().unwrap(), "../dotfiles/settings.json");
    assert!(!scratch.path(".husky/pre-push").exists() && !scratch.path(".envrc").is_symlink());
}

#[test]
fn a_directory_and_a_file_are_not_taken_for_each_other() {
    let scratch = Scratch::new();
    let (file, hook) = (scratch.write(".envrc", "old"), scratch.write(".git/hooks/a", "old"));
    let elsewhere = scratch.write("elsewhere/a", "old");
    let told = told(&scratch, || {
        fs_err::remove_file(&file).unwrap();
        scratch.write(".envrc/new", "evil");
        fs_err::remove_dir_all(scratch.path(".git/hooks")).unwrap();
        symlink("../elsewhere", scratch.path(".git/hooks")).unwrap();
    });
    assert_eq!(told, [".git/hooks", ".git/hooks/a", ".envrc/new", ".envrc"]);
    assert_eq!(
        (text(&file), text(&hook), text(&elsewhere)),
        ("old".into(), "old".into(), "old".into())
    );
    assert!(!scratch.path(".git/hooks").is_symlink());
}

#[test]
fn a_directory_on_the_way_does_not_become_a_link_and_stays_one_if_it_was() {
    let scratch = Scratch::new();
    scratch.write("real/config", "old");
    let git = scratch.path(".git");
    symlink("real", &git).unwrap();
    // The repository of the user is elsewhere, and stays there.
    let changed = || drop(scratch.write("real/config", "new"));
    assert_eq!(told(&scratch, changed), [".git/config"]);
    assert_eq!(git.read_link_utf8().unwrap(), "real");
    assert_eq!(text(&scratch.path("real/config")), "old");
    let led_away = || {
        scratch.write("evil/config", "evil");
        fs_err::remove_file(&git).unwrap();
        symlink("evil", &git).unwrap();
    };
    assert_eq!(told(&scratch, led_away), [""; 0], "it is seen through the link that is back");
    assert_eq!(git.read_link_utf8().unwrap(), "real");
    let workflow = scratch.write(".github/workflows/ci.yml", "old");
    let became_a_link = || {
        scratch.write("evil/workflows/ci.yml", "evil");
        fs_err::rename(scratch.path(".github"), scratch.path("away")).unwrap();
        symlink("evil", scratch.path(".github")).unwrap();
    };
    assert_eq!(told(&scratch, became_a_link), [".github/workflows/ci.yml"]);
    assert_eq!(text(&workflow), "old");
    assert_eq!(
        text(&scratch.path("evil/workflows/ci.yml")),
        "evil",
        "nothing is written through it"
    );
}

#[test]
fn what_is_too_large_is_told_and_left_alone() {
    let scratch = Scratch::new();
    let most = 1_048_576;
    let large = scratch.write(".claude/large", vec![b'x'; most + 1]);
    let largest = scratch.write(".claude/largest", vec![b'x'; most]);
    let change = || {
        fs_err::write(&large, "short").unwrap();
        fs_err::write(&largest, "short").unwrap();
    };
    assert_eq!(told(&scratch, change), ["!.claude/large", ".claude/largest"]);
    assert_eq!(
        text(&large),
        "short",
        "nobody knows what it was, and what it is now may be all there is"
    );
    assert_eq!(fs_err::read(&largest).unwrap().len(), most);
}

#[test]
fn a_pipe_is_not_read() {
    let scratch = Scratch::new();
    let pipe = scratch.path(".envrc");
    let make = || {
        let (kind, mode) = (FileType::Fifo, Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(CWD, pipe.as_str(), kind, mode, 0).unwrap();
    };
    make();
    // Nobody will ever write to it.
    assert_eq!(told(&scratch, || {}), [""; 0]);
    fs_err::remove_file(&pipe).unwrap();
    assert_eq!(told(&scratch, make), [".envrc"]);
    assert!(!pipe.exists());
}

#[test]
fn thousands_of_files_elsewhere_hide_nothing() {
    let scratch = Scratch::in_memory();
    let crowd = |at: usize| format!(".github/workflows/{at}.yml");
    let told = told(&scratch, || {
        for at in 0..=MAX_FILES {
            scratch.write(crowd(at), "");
        }
        scratch.write(".git/hooks/post-checkout", "evil");
    });
    assert_eq!(told.len(), MAX_FILES + 2);
    assert!(!scratch.path(".git/hooks/post-checkout").exists());
    assert!(!scratch.path(crowd(0)).exists() && !scratch.path(crowd(MAX_FILES)).exists());
}

#[test]
fn where_the_user_has_more_than_is_remembered_nothing_is_taken_for_new() {
    let scratch = Scratch::in_memory();
    for at in 0..=MAX_FILES {
        scratch.write(format!(".claude/projects/{at}.json"), "theirs");
    }
    scratch.write(".claude/settings.json", "old");
    let all = || scratch.path(".claude/projects").read_dir_utf8().unwrap().count();
    let before = all();
    let told = told(&scratch, || {
        scratch.write(".git/hooks/post-checkout", "evil");
        for at in 0..3 {
            scratch.write(format!(".claude/projects/new-{at}.json"), "");
        }
    });
    assert_eq!(told, [".git/hooks/post-checkout"]);
    assert_eq!(all(), before + 3);
    // One of the directories is a link now, which it was not.
    let told = self::told(&scratch, || {
        fs_err::rename(scratch.path(".claude/projects"), scratch.path("away")).unwrap();
        symlink("../away", scratch.path(".claude/projects")).unwrap();
    });
    assert_eq!(told[0], ".claude/projects");
    assert!(!scratch.path(".claude/projects").is_symlink());
}

#[test]
fn what_may_only_be_read_is_not_watched() {
    let scratch = Scratch::new();
    let file = scratch.write("theirs/.envrc", "old");
    fs_err::create_dir(scratch.path("own")).unwrap();
    let roots = [("own", RootAccess::Write), ("theirs", RootAccess::Read)];
    let area = Area::new(roots.map(|(name, access)| (scratch.path(name), access))).unwrap();
    let guardian = Guardian::remember(&area);
    fs_err::write(&file, "new").unwrap();
    assert_eq!(guardian.restore(), []);
    assert_eq!(text(&file), "new");
}

/// As anybody whom file modes keep from something: the superuser is not.
#[test]
fn no_mode_of_a_directory_keeps_us_from_putting_back() {
    use agents_system::sandbox::{Availability, Network, Rights, available, restrict};
    if available() != Availability::Available {
        return;
    }
    let scratch = Scratch::new();
    let hook = scratch.write(".git/hooks/a", "old");
    let deep = scratch.write(".vscode/deep/tasks.json", "old");
    let everything = vec!["/".into()];
    let rights = Rights { read: vec![], write: everything, network: Network::Allowed };
    std::thread::scope(|scope| {
        let bound = scope.spawn(|| {
            // It takes all privileges away, even where it grants everything.
            restrict(&rights).unwrap();
            let told = told(&scratch, || {
                fs_err::write(&hook, "evil").unwrap();
                scratch.write(".git/hooks/new", "evil");
                scratch.write(".vscode/deep/new", "evil");
                fs_err::write(&deep, "evil").unwrap();
                for (dir, mode) in [(".git/hooks", 0o555), (".git", 0o500), (".vscode/deep", 0)] {
                    set_mode(&scratch.path(dir), mode);
                }
            });
            let all =
                [".git/hooks/new", ".git/hooks/a", ".vscode/deep/new", ".vscode/deep/tasks.json"];
            assert_eq!(told, all);
        });
        bound.join().unwrap();
    });
    assert_eq!((text(&hook), text(&deep)), ("old".to_owned(), "old".to_owned()));
    assert!(!scratch.path(".git/hooks/new").exists() && !scratch.path(".vscode/deep/new").exists());
}
