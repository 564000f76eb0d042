use std::time::Duration;

use agents_system::keys::KeySource;
use secrecy::ExposeSecret as _;

use super::*;
use crate::{
    mcp::Reach,
    tools::web::{PrivateAddresses, Service, Sites},
};

fn parse(text: &str) -> Result<ToolSettings, ConfigError> {
    ToolSettings::parse("/c/config.toml".into(), text, "/c".into())
}

#[track_caller]
fn wrong(text: &str) -> Vec<String> {
    match parse(text) {
        Err(ConfigError::Invalid { findings, .. }) => {
            findings.into_iter().map(|it| it.message).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_word_there_is_nothing_on_the_web_and_strangers_are_confined() {
    let settings = parse("").unwrap();
    assert!(settings.servers.is_empty() && settings.web == WebSettings::default());
    let sandbox = |network| Confinement::Sandbox(Sandbox { network, ..Sandbox::default() });
    for (text, trusted, stranger) in [
        ("", Confinement::None, sandbox(Network::Denied)),
        ("sandbox = \"always\"", sandbox(Network::Denied), sandbox(Network::Denied)),
        ("sandbox = \"never\"", Confinement::None, Confinement::None),
        ("network = true", Confinement::None, sandbox(Network::Allowed)),
    ] {
        let tasks = parse(&format!("[tasks]\n{text}\n")).unwrap().tasks;
        assert_eq!(tasks.confinement(Author::Trusted), trusted, "{text}");
        assert_eq!(tasks.confinement(Author::Stranger), stranger, "{text}");
    }
}

/// The examples of the page; that it has every key is for the test of all pages with keys to say.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../../docs/tools.md");
    let examples: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(examples.len() >= 3, "{}", examples.len());
    let whole: String =
        examples.iter().map(|it| it.split("```").next().unwrap()).collect::<Vec<_>>().join("\n");
    let settings = parse(&whole).unwrap();
    assert_eq!(settings.findings, []);
    assert_eq!(settings.servers.len(), 2);
    let names: Vec<&str> = settings.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["docs", "tracker"]);
    assert!(settings.web.fetch.is_some() && settings.web.search.is_some());
}

#[test]
fn a_server_is_a_program_or_an_address() {
    let settings = parse(
        "[mcp-servers.one]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { MODE = \"a\" }\nenv-from = [\"PATH\", \"NO_SUCH_VARIABLE\"]\n\
         cwd = \"srv\"\ntools = [\"find\"]\ntimeout = 5\nstart-timeout = 7\ntrust = true\n\
         [mcp-servers.a-two]\nurl = \"https://x.example/mcp/\"\nheaders = { X-A = \"b\" }\nheaders-from-env = { X-Api-Key = \"PATH\" }\n\
         key-command = [\"echo\", \"sk-planted\"]\nenabled = false\n",
    )
    .unwrap();
    let [one, two] = settings.servers.as_slice() else { panic!("{settings:?}") };
    assert_eq!((one.trust, one.enabled), (ServerTrust::Always, Enabled::Yes));
    assert_eq!(one.tools.as_deref(), Some(["find".to_owned()].as_slice()));
    assert_eq!((one.call, one.start), (Some(Duration::from_secs(5)), Some(Duration::from_secs(7))));
    let (opened, findings) = one.open().unwrap();
    let Reach::Program { program, args, env, cwd } = opened.reach else { panic!() };
    assert_eq!((program.as_str(), args.len()), ("npx", 2));
    assert_eq!(cwd.as_deref(), Some("/c/srv".into()));
    let names: Vec<&str> = env.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, ["MODE", "PATH"]);
    assert_eq!(
        findings[0].message,
        "the MCP server `one` is started without what it needs: the variable `NO_SUCH_VARIABLE` is not set"
    );
    assert_eq!((two.trust, two.enabled), (ServerTrust::AsTheAgent, Enabled::No));
    let (opened, findings) = two.open().unwrap();
    assert_eq!(findings, []);
    let Reach::Address { url, headers } = opened.reach else { panic!() };
    assert_eq!(url, "https://x.example/mcp");
    let last = headers.last().unwrap();
    assert_eq!((last.0.as_str(), last.1.expose_secret()), ("Authorization", "Bearer sk-planted"));
    assert!(!format!("{two:?}").contains("Bearer"));
}

#[test]
fn a_server_without_its_key_is_tried_and_that_is_told() {
    let text = "[mcp-servers.a]\nurl = \"https://x.example\"\nkey-env = \"NO_SUCH_VARIABLE\"\n";
    let (_, findings) = parse(text).unwrap().servers[0].open().unwrap();
    assert!(findings[0].message.contains("its key is not in `NO_SUCH_VARIABLE`"), "{findings:?}");
    let text = "[mcp-servers.a]\nurl = \"https://x.example\"\nkey-command = [\"sh\", \"-c\", \"echo sk-planted; exit 1\"]\n";
    let error = parse(text).unwrap().servers[0].open().unwrap_err();
    assert!(!format!("{error} {error:?}").contains("planted"));
}

