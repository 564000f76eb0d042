//! Nobody gives more rights than they have.

use super::*;

#[test]
fn bypassing_permissions_is_only_allowed_where_the_configuration_says_so() {
    let mut world = World::new();
    world.agent("explore").permission_mode = Some(PermissionMode::BypassPermissions);
    world.refuses("explore", "permission-mode", "`bypass_permissions` is not allowed here");
    world.settings.bypass = Bypass::Allowed;
    let agent = world.start("explore").unwrap();
    assert_eq!(agent.standing.mode, PermissionMode::AcceptEdits, "no more than the parent");
}

#[test]
fn a_child_never_has_what_its_parent_lacks() {
    let mut world = World::new();
    world.caller.standing.rights = Rights::only(["read", "bash(cargo *)"]);
    world.agent("explore").tools.allow =
        Some(["read", "bash", "write"].map(ToolPattern::new).to_vec());
    let agent = world.start("explore").unwrap();
    assert!(agent.offers("read") && agent.offers("bash") && !agent.offers("write"));
    let other = agents_tool::Subject::Command("ls".to_owned());
    assert!(agent.standing.rights.cover("bash", &other).is_err());
}

#[test]
fn who_is_promised_secrets_skills_or_notes_has_the_tool_for_it_and_nobody_else() {
    let mut world = World::new();
    let listed = || Some(vec![ToolPattern::new("read")]);
    let offered = |world: &World| {
        let agent = world.start("explore").unwrap();
        [REQUEST_SECRET, SKILL, MEMORY].map(|it| agent.offers(it))
    };
    world.agent("explore").tools.allow = listed();
    assert_eq!(offered(&world), [false; 3]);
    world.agent("explore").secrets = vec!["TOKEN".to_owned()];
    assert_eq!(offered(&world), [true, false, false]);
    world.agent("explore").skills.include = vec!["queries".to_owned()];
    assert_eq!(offered(&world), [true, true, false]);
    world.agent("explore").memory = Some(MemoryScope::User);
    assert_eq!(offered(&world), [true; 3]);
}

#[test]
fn what_a_definition_takes_away_stays_away() {
    let mut world = World::new();
    world.agent("task").tools.deny = vec![ToolPattern::new("*")];
    let agent = world.start("task").unwrap();
    assert!(!agent.offers("read") && !agent.offers(TASK));
    assert!(agent.offers(YIELD));
}
