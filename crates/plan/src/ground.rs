//! What a result depends on besides what the agent is told: who works, and on which files.

use std::{collections::BTreeMap, io};

use agents_system::cache::{Digest, digest};
use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;

/// What a result depends on besides the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ground {
    /// The agent, its tools and its model.
    pub definition: Digest,
    /// The files that it works on.
    pub tree: Digest,
}

/// Everything below some paths of a directory, names and contents, or all of it if no path is named. What git ignores does not
/// count, as long as it is not named itself.
///
/// # Errors
/// Something cannot be read; whoever goes on then does not know what the files are.
pub fn tree(root: &Utf8Path, paths: &[Utf8PathBuf]) -> io::Result<Digest> {
    let whole = [Utf8PathBuf::from(".")];
    let paths = if paths.is_empty() { &whole[..] } else { paths };
    let mut seen: BTreeMap<Utf8PathBuf, Digest> = BTreeMap::new();
    for path in paths {
        let top = root.join(path);
        if top.symlink_metadata().is_err() {
            // That it is not there is something to know, too.
            seen.insert(top, digest(b"absent"));
            continue;
        }
        // Hidden files are files. The rules of git hold where git does not know the directory, too.
        let mut walk = WalkBuilder::new(&top);
        walk.hidden(false).require_git(false).filter_entry(|it| it.file_name() != ".git");
        for entry in walk.build() {
            let entry = entry.map_err(io::Error::other)?;
            let kind = entry.file_type();
            let Ok(path) = Utf8PathBuf::from_path_buf(entry.into_path()) else {
                return Err(io::Error::other("a name is not UTF-8"));
            };
            let content = match kind {
                Some(kind) if kind.is_symlink() => {
                    digest(format!("link {}", path.read_link_utf8()?).as_bytes())
                }
                Some(kind) if kind.is_file() => file(&path)?,
                _ => continue,
            };
            seen.insert(path, content);
        }
    }
    let mut all = Vec::new();
    for (path, content) in seen {
        let name = path.strip_prefix(root).unwrap_or(&path);
        all.extend_from_slice(name.as_str().as_bytes());
        all.push(0);
        all.extend_from_slice(&content);
    }
    Ok(digest(&all))
}

fn file(path: &Utf8Path) -> io::Result<Digest> {
    let mut bytes = fs_err::read(path)?;
    bytes.push(mode(path)?);
    Ok(digest(&bytes))
}

/// Whether it can be run: a script that cannot is another file.
#[cfg(unix)]
fn mode(path: &Utf8Path) -> io::Result<u8> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(u8::from(fs_err::metadata(path)?.permissions().mode() & 0o100 != 0))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on systems that have modes")]
fn mode(_: &Utf8Path) -> io::Result<u8> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use agents_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn names_contents_and_modes_count_and_what_git_ignores_does_not() {
        let scratch = Scratch::in_memory();
        let write = |name: &str, text: &str| {
            let path = scratch.path(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write(".gitignore", "target\n");
        write("a/src/lib.rs", "one");
        write("b/src/lib.rs", "two");
        write(".hidden", "x");
        let all = || tree(scratch.root(), &[]).unwrap();
        let of = |path: &str| tree(scratch.root(), &[path.into()]).unwrap();
        let (whole, a, b) = (all(), of("a"), of("b"));
        assert_ne!(a, b);
        write("target/debug/x", "built");
        assert_eq!(all(), whole);
        write("b/src/lib.rs", "too");
        assert_ne!((all(), of("b")), (whole, b));
        assert_ne!(all(), whole);
        assert_ne!(of("b"), b);
        assert_eq!(of("a"), a);
        write("b/src/lib.rs", "two");
        assert_eq!(all(), whole);
        write(".hidden", "y");
        assert_ne!(all(), whole);
        write(".hidden", "x");
        fs_err::rename(scratch.path("a/src/lib.rs"), scratch.path("a/src/main.rs")).unwrap();
        assert_ne!(of("a"), a);
        let absent = of("c");
        write("c", "");
        assert_ne!(of("c"), absent);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let before = of("c");
            let runs = std::fs::Permissions::from_mode(0o755);
            fs_err::set_permissions(scratch.path("c"), runs).unwrap();
            assert_ne!(of("c"), before);
        }
    }
}
