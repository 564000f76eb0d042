//! The guide of the book, typed as it stands there.

use agents_testkit::book::{Reader, read};
use camino::Utf8Path;

/// The page that the guide begins with, and the guide.
const PAGES: [&str; 2] = ["docs/guides/three-reviewers.md", "docs/guides/cluster.md"];
/// What the guide asks for in words.
const COMMIT: &str = "<!-- do: git add . && git commit -q -m \"A plan\" -->\n";

/// What happens otherwise than the guide says. The packages of npm are where `npm install` would have put them.
pub(crate) fn follow(packages: &Utf8Path, built: &Utf8Path) -> Vec<String> {
    let program = built.join("cargo-agents");
    let mut reader = Reader::with(program.as_str()).having(&["restate", "restate-server"]);
    reader.link(packages, "node_modules");
    let [plan, guide] = PAGES.map(|page| read(page.into()));
    let mut different = reader.follow(&plan);
    different.extend(reader.follow(COMMIT));
    different.extend(reader.follow(&guide));
    different
}
