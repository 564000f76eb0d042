//! The plan that the tour shows.

use std::collections::BTreeMap;

use agents_plan::{
    check::{AgentFacts, Facts, MemberFacts, check},
    draw,
    expand::expand,
    file::{Disk, load},
};
use camino::Utf8Path;
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn the_upgrade_of_a_dependency_is_a_sound_plan() {
    let file =
        Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-agents/tour/orders/upgrade.toml");
    let (bundle, findings) = load(&file, &Disk);
    assert_eq!(findings, []);
    let bundle = bundle.unwrap();
    let member = |name: &str, needs: &[&str]| MemberFacts {
        name: name.to_owned(),
        dir: format!("crates/{name}").into(),
        depends_on: needs.iter().map(|it| (*it).to_owned()).collect(),
    };
    // The agents are bundled ones: a plan that names others would not run everywhere.
    let bundled = agents_agent::bundled::agents();
    let agents = bundled.iter().map(|it| (it.name.to_string(), AgentFacts::default()));
    let facts = Facts {
        agents: agents.collect(),
        members: vec![
            member("app", &["lib", "macros"]),
            member("lib", &["macros"]),
            member("macros", &[]),
        ],
    };
    assert_eq!(check(&bundle, &facts), []);
    let values = BTreeMap::from([
        ("dependency".to_owned(), json!("thiserror")),
        ("to".to_owned(), json!("2")),
    ]);
    let graph = expand(&bundle, &facts, &values).unwrap();
    assert_snapshot!(draw::text(&graph), @"
    upgrade
    ├─ survey     explore
    ├─ member     for-each
    │  ├─ macros  task, after survey
    │  ├─ lib     task, after survey, member/macros
    │  └─ app     task, after survey, member/macros, member/lib
    └─ report     quick_task, after member
    ");
}
