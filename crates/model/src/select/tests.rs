use proptest::prelude::*;

use super::*;
use How::{Canonical, Exact, Id, Letters, Part, WithoutRoute};

const ANTHROPIC: [&str; 6] = [
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-haiku-4-5",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5-20251101",
    "claude-opus-4-5-20250901",
];

fn models() -> Vec<Available> {
    let ready =
        |provider: &str, id: &str| Available::new(ModelRef::new(provider, id), Credentials::Ready);
    let mut models: Vec<Available> = ANTHROPIC.iter().map(|id| ready("anthropic", id)).collect();
    models.extend(["gpt-6-sol", "gpt-5-mini"].map(|id| ready("openai", id)));
    models.extend(["qwen3:8b", "Phi4"].map(|id| ready("ollama", id)));
    models.extend(["anthropic/claude-sonnet-5.5", "x-ai/grok-5"].map(|id| Available {
        rank: Rank::Reseller,
        display: Some(format!("Routed {id}")),
        ..ready("openrouter", id)
    }));
    models
}

fn preferences() -> Preferences {
    Preferences::built_in(Catalogue::built_in())
}

fn patterns(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn chosen(agent: &[&str], preferences: &Preferences) -> Option<(String, How)> {
    let agent = patterns(agent);
    let ask = Ask { agent: &agent, ..Ask::default() };
    let resolution = select(&ask, &models(), preferences).ok()?;
    let how = resolution.chain.iter().find_map(|step| match &step.outcome {
        Outcome::Matches { how, .. } => Some(*how),
        _ => None,
    });
    Some((resolution.model.to_string(), how.unwrap()))
}

#[test]
fn a_pattern_fits_in_the_first_way_that_it_can() {
    let nothing = Preferences::default();
    for (pattern, model, how) in [
        ("anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5", Exact),
        ("ANTHROPIC/Claude-Opus-5-5", "anthropic/claude-opus-5-5", Exact),
        ("openrouter/anthropic/claude-sonnet-5.5", "openrouter/anthropic/claude-sonnet-5.5", Exact),
        ("openrouter/x-ai/grok-5:nitro", "openrouter/x-ai/grok-5", WithoutRoute),
        ("openrouter/x-ai/grok-5-20260101", "openrouter/x-ai/grok-5", WithoutRoute),
        ("openrouter/x-ai/grok-5-20260101:free", "openrouter/x-ai/grok-5", WithoutRoute),
        ("gpt-6-sol", "openai/gpt-6-sol", Id),
        ("phi4", "ollama/Phi4", Id),
        ("qwen3:8b", "ollama/qwen3:8b", Id),
        ("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5-20251001", Id),
        ("claude-haiku-4-5", "anthropic/claude-haiku-4-5", Id),
        // Nobody has it under that name, and two have it dated: the place in the registry decides.
        ("claude-opus-4-5", "anthropic/claude-opus-4-5-20251101", Canonical),
        ("grok-5", "openrouter/x-ai/grok-5", Canonical),
        ("x-ai/grok-5", "openrouter/x-ai/grok-5", Id),
        ("anthropic/snt", "anthropic/claude-sonnet-5-5", Letters),
        ("anthropic/opus55", "anthropic/claude-opus-5-5", Letters),
        ("sonnet", "anthropic/claude-sonnet-5-5", Part),
        ("haiku", "anthropic/claude-haiku-4-5", Part),
        ("opus-4-5", "anthropic/claude-opus-4-5-20251101", Part),
        ("routed x-ai", "openrouter/x-ai/grok-5", Part),
        // Nobody is called `grok`, so the slash is a part of the name.
        ("ai/grok", "openrouter/x-ai/grok-5", Part),
    ] {
        assert_eq!(chosen(&[pattern], &nothing), Some((model.to_owned(), how)), "{pattern}");
    }
    for pattern in [
        "openai/sonnet",
        "anthropic/gpt",
        "anthropic/",
        "mistral",
        "",
        ":",
        ":high",
        "@nobody",
        "pi/vision",
    ] {
        assert_eq!(chosen(&[pattern], &nothing), None, "{pattern}");
    }
}

#[test]
fn a_model_that_is_there_twice_is_not_meant_by_its_whole_name() {
    let twice = Available::new(ModelRef::new("work", "m-1"), Credentials::Ready);
    let agent = patterns(&["work/m-1"]);
    let ask = Ask { agent: &agent, ..Ask::default() };
    assert!(select(&ask, &[twice.clone(), twice.clone()], &Preferences::default()).is_err());
    assert!(select(&ask, &[twice], &Preferences::default()).is_ok());
}

#[test]
fn the_end_of_a_pattern_says_how_hard_to_think() {
    let levels = |pattern: &str, request, agent_effort| {
        let agent = patterns(&[pattern]);
        let ask = Ask { agent: &agent, request_effort: request, agent_effort, ..Ask::default() };
        let mut preferences = preferences();
        preferences.roles.insert("vision".to_owned(), patterns(&["gpt-6-sol:low"]));
        let resolution = select(&ask, &models(), &preferences).unwrap();
        (resolution.model.to_string(), resolution.effort, resolution.findings.len())
    };
    let (opus, gpt, qwen) = ("anthropic/claude-opus-5-5", "openai/gpt-6-sol", "ollama/qwen3:8b");
    let (high, low) = (Some(Effort::High), Some(Effort::Low));
    for (pattern, request, agent, model, effort, findings) in [
        ("opus", None, None, opus, None, 0),
        ("opus:high", None, None, opus, Some((Effort::High, EffortFrom::Pattern)), 0),
        ("opus:high", None, low, opus, Some((Effort::High, EffortFrom::Pattern)), 0),
        ("opus:high", low, None, opus, Some((Effort::Low, EffortFrom::Request)), 0),
        ("opus", None, high, opus, Some((Effort::High, EffortFrom::Agent)), 0),
        ("claude-opus-5-5:XHIGH", None, None, opus, Some((Effort::Xhigh, EffortFrom::Pattern)), 0),
        (
            "anthropic/claude-opus-5-5:off",
            None,
            None,
            opus,
            Some((Effort::Off, EffortFrom::Pattern)),
            0,
        ),
        ("@deep:max", None, low, opus, Some((Effort::Max, EffortFrom::Pattern)), 0),
        ("pi/slow:max", None, None, opus, Some((Effort::Max, EffortFrom::Pattern)), 0),
        ("@vision", None, None, gpt, Some((Effort::Low, EffortFrom::Expansion)), 0),
        ("@vision", None, high, gpt, Some((Effort::High, EffortFrom::Agent)), 0),
        ("@vision:high", None, None, gpt, Some((Effort::High, EffortFrom::Pattern)), 0),
        ("qwen3:8b", None, None, qwen, None, 0),
        ("qwen3:8b:low", None, None, qwen, Some((Effort::Low, EffortFrom::Pattern)), 0),
        // No levels: the model counts, and somebody is told.
        ("gpt-6-sol:hard", None, None, gpt, None, 1),
        ("gpt-6-sol:", None, None, gpt, None, 1),
    ] {
        assert_eq!(
            levels(pattern, request, agent),
            (model.to_owned(), effort, findings),
            "{pattern}"
        );
    }
}

#[test]
fn nobody_thinks_harder_than_the_user_allows() {
    let agent = patterns(&["opus:max"]);
    let ask = Ask { agent: &agent, ..Ask::default() };
    let preferences = Preferences { max_effort: Some(Effort::Medium), ..preferences() };
    let resolution = select(&ask, &models(), &preferences).unwrap();
    assert_eq!(resolution.effort, Some((Effort::Medium, EffortFrom::Pattern)));
    assert_eq!(resolution.findings.len(), 1);
}

#[test]
fn whoever_speaks_first_decides() {
    let mut preferences = preferences();
    preferences.agents.insert("reviewer".to_owned(), patterns(&["gpt-5-mini"]));
    let (request, agent) = (patterns(&["opus"]), patterns(&["haiku"]));
    let active = ModelRef::new("ollama", "Phi4");
    let configured = patterns(&["grok"]);
    let parent = Parent { active: Some(&active), configured: &configured };
    let model = |ask: Ask<'_>| select(&ask, &models(), &preferences).unwrap().model.to_string();
    let all = Ask {
        name: Some("reviewer"),
        request: &request,
        agent: &agent,
        parent: Some(parent),
        ..Ask::default()
    };
    assert_eq!(model(all), "anthropic/claude-opus-5-5");
    assert_eq!(model(Ask { request: &[], ..all }), "openai/gpt-5-mini");
    // The exact name and no other.
    let other = Ask { request: &[], name: Some("Reviewer"), ..all };
    assert_eq!(model(other), "anthropic/claude-haiku-4-5");
    let silent = Ask { agent: &[], ..other };
    assert_eq!(model(silent), "ollama/Phi4");
    let parent = Some(Parent { active: None, ..parent });
    assert_eq!(model(Ask { parent, ..silent }), "openrouter/x-ai/grok-5");
    assert_eq!(model(Ask { parent: None, ..silent }), "anthropic/claude-sonnet-5-5");
    let mut with_role = preferences.clone();
    with_role.roles.insert("default".to_owned(), patterns(&["nothing", "gpt-6"]));
    let silent = Ask { parent: None, ..silent };
    let chosen = select(&silent, &models(), &with_role).unwrap();
    assert_eq!(chosen.model.to_string(), "openai/gpt-6-sol");
}

#[test]
fn inherit_default_and_an_unset_task_mean_the_parents_model() {
    let active = ModelRef::new("ollama", "Phi4");
    let model = |agent: &[&str], preferences: &Preferences| {
        let agent = patterns(agent);
        let parent = Some(Parent { active: Some(&active), configured: &[] });
        let ask = Ask { agent: &agent, parent, ..Ask::default() };
        select(&ask, &models(), preferences).ok().map(|it| it.model.to_string())
    };
    let parent = Some("ollama/Phi4".to_owned());
    let mut preferences = preferences();
    for alone in ["inherit", "Inherit", "default", "pi/default", "@default", "pi/task", "@task"] {
        assert_eq!(model(&[alone], &preferences), parent, "{alone}");
    }
    // In a list `inherit` is one of several, and the roles are roles that mean nothing.
    assert_eq!(model(&["nothing", "inherit"], &preferences), parent);
    assert_eq!(
        model(&["pi/task", "opus"], &preferences),
        Some("anthropic/claude-opus-5-5".to_owned())
    );
    preferences.roles.insert("task".to_owned(), patterns(&["gpt-5-mini"]));
    assert_eq!(model(&["pi/task"], &preferences), Some("openai/gpt-5-mini".to_owned()));
}

#[test]
fn a_pin_that_nobody_serves_is_an_error_that_tells_every_step() {
    let agent = patterns(&["@fast", "claude-opus-9"]);
    let ask = Ask { agent: &agent, ..Ask::default() };
    let only = [Available::new(ModelRef::new("ollama", "Phi4"), Credentials::Ready)];
    let error = select(&ask, &only, &preferences()).unwrap_err();
    assert_eq!(error.to_string(), "no model that there is fits `@fast` or `claude-opus-9`");
    assert!(error.hint().unwrap().contains("`[models.roles] fast = \"…\"`"), "{:?}", error.hint());
    assert!(error.chain.len() > 8, "{:?}", error.chain);
    assert!(matches!(error.chain[0].outcome, Outcome::Expands(_)));
    assert_eq!(error.chain.last().unwrap().outcome, Outcome::NoMatch);
}

#[test]
fn circles_end() {
    let mut preferences = Preferences::default();
    preferences.roles.insert("a".to_owned(), patterns(&["@b"]));
    preferences.roles.insert("b".to_owned(), patterns(&["@a", "gpt-6-sol"]));
    preferences.aliases.insert("one".to_owned(), patterns(&["two"]));
    preferences.aliases.insert("two".to_owned(), patterns(&["one", "two"]));
    assert_eq!(chosen(&["@a"], &preferences).unwrap().0, "openai/gpt-6-sol");
    assert_eq!(chosen(&["one"], &preferences), None);
}

#[test]
fn of_two_that_fit_the_preferred_one_is_taken() {
    let fits = |preferences: &Preferences, models: &[Available]| {
        let agent = patterns(&["shared"]);
        let ask = Ask { agent: &agent, ..Ask::default() };
        select(&ask, models, preferences).unwrap().model.provider
    };
    let of = |provider: &str| Available::new(ModelRef::new(provider, "shared"), Credentials::Ready);
    let routed = Available { rank: Rank::Reseller, ..of("routed") };
    let no_key = Available { credentials: Credentials::Missing, ..of("locked") };
    let models = [no_key, routed, of("one"), of("two")];
    let plain = Preferences::default();
    assert_eq!(fits(&plain, &models), "one");
    let ordered = Preferences { providers: patterns(&["two", "routed"]), ..plain.clone() };
    assert_eq!(fits(&ordered, &models), "two");
    let recent = Preferences { recent: vec![ModelRef::new("routed", "shared")], ..ordered };
    assert_eq!(fits(&recent, &models), "routed");
    let recent = Preferences { recent: vec![ModelRef::new("locked", "shared")], ..plain };
    assert_eq!(fits(&recent, &models), "one");
}

#[test]
fn a_model_without_a_key_gives_way_to_the_parents_and_says_so() {
    let mut models = models();
    for it in models.iter_mut().filter(|it| it.model.provider == "anthropic") {
        it.credentials = Credentials::Missing;
    }
    let agent = patterns(&["claude-opus-5-5"]);
    let resolved = |active: Option<&ModelRef>| {
        let parent = active.map(|active| Parent { active: Some(active), configured: &[] });
        let ask = Ask { agent: &agent, parent, ..Ask::default() };
        select(&ask, &models, &preferences()).unwrap()
    };
    let with_key = ModelRef::new("openai", "gpt-6-sol");
    let resolution = resolved(Some(&with_key));
    assert_eq!(resolution.model, with_key);
    assert_eq!(resolution.findings.len(), 1);
    assert!(resolution.chain.iter().any(|step| matches!(step.outcome, Outcome::NoKey { .. })));
    // Neither has one: the error that follows is about what was asked for.
    let without = ModelRef::new("anthropic", "claude-haiku-4-5");
    for parent in [None, Some(&without)] {
        let resolution = resolved(parent);
        assert_eq!(resolution.model.id, "claude-opus-5-5");
        assert_eq!(resolution.findings, []);
    }
}

#[test]
fn the_bundled_agents_find_a_model_with_any_of_the_large_providers() {
    for provider in ["anthropic", "openai", "gemini"] {
        let names = [provider];
        let models: Vec<Available> = Catalogue::built_in()
            .of(&names)
            .map(|it| Available::new(ModelRef::new(provider, &it.id), Credentials::Ready))
            .collect();
        for role in ["@fast", "@deep", "@designer"] {
            let agent = patterns(&[role]);
            let ask = Ask { agent: &agent, ..Ask::default() };
            assert!(select(&ask, &models, &preferences()).is_ok(), "{provider} {role}");
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9:/@.-]{0,12}",
        prop::sample::select(vec![
            "inherit",
            "default",
            "sonnet",
            "@fast",
            "@deep:high",
            "pi/task",
            "opus:low",
            "anthropic/opus",
            "qwen3:8b",
            "é:ü",
            "@",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn whatever_is_asked_the_answer_is_a_model_that_there_is_and_the_last_match(
        agent in prop::collection::vec(word(), 0..5),
        roles in prop::collection::btree_map("[a-d]{1,2}|fast|default", prop::collection::vec(word(), 0..4), 0..4),
        aliases in prop::collection::btree_map("[a-z]{1,6}", prop::collection::vec(word(), 0..4), 0..4),
        keys in prop::collection::vec(any::<bool>(), 12),
        parent in prop::option::of(0..12_usize),
    ) {
        let mut models = models();
        for (it, ready) in models.iter_mut().zip(keys) {
            it.credentials = if ready { Credentials::Ready } else { Credentials::Missing };
        }
        let active = parent.map(|at| models[at].model.clone());
        let parent = active.as_ref().map(|active| Parent { active: Some(active), configured: &[] });
        let preferences = Preferences { roles, aliases, ..preferences() };
        let ask = Ask { agent: &agent, parent, ..Ask::default() };
        match select(&ask, &models, &preferences) {
            Ok(resolution) => {
                prop_assert!(models.iter().any(|it| it.model == resolution.model));
                let last = resolution.chain.iter().rev().find_map(|step| match &step.outcome {
                    Outcome::Matches { model, .. } => Some(model.clone()),
                    _ => None,
                });
                prop_assert_eq!(last, Some(resolution.model.clone()));
                // The same question has the same answer.
                prop_assert_eq!(select(&ask, &models, &preferences).unwrap(), resolution);
            }
            Err(error) => {
                let matched = error.chain.iter().any(|it| matches!(it.outcome, Outcome::Matches { .. }));
                prop_assert!(!matched);
                // Who wants nothing of its own always gets something, unless the user wants it to have something else.
                prop_assert!(!agent.is_empty() || preferences.roles.contains_key("default"));
            }
        }
    }

    #[test]
    fn a_pattern_with_a_provider_never_leaves_it(rest in "[a-z0-9.-]{1,12}", at in 0..3_usize) {
        let provider = ["anthropic", "openai", "ollama"][at];
        let agent = [format!("{provider}/{rest}")];
        let ask = Ask { agent: &agent, ..Ask::default() };
        if let Ok(resolution) = select(&ask, &models(), &Preferences::default()) {
            // A reseller has names with such a path in them.
            let is_exact = resolution.model.id.eq_ignore_ascii_case(&agent[0]);
            prop_assert!(resolution.model.provider == provider || is_exact);
        }
    }
}
