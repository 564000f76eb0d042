//! Commands for the shell.

use agents_tool::{Rights, Subject};

/// Whatever is allowed by `bash(cargo *)` names no other program, a narrower rule allows no more, and two rules together allow what
/// both do. Nothing panics, nothing takes long.
pub fn shell(text: &str) {
    let allowed =
        |rights: &Rights| rights.cover("bash", &Subject::Command(text.to_owned())).is_ok();
    let cargo = Rights::only(["bash(cargo *)"]);
    let test = Rights::only(["bash(cargo test *)"]);
    if allowed(&cargo) {
        let script = agents_tool::shell::parse(text).expect("what is allowed was parsed");
        let programs = script.programs();
        assert!(!programs.is_empty() && programs.iter().all(|it| it == "cargo"), "{programs:?}");
    }
    assert!(!allowed(&test) || allowed(&cargo));
    assert_eq!(allowed(&cargo.meet(&test)), allowed(&cargo) && allowed(&test));
    assert!(!(allowed(&cargo) && allowed(&Rights::only(["bash(rm *)"]))));
    let _ = allowed(&Rights::all().without(["bash(rm *)"]));
}
