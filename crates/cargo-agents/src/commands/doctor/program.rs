//! The program itself, as hosts find it.

use agents_host::hooks::OUR_PROGRAM;
use agents_system::{
    cache::digest,
    finding::{Finding, Place},
    process::find_programs,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    checks::{ANOTHER_PROGRAM, PROGRAM_NOT_FOUND, Problem, TWO_PROGRAMS},
    version::version_of,
};

/// The program on `PATH` and the one that runs.
pub(super) struct Programs {
    /// The different ones of our name, in the order of the search.
    found: Vec<Utf8PathBuf>,
    /// The one that runs, if the system tells.
    this: Option<Utf8PathBuf>,
}

impl Programs {
    pub(super) fn look() -> Self {
        let mut found: Vec<Utf8PathBuf> = Vec::new();
        for path in find_programs(OUR_PROGRAM) {
            if !found.iter().any(|known| is_same(known, &path)) {
                found.push(path);
            }
        }
        let this = std::env::current_exe().ok();
        Self { found, this: this.and_then(|path| Utf8PathBuf::from_path_buf(path).ok()) }
    }
}

pub(super) fn check(programs: &Programs) -> Option<Problem> {
    let Some((first, others)) = programs.found.split_first() else {
        let directory = programs.this.as_ref().and_then(|path| path.parent());
        let said = format!("`{OUR_PROGRAM}` is not on `PATH`, so hosts cannot call it");
        let finding = Finding::error(said);
        return Some(PROGRAM_NOT_FOUND.problem(match directory {
            Some(dir) => finding.hint(format!("add `{dir}` to `PATH`, for the hosts too")),
            None => finding,
        }));
    };
    if let Some(this) = &programs.this
        && !is_same(first, this)
    {
        let other = version_of(first).map(|it| format!(" (version {it})")).unwrap_or_default();
        let own = env!("CARGO_PKG_VERSION");
        let said = format!("hosts call another program{other} than this one, `{this}` ({own})");
        let finding = Finding::warning(said).at(Place::file(first));
        return Some(ANOTHER_PROGRAM.problem(finding));
    }
    if others.is_empty() {
        return None;
    }
    let others: Vec<String> = others.iter().map(|path| format!("`{path}`")).collect();
    let said = format!("hosts call this program, and others of its name are {}", others.join(", "));
    Some(TWO_PROGRAMS.problem(Finding::warning(said).at(Place::file(first))))
}

/// Whether both are one program: the same file, or a copy of it.
fn is_same(one: &Utf8Path, other: &Utf8Path) -> bool {
    let (Ok(one), Ok(other)) = (one.canonicalize_utf8(), other.canonicalize_utf8()) else {
        return one == other;
    };
    let size = |path: &Utf8Path| path.metadata().map(|data| data.len()).ok();
    let content = |path: &Utf8Path| fs_err::read(path).map(|bytes| digest(&bytes)).ok();
    one == other || (size(&one) == size(&other) && content(&one) == content(&other))
}
