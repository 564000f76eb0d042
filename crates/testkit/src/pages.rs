//! Generated pages that are checked in.

/// Fails unless the checked-in file is what would be generated now; with `UPDATE_DOCS` set, writes it instead.
pub fn check_generated(file: &str, generated: &str) {
    let checked_in = std::fs::read_to_string(file).unwrap_or_default();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        if checked_in != generated {
            std::fs::write(file, generated).unwrap();
        }
        return;
    }
    assert!(
        checked_in == generated,
        "{file} is out of date; run the test again with UPDATE_DOCS=1\n--- generated\n{generated}"
    );
}
