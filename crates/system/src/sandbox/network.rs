//! No sockets: a filter of system calls.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::SandboxError;

/// The bit of the calls of x32 programs, which the filter would not know otherwise.
const X32: libc::c_long = 0x4000_0000;

/// Denies every new socket, of any kind, and the ring through which one could be made without a call. Pairs of connected sockets
/// stay possible: they lead nowhere.
pub(super) fn cut() -> Result<(), SandboxError> {
    let refused = |error: Box<dyn std::error::Error + Send + Sync>| SandboxError::Refused(error);
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|it| refused(Box::new(it)))?;
    let calls = [libc::SYS_socket, libc::SYS_io_uring_setup];
    let calls = calls.into_iter().flat_map(|call| [call, call | X32]);
    let rules: BTreeMap<i64, Vec<_>> = calls.map(|call| (call, Vec::new())).collect();
    let denial = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denial, arch);
    let filter = filter.map_err(|it| refused(Box::new(it)))?;
    let program: seccompiler::BpfProgram =
        filter.try_into().map_err(|it: seccompiler::BackendError| refused(Box::new(it)))?;
    apply_filter(&program).map_err(|it| refused(Box::new(it)))
}
