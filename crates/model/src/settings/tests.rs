use agents_host::hosts;
use agents_system::{env, explain::Explain as _};

use super::*;
use crate::{keys::KeySource, request::OwnRights, select::ModelRef};

fn parse(text: &str) -> Result<ModelSettings, Vec<String>> {
    ModelSettings::parse(Utf8Path::new("/c/config.toml"), text, Utf8Path::new("/c"))
        .map_err(|error| error.findings().iter().map(|it| it.message.clone()).collect())
}

#[test]
fn providers_are_read_in_the_order_of_the_file() {
    let settings = parse(
        "[providers.work]\nkind = \"openai-compatible\"\nurl = \"https://llm.example.com/v1/\"\nkey-env = \"WORK_KEY\"\n\
         model = \"big\"\nmax-requests = 2\nheaders = { X-Team = \"core\" }\n\n\
         [providers.anthropic]\nkey-command = [\"pass\", \"show\", \"anthropic\"]\n\n\
         [providers.editor]\nkind = \"acp\"\ncommand = [\"gemini\", \"--acp\"]\nrights = \"edit\"\n\n\
         [providers.claude]\nkind = \"host\"\n\n\
         [providers.play]\nkind = \"script\"\nscript = \"hello.toml\"\n",
    )
    .unwrap();
    let names: Vec<&str> = settings.providers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["work", "anthropic", "editor", "claude", "play"]);
    let [work, anthropic, editor, _, play] = &settings.providers[..] else { panic!() };
    assert_eq!(work.url.as_deref(), Some("https://llm.example.com/v1"));
    assert_eq!(work.keys, [KeySource::Env("WORK_KEY".to_owned())]);
    assert_eq!((work.model.as_deref(), work.max_requests), (Some("big"), Some(2)));
    assert_eq!(work.headers, [("X-Team".to_owned(), "core".to_owned())]);
    assert!(!work.needs_key() && !work.is_local());
    assert_eq!(anthropic.kind, Kind::Anthropic);
    assert!(anthropic.needs_key());
    assert!(matches!(&anthropic.keys[..], [KeySource::Command(words)] if words.len() == 3));
    assert_eq!((editor.rights, editor.keys.len()), (Some(OwnRights::Edit), 0));
    assert_eq!(play.script.as_deref(), Some(Utf8Path::new("/c/hello.toml")));
}

#[test]
fn a_key_in_the_file_is_refused_wherever_it_hides_and_never_shown() {
    for text in [
        "[providers.anthropic]\nkey = \"sk-planted-1\"\n",
        "[providers.anthropic]\napi-key = \"sk-planted-1\"\n",
        "[providers.anthropic]\napi_key = \"sk-planted-1\"\n",
        "[providers.anthropic]\ntoken=\"sk-planted-1\"\n",
        "[providers]\nanthropic = { apiKey = \"sk-planted-1\" }\n",
        "[providers.anthropic.headers]\nAuthorization = \"Bearer sk-planted-1\"\n",
        "[providers.anthropic]\nheaders = { x-api-key = \"sk-planted-1\" }\n",
        "[providers.anthropic]\nurl = \"https://me:sk-planted-1@example.com\"\n",
        "[providers.anthropic]\nurl = \"https://example.com?key=sk-planted-1\"\n",
        // Not a name for keys, and still nobody's business.
        "[providers.anthropic]\nfoo = \"sk-planted-1\"\n",
        "[providers.anthropic]\nkey-env = [\"sk-planted-1\"]\n",
        "[providers.anthropic]\nkind = 7 # sk-planted-1\n",
        // Not even TOML.
        "[providers.anthropic]\nkey = \"sk-planted-1\n",
        "[providers.anthropic]\nkey = sk-planted-1\n",
    ] {
        let error =
            ModelSettings::parse(Utf8Path::new("/c/config.toml"), text, Utf8Path::new("/c"))
                .unwrap_err();
        let findings =
            format!("{error} {:?} {:?} {:?}", error.findings(), error.hint(), error.details());
        assert!(!error.findings().is_empty(), "{text}");
        assert!(!findings.contains("planted"), "{text}: {findings}");
    }
    let messages = parse("[providers.anthropic]\napi-key = \"sk-planted-1\"\n").unwrap_err();
    assert_eq!(
        messages,
        ["`api-key` in [providers.anthropic]: keys do not belong into a configuration file"]
    );
}

#[test]
fn what_is_wrong_is_said() {
    for (text, message) in [
        ("[providers.x]\n", "`kind` is missing in [providers.x]"),
        ("[providers.x]\nkind = \"anthropc\"\n", "`kind` cannot be `anthropc` in [providers.x]"),
        (
            "[providers.x]\nkind = \"openai-compatible\"\n",
            "`url` is missing in [providers.x]: where it listens, as `http://127.0.0.1:8080/v1`",
        ),
        (
            "[providers.x]\nkind = \"acp\"\n",
            "`command` is missing in [providers.x]: the program that speaks ACP, as `[\"gemini\", \"--acp\"]`",
        ),
        ("[providers.anthropic]\nurl = \"example.com\"\n", "`url` is not an address"),
        (
            "[providers.anthropic]\nurl = \"ftp://example.com\"\n",
            "`url` must begin with `http://` or `https://`",
        ),
        ("[providers.anthropic]\nmodle = \"x\"\n", "unknown key `modle` in [providers.anthropic]"),
        (
            "[providers.\"a b\"]\nkind = \"gemini\"\n",
            "the name of a provider is made of letters, digits, `-` and `_`",
        ),
        ("[models]\nmax-effort = \"much\"\n", "there is no effort `much`"),
        ("[models]\nrole = { fast = \"x\" }\n", "unknown key `role` in [models]"),
        ("[models]\nroles = { fast = 3 }\n", "`fast` must be a list of strings, not an integer"),
    ] {
        assert_eq!(parse(text).unwrap_err(), [message], "{text}");
    }
}

