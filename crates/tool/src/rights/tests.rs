use super::*;

fn command(text: &str) -> Subject {
    Subject::Command(text.to_owned())
}

fn path(text: &str) -> Subject {
    Subject::Paths(vec![text.into()])
}

mod as_dispatch_contexts_know_them {
    //! `Context.Allows`, `RestrictTools` and `ToolList`, with their hazards turned into rules.

    use super::*;

    #[test]
    fn no_list_allows_everything_and_is_no_list() {
        let tools = Tools { allow: Some(Vec::new()), deny: Vec::new() };
        for rights in [Rights::all(), Rights::from(&Tools::default()), Rights::from(&tools)] {
            assert!(rights.allows("anything"));
            assert_eq!(rights.list(), None);
        }
    }

    #[test]
    fn names_are_trimmed_and_their_case_does_not_count() {
        let rights = Rights::all().restrict([" Bash ", "READ", "read", ""]);
        assert!(rights.allows("bash"));
        assert!(rights.allows(" Read "));
        assert!(!rights.allows("write"));
        assert_eq!(rights.list(), Some(vec!["bash".to_owned(), "read".to_owned()]));
    }

    #[test]
    fn restricting_with_nothing_changes_nothing() {
        let rights = Rights::only(["bash"]);
        assert_eq!(rights.restrict(["", "  "]), rights);
        assert_eq!(rights.restrict(Vec::<String>::new()), rights);
    }

    #[test]
    fn restricting_twice_is_the_intersection_in_order() {
        let rights =
            Rights::all().restrict(["write", "read", "glob"]).restrict(["glob", "read", "bash"]);
        assert_eq!(rights.list(), Some(vec!["glob".to_owned(), "read".to_owned()]));
    }

    #[test]
    fn an_empty_intersection_is_nothing_and_not_everything() {
        let rights = Rights::only(["bash"]).restrict(["read"]);
        assert_eq!(rights.list(), Some(Vec::new()));
        for tool in ["bash", "read", "write"] {
            assert!(!rights.allows(tool), "{tool}");
        }
    }

    #[test]
    fn restricting_leaves_the_original_alone() {
        let rights = Rights::only(["bash", "read"]);
        let _ = rights.restrict(["read"]);
        assert!(rights.allows("bash"));
    }
}

#[test]
fn nothing_is_not_everything() {
    assert!(!Rights::nothing().allows("read"));
    assert!(!Rights::nothing().is_all());
    assert_eq!(Rights::nothing().list(), Some(Vec::new()));
    assert_eq!(Rights::only(Vec::<String>::new()), Rights::nothing());
    assert!(!Rights::from(&Tools::nothing()).allows("read"));
}

#[test]
fn what_is_taken_away_stays_away() {
    let rights = Rights::only(["bash", "read"]).without(["Bash"]);
    assert!(!rights.allows("bash"));
    assert!(!rights.meet(&Rights::all()).meet(&Rights::only(["bash"])).allows("bash"));
    assert_eq!(rights.list(), Some(vec!["read".to_owned()]));
}

#[test]
fn names_of_hosts_are_understood() {
    let rights = Rights::only(["Grep", "find", "mcp__github__*"]);
    for tool in ["search", "grep", "glob", "find", "mcp__github__issues"] {
        assert!(rights.allows(tool), "{tool}");
    }
    assert!(!rights.allows("mcp__gitlab__issues"));
}

#[test]
fn patterns_of_names_are_listed_until_a_list_has_names() {
    let list = |rights: &Rights| rights.list().unwrap().join(" ");
    let servers = Rights::only(["mcp__*", "read*"]);
    assert_eq!(list(&servers), "mcp__* read*");
    for names in [Rights::only(["bash", "read"]), Rights::only(["read", "write"])] {
        assert_eq!(list(&names.meet(&servers)), "read");
        assert_eq!(list(&servers.meet(&names)), "read");
    }
}

#[test]
fn what_may_not_be_read_may_not_be_looked_through_or_changed_in_part() {
    let scratch = agents_testkit::scratch::Scratch::new();
    let area = crate::confine::Area::workspace(scratch.root()).unwrap();
    let rights = Rights::all().without(["read(secret/**)", "write(docs/**)"]);
    let may = |tool: &str, path: &str| {
        area.under(rights.paths(tool), Vec::new()).admits(&area.locate(path).unwrap())
    };
    for tool in ["read", "search", "find", "edit"] {
        assert!(!may(tool, "secret/key"), "{tool}");
        assert!(may(tool, "docs/page") && may(tool, "src/lib.rs"), "{tool}");
    }
    assert!(!may("write", "docs/page"));
    assert!(may("write", "secret/key") && may("write", "src/lib.rs"));
}

