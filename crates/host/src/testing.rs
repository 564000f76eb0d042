//! What the tests of this room share.

use camino::Utf8Path;

use crate::{Host, Roots, find, hosts};

/// All hosts, as they are built in.
pub(crate) fn built_in() -> Vec<Host> {
    let (hosts, findings) = hosts(None);
    assert_eq!(findings, []);
    hosts
}

/// The hosts of these names.
pub(crate) fn pick<'h>(hosts: &'h [Host], names: &[&str]) -> Vec<&'h Host> {
    names.iter().map(|name| find(hosts, name).unwrap()).collect()
}

/// A home and a workspace, and no environment.
pub(crate) fn plain() -> Roots<'static> {
    Roots { home: Utf8Path::new("/h"), workspace: Some(Utf8Path::new("/w")), env: &|_| None }
}
