use agents_system::process::Call;
use agents_testkit::scratch::Scratch;

use super::*;
use crate::{manifest::PluginName, testing::Place};

fn parse(text: &str) -> Result<Config, ConfigError> {
    let dirs = Dirs::below(Utf8Path::new("/home"));
    Config::parse(&dirs, &Config::file(&dirs), text)
}

#[track_caller]
fn good(text: &str) -> Config {
    let config = parse(text).unwrap();
    assert_eq!(config.findings, [], "{text}");
    config
}

/// `line:column message` of what is wrong with it.
#[track_caller]
fn errors(text: &str) -> Vec<String> {
    let error = parse(text).unwrap_err();
    assert_eq!(error.to_string(), "`/home/config.toml` is not a valid configuration");
    assert_eq!(error.kind(), ErrorKind::Usage);
    error.findings().iter().map(shown).collect()
}

fn shown(finding: &Finding) -> String {
    let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref()).unwrap();
    format!("{}:{} {}", spot.line, spot.column, finding.message)
}

fn spec(name: &str, place: RegistryPlace) -> RegistrySpec {
    RegistrySpec { name: name.to_owned(), place, auto_update: AutoUpdate::On }
}

fn path(path: &str) -> RegistryPlace {
    RegistryPlace::Path(path.into())
}

fn git(url: &str) -> RegistryPlace {
    RegistryPlace::Git(url.to_owned())
}

/// The registries besides the two that are there by default.
fn own_registries(text: &str) -> Vec<RegistrySpec> {
    let mut registries = good(text).registries;
    assert_eq!(registries[0].name, RECOMMENDATIONS);
    assert_eq!(registries[1].name, USER_PLUGINS);
    registries.split_off(2)
}

#[test]
fn an_empty_file_means_the_recommendations_and_the_users_own_plugins() {
    let defaults = vec![
        spec(RECOMMENDATIONS, git("https://github.com/symposium-dev/recommendations")),
        spec(USER_PLUGINS, path("/home/plugins")),
    ];
    assert_eq!(good("").registries, defaults);
    assert_eq!(good("").enablement, Enablement::default());
}

#[test]
fn both_defaults_can_be_turned_off() {
    let names = |text: &str| -> Vec<String> {
        good(text).registries.into_iter().map(|registry| registry.name).collect()
    };
    assert_eq!(names("[defaults]\nsymposium-recommendations = false"), [USER_PLUGINS]);
    assert_eq!(names("[defaults]\nuser-plugins = false"), [RECOMMENDATIONS]);
    assert_eq!(names("[defaults]\nuser-plugins = true").len(), 2);
}

