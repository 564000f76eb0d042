//! What a task built is not left to the next one; what it built of others' crates is.
//!
//! Cargo names what it builds of a workspace by where it is *in* the workspace, and takes it for fresh if no source is
//! newer. Two worktrees of one repository have the same names, so a directory that changes hands must not hold anything of the
//! first that the second could take for its own. The lists of sources that compilers write (`*.d`) tell what came from cargo's own
//! directories, which never change. Whatever cannot be told goes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use agents_system::dirs::cargo_home;
use camino::{Utf8Path, Utf8PathBuf};

use super::super::{gc::remove_tree, record::names};

/// Files at the top that are about the directory itself.
const OF_THE_DIRECTORY: &[&str] = &["CACHEDIR.TAG", ".rustc_info.json"];
/// How long the part of a name is that cargo makes of everything that matters.
const HASH: usize = 16;

/// Removes everything but what was built of packages in cargo's home.
pub(super) fn leave_foreign(dir: &Utf8Path) -> io::Result<()> {
    let home = cargo_home().unwrap_or_default();
    let real = home.canonicalize_utf8().unwrap_or_else(|_| home.clone());
    let homes: Vec<Utf8PathBuf> = [home, real]
        .iter()
        .filter(|it| it.is_absolute())
        .flat_map(|it| [it.join("registry"), it.join("git")])
        .collect();
    leave(dir, &homes)
}

fn leave(dir: &Utf8Path, homes: &[Utf8PathBuf]) -> io::Result<()> {
    for name in names(dir) {
        let path = dir.join(&name);
        if is_profile(&path) {
            clean(&path, homes)?;
        } else if names(&path).iter().any(|it| is_profile(&path.join(it))) {
            // A directory of a target.
            leave(&path, homes)?;
        } else if !OF_THE_DIRECTORY.contains(&name.as_str()) {
            remove(&path)?;
        }
    }
    Ok(())
}

fn is_profile(path: &Utf8Path) -> bool {
    path.join(".fingerprint").is_dir() && path.join("deps").is_dir()
}

fn clean(profile: &Utf8Path, homes: &[Utf8PathBuf]) -> io::Result<()> {
    let fingerprints = profile.join(".fingerprint");
    let packages: BTreeMap<String, String> = names(&fingerprints)
        .iter()
        .filter_map(|it| split(it))
        .map(|(package, hash)| (hash.to_owned(), package.to_owned()))
        .collect();
    // What every list of sources says about its package.
    let (mut foreign, mut own) = (BTreeSet::new(), BTreeSet::new());
    for (hash, list) in lists(profile) {
        let Some(package) = packages.get(&hash) else { continue };
        let from_home = is_from(&list, homes);
        if from_home {
            foreign.insert(package)
        } else {
            own.insert(package)
        };
    }
    let stays = |name: &str| {
        let hash = split(name).map(|(_, hash)| hash);
        let package = hash.and_then(|it| packages.get(it));
        package.is_some_and(|it| foreign.contains(it) && !own.contains(it))
    };
    for part in [".fingerprint", "build", "deps"] {
        let part = profile.join(part);
        for name in names(&part).iter().filter(|it| !stays(it)) {
            remove(&part.join(name))?;
        }
    }
    for name in names(profile) {
        if ![".fingerprint", "build", "deps", ".cargo-lock"].contains(&name.as_str()) {
            remove(&profile.join(name))?;
        }
    }
    Ok(())
}

/// The lists of sources, each with the hash of what was built of them.
fn lists(profile: &Utf8Path) -> Vec<(String, Utf8PathBuf)> {
    let deps = profile.join("deps");
    let mut found: Vec<Utf8PathBuf> = names(&deps).into_iter().map(|it| deps.join(it)).collect();
    let build = profile.join("build");
    for name in names(&build) {
        let dir = build.join(name);
        found.extend(names(&dir).into_iter().map(|it| dir.join(it)));
    }
    let list = |path: Utf8PathBuf| {
        let name = path.file_name()?.strip_suffix(".d")?;
        Some((split(name)?.1.to_owned(), path))
    };
    found.into_iter().filter_map(list).collect()
}

