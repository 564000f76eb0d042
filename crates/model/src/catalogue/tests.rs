use super::*;

#[test]
fn what_the_program_brings_is_sound() {
    let (catalogue, findings) = Catalogue::parse(BUILT_IN);
    assert_eq!(findings, []);
    assert!(catalogue.models.len() > 40);
    for known in &catalogue.models {
        let price = known.price.unwrap();
        assert!(price.output >= price.input && price.input >= price.cache_read, "{known:?}");
        assert!(known.context >= known.output && known.output > Some(0), "{known:?}");
        let twice = catalogue.models.iter().filter(|it| it.id == known.id).count();
        assert_eq!(twice, 1, "{}", known.id);
    }
}

#[test]
fn every_alias_and_role_ends_at_a_model_of_the_catalogue() {
    let catalogue = Catalogue::built_in();
    for (name, patterns) in catalogue.aliases.iter().chain(&catalogue.roles) {
        for pattern in patterns {
            let is_known = catalogue.models.iter().any(|it| it.id.contains(pattern.as_str()));
            // Programs have one of their own.
            let is_known = is_known || pattern == crate::host::DEFAULT_MODEL;
            assert!(is_known || catalogue.aliases.contains_key(pattern), "{name}: {pattern}");
        }
    }
}

#[test]
fn what_is_said_about_the_provider_comes_before_what_is_known_of_the_model() {
    let mine = Known {
        price: Some(Price { input: 7, ..Price::default() }),
        ..Known::new("work", "claude-sonnet-4-5")
    };
    let catalogue = Catalogue::built_in().with(std::slice::from_ref(&mine));
    let input = |provider: &str, id: &str, kind: &str| {
        catalogue
            .find(&ModelRef::new(provider, id), kind)
            .and_then(|it| it.price)
            .map(|it| it.input)
    };
    assert_eq!(input("work", "claude-sonnet-4-5", "anthropic"), Some(7));
    assert_eq!(input("work", "claude-sonnet-4-5-20250929", "anthropic"), Some(3_000_000));
    assert_eq!(input("anthropic", "claude-sonnet-4-5", "anthropic"), Some(3_000_000));
    assert_eq!(
        input("router", "anthropic/claude-opus-4.5:nitro", "openai-compatible"),
        Some(5_000_000)
    );
    assert_eq!(input("ollama", "qwen3:8b", "openai-compatible"), None);
}

#[test]
fn an_entry_of_the_user_replaces_the_same_and_stands_before_the_others() {
    let corrected = Known { context: Some(5), ..Known::new("openai", "gpt-5") };
    let added = Known::new("openai", "gpt-99");
    let before = Catalogue::built_in().models.len();
    let catalogue = Catalogue::built_in().with(&[corrected.clone(), added.clone()]);
    assert_eq!(catalogue.models.len(), before + 1);
    assert_eq!(catalogue.models[0], added);
    assert_eq!(catalogue.find(&ModelRef::new("openai", "gpt-5"), "openai"), Some(&corrected));
}

#[test]
fn what_is_wrong_in_an_entry_is_said() {
    let text = "[[model]]\nid = \"x\"\ncontext = -1\ncan = [\"fly\"]\nprice = { inptu = 1 }\n";
    let (catalogue, findings) = Catalogue::parse(text);
    assert_eq!(catalogue.models, []);
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`provider` is missing in [[model]]",
            "`context` must be a whole number that is not negative",
            "unknown key `inptu` in [model.price]",
            "a model cannot be said to `fly`",
        ]
    );
}
