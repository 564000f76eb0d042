//! What a skill consists of.

use agents_system::memory::Watch;
use agents_testkit::scratch::Scratch;

use super::*;

/// `path kind` per line, then the findings.
fn show(scratch: &Scratch, dir: &str, within: &str) -> String {
    let (tree, findings) = SkillTree::read(&scratch.path(dir), &scratch.path(within));
    let mut lines: Vec<String> = Vec::new();
    for TreeEntry { path, kind } in tree.map(|tree| tree.entries).unwrap_or_default() {
        lines.push(match kind {
            TreeKind::Dir => format!("{path}/"),
            TreeKind::File { mode, bytes } => format!("{path} {mode:?} {}", bytes.len()),
        });
    }
    lines.extend(findings.iter().map(|finding| {
        let file = &finding.place.as_ref().unwrap().file;
        format!("{:?}: {file}: {}", finding.severity, finding.message)
    }));
    lines.join("\n").replace(scratch.root().as_str(), "")
}

fn digest(scratch: &Scratch, dir: &str) -> agents_system::cache::Digest {
    let content = content_of(&scratch.path(dir), &mut Watch::new());
    assert_eq!(content.findings, []);
    content.digest.unwrap()
}

#[test]
fn the_digest_of_a_single_file_is_that_of_a_tree_of_it() {
    let scratch = Scratch::new();
    scratch.write("s/SYMPOSIUM.toml", "name = \"x\"\n");
    let bytes = agents_system::cache::digest(b"name = \"x\"\n");
    let of_file = SkillTree::digest_of_file(Utf8Path::new("SYMPOSIUM.toml"), bytes);
    assert_eq!(of_file, digest(&scratch, "s"));
}

