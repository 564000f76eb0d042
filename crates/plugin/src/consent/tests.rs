use super::*;
use crate::testing::Place;

const HOOK: &str = "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { executable = \"x\" }\n";
const PROGRAM_SERVER: &str = "[[mcp_servers]]\nname = \"s\"\ncommand = \"serve\"\n";
const REMOTE_SERVER: &str = "[[mcp_servers]]\nname = \"s\"\ntype = \"http\"\nurl = \"https://x\"\n";
const CHAIN: &str = "[[plugins]]\nsource.cargo = \"far\"\n";

/// Who waits, and what each would bring.
fn candidates(place: &Place) -> String {
    place.look(|it| {
        let all = it.registries.candidates(it.set, Some(it.workspace), &it.workspace.root);
        let shown = |it: &Candidate<'_>| {
            let runs = match it.programs() {
                Programs::Some => "runs programs",
                Programs::Unseen => "runs perhaps",
                Programs::None => "runs nothing",
            };
            let counts = if it.is_of_workspace() { "here" } else { "everywhere" };
            let withheld = it.withheld;
            let head = format!("{}: {withheld:?} withheld, {runs}, {counts}", it.plugin.name);
            let pieces = it.pieces.iter().map(|piece| {
                let runs = piece.runs.as_ref().map(|it| format!(" runs {it}")).unwrap_or_default();
                format!("\n  {} {}{runs}", piece.kind.word(), piece.name)
            });
            head + &pieces.collect::<String>() + "\n"
        };
        all.iter().map(shown).collect()
    })
}

/// The names of those who wait, as a hook may find out.
fn waiting(place: &Place) -> Vec<(String, Withheld)> {
    place.look(|it| {
        let waiting = it.set.waiting(it.here);
        waiting.map(|(it, withheld)| (it.plugin.name.to_string(), withheld)).collect()
    })
}

/// A workspace whose only member has a plugin with this in its manifest.
fn member(rest: &str) -> Place {
    let mut place = Place::new();
    place.member("app", &format!("name = \"app\"\n{rest}"));
    place
}

/// A workspace whose only dependency has a plugin with this in its manifest.
fn dependency(rest: &str) -> Place {
    let mut place = Place::new();
    place.dependency("helper", "1.0.0", Some(&format!("name = \"helper\"\n{rest}")));
    place
}

