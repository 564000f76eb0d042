//! The page of the book that says what was fuzzed.

use agents_fuzz::page;
use agents_testkit::pages::check_generated;

/// Runs are what `fuzz/run --update-docs` writes; that all targets are there, and what must hold for them, is looked at here.
#[test]
fn the_page_has_every_target() {
    let page = fs_err::read_to_string(page::FILE).unwrap_or_default();
    check_generated(page::FILE, &page::unchanged(&page));
}