/// Whether the first source of a list, which is that of the crate itself, is in one of the directories.
fn is_from(list: &Utf8Path, homes: &[Utf8PathBuf]) -> bool {
    let Ok(text) = fs_err::read_to_string(list) else { return false };
    let first = text.lines().next().and_then(|it| it.split_once(": ")).map_or("", |it| it.1);
    // A space within a name is written `\ `: it is enough that the beginning is right.
    let first = first.replace("\\ ", " ");
    homes.iter().any(|home| first.starts_with(&format!("{home}/")))
}

/// `libserde-0123456789abcdef.rlib` is `libserde` and `0123456789abcdef`.
fn split(name: &str) -> Option<(&str, &str)> {
    let stem = name.split_once('.').map_or(name, |it| it.0);
    let (name, hash) = stem.rsplit_once('-')?;
    let is_hash = hash.len() == HASH && hash.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then_some((name, hash))
}

fn remove(path: &Utf8Path) -> io::Result<()> {
    match fs_err::symlink_metadata(path) {
        Ok(data) if data.is_dir() => remove_tree(path),
        Ok(_) => fs_err::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use agents_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn what_came_from_a_registry_stays_and_everything_else_goes() {
        let scratch = Scratch::new();
        let (one, two, three) = ("0000000000000001", "0000000000000002", "0000000000000003");
        let home = scratch.path("my cargo/registry");
        for profile in ["debug", "wasm32-unknown-unknown/release"] {
            let file =
                |path: String, text: &str| scratch.write(format!("t/{profile}/{path}"), text);
            // A package of the registry with a build script, and one of ours of the same shape.
            let escaped = home.as_str().replace(' ', "\\ ");
            for (package, source) in [("ours", "src/"), ("serde", escaped.as_str())] {
                let (lib, script, ran) = match package {
                    "ours" => (one, two, three),
                    _ => ("000000000000000a", "000000000000000b", "000000000000000c"),
                };
                for hash in [lib, script, ran] {
                    file(format!(".fingerprint/{package}-{hash}/x"), "");
                }
                file(format!("deps/{package}-{lib}.d"), &format!("/t/x.d: {source}/lib.rs b.rs\n"));
                file(format!("deps/lib{package}-{lib}.rlib"), "");
                let list = format!("build/{package}-{script}/build_script_build-{script}.d");
                file(list, &format!("/t/x.d: {source}/build.rs\n"));
                file(format!("build/{package}-{ran}/output"), "");
            }
            file("ours".to_owned(), "");
            file(".cargo-lock".to_owned(), "");
            file("deps/libours.so".to_owned(), "");
            file("incremental/ours-2alvivvtgmd7m/x".to_owned(), "");
        }
        scratch.write("t/doc/index.html", "");
        scratch.write("t/CACHEDIR.TAG", "");
        scratch.write("t/unknown-layout/debug/x", "");
        leave(&scratch.path("t"), &[home]).unwrap();
        let mut left: Vec<String> = ignore::WalkBuilder::new(scratch.path("t"))
            .standard_filters(false)
            .build()
            .map(|it| it.unwrap())
            .filter(|it| it.file_type().is_some_and(|kind| kind.is_file()))
            .map(|it| it.path().strip_prefix(scratch.path("t")).unwrap().display().to_string())
            .filter(|it| !it.starts_with("wasm32"))
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "CACHEDIR.TAG",
                "debug/.cargo-lock",
                "debug/.fingerprint/serde-000000000000000a/x",
                "debug/.fingerprint/serde-000000000000000b/x",
                "debug/.fingerprint/serde-000000000000000c/x",
                "debug/build/serde-000000000000000b/build_script_build-000000000000000b.d",
                "debug/build/serde-000000000000000c/output",
                "debug/deps/libserde-000000000000000a.rlib",
                "debug/deps/serde-000000000000000a.d",
            ]
        );
        assert!(!scratch.path("t/wasm32-unknown-unknown/release/ours").exists());
        let kept = "t/wasm32-unknown-unknown/release/deps/libserde-000000000000000a.rlib";
        assert!(scratch.path(kept).exists());
    }
}