#[test]
fn files_directories_and_modes() {
    let scratch = Scratch::new();
    scratch.write("s/SKILL.md", "text");
    scratch.write("s/.gitignore", "*\n");
    scratch.write("s/.symposium", "");
    scratch.write("s/sub/.gitignore", "kept");
    scratch.write("s/sub/.symposium", "kept");
    scratch.write("s/.hidden", "");
    fs_err::create_dir_all(scratch.path("s/empty/inner")).unwrap();
    #[cfg(unix)]
    scratch.script("s/scripts/run", "true");
    insta::assert_snapshot!(show(&scratch, "s", "s"), @"
    .hidden Plain 0
    SKILL.md Plain 4
    empty/
    empty/inner/
    scripts/
    scripts/run Executable 15
    sub/
    sub/.gitignore Plain 4
    sub/.symposium Plain 4
    ");
}

#[test]
fn equal_content_has_an_equal_digest_and_any_change_another() {
    let scratch = Scratch::new();
    for dir in ["a", "b"] {
        scratch.write(format!("{dir}/SKILL.md"), "text");
        scratch.write(format!("{dir}/x/y"), "y");
    }
    let before = digest(&scratch, "a");
    assert_eq!(digest(&scratch, "b"), before);
    scratch.write("b/.symposium", "whatever");
    scratch.write("b/.gitignore", "*");
    assert_eq!(digest(&scratch, "b"), before);
    let changes: [&dyn Fn(); 5] = [
        &|| drop(scratch.write("b/x/y", "z")),
        &|| drop(scratch.write("b/x/y2", "")),
        &|| fs_err::create_dir(scratch.path("b/x/dir")).unwrap(),
        &|| fs_err::rename(scratch.path("b/x/y"), scratch.path("b/x/moved")).unwrap(),
        &|| fs_err::remove_dir_all(scratch.path("b/x")).unwrap(),
    ];
    let mut seen = vec![before];
    for change in changes {
        change();
        let now = digest(&scratch, "b");
        assert!(!seen.contains(&now));
        seen.push(now);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(scratch.path("a/x/y"), mode).unwrap();
        assert_ne!(digest(&scratch, "a"), before);
    }
}

#[test]
#[cfg(unix)]
fn links_become_what_they_lead_to_inside_the_tree_only() {
    let scratch = Scratch::new();
    scratch.write("crate/README.md", "read me");
    scratch.write("crate/docs/one.md", "one");
    scratch.write("secret", "secret");
    let at = |path: &str| scratch.path(format!("crate/skills/s/{path}"));
    write(&at("SKILL.md"), "text");
    link("../../README.md", &at("readme.md"));
    link("../../docs", &at("docs"));
    link("../../../secret", &at("secret"));
    link("/etc/passwd", &at("passwd"));
    link("missing", &at("gone"));
    link(".", &at("self"));
    link("../../s", &at("sub/up"));
    link("../skills/s", &scratch.path("crate/docs/back"));
    insta::assert_snapshot!(show(&scratch, "crate/skills/s", "crate"), @"
    SKILL.md Plain 4
    docs/
    docs/one.md Plain 3
    readme.md Plain 7
    sub/
    Warning: /crate/skills/s/gone: the link leads nowhere and is left out
    Warning: /crate/skills/s/passwd: the link leads out of `/crate` and is left out
    Warning: /crate/skills/s/secret: the link leads out of `/crate` and is left out
    Warning: /crate/skills/s/self: the link leads back to a directory that it stands in and is left out
    Warning: /crate/docs/back: the link leads back to a directory that it stands in and is left out
    Warning: /crate/skills/s/sub/up: the link leads back to a directory that it stands in and is left out
    ");
    // A copy of it is the same content.
    let (tree, _) = SkillTree::read(&at("").join("."), &scratch.path("crate"));
    for TreeEntry { path, kind } in &tree.as_ref().unwrap().entries {
        match kind {
            TreeKind::Dir => fs_err::create_dir_all(scratch.path("copy").join(path)).unwrap(),
            TreeKind::File { bytes, .. } => drop(write(&scratch.path("copy").join(path), bytes)),
        }
    }
    assert_eq!(digest(&scratch, "copy"), tree.unwrap().digest());
}

#[test]
fn what_is_too_large_or_cannot_be_read_is_no_tree() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(show(&scratch, "gone", ""), @"Error: /gone: cannot be read: No such file or directory (os error 2)");
    let big = scratch.write("big/blob", "");
    fs_err::OpenOptions::new().write(true).open(&big).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(show(&scratch, "big", "big"), "Error: /big/blob: the skill has more than 50 MiB");
    for at in 0..=MAX_ENTRIES {
        scratch.write(format!("many/{at}"), "");
    }
    assert_eq!(show(&scratch, "many", "many"), "Error: /many: the skill has more than 5000 files");
    scratch.write(format!("deep{}/f", "/d".repeat(40)), "");
    assert!(show(&scratch, "deep", "deep").contains("more than 32 directories deep"));
}

#[test]
#[cfg(unix)]
fn many_links_to_one_another_end() {
    let scratch = Scratch::new();
    for a in 0..8 {
        fs_err::create_dir_all(scratch.path(format!("s/{a}"))).unwrap();
        for b in 0..8 {
            link(&format!("../{b}"), &scratch.path(format!("s/{a}/{b}")));
        }
    }
    let (tree, findings) = SkillTree::read(&scratch.path("s"), &scratch.path("s"));
    assert!(tree.is_none());
    assert!(findings.last().unwrap().message.contains("more than 5000 files"), "{findings:?}");
}

#[test]
#[cfg(unix)]
fn a_file_name_that_is_not_utf8_is_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    scratch.write("s/SKILL.md", "text");
    let name = std::ffi::OsStr::from_bytes(b"bad\xff");
    if fs_err::write(scratch.path("s").as_std_path().join(name), "").is_err() {
        return;
    }
    let (tree, findings) = SkillTree::read(&scratch.path("s"), &scratch.path("s"));
    assert_eq!(tree.unwrap().entries.len(), 1);
    assert!(findings[0].message.contains("is not valid UTF-8"));
}

#[cfg(unix)]
#[test]
fn skills_are_remembered_until_something_in_them_changes() {
    let world = World::new("");
    // Each is remembered on its own, so that one change does not hide another.
    let changes: [(&str, String); 4] = [
        ("s/one/more.md", "MORE".to_owned()),
        ("s/one/SKILL.md", skill("one").replace("about", "ABOUT")),
        ("s/one/new.md", String::new()),
        ("s/two/SKILL.md", skill("two")),
    ];
    for at in 0..changes.len() {
        let manifest =
            format!("name = \"p{at}\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \"s\"\n");
        world.registry(&format!("p{at}/SYMPOSIUM.toml"), manifest);
        world.registry(&format!("p{at}/s/one/SKILL.md"), skill("one"));
        world.registry(&format!("p{at}/s/one/more.md"), "more");
    }
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let first = world.skills(Fetch::Never);
    let stored = || {
        let mut files = world.path("agents/cache/skills").read_dir_utf8().unwrap();
        fs_err::read(files.next().unwrap().unwrap().path()).unwrap()
    };
    let before = stored();
    assert_eq!((world.skills(Fetch::Never), stored()), (first.clone(), before));
    for (at, (path, text)) in changes.iter().enumerate() {
        world.registry(&format!("p{at}/{path}"), text);
    }
    let now = world.skills(Fetch::Never).skills;
    assert_eq!(now.len(), changes.len() + 1);
    for (was, (path, _)) in first.skills.iter().zip(&changes) {
        assert!(!now.contains(was) || path.contains("two"), "{path}");
    }
}