#[test]
fn what_the_user_says_about_models_comes_before_what_is_built_in() {
    let settings = parse(
        "[models]\ndefault = \"work/big\"\nproviders = [\"work\"]\nmax-effort = \"high\"\n\
         [models.roles]\nFast = [\"tiny\", \"small:low\"]\n[models.aliases]\nsonnet = \"work/big\"\nmine = \"a, b\"\n\
         [models.agents]\nReviewer = \"@deep\"\n[[models.known]]\nprovider = \"work\"\nid = \"big\"\nprice = { input = 5 }\n",
    )
    .unwrap();
    let preferences = settings.preferences();
    assert_eq!(preferences.roles["default"], ["work/big"]);
    assert_eq!(preferences.roles["fast"], ["tiny", "small:low"]);
    assert_eq!(preferences.aliases["sonnet"], ["work/big"]);
    assert_eq!(preferences.aliases["mine"], ["a", "b"]);
    assert!(preferences.aliases.contains_key("opus"));
    assert_eq!(preferences.agents["Reviewer"], ["@deep"]);
    assert_eq!(preferences.max_effort, Some(Effort::High));
    let known = settings.catalogue();
    assert_eq!(
        known
            .find(&ModelRef::new("work", "big"), "openai-compatible")
            .unwrap()
            .price
            .unwrap()
            .input,
        5
    );
}

fn around(variables: &[(env::Variable, &str)], installed: &[&str]) -> Around {
    let (hosts, _) = hosts(None);
    let installed = hosts.into_iter().filter(|host| installed.contains(&host.id.as_str()));
    Around {
        variables: variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        hosts: installed
            .map(|host| InstalledHost {
                id: host.id.to_string(),
                program: format!("/bin/{}", host.id).into(),
                headless: host.headless.unwrap(),
            })
            .collect(),
    }
}

fn found(configured: &str, around: &Around) -> Vec<(String, &'static str, Option<String>)> {
    let configured = parse(configured).unwrap();
    let all =
        all_providers(&configured.providers, around, Utf8Path::new("/c/config.toml")).unwrap();
    all.into_iter().map(|it| (it.name, it.kind.word(), it.url)).collect()
}

#[test]
fn customary_variables_and_installed_hosts_are_providers() {
    let url = |text: &str| Some(text.to_owned());
    let all = around(
        &[
            (env::ANTHROPIC_API_KEY, ""),
            (env::OPENAI_API_KEY, ""),
            (env::GEMINI_API_KEY, ""),
            (env::OLLAMA_HOST, "0.0.0.0"),
        ],
        &["claude", "gemini"],
    );
    assert_eq!(
        found("", &all),
        [
            ("anthropic".to_owned(), "anthropic", url("https://api.anthropic.com")),
            ("openai".to_owned(), "openai-responses", url("https://api.openai.com/v1")),
            ("gemini".to_owned(), "gemini", url("https://generativelanguage.googleapis.com")),
            ("ollama".to_owned(), "openai-compatible", url("http://127.0.0.1:11434/v1")),
            ("claude".to_owned(), "host", None),
            ("gemini-cli".to_owned(), "host", None),
        ]
    );
    let elsewhere = around(
        &[
            (env::ANTHROPIC_BASE_URL, "http://127.0.0.1:1/"),
            (env::OPENAI_API_KEY, ""),
            (env::OPENAI_BASE_URL, "http://127.0.0.1:2/v1"),
        ],
        &[],
    );
    assert_eq!(
        found("", &elsewhere),
        [
            ("anthropic".to_owned(), "anthropic", url("http://127.0.0.1:1")),
            ("openai".to_owned(), "openai", url("http://127.0.0.1:2/v1")),
        ]
    );
}

#[test]
fn a_configured_name_is_taken_and_keeps_its_own_address() {
    let here = around(
        &[(env::ANTHROPIC_API_KEY, ""), (env::ANTHROPIC_BASE_URL, "http://127.0.0.1:1")],
        &["claude"],
    );
    let url = |text: &str| Some(text.to_owned());
    assert_eq!(
        found(
            "[providers.anthropic]\nurl = \"https://proxy.example.com\"\n[providers.claude]\nkind = \"host\"\n",
            &here
        ),
        [
            ("anthropic".to_owned(), "anthropic", url("https://proxy.example.com")),
            ("claude".to_owned(), "host", None),
        ]
    );
    // Without an address of its own the customary one counts.
    assert_eq!(
        found("[providers.anthropic]\nmodel = \"x\"\n", &here)[0].2,
        url("http://127.0.0.1:1")
    );
}

#[test]
fn nobody_to_ask_is_an_error_that_lists_what_was_looked_for() {
    let error =
        all_providers(&[], &Around::default(), Utf8Path::new("/c/config.toml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no provider to ask: no key, no address, no installed host"
    );
    let details = error.details().unwrap();
    for looked_for in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OLLAMA_HOST",
        "/c/config.toml",
        "codex",
    ] {
        assert!(details.contains(looked_for), "{looked_for}");
    }
    assert!(error.hint().unwrap().starts_with("`export ANTHROPIC_API_KEY=…` is enough"));
}