#[test]
fn registry_and_plugin_source_are_the_same() {
    for word in ["registry", "plugin-source"] {
        let text = format!(
            "[[{word}]]\nname = \"team\"\ngit = \"https://x/y\"\n\
             [[{word}]]\nname = \"mine\"\npath = \"/abs\"\n\
             [[{word}]]\nname = \"near\"\npath = \"rel\"\nauto-update = false\n"
        );
        let near = RegistrySpec { auto_update: AutoUpdate::Off, ..spec("near", path("/home/rel")) };
        let expected = vec![spec("team", git("https://x/y")), spec("mine", path("/abs")), near];
        assert_eq!(own_registries(&text), expected, "{word}");
    }
    let mixed =
        "[[plugin-source]]\nname = \"a\"\npath = \"a\"\n[[registry]]\nname = \"b\"\npath = \"b\"";
    let names: Vec<String> = own_registries(mixed).into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn a_registry_has_a_name_and_exactly_one_place() {
    let both = "[[registry]]\nname = \"a\"\npath = \"p\"\ngit = \"g\"";
    assert_eq!(errors(both), ["4:7 a registry has either `path` or `git`, not both"]);
    assert_eq!(errors("[[registry]]\nname = \"a\""), ["1:1 a registry needs a place"]);
    assert_eq!(errors("[[registry]]\npath = \"p\""), ["1:1 `name` is missing in [[registry]]"]);
    assert_eq!(
        errors("[registry]\nname = \"a\""),
        ["1:1 `registry` must be a list of tables, written as `[[registry]]`, not a table"]
    );
}

#[test]
fn two_registries_cannot_share_a_name() {
    let one = "[[registry]]\nname = \"a\"\npath = \"p\"\n";
    assert_eq!(errors(&one.repeat(2)), ["4:1 two registries have the name `a`"]);
    let taken = "[[registry]]\nname = \"user-plugins\"\npath = \"p\"\n";
    assert_eq!(errors(taken), ["1:1 two registries have the name `user-plugins`"]);
    own_registries_without_defaults(taken);
}

#[track_caller]
fn own_registries_without_defaults(text: &str) {
    let text = format!("{text}[defaults]\nuser-plugins = false");
    assert_eq!(good(&text).registries.len(), 2);
}

#[test]
fn unknown_keys_warn_at_the_top_and_are_errors_inside() {
    let config = parse("auto-snyc = true\n[[registry]]\nname = \"a\"\npath = \"p\"").unwrap();
    let findings: Vec<String> = config.findings.iter().map(shown).collect();
    assert_eq!(findings, ["1:1 unknown key `auto-snyc`"]);
    assert_eq!(config.findings[0].severity, Severity::Warning);
    assert_eq!(config.findings[0].label.as_deref(), Some("did you mean `auto-sync`?"));
    assert_eq!(config.registries.len(), 3);
    let text = "[[registry]]\nname = \"a\"\npth = \"p\"\npath = \"p\"";
    assert_eq!(errors(text), ["3:1 unknown key `pth` in [[registry]]"]);
    assert_eq!(errors("[plugins]\nenable = []"), ["2:1 unknown key `enable` in [plugins]"]);
}

#[test]
fn what_symposium_writes_is_understood() {
    good(
        r#"
        auto-sync = true
        agents-syncing = true
        sync-debounce-secs = 5
        hook-scope = "global"
        auto-update = "on"
        registry = []

        [[agent]]
        name = "claude"

        [logging]
        level = "info"

        [telemetry]
        enabled = false

        [defaults]
        symposium-recommendations = true
        user-plugins = true
        "#,
    );
}

#[test]
fn a_broken_file_is_an_error_with_a_place_and_never_the_defaults() {
    assert_eq!(
        errors("auto-sync = \n"),
        ["1:13 string values must be quoted, expected literal string"]
    );
    assert_eq!(errors("[plugins]\nuse = [\"a\"\n").len(), 1);
    assert_eq!(
        errors("[defaults]\nuser-plugins = \"no\""),
        ["2:16 `user-plugins` must be `true` or `false`, not a string"]
    );
}

#[test]
fn a_missing_file_is_an_empty_one_and_an_unreadable_one_is_not() {
    let scratch = Scratch::new();
    let dirs = Dirs::below(scratch.root());
    assert_eq!(Config::load(&dirs).unwrap().registries.len(), 2);
    scratch.write("config.toml", "[defaults]\nuser-plugins = false\n");
    assert_eq!(Config::load(&dirs).unwrap().registries.len(), 1);
    scratch.write("config.toml", b"\xff\xfe");
    let error = Config::load(&dirs).unwrap_err();
    assert!(matches!(error, ConfigError::Foreign(ForeignError::NotUtf8 { .. })), "{error:?}");
    fs_err::remove_file(scratch.path("config.toml")).unwrap();
    let pipe = scratch.path("config.toml");
    assert!(Call::new("mkfifo").arg(pipe.as_str()).status().unwrap().success());
    let error = Config::load(&dirs).unwrap_err();
    let said = format!("`{pipe}` is a pipe, socket or device, not a file");
    assert_eq!((error.to_string(), error.code()), (said, Some(Code::NotAFile)));
}

#[test]
fn whatever_is_wrong_with_the_file_it_is_the_configuration_that_is() {
    let scratch = Scratch::new();
    let (dirs, file) = (Dirs::below(scratch.root()), scratch.path("config.toml"));
    let kind = || Config::load(&dirs).unwrap_err().kind();
    for target in ["nowhere", "config.toml", "/dev/zero", "."] {
        std::os::unix::fs::symlink(target, &file).unwrap();
        assert_eq!(kind(), ErrorKind::Usage, "{target}");
        fs_err::remove_file(&file).unwrap();
    }
    fs_err::write(&file, b"\xff").unwrap();
    assert_eq!(kind(), ErrorKind::Usage);
}

#[test]
fn plugins_are_matched_like_crates() {
    let text =
        "[plugins]\nuse = [\"my-plugin\"]\nauto-enable = [\"tokio_util\"]\ndisable = [\"x\"]";
    let said = good(text).enablement;
    assert!(
        said.using("my_plugin", None).is_some()
            && said.using("my-plugin", Some("/ws".into())).is_some()
    );
    assert!(said.using("my", None).is_none() && said.using("tokio-util", None).is_none());
    assert!(said.auto_enabling("tokio-util").is_some() && said.auto_enabling("x").is_none());
    assert!(said.is_disabled("x") && !said.is_disabled("my-plugin"));
    assert_eq!(said.used_names(None).collect::<Vec<_>>(), ["my-plugin"]);
}

#[test]
fn a_star_enables_or_disables_everything_and_cannot_be_used() {
    let said = good("[plugins]\nauto-enable = [\"*\"]\ndisable = [\"*\"]").enablement;
    assert!(said.auto_enabling("anything").is_some() && said.is_disabled("anything"));
    assert!(errors("[plugins]\nuse = [\"*\"]")[0].contains("one by one"));
    let nothing = good("[plugins]").enablement;
    assert!(
        nothing.auto_enabling("x").is_none()
            && !nothing.is_disabled("x")
            && nothing.using("x", None).is_none()
    );
}

#[test]
fn a_use_may_be_for_one_workspace_only() {
    let text = "[plugins]\nuse = [{ name = \"a\", workspace = \"/one\" }, \
                { name = \"a\", workspace = \"/two\" }, { name = \"b\" }]";
    let said = good(text).enablement;
    let (one, two, three) = ("/one".into(), "/two".into(), "/three".into());
    assert!(said.using("a", Some(one)).is_some() && said.using("a", Some(two)).is_some());
    assert!(said.using("a", Some(three)).is_none() && said.using("a", None).is_none());
    assert!(said.using("b", None).is_some());
    assert_eq!(said.used_names(Some(one)).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(said.used_names(None).collect::<Vec<_>>(), ["b"]);
}

#[cfg(unix)]
#[test]
fn a_workspace_is_the_same_however_one_gets_there() {
    let scratch = Scratch::new();
    fs_err::create_dir_all(scratch.path("ws")).unwrap();
    std::os::unix::fs::symlink(scratch.path("ws"), scratch.path("link")).unwrap();
    let link = scratch.path("link");
    let text = format!("[plugins]\nuse = [{{ name = \"a\", workspace = \"{link}\" }}]");
    let said = good(&text).enablement;
    assert!(said.using("a", Some(&scratch.path("ws"))).is_some());
    assert!(said.using("a", Some(&scratch.path("ws/../link"))).is_some());
}

#[test]
fn the_lists_of_plugins_are_checked() {
    let list = "`use` must be a list of names or of tables with `name` and `workspace`";
    assert_eq!(errors("[plugins]\nuse = \"a\""), [format!("2:7 {list}, not a string")]);
    assert_eq!(errors("[plugins]\nuse = [3]"), [format!("2:8 {list}, not an integer")]);
    assert_eq!(
        errors("[plugins]\nuse = [{ workspace = \"/x\" }]"),
        ["2:8 `name` is missing in an entry of `use`"]
    );
    assert_eq!(
        errors("[plugins]\nuse = [{ name = \"a\", root = \"/x\" }]"),
        ["2:22 unknown key `root` in an entry of `use`"]
    );
    assert_eq!(
        errors("[plugins]\ndisable = \"a\""),
        ["2:11 `disable` must be a list of strings, not a string"]
    );
}

#[test]
fn hosts_are_a_list_or_tables_and_each_counts_once() {
    let config = good(
        "hosts = [\"claude\", \"codex\"]\n[[agent]]\nname = \"codex\"\n[[agent]]\nname = \"kiro\"\n",
    );
    assert_eq!(config.hosts, ["claude", "codex", "kiro"]);
    assert_eq!(good("").hosts, [] as [&str; 0]);
}

#[test]
fn registration_is_for_the_user_unless_the_scope_is_the_project() {
    assert_eq!(good("").registration, Registration::User);
    assert_eq!(good("hook-scope = \"project\"").registration, Registration::Project);
    assert_eq!(good("").servers, ServersAs::One);
    assert_eq!(good("mcp-register = \"each\"").servers, ServersAs::Each);
    assert!(errors("mcp-register = \"none\"")[0].contains("cannot be `none`"));
    assert!(errors("hook-scope = \"everywhere\"")[0].contains("cannot be `everywhere`"));
    assert_eq!(good("agents-syncing = false").agents_syncing, AgentsSyncing::Off);
    assert_eq!(good("auto-sync = false").auto_sync, AutoSync::Off);
    assert_eq!(good("").auto_sync, AutoSync::On);
}

mod changing {
    use agents_system::{edit::Edit, foreign::Written, progress::Progress};
    use serde_json::json;

    use super::*;

    fn change(dirs: &Dirs, edits: Vec<Edit>) -> Result<Changed, ConfigError> {
        Config::change(dirs, &Progress::silent(), |_| Ok(edits))
    }

    fn set_hosts(hosts: &[&str]) -> Vec<Edit> {
        vec![Edit::Set { at: ["hosts"].into(), value: json!(hosts) }]
    }

    #[test]
    fn everything_but_the_change_stays_byte_for_byte() {
        let scratch = Scratch::new();
        let dirs = Dirs::below(scratch.root());
        let text = "\u{feff}# mine\r\nhosts = [ 'zed' ] # these\r\n\r\n[plugins]\r\nuse=['a']  # spaced\r\n";
        scratch.write("config.toml", text);
        let changed = change(&dirs, set_hosts(&["zed", "amp"])).unwrap();
        assert_eq!((changed.before.hosts.len(), changed.written), (1, Written::Replaced));
        assert_eq!(changed.after, Config::load(&dirs).unwrap());
        let written = fs_err::read_to_string(Config::file(&dirs)).unwrap();
        let (before, after) = text.split_once("[ 'zed' ]").unwrap();
        assert!(written.starts_with(before) && written.ends_with(after), "{written:?}");
        assert_eq!(change(&dirs, set_hosts(&["zed", "amp"])).unwrap().written, Written::Unchanged);
    }

    #[test]
    fn a_missing_file_is_made_only_when_there_is_something_to_write() {
        let scratch = Scratch::new();
        let dirs = Dirs::below(&scratch.path("new/home"));
        assert_eq!(change(&dirs, Vec::new()).unwrap().written, Written::Unchanged);
        assert!(!Config::file(&dirs).exists());
        assert_eq!(change(&dirs, set_hosts(&["amp"])).unwrap().written, Written::Created);
        assert_eq!(Config::load(&dirs).unwrap().hosts, ["amp"]);
    }

    #[test]
    fn a_wrong_file_is_not_changed_and_none_is_made_wrong() {
        let scratch = Scratch::new();
        let dirs = Dirs::below(scratch.root());
        for (text, edits) in [
            ("hosts = 1\n", set_hosts(&["amp"])),
            ("hosts = [\n", set_hosts(&["amp"])),
            ("", vec![Edit::Set { at: ["hook-scope"].into(), value: json!("everywhere") }]),
        ] {
            scratch.write("config.toml", text);
            let error = change(&dirs, edits).unwrap_err();
            assert!(matches!(error, ConfigError::Invalid { .. }), "{text}: {error:?}");
            assert_eq!(fs_err::read_to_string(Config::file(&dirs)).unwrap(), text);
        }
    }

    #[test]
    fn what_a_killed_process_left_is_cleared_away() {
        let scratch = Scratch::new();
        let dirs = Dirs::below(scratch.root());
        scratch.write(".config.toml.agents-AbC123", "half");
        change(&dirs, set_hosts(&["amp"])).unwrap();
        assert!(!scratch.path(".config.toml.agents-AbC123").exists());
    }
}

#[test]
fn agents_are_delivered_and_projects_trusted_by_name() {
    let deliver = |text: &str| good(text).agents.deliver;
    assert_eq!(deliver(""), Deliver::None);
    assert_eq!(deliver("[agents]\n"), Deliver::None);
    assert_eq!(deliver("[agents]\ndeliver = \"*\"\n"), Deliver::All);
    assert_eq!(deliver("[agents]\ndeliver = [\"a\", \"*\"]\n"), Deliver::All);
    let some = deliver("[agents]\ndeliver = \"reviewer\"\n");
    assert!(some.includes("reviewer") && !some.includes("Reviewer") && !some.includes("*"));
    assert_eq!(good("[agents]\ntrust = [\"/no/such\"]\n").agents.trust, ["/no/such"]);
    let wrong = |text: &str| errors(&format!("[agents]\n{text}\n"));
    assert_eq!(wrong("deliver = [\"\"]"), ["2:12 the name of an agent is not empty"]);
    assert_eq!(wrong("trust = [\"*\"]"), ["2:10 it takes the directory of a project"]);
    assert_eq!(wrong("delivers = []"), ["2:1 unknown key `delivers` in [agents]"]);
}

#[test]
fn the_sandbox_is_for_those_that_are_named() {
    let guard = PluginName::new("my-guard").unwrap();
    let from = |name: &str| {
        crate::plugin::Origin::Crate(
            agents_workspace::CrateName::new(name),
            "1.0.0".parse().unwrap(),
        )
    };
    let confined = |text: &str| good(text).sandboxed.includes(&guard, &from("widget"));
    assert!(!confined(""));
    assert!(!confined("[sandbox]\n"));
    assert!(!confined("[sandbox]\nplugins = []\n"));
    assert!(!confined("[sandbox]\nplugins = [\"other\"]\n"));
    assert!(confined("[sandbox]\nplugins = [\"other\", \"my_guard\"]\n"));
    assert!(confined("[sandbox]\nplugins = [\"widget\"]\n"), "by the name of its crate");
    assert!(confined("[sandbox]\nplugins = \"*\"\n"));
    assert!(confined("[sandbox]\nplugins = [\"*\"]\n"));
    let all = good("[sandbox]\nplugins = [\"*\", \"my-guard\"]\n").sandboxed;
    assert!(!all.includes(&guard, &crate::plugin::Origin::BuiltIn), "that is this program");
    assert_eq!(errors("[sandbox]\nplugins = [\"\"]\n"), ["2:12 the name of a plugin is not empty"]);
    assert_eq!(errors("[sandbox]\nplugin = \"*\"\n"), ["2:1 unknown key `plugin` in [sandbox]"]);
}

#[test]
fn a_name_of_the_sandbox_that_is_nobodys_is_told_with_who_may_be_meant() {
    let mut place = Place::new();
    place.dependency("widget", "1.0.0", Some("name = \"x\"")).registry("guard", "crates = [\"*\"]");
    let said = |plugins: &str| {
        place.config(&format!("[sandbox]\nplugins = {plugins}"));
        place.look(|it| {
            let findings = it.registries.config.sandboxed.unknown(it.set, "/c.toml".into());
            let shown = |it: &Finding| {
                assert_eq!(it.place.as_ref().unwrap().file, "/c.toml");
                format!("{:?}: {} ({})", it.severity, it.message, it.hint.as_deref().unwrap())
            };
            findings.iter().map(shown).collect::<Vec<_>>()
        })
    };
    assert_eq!(said("[\"guard\", \"widget\", \"x\"]"), [""; 0]);
    assert_eq!(said("\"*\""), [""; 0]);
    let nobody = |name: &str| {
        format!("`[sandbox] plugins` names `{name}`, and no plugin here is called that")
    };
    assert_eq!(
        said("[\"gaurd\", \"of-another-workspace\"]"),
        [
            format!("Warning: {} (did you mean `guard`?)", nobody("gaurd")),
            format!(
                "Note: {} (it confines that plugin where there is one)",
                nobody("of-another-workspace")
            ),
        ]
    );
}

mod settings {
    use super::*;

    /// `key = value, line` of what is not a default.
    fn said(scratch: &Scratch, text: &str) -> Vec<String> {
        scratch.write("config.toml", text);
        let settings = Config::settings(&Dirs::below(scratch.root())).unwrap();
        let said = settings.iter().filter_map(|setting| match setting.origin {
            Origin::Default => None,
            Origin::File { line } => Some(format!("{} = {}, {line}", setting.key, setting.value)),
        });
        said.collect()
    }

    #[test]
    fn each_value_knows_its_line() {
        let scratch = Scratch::new();
        assert_eq!(said(&scratch, ""), [""; 0]);
        let text = "# one\nhosts = [\n  \"zed\",\n]\nhook-scope = \"project\"\nagents-syncing = false\nauto-sync = false\n\
                    [defaults]\nuser-plugins = false\n[plugins]\nuse = [\"a\", { name = \"b\", workspace = \"/w\" }]\n\
                    disable = [\"*\"]\n[[registry]]\nname = \"team\"\ngit = \"https://x.test/y\"\nauto-update = false\n\
                    [[plugin-source]]\nname = \"mine\"\npath = \"/p\"\n[sandbox]\nplugins = \"*\"\n\
                    [agents]\ndeliver = \"*\"\ntrust = [\"/p\"]\n";
        assert_eq!(
            said(&scratch, text),
            [
                r#"hosts = ["zed"], 2"#,
                r#"hook-scope = "project", 5"#,
                "agents-syncing = false, 6",
                "auto-sync = false, 7",
                "defaults.user-plugins = false, 9",
                r#"plugins.use = ["a",{"name":"b","workspace":"/w"}], 11"#,
                r#"plugins.disable = ["*"], 12"#,
                r#"sandbox.plugins = ["*"], 21"#,
                r#"agents.deliver = ["*"], 23"#,
                r#"agents.trust = ["/p"], 24"#,
                r#"registry = {"name":"team","git":"https://x.test/y","auto-update":false}, 13"#,
                r#"registry = {"name":"mine","path":"/p","auto-update":true}, 17"#,
            ]
        );
        assert_eq!(said(&scratch, "\n[[agent]]\nname = \"zed\"\n"), [r#"hosts = ["zed"], 2"#]);
    }

    #[test]
    fn what_is_said_by_default_is_what_counts_by_default() {
        let scratch = Scratch::new();
        let settings = Config::settings(&Dirs::below(scratch.root())).unwrap();
        let values: Vec<String> =
            settings.iter().map(|it| format!("{} = {}", it.key, it.value)).collect();
        assert_eq!(
            values,
            [
                "hosts = []",
                "hook-scope = \"global\"",
                "mcp-register = \"one\"",
                "agents-syncing = true",
                "auto-update = \"warn\"",
                "auto-sync = true",
                "defaults.symposium-recommendations = true",
                "defaults.user-plugins = true",
                "plugins.use = []",
                "plugins.auto-enable = []",
                "plugins.disable = []",
                "sandbox.plugins = []",
                "agents.deliver = []",
                "agents.trust = []",
            ]
        );
    }
}