#[test]
fn what_is_wrong_is_told_and_no_secret_with_it() {
    for (text, message) in [
        ("[mcp-servers.a]", "[mcp-servers.a] says neither `command` nor `url`"),
        (
            "[mcp-servers.a]\ncommand = \"x\"\nurl = \"https://x.example\"",
            "[mcp-servers.a] says both `command` and `url`",
        ),
        (
            "[mcp-servers.a]\ncommand = \"x\"\nkey-env = \"K\"",
            "`key-env` in [mcp-servers.a] is for servers with a `url`",
        ),
        (
            "[mcp-servers.a]\nurl = \"https://x.example\"\nargs = []",
            "`args` in [mcp-servers.a] is for servers with a `command`",
        ),
        ("[mcp-servers.a]\ncomand = \"x\"", "unknown key `comand` in [mcp-servers.a]"),
        (
            "[mcp-servers.a__b]\ncommand = \"x\"",
            "`a__b` cannot be the name of an MCP server: it must be 1 to 32 letters, digits, `-` and single `_`",
        ),
        (
            "[mcp-servers.a]\ncommand = \"x\"\n[mcp-servers.a.env]\nAPI_TOKEN = \"sk-planted\"",
            "`API_TOKEN` in [mcp-servers.a]: keys do not belong into a configuration file",
        ),
        (
            "[mcp-servers.a]\nurl = \"https://x.example\"\nheaders = { Authorization = \"sk-planted\" }",
            "`Authorization` in [mcp-servers.a]: keys do not belong into a configuration file",
        ),
        ("[mcp-servers]\na = 3", "`a` must be a table, not an integer"),
        ("[tasks]\nsandbox = \"sometimes\"", "`sandbox` cannot be `sometimes` in [tasks]"),
        (
            "[web]\nfetch = true\nhosts = [\"https://docs.rs/\"]",
            "`https://docs.rs/` is not the name of a host",
        ),
        (
            "[web.search]\nprovider = \"brave\"\nkey = \"sk-planted\"",
            "`key` in [web.search]: keys do not belong into a configuration file",
        ),
        (
            "[web.search]\nprovider = \"searxng\"",
            "`url` is missing in [web.search]: where your SearXNG is",
        ),
        ("[web.search]", "`provider` is missing in [web.search]"),
    ] {
        let messages = wrong(text);
        assert!(messages.iter().any(|it| it == message), "{text}: {messages:?}");
        assert!(!format!("{:?}", parse(text)).contains("planted"), "{text}");
    }
}

#[test]
fn the_web_is_what_the_user_says() {
    let web = |text: &str| parse(&format!("[web]\n{text}\n")).unwrap().web;
    let all = web("fetch = true").fetch.unwrap();
    assert_eq!((all.sites, all.private), (Sites::default(), PrivateAddresses::Refused));
    let some = web("fetch = true\nhosts = [\"docs.rs\"]\nprivate-addresses = true").fetch.unwrap();
    assert_eq!((some.sites, some.private), (Sites::new(["docs.rs"]), PrivateAddresses::Allowed));
    let unused = parse("[web]\nhosts = [\"docs.rs\"]\n").unwrap();
    assert_eq!(unused.findings[0].message, "`hosts` in [web] has no effect without `fetch = true`");
    let nothing = parse("[web]\nfetch = false\nhosts = []\nprivate-addresses = false\n").unwrap();
    assert_eq!(nothing.findings, [], "what says nothing is as good as not there");
    let search = web("search = { provider = \"brave\" }").search.unwrap();
    assert_eq!(
        (search.service, search.url.as_str()),
        (Service::Brave, "https://api.search.brave.com")
    );
    let keys = [KeySource::Env("BRAVE_API_KEY".to_owned()), KeySource::Keyring("brave".to_owned())];
    assert_eq!(search.keys, keys);
    let search =
        web("search = { provider = \"tavily\", key-env = \"NO_SUCH_VARIABLE\" }").search.unwrap();
    assert!(search.open().unwrap().is_err_and(|it| it.message.contains("no key for Tavily")));
    let search = web(
        "search = { provider = \"searxng\", url = \"http://127.0.0.1:8888\", key-env = \"NO_SUCH_VARIABLE\" }",
    );
    assert!(search.search.unwrap().open().unwrap().is_ok());
}

#[test]
fn every_setting_is_shown_and_means_the_same_again() {
    let scratch = agents_testkit::scratch::Scratch::new();
    let home = scratch.path(".");
    let dirs = Dirs { config: home.clone(), state: home.clone(), cache: home };
    scratch.write(
        "config.toml",
        "[mcp-servers.a]\ncommand = [\"x\", \"y\"]\nenv = { \"A.B\" = \"c\" }\n\n[web]\nfetch = true\nsearch = { provider = \"tavily\" }\n",
    );
    let shown: Vec<String> = ToolSettings::settings(&dirs)
        .unwrap()
        .into_iter()
        .map(|it| format!("{} = {} ({:?})", it.key, it.value, it.origin))
        .collect();
    assert_eq!(
        shown,
        [
            "tasks.sandbox = \"auto\" (Default)",
            "tasks.network = false (Default)",
            "web.fetch = true (File { line: 6 })",
            "web.hosts = [] (Default)",
            "web.private-addresses = false (Default)",
            "web.search.provider = \"tavily\" (File { line: 7 })",
            "web.search.url = \"https://api.tavily.com\" (Default)",
            "web.search.key-env = \"TAVILY_API_KEY\" (Default)",
            "mcp-servers.a.command = [\"x\",\"y\"] (File { line: 2 })",
            "mcp-servers.a.enabled = true (Default)",
            "mcp-servers.a.trust = false (Default)",
            "mcp-servers.a.env.\"A.B\" = \"c\" (File { line: 3 })",
        ]
    );
}
