//! Every rule of the seeds about where agents are and who wins.

use agents_agent::{
    Standing,
    agents::UnknownAgent,
    search::{Bundled, Climb, families},
    shelf::ShelfState,
};
use agents_host::{Roots, hosts};
use agents_system::explain::Explain as _;

use crate::trees::{Tree, agent, standings};

const PROJECT: &str = "home/work/app";

#[test]
fn families_stand_in_the_order_of_the_seed_after_our_own() {
    let (hosts, _) = hosts(None);
    let env = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/elsewhere".to_owned());
    let roots = Roots { home: "/home/me".into(), workspace: None, env: &env };
    let all = families(&hosts, &roots);
    let rows: Vec<String> = all
        .iter()
        .map(|it| {
            let project = it.project.as_ref().map_or("-", |it| it.as_str());
            format!("{} {project} {}", it.name, it.user.as_ref().map_or("-", |it| it.as_str()))
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    agents .agents/agents /home/me/.agents/agents
    omp .omp/agents /home/me/.omp/agent/agents
    claude .claude/agents /elsewhere/agents
    codex .codex/agents /home/me/.codex/agents
    gemini .gemini/agents /home/me/.gemini/agents
    copilot .github/agents /home/me/.copilot/agents
    opencode .opencode/agents /home/me/.config/opencode/agents
    cursor .cursor/agents /home/me/.cursor/agents
    kiro .kiro/agents /home/me/.kiro/agents
    qwen .qwen/agents /home/me/.qwen/agents
    factory .factory/droids /home/me/.factory/droids
    goose .goose/agents /home/me/.goose/agents
    antigravity - /home/me/.gemini/config/agents
    zeph .zeph/agents /home/me/.config/zeph/agents
    ");
}

#[test]
fn project_beats_user_in_a_family() {
    let tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    tree.agent("home/work/app/.claude/agents/z.md", "a");
    assert_eq!(tree.shown(), ["a: home/work/app/.claude/agents/z.md"]);
}

#[test]
fn an_earlier_family_beats_a_later_one_even_from_the_home() {
    let tree = Tree::new();
    tree.agent("home/.omp/agent/agents/a.md", "a");
    tree.agent("home/work/app/.claude/agents/a.md", "a");
    tree.agent("home/work/app/.gemini/agents/b.md", "b");
    tree.agent("home/.codex/agents/b.md", "b");
    assert_eq!(tree.shown(), ["a: home/.omp/agent/agents/a.md", "b: home/.codex/agents/b.md"]);
}

#[test]
fn our_own_directories_come_before_all_others() {
    let tree = Tree::new();
    tree.agent("home/work/app/.omp/agents/a.md", "a");
    tree.agent("home/.agents/agents/a.md", "a");
    assert_eq!(tree.shown(), ["a: home/.agents/agents/a.md"]);
}

#[test]
fn the_nearest_directory_counts_for_each_family_on_its_own() {
    let tree = Tree::new();
    tree.agent("home/work/app/src/.omp/agents/near.md", "near");
    tree.agent("home/work/app/.omp/agents/far.md", "far");
    tree.agent("home/work/app/.claude/agents/other.md", "other");
    let shown = tree.shown();
    assert_eq!(
        shown,
        [
            "near: home/work/app/src/.omp/agents/near.md",
            "other: home/work/app/.claude/agents/other.md"
        ]
    );
    let project_dir = tree.find().project_dir.unwrap();
    assert_eq!(project_dir, tree.scratch.path("home/work/app/src/.omp/agents"));
}

#[test]
fn the_way_up_ends_at_the_root_of_the_repository() {
    let mut tree = Tree::new();
    tree.agent("home/work/.claude/agents/outside.md", "outside");
    assert_eq!(tree.shown(), [""; 0]);
    assert_eq!(tree.find().project_dir, None);
    tree.search.climb = Climb::OutOfRepository;
    assert_eq!(tree.shown(), ["outside: home/work/.claude/agents/outside.md"]);
}

#[test]
fn without_a_repository_the_way_up_ends_below_the_home() {
    let tree = Tree::new();
    fs_err::remove_dir_all(tree.scratch.path("home/work/app/.git")).unwrap();
    tree.agent("home/work/.claude/agents/a.md", "a");
    tree.agent("home/.omp/agents/never.md", "never");
    assert_eq!(tree.shown(), ["a: home/work/.claude/agents/a.md"]);
}

/// Whether the user stands there by the name of the link or by that of where it leads.
#[cfg(unix)]
#[test]
fn a_home_that_is_a_link_ends_the_way_up_under_both_names() {
    let mut tree = Tree::new();
    fs_err::remove_dir_all(tree.scratch.path("home/work/app/.git")).unwrap();
    tree.agent("home/.omp/agents/never.md", "never");
    fs_err::os::unix::fs::symlink("home", tree.scratch.path("link")).unwrap();
    tree.search.home = tree.scratch.path("link");
    for cwd in ["home/work/app", "link/work/app"] {
        tree.search.cwd = tree.scratch.path(cwd);
        assert_eq!(tree.shown(), [""; 0], "{cwd}");
    }
}

#[test]
fn in_the_home_itself_nothing_is_a_project() {
    let mut tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    tree.search.cwd = tree.scratch.path("home");
    let agents = tree.find();
    assert_eq!(agents.project_dir, None);
    assert_eq!(agents.get("a").unwrap().origin.source, agents_agent::definition::Source::User);
}

#[test]
fn one_may_stay_where_one_is() {
    let mut tree = Tree::new();
    tree.agent("home/work/app/.claude/agents/a.md", "a");
    tree.search.climb = Climb::Nowhere;
    assert_eq!(tree.shown(), [""; 0]);
}

#[test]
fn names_are_exact_and_case_counts() {
    let tree = Tree::new();
    tree.agent("home/.claude/agents/1.md", "Task");
    tree.agent("home/.claude/agents/2.md", "task");
    let agents = tree.find();
    assert_eq!(agents.iter().count(), 2);
    assert!(agents.get("TASK").is_none());
    assert_ne!(agents.get("Task"), agents.get("task"));
}

#[test]
fn within_a_directory_files_count_byte_by_byte() {
    let tree = Tree::new();
    for file in ["b", "a", "B", "ä", "a-"] {
        tree.agent(&format!("home/.claude/agents/{file}.md"), "same");
    }
    assert_eq!(tree.shown(), ["same: home/.claude/agents/B.md"]);
    let files: Vec<String> = tree
        .find()
        .chain("same")
        .map(|it| it.file.as_ref().unwrap().file_stem().unwrap().to_owned())
        .collect();
    assert_eq!(files, ["B", "a-", "a", "b", "ä"]);
}

#[test]
fn losers_are_kept_with_who_shadows_them() {
    let tree = Tree::new();
    tree.agent("home/work/app/.claude/agents/a.md", "a");
    tree.agent("home/.claude/agents/a.md", "a");
    tree.agent("home/.gemini/agents/x.md", "a");
    let agents = tree.find();
    let shadowed = Standing::ShadowedBy(0);
    assert_eq!(standings(&agents, "a"), [Standing::Wins, shadowed, shadowed]);
    assert_eq!(
        tree.findings(),
        [
            "home/.claude/agents/a.md: agent `a` is shadowed by `home/work/app/.claude/agents/a.md`",
            "home/.gemini/agents/x.md: agent `a` is shadowed by `home/work/app/.claude/agents/a.md`",
        ]
    );
}

#[test]
fn bundled_agents_come_last_and_give_way() {
    let mut tree = Tree::new();
    tree.search.bundled = Bundled::Included;
    tree.agent("home/.gemini/agents/explore.md", "explore");
    let agents = tree.find();
    let names: Vec<&str> = agents.iter().map(|it| it.name.as_str()).collect();
    let all = ["explore", "plan", "designer", "reviewer", "task", "quick_task", "general-purpose"];
    assert_eq!(names, all);
    assert_eq!(agents.get("explore").unwrap().description, "home/.gemini/agents/explore.md");
    assert_eq!(standings(&agents, "explore"), [Standing::Wins, Standing::ShadowedBy(0)]);
}

#[test]
fn only_direct_children_with_the_right_suffix_are_looked_at() {
    let tree = Tree::new();
    for file in ["a.md", "b.MD", "c.txt", "d.md.bak", "sub/e.md", "f"] {
        tree.agent(&format!("home/.claude/agents/{file}"), &format!("n{}", file.len()));
    }
    tree.agent("home/work/app/.github/agents/g.agent.md", "g");
    assert_eq!(
        tree.shown(),
        ["n4: home/.claude/agents/a.md", "g: home/work/app/.github/agents/g.agent.md"]
    );
}

#[test]
fn a_missing_directory_is_empty() {
    let tree = Tree::new();
    let agents = tree.find();
    assert!(agents.iter().next().is_none() && agents.all_findings().is_empty());
    assert!(agents.searched.iter().all(|it| it.state == ShelfState::Missing));
    assert_eq!(agents.searched.len(), 14, "every family's user directory");
}

#[test]
fn named_files_come_before_everything() {
    let mut tree = Tree::new();
    tree.agent("home/work/app/.agents/agents/a.md", "a");
    let file = tree.agent("elsewhere/one.md", "a");
    let dir = tree.agent("more/two.md", "b").parent().unwrap().to_owned();
    tree.search.named = vec![file, dir];
    assert_eq!(tree.shown(), ["a: elsewhere/one.md", "b: more/two.md"]);
}

#[test]
fn an_unknown_name_is_said_in_the_words_of_the_seed() {
    let tree = Tree::new();
    tree.agent("home/.claude/agents/1.md", "reviewer");
    tree.agent("home/.claude/agents/2.md", "explore");
    let unknown = tree.find().lookup("Reviewr").unwrap_err();
    assert_eq!(unknown.to_string(), "Unknown agent \"Reviewr\". Available: reviewer, explore");
    assert_eq!(unknown.hint().unwrap(), "did you mean `reviewer`?");
    let nobody = UnknownAgent { name: "x".to_owned(), available: Vec::new() };
    assert_eq!(nobody.to_string(), "Unknown agent \"x\". Available: none");
}

#[cfg(unix)]
mod links {
    use super::*;
    use fs_err::os::unix::fs::symlink;

    #[test]
    fn a_symlinked_file_loads() {
        let tree = Tree::new();
        let real = tree.agent("home/work/app/docs/agent.md", "linked");
        fs_err::create_dir_all(tree.scratch.path(format!("{PROJECT}/.claude/agents"))).unwrap();
        symlink(&real, tree.scratch.path(format!("{PROJECT}/.claude/agents/l.md"))).unwrap();
        assert_eq!(tree.shown(), ["linked: home/work/app/docs/agent.md"]);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed_but_the_users_own_are() {
        let tree = Tree::new();
        let real = tree.agent("private/agent.md", "outside");
        for dir in ["home/work/app/.claude/agents", "home/.gemini/agents"] {
            fs_err::create_dir_all(tree.scratch.path(dir)).unwrap();
            symlink(&real, tree.scratch.path(format!("{dir}/l.md"))).unwrap();
        }
        let agents = tree.find();
        let winner = agents.get("outside").unwrap();
        assert_eq!(winner.origin.file, Some(tree.scratch.path("home/.gemini/agents/l.md")));
        assert_eq!(
            tree.findings(),
            [format!(
                "home/work/app/.claude/agents/l.md: the link leads out of `{}`; the file is left out",
                "home/work/app"
            )]
        );
    }

    #[test]
    fn a_directory_that_leads_out_of_the_project_is_not_read() {
        let tree = Tree::new();
        tree.agent("private/agents/a.md", "a");
        symlink(tree.scratch.path("private"), tree.scratch.path("home/work/app/.omp")).unwrap();
        assert_eq!(tree.shown(), [""; 0]);
        assert_eq!(
            tree.findings(),
            [
                "home/work/app/.omp/agents: the directory leads out of `home/work/app`; it is not read"
            ]
        );
    }

    #[test]
    fn one_directory_under_two_names_is_read_once() {
        let tree = Tree::new();
        tree.agent("home/work/app/.agents/agents/a.md", "a");
        symlink(".agents", tree.scratch.path("home/work/app/.claude")).unwrap();
        let agents = tree.find();
        assert_eq!(standings(&agents, "a"), [Standing::Wins]);
        let first = tree.scratch.path("home/work/app/.agents/agents");
        assert!(agents.searched.iter().any(|it| it.state == ShelfState::SameAs(first.clone())));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_skipped_with_a_finding() {
        let tree = Tree::new();
        tree.scratch.write("home/.claude/agents/b.md", agent("b", "b"));
        symlink("gone", tree.scratch.path("home/.claude/agents/a.md")).unwrap();
        assert_eq!(tree.shown(), ["b: b"]);
        assert_eq!(
            tree.findings(),
            ["home/.claude/agents/a.md: the link leads nowhere; the file is left out"]
        );
    }
}