#[test]
fn both_conditions_on_arguments_are_kept() {
    let wide = Rights::only(["bash(cargo *)", "read"]);
    let narrow = Rights::only(["bash(cargo test *)"]);
    for rights in [wide.meet(&narrow), narrow.meet(&wide)] {
        assert_eq!(rights.cover("bash", &command("cargo test --lib")), Ok(()));
        assert!(rights.cover("bash", &command("cargo build")).is_err());
        assert!(rights.cover("read", &path("a")).is_err());
    }
    let disjoint = wide.meet(&Rights::only(["bash(git *)"]));
    assert!(disjoint.cover("bash", &command("cargo build")).is_err());
    assert!(disjoint.cover("bash", &command("git status")).is_err());
}

#[test]
fn one_command_may_need_several_rules_of_one_list_but_not_of_two() {
    let rights = Rights::only(["bash(cargo *)", "bash(git *)"]);
    assert_eq!(rights.cover("bash", &command("git status && cargo test")), Ok(()));
    let split = Rights::only(["bash(cargo *)"]).meet(&Rights::only(["bash(git *)"]));
    assert!(split.cover("bash", &command("git status && cargo test")).is_err());
}

#[test]
fn a_condition_that_cannot_be_compared_allows_nothing_and_denies_everything() {
    let rights = Rights::only(["todo(x)", "bash(cargo *"]);
    assert!(rights.cover("todo", &Subject::Nothing).is_err());
    assert!(!rights.allows("bash"), "the parenthesis is open");
    assert!(rights.cover("bash", &command("cargo test")).is_err());
    let rights = Rights::all().without(["todo(x)", "bash(rm *", "read(~/x)"]);
    assert!(rights.cover("todo", &Subject::Nothing).is_err());
    assert!(!rights.allows("bash"));
    assert!(rights.cover("read", &path("a")).is_err());
    assert_eq!(rights.cover("write", &path("a")), Ok(()));
}

#[test]
fn a_star_in_parentheses_is_no_condition() {
    for pattern in ["bash(*)", "bash()", "bash( * )"] {
        let rights = Rights::only([pattern]);
        assert_eq!(rights.cover("bash", &command("a $(b) | c > d")), Ok(()), "{pattern}");
    }
}

#[test]
fn paths_and_texts() {
    let rights = Rights::only(["read(src/**)", "task(explore)", "web_fetch(domain:*.rs)"])
        .without(["read(.env)"]);
    assert_eq!(rights.cover("read", &path("src/a.rs")), Ok(()));
    assert!(rights.cover("read", &path("src/.env")).is_err(), "at any depth");
    assert!(rights.cover("read", &path("Cargo.toml")).is_err());
    assert!(rights.cover("read", &Subject::Paths(vec!["src/a".into(), "b".into()])).is_err());
    assert!(rights.cover("read", &Subject::Paths(Vec::new())).is_err());
    assert_eq!(rights.cover("task", &Subject::Text("explore".to_owned())), Ok(()));
    assert!(rights.cover("task", &Subject::Text("explorer".to_owned())).is_err());
    assert_eq!(rights.cover("web_fetch", &Subject::Text("domain:docs.rs".to_owned())), Ok(()));
}

#[test]
fn what_is_said() {
    let rights = Rights::only(["Bash(cargo *)", "read"]).without(["write"]);
    assert_eq!(rights.to_string(), "only bash(cargo *), read; without write");
    let said = |text: &str| rights.cover("bash", &command(text)).unwrap_err().to_string();
    assert_eq!(said("git push"), "`git push` is not what `bash(cargo *)` allows");
    assert_eq!(
        said("cargo $(x)"),
        "a command inside of a command cannot be judged: `$(x)`, and `bash(cargo *)` are the rules"
    );
    assert_eq!(
        rights.cover("edit", &Subject::Nothing).unwrap_err().to_string(),
        "`edit` is not among the tools that are allowed: bash(cargo *), read"
    );
    assert_eq!(Rights::nothing().to_string(), "nothing");
    assert_eq!(Rights::all().to_string(), "everything");
}