#[test]
fn everything_that_a_dependency_would_bring_is_told_before_anybody_agrees() {
    let place = dependency(
        r#"
        [[skills]]
        source.path = "texts"
        [[skills]]
        source.git = "https://example.org/skills"
        [[agents]]
        source.path = "people"
        [[hooks]]
        name = "check"
        event = "PreToolUse"
        command = { script = "check.sh" }
        [[hooks]]
        name = "own"
        event = "Stop"
        command = "tool"
        script = "own.sh"
        [[installations]]
        name = "tool"
        source = "cargo"
        crate = "tool"
        version = "1.2.0"
        [[mcp_servers]]
        name = "db"
        command = "db"
        args = ["serve", "--all"]
        [[mcp_servers]]
        name = "far"
        type = "http"
        url = "https://example.org"
        [subcommand.tidy]
        description = "tidies"
        command = "tool"
        predicates = ["shell(test -f x)"]
        [subcommand.wash]
        description = "washes"
        command = "tool"
        predicates = ["shell(test -f x)"]
        [[predicate]]
        name = "mine"
        command = "tool"
        [[plugins]]
        source.cargo = "other"
        "#,
    );
    let krate = place.scratch.path("crates/helper-1.0.0");
    let skill = "---\nname: sql\ndescription: d\n---\n";
    agents_testkit::scratch::write(&krate.join("texts/sql/SKILL.md"), skill);
    agents_testkit::scratch::write(&krate.join("people/bob.md"), "---\nname: bob\n---\n");
    insta::assert_snapshot!(candidates(&place), @r"
    helper: Everything withheld, runs programs, everywhere
      skill sql
      skill those from https://example.org/skills
      agent bob
      hook check (PreToolUse) runs script `check.sh`
      hook own (Stop) runs script `own.sh` of crate tool 1.2.0
      mcp-server db runs `db serve --all`
      mcp-server far
      command tidy runs crate tool 1.2.0
      command wash runs crate tool 1.2.0
      condition shell(test -f x) runs `shell(test -f x)`
      plugin other
    ");
    place.config("[plugins]\nuse = [\"helper\"]");
    assert_eq!(candidates(&place), "", "the user has agreed");
}

#[test]
fn of_a_workspace_only_what_runs_programs_waits() {
    for rest in [HOOK, PROGRAM_SERVER, CHAIN, "predicates = [\"shell(true)\"]"] {
        let place = member(rest);
        assert!(candidates(&place).starts_with("app: Programs withheld"), "{rest}");
        assert_eq!(waiting(&place), [("app".to_owned(), Withheld::Programs)], "{rest}");
        place.config("[plugins]\nuse = [\"app\"]");
        assert_eq!((candidates(&place).as_str(), waiting(&place)), ("", vec![]), "{rest}");
    }
    for rest in [
        "",
        REMOTE_SERVER,
        "[subcommand.x]\ndescription = \"typed\"\ncommand = { executable = \"x\" }",
    ] {
        let place = member(rest);
        assert_eq!((candidates(&place).as_str(), waiting(&place)), ("", vec![]), "{rest}");
    }
    // A registry was configured by the user.
    let place = Place::new();
    place.registry("team", &format!("crates = [\"*\"]\n{HOOK}"));
    assert_eq!((candidates(&place).as_str(), waiting(&place)), ("", vec![]));
}

#[test]
fn a_workspace_whose_skills_have_conditions_that_run_programs_waits() {
    let group = |rest: &str| format!("[[skills]]\nsource.path = \"texts\"\n{rest}\n");
    let place = |rest: &str| {
        let place = member(&group(rest));
        place.scratch.write("ws/app/texts/sql/SKILL.md", "---\nname: sql\ndescription: d\n---\n");
        place
    };
    assert_eq!(candidates(&place("")), "");
    assert_eq!(candidates(&place("crates = [\"absent\"]")), "");
    insta::assert_snapshot!(candidates(&place("predicates = [\"shell(true)\"]")), @r"
    app: Programs withheld, runs programs, here
      skill sql
      condition shell(true) runs `shell(true)`
    ");
    // Conditions may also stand in the text itself.
    let place = place("");
    let text = "---\nname: sql\ndescription: d\npredicates: shell(true)\n---\n";
    place.scratch.write("ws/app/texts/sql/SKILL.md", text);
    insta::assert_snapshot!(candidates(&place), @r"
    app: Programs withheld, runs programs, here
      skill sql
      condition shell(true) runs `shell(true)`
    ");
    place.config("[plugins]\nuse = [\"app\"]");
    assert_eq!(candidates(&place), "", "the user has agreed");
}

#[test]
fn what_brings_only_texts_runs_nothing() {
    let place = dependency("[[skills]]\nsource.path = \"texts\"\n");
    let krate = place.scratch.path("crates/helper-1.0.0");
    let skill = "---\nname: sql\ndescription: d\n---\n";
    agents_testkit::scratch::write(&krate.join("texts/sql/SKILL.md"), skill);
    let head = "helper: Everything withheld, runs nothing, everywhere";
    assert_eq!(candidates(&place), format!("{head}\n  skill sql\n"));
    // Unless a text has a condition that does.
    let asking = "---\nname: sql\ndescription: d\npredicates: shell(x)\n---\n";
    agents_testkit::scratch::write(&krate.join("texts/sql/SKILL.md"), asking);
    insta::assert_snapshot!(candidates(&place), @r"
    helper: Everything withheld, runs programs, everywhere
      skill sql
      condition shell(x) runs `shell(x)`
    ");
    // Nobody has seen the conditions of what is elsewhere.
    let place = dependency("[[skills]]\nsource.git = \"https://example.org/skills\"\n");
    insta::assert_snapshot!(candidates(&place), @r"
    helper: Everything withheld, runs perhaps, everywhere
      skill those from https://example.org/skills
    ");
}

#[test]
fn who_would_not_apply_anyway_is_not_asked_about() {
    let everything = vec![("helper".to_owned(), Withheld::Everything)];
    // Packages alone decide.
    for (gate, asked) in [("\"absent\"", false), ("\"helper\"", true)] {
        let place = dependency(&format!("crates = [{gate}]"));
        assert_eq!(!candidates(&place).is_empty(), asked, "{gate}");
        assert_eq!(waiting(&place), if asked { everything.clone() } else { vec![] }, "{gate}");
    }
    // A hook does not look at files, and nobody runs programs to find out.
    let place = dependency("predicates = [\"path_exists(/absent/file)\"]");
    assert_eq!((candidates(&place).as_str(), waiting(&place)), ("", everything.clone()));
    let place = dependency("predicates = [\"shell(false)\"]");
    assert!(!candidates(&place).is_empty());
    assert_eq!(waiting(&place), everything);
}

#[test]
fn pieces_are_counted_by_kind() {
    let piece = |kind| Piece { kind, name: "x".to_owned(), runs: None };
    assert_eq!(counted(&[]), "");
    let some = [PieceKind::Hook, PieceKind::Skill, PieceKind::Skill].map(piece);
    assert_eq!(counted(&some), "2 skills, 1 hook");
    let all = [
        PieceKind::Skill,
        PieceKind::Agent,
        PieceKind::Hook,
        PieceKind::Server,
        PieceKind::Command,
        PieceKind::Condition,
        PieceKind::Predicate,
        PieceKind::Plugin,
    ];
    assert_eq!(
        counted(&all.map(piece)),
        "1 skill, 1 agent, 1 hook, 1 MCP server, 1 command, 1 condition that runs a program, 1 predicate, 1 other plugin"
    );
    assert_eq!(
        counted(&[all, all].concat().into_iter().map(piece).collect::<Vec<_>>()),
        "2 skills, 2 agents, 2 hooks, 2 MCP servers, 2 commands, 2 conditions that run programs, 2 predicates, 2 other plugins"
    );
}

/// The only piece of a kind that the plugin of a registry brings.
#[track_caller]
fn runs(rest: &str, of: impl FnOnce(&Plugin) -> Option<Piece>) -> Option<String> {
    let place = Place::new();
    place.registry("team", &format!("crates = [\"*\"]\n{rest}"));
    place.look(|it| of(it.set.active().next().unwrap()).and_then(|it| it.runs))
}

#[test]
fn a_program_is_told_with_where_it_comes_from() {
    for (installation, words) in [
        ("executable = \"rg\"", "`rg`"),
        ("script = \"x.sh\"", "script `x.sh`"),
        ("source = \"cargo\"\ncrate = \"tool\"", "crate tool"),
        (
            "source = \"cargo\"\ncrate = \"tool\"\nversion = \"1.0.0\"\nexecutable = \"t\"",
            "`t` of crate tool 1.0.0",
        ),
        (
            "source = \"cargo\"\ncrate = \"tool\"\ngit = \"https://x/y\"\nexecutable = \"t\"",
            "`t` of crate tool from https://x/y",
        ),
        (
            "source = \"git\"\nurl = \"https://x/y\"\nscript = \"a.sh\"",
            "script `a.sh` of https://x/y",
        ),
        ("executable = \"rg\"\ninstall_commands = [\"make\"]", "`rg`, set up by shell commands"),
    ] {
        let text = format!(
            "[subcommand.tidy]\ndescription = \"d\"\ncommand = \"i\"\n[[installations]]\nname = \"i\"\n{installation}\n"
        );
        let tidy = SubcommandName::new("tidy").unwrap();
        assert_eq!(
            runs(&text, |it| command_piece(it, &tidy)).as_deref(),
            Some(words),
            "{installation}"
        );
        let other = SubcommandName::new("other").unwrap();
        assert_eq!(runs(&text, |it| command_piece(it, &other)), None);
    }
}

#[test]
fn predicates_are_told_of_those_whose_predicates_count() {
    let predicate = "[[predicate]]\nname = \"mine\"\ncommand = { executable = \"ask\" }\n";
    let pieces = |place: &Place| {
        place.look(|it| {
            it.set
                .catalog
                .plugins
                .iter()
                .flat_map(predicate_pieces)
                .map(|it| (it.name, it.runs))
                .collect::<Vec<_>>()
        })
    };
    let mine = [("mine".to_owned(), Some("`ask`".to_owned()))];
    assert_eq!(pieces(&member(predicate)), mine);
    assert_eq!(pieces(&dependency(predicate)), []);
    assert_eq!(pieces(&member("")), []);
}

#[test]
fn conditions_in_skills_are_those_of_the_plugin_that_brings_them() {
    let place = Place::new();
    for (name, condition) in [("one", "shell(true)"), ("two", "shell(false)")] {
        place.registry(name, "crates = [\"*\"]\n[[skills]]\nsource.path = \"texts\"\n");
        let text = format!("---\nname: {name}\ndescription: d\npredicates: {condition}\n---\n");
        place.scratch.write(format!("registry/{name}/texts/{name}/SKILL.md"), text);
    }
    let found = place.look(|it| {
        let root = &it.workspace.root;
        let skills = it.registries.skills(it.set, Some(it.workspace), root, Fetch::Never);
        let of = |plugin: &Plugin| {
            let pieces = condition_pieces(plugin, &skills).into_iter().map(|it| it.name);
            (plugin.name.to_string(), pieces.collect::<Vec<_>>())
        };
        it.set.active().map(of).collect::<Vec<_>>()
    });
    // What does not hold was run as well.
    let expected = [("one", "shell(true)"), ("two", "shell(false)")];
    assert_eq!(found, expected.map(|(name, it)| (name.to_owned(), vec![it.to_owned()])));
}
