//! `cargo agents dashboard`, over real HTTP: who is let in, what is told, and what is done.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
};

use agents_testkit::{
    knock::{Answer, Events, knock},
    scratch,
};
use serde_json::{Value, json};

use crate::{
    tasks::background::{ASKS, Scene, sleeps, until},
    world::World,
};

/// A page that is served.
struct Page {
    child: Child,
    port: u16,
    token: String,
}

impl Page {
    fn open(world: &World) -> Self {
        Self::in_dir(world, &world.sample.root(), &[])
    }

    fn in_dir(world: &World, dir: &camino::Utf8Path, more: &[&str]) -> Self {
        let args: Vec<&str> = ["dashboard"].into_iter().chain(more.iter().copied()).collect();
        Self::begin(world.command_in(dir, &args))
    }

    fn with(world: &World, more: &[&str], variables: &[(&str, std::ffi::OsString)]) -> Self {
        let args: Vec<&str> = ["dashboard"].into_iter().chain(more.iter().copied()).collect();
        let mut command = world.command_in(&world.sample.root(), &args);
        command.envs(variables.iter().cloned());
        Self::begin(command)
    }

    fn begin(mut command: Command) -> Self {
        command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "5");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim_end().strip_prefix("http://127.0.0.1:");
        let (port, token) =
            rest.and_then(|it| it.split_once('/')).unwrap_or_else(|| panic!("{line}"));
        let token = token.strip_suffix('/').unwrap().to_owned();
        Self { child, port: port.parse().unwrap(), token }
    }

    fn at(&self, path: &str) -> String {
        format!("/{}/{path}", self.token)
    }

    fn get(&self, path: &str) -> Answer {
        knock(self.port, "GET", &self.at(path), &[], b"")
    }

    /// The document at an address.
    fn look(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"))
    }

    /// Does something, as the page does.
    fn act(&self, what: &Value) -> (u16, Value) {
        let origin = format!("http://127.0.0.1:{}", self.port);
        let headers = [
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
        ];
        let body = what.to_string();
        let answer = knock(self.port, "POST", &self.at("act"), &headers, body.as_bytes());
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    fn events(&self, query: &str) -> Events {
        Events::listen(self.port, &self.at(&format!("events{query}")))
    }

    fn interrupt(mut self) -> (Option<i32>, String) {
        assert!(agents_testkit::signal::interrupt(self.child.id()));
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nobody_comes_in_without_the_token_or_from_elsewhere() {
    let world = World::new();
    let page = Page::open(&world);
    let first = page.get("");
    assert_eq!(first.status, 200);
    assert!(first.body.contains("<title>cargo agents</title>"), "{}", first.body);
    let own = format!("127.0.0.1:{}", page.port);
    let wrong = format!("/{}/", "0".repeat(64));
    let shorter = format!("/{}/", &page.token[..63]);
    for path in ["/", "/look/tasks", wrong.as_str(), shorter.as_str(), "//", "/favicon.ico"] {
        let answer = knock(page.port, "GET", path, &[], b"");
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{path}: {answer:?}");
    }
    let inside = page.at("look/tasks");
    for headers in [
        vec![("host", "evil.example")],
        vec![("host", "evil.example:80")],
        vec![("host", own.as_str()), ("origin", "http://evil.example")],
        vec![("host", own.as_str()), ("origin", "null")],
        vec![("host", own.as_str()), ("sec-fetch-site", "cross-site")],
        vec![("host", own.as_str()), ("sec-fetch-site", "same-site")],
    ] {
        let answer = knock(page.port, "GET", &inside, &headers, b"");
        assert_eq!(answer.status, 403, "{headers:?}: {answer:?}");
        assert!(!answer.body.contains("tasks"), "{answer:?}");
    }
    assert_eq!(page.get("look/tasks").status, 200);
    assert_eq!(page.get("no/such/thing").status, 404);
    assert_eq!(page.get("look/no-such-topic").status, 404);
    assert_eq!(page.get("look/task/no-id").status, 404);
}

#[cfg(target_os = "linux")]
#[test]
fn a_browser_is_told_the_address_by_a_file_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let scratch = world.sample.scratch();
    // Says with what it was called, in one step.
    let heard = scratch.path("heard");
    let body = format!("printf '%s' \"$*\" > {heard}.new; mv {heard}.new {heard}");
    let browser = scratch.script("bin/xdg-open", &body);
    let path = std::env::join_paths(
        std::iter::once(browser.parent().unwrap().as_std_path().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let page = Page::with(&world, &["--open"], &[("PATH", path.unwrap())]);
    until(|| heard.exists());
    let way = std::fs::read_to_string(&heard).unwrap();
    assert!(!way.contains(&page.token) && way.ends_with(".html"), "{way}");
    assert_eq!(std::fs::metadata(&way).unwrap().permissions().mode() & 0o777, 0o600);
    let address = format!("http://127.0.0.1:{}/{}/", page.port, page.token);
    let text = std::fs::read_to_string(&way).unwrap();
    assert!(text.contains(&format!("content=\"0; url={address}\"")), "{text}");
    // As browsers ask that were led there by a file.
    let headers = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(knock(page.port, "GET", &page.at(""), &headers, b"").status, 200);
    page.interrupt();
    assert!(!std::path::Path::new(&way).exists(), "it is gone with the dashboard");
}

#[test]
fn everything_says_what_browsers_must_not_do_with_it() {
    let world = World::new();
    let page = Page::open(&world);
    for path in
        ["", "main.js", "style.css", "look/tasks", "story/0195a8f0-0000-7000-8000-000000000000"]
    {
        let head = page.get(path).head.to_lowercase();
        for part in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
            "frame-ancestors 'none'",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(head.contains(part), "{path}: {part}: {head}");
        }
        assert!(!head.contains("access-control-allow"), "{head}");
    }
    assert!(page.get("main.js").head.contains("text/javascript"));
    // Nothing on the page is from elsewhere, and nothing in it is a script.
    for file in [
        "",
        "style.css",
        "main.js",
        "live.js",
        "dom.js",
        "tasks.js",
        "story.js",
        "plans.js",
        "here.js",
    ] {
        let text = page.get(file).body.replace("http://www.w3.org/2000/svg", "");
        for never in
            ["http://", "https://", "innerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!text.contains(never), "{file} has {never}");
        }
    }
}

#[test]
fn only_the_page_itself_changes_anything() {
    let world = World::new();
    let page = Page::open(&world);
    let act = page.at("act");
    let body = br#"{"do":"pause-plan","run":"none"}"#;
    let origin = format!("http://127.0.0.1:{}", page.port);
    let own = ("origin", origin.as_str());
    let json = ("content-type", "application/json");
    let status = |method: &str, headers: &[(&str, &str)], body: &[u8]| {
        knock(page.port, method, &act, headers, body).status
    };
    assert_eq!(status("GET", &[own, json], b""), 405);
    assert_eq!(status("PUT", &[own, json], body), 405);
    assert_eq!(status("POST", &[json], body), 403, "it does not say where it comes from");
    assert_eq!(status("POST", &[("origin", "http://evil.example"), json], body), 403);
    assert_eq!(status("POST", &[own, ("sec-fetch-site", "cross-site"), json], body), 403);
    assert_eq!(status("POST", &[own, ("content-type", "text/plain")], body), 415);
    let form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(status("POST", &[own, form], body), 415);
    assert_eq!(status("POST", &[own, json], b"{"), 400);
    assert_eq!(status("POST", &[own, json], br#"{"do":"rm"}"#), 400);
    let big = [b'x'; 512 * 1024];
    assert!(matches!(status("POST", &[own, json], &big), 413 | 0));
    assert_eq!(status("POST", &[own, json], body), 409, "there is no such run");
    // Only the real thing gets as far as being told why not.
    let (status, said) = page.act(&json!({"do": "pause-plan", "run": "none"}));
    assert_eq!((status, &said["trouble"]["message"]), (409, &json!("there is no run `none`")));
}

#[test]
fn questions_are_answered_and_the_page_hears_of_it() {
    let scene = Scene::new(ASKS);
    let page = Page::open(&scene.0.world);
    let mut events = page.events("");
    events.until("tasks", |it| it.contains("\"tasks\":[]"));
    events.until("asks", |it| it.contains("\"asks\":[]"));
    events.until("plans", |it| it.contains("\"runs\":[]"));
    let id = scene.start(&["run", "helper", "make it"]);
    events.until("tasks", |it| it.contains(&id) && it.contains("\"running\""));
    let asked = events.until("asks", |it| it.contains(&id));
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(asked["asks"][0]["question"], "`bash` runs `touch made`");
    let (ask, made) = (&asked["asks"][0]["ask"], scene.0.world.sample.root().join("made"));
    let (status, said) = page.act(&json!({"do": "answer", "ask": ask, "reply": "forever"}));
    assert_eq!(status, 400, "{said}");
    assert!(!made.exists());
    let (status, said) = page.act(&json!({"do": "answer", "ask": ask, "reply": "once"}));
    assert_eq!(
        (status, said),
        (200, json!({"done": format!("approved: `{}`", ask.as_str().unwrap())}))
    );
    events.until("asks", |it| it.contains("\"asks\":[]"));
    events.until("tasks", |it| it.contains("\"completed\""));
    assert!(made.exists());
    // What cannot be answered any more is told.
    let (status, said) = page.act(&json!({"do": "answer", "ask": ask, "reply": "no"}));
    assert_eq!(status, 409, "{said}");
}

#[test]
fn a_task_is_cancelled_and_goes_on() {
    let scene = Scene::new(&sleeps("4711"));
    let page = Page::open(&scene.0.world);
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let mut events = page.events(&format!("?task={id}"));
    events.until("task", |it| it.contains("\"running\"") && it.contains("\"turns\":1"));
    let (status, said) = page.act(&json!({"do": "cancel-task", "task": id}));
    assert_eq!(status, 200, "{said}");
    assert!(said["done"].as_str().unwrap().ends_with(": cancelled"), "{said}");
    events.until("task", |it| it.contains("\"cancelled\""));
    let (status, said) = page.act(&json!({"do": "resume-task", "task": id, "prompt": "- second"}));
    assert_eq!(status, 200, "{said}");
    let next =
        events.until("tasks", |it| it.contains("\"resumed_from\"") && it.contains("completed"));
    let next: Value = serde_json::from_str(&next).unwrap();
    assert_eq!(
        (&next["tasks"][0]["resumed_from"], &next["tasks"][0]["state"]),
        (&json!(id), &json!("completed"))
    );
    let story = page.look(&format!("story/{}", next["tasks"][0]["id"].as_str().unwrap()));
    assert!(story.to_string().contains("Then without it."), "{story}");
}

/// What looks like something else to a browser, a terminal or a reader.
const HOSTILE: &str = r#"
[[replies]]
text = "<script>alert(1)</script><img src=x onerror=alert(2)> \u001b[31mred\u001b[0m \u202etxet\u202c </pre>"
"#;

#[test]
fn what_agents_say_is_told_as_text_and_costs_stand_beside_limits() {
    let scene = Scene::new(HOSTILE);
    let id =
        scene.start(&["run", "helper", "</script><script>alert(3)</script>", "--max-turns", "7"]);
    scene.run(&["wait", &id]);
    let page = Page::open(&scene.0.world);
    let answer = page.get(&format!("story/{id}"));
    assert!(answer.head.contains("application/json"), "{answer:?}");
    let story: Value = serde_json::from_str(&answer.body).unwrap();
    let kinds: Vec<&str> =
        story["pieces"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["began", "told", "turn", "said", "ended"], "{story}");
    let said = story["pieces"][3]["text"].as_str().unwrap();
    assert!(
        said.starts_with("<script>") && said.contains("\u{1b}[31m") && said.contains('\u{202e}')
    );
    assert_eq!((&story["more"], story["next"].as_u64().unwrap() > 0), (&json!(false), true));
    let rest = page.look(&format!("story/{id}?from={}", story["next"]));
    assert_eq!((&rest["pieces"], &rest["next"]), (&json!([]), &story["next"]));
    let seen = page.look("look/tasks");
    let task = &seen["tasks"][0];
    assert_eq!((&task["turns"], &task["turn_limit"]), (&json!(1), &json!(7)), "{seen}");
    assert_eq!(task["cost_limit"], 20_000_000);
    assert_eq!(page.look(&format!("look/task/{id}"))["task"], *task);
}

const PLAN: &str = "plan = \"two\"\n[[tasks]]\nid = \"one\"\nagent = \"helper\"\nprompt = \"ONE\"\n\
    [[tasks]]\nid = \"last\"\nagent = \"helper\"\nprompt = \"LAST\"\nneeds = [\"one\"]\n[budget]\ncost = 2.0\n";

const WAITS: &str = r#"
[[replies]]
when = { text = "ONE" }
times = 1
calls = [{ name = "bash", input = { command = "touch started; while ! test -e go; do sleep 0.02; done" } }]
[[replies]]
text = "Done."
"#;

#[test]
fn a_plan_is_watched_paused_and_let_go_on() {
    let scene = Scene::new(WAITS);
    let world = &scene.0.world;
    scratch::write(&world.sample.root().join("plan.toml"), PLAN);
    let page = Page::open(world);
    let mut all = page.events("");
    let mut command = world.command(&["plan", "run", "plan.toml", "--allow", "bash"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    scene.until("started");
    let seen = all.until("plans", |it| it.contains("\"running\""));
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let run = seen["runs"][0]["run"].as_str().unwrap().to_owned();
    let mut events = page.events(&format!("?plan={run}"));
    let first = events.until("plan", |_| true);
    let first: Value = serde_json::from_str(&first).unwrap();
    let picture = &first["picture"];
    assert_eq!(picture["nodes"][0]["task"], "one", "{first}");
    assert_eq!(picture["lines"].as_array().unwrap().len(), 1);
    assert_eq!(first["run"]["budget"], json!({"cost": 2_000_000}));
    let (status, said) = page.act(&json!({"do": "pause-plan", "run": run}));
    assert_eq!(status, 200, "{said}");
    events.until("plan", |it| it.contains("\"state\":\"paused\""));
    let (status, said) = page.act(&json!({"do": "resume-plan", "run": run}));
    assert_eq!(status, 200, "{said}");
    events.until("plan", |it| it.contains("\"state\":\"running\",\"spent\""));
    scratch::write(&world.sample.root().join("go"), "");
    let last = events.until("plan", |it| it.contains("\"state\":\"completed\",\"spent\""));
    let last: Value = serde_json::from_str(&last).unwrap();
    assert!(last["run"]["tasks"].as_array().unwrap().iter().all(|it| it["state"] == "completed"));
    assert!(
        last["events"].as_array().unwrap().iter().any(|it| it["told"] == "last: completed"),
        "{last}"
    );
    assert!(child.wait().unwrap().success());
    let (status, said) = page.act(&json!({"do": "resume-plan", "run": run}));
    assert_eq!(status, 409, "nobody drives it: {said}");
    let (status, _) = page.act(&json!({"do": "cancel-plan", "run": run, "task": "none"}));
    assert_eq!(status, 409);
}

#[test]
fn plugins_changes_and_agents_are_those_of_the_commands() {
    let world = World::new();
    world.config("hosts = [\"claude\"]\n[defaults]\nsymposium-recommendations = false\n");
    world.plugin(
        "tiny",
        "name = \"tiny\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource.path = \"skills\"\n",
    );
    let skill = "---\nname: queries\ndescription: how to write SQL\n---\nBind values.\n";
    scratch::write(&world.home().join("plugins/tiny/skills/queries/SKILL.md"), skill);
    for (place, said) in [("user", ".agents/agents"), ("user", ".claude/agents")] {
        let text = format!("---\nname: helper\ndescription: from {said}\n---\nYou help.\n");
        scratch::write(&world.sample.scratch().path(place).join(said).join("helper.md"), text);
    }
    let page = Page::open(&world);
    let told = |args: &[&str]| world.json(args);
    assert_eq!(page.look("look/plugins"), told(&["status"]));
    assert_eq!(page.look("look/plugin/tiny"), told(&["plugin", "explain", "tiny"]));
    assert_eq!(page.look("look/changes"), told(&["diff"]));
    let agents = page.look("look/agents");
    assert_eq!(agents, told(&["agent", "list"]));
    assert!(agents.to_string().contains("shadowed by"), "{agents}");
    // Looking wrote nothing, and what is new is seen.
    assert!(
        page.look("look/changes")["changes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == "queries")
    );
    world.ok(&["sync"]);
    assert_eq!(page.look("look/changes")["changes"], json!([]));
    // Where there is no workspace, that is told.
    let outside = Page::in_dir(&world, &world.outside(), &[]);
    let seen = outside.look("look/plugins");
    assert_eq!(seen["trouble"]["message"], "this is not a Rust workspace", "{seen}");
}

#[test]
fn what_cannot_be_read_hurts_nothing_else() {
    let scene = Scene::new("[[replies]]\ntext = \"Done.\"\n");
    let id = scene.start(&["run", "helper", "x"]);
    scene.run(&["wait", &id]);
    let state = scene.0.world.home().join("state");
    scratch::write(
        &state.join("transcripts/0195a8f0-0000-7000-8000-000000000000.meta.json"),
        "{garbage",
    );
    scratch::write(&state.join("plans/broken-12345678/journal.db"), "not a database");
    let page = Page::open(&scene.0.world);
    let mut events = page.events("?plan=broken-12345678&task=0195a8f0-0000-7000-8000-000000000000");
    let tasks = events.until("tasks", |_| true);
    assert!(tasks.contains(&id) && tasks.contains("is not the metadata of a task"), "{tasks}");
    let plans = events.until("plans", |_| true);
    assert!(plans.contains("`broken-12345678`"), "{plans}");
    events.until("plan", |it| it.contains("\"trouble\""));
    let unknown = page.look("look/task/0195a8f0-0000-7000-8000-000000000001");
    assert!(
        unknown["trouble"]["message"].as_str().unwrap().contains("there is no task"),
        "{unknown}"
    );
    // Nor does a line that is no record.
    let file = state.join(format!("transcripts/{id}.jsonl"));
    let text = std::fs::read_to_string(&file).unwrap();
    scratch::write(&file, format!("\u{0}\u{1}garbage\n{text}{{\"half"));
    let story = page.look(&format!("story/{id}"));
    assert!(story.to_string().contains("Done.") && story["more"] == false, "{story}");
}

#[test]
fn ctrl_c_ends_it_and_two_do_not_meet() {
    let world = World::new();
    let (one, other) = (Page::open(&world), Page::open(&world));
    assert!(one.port != other.port && one.token != other.token);
    let stranger = format!("/{}/", one.token);
    assert_eq!(knock(other.port, "GET", &stranger, &[], b"").status, 404);
    let _watched = one.events("");
    let (port, token) = (one.port, one.token.clone());
    let (code, said) = one.interrupt();
    assert_eq!((code, said.contains(&token)), (Some(130), false), "{said}");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(other.get("look/tasks").status, 200);
    // The port can be chosen, and what is taken is told.
    let port = other.port.to_string();
    let taken = world.agents(&["dashboard", "--port", &port]);
    assert_eq!(taken.code, Some(1));
    assert!(taken.stderr.contains("cannot listen at port"), "{taken:?}");
    assert_eq!(taken.stdout, "");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_looked_at_while_nobody_looks() {
    let world = World::new();
    // What cannot be read is tried again with every look.
    let broken = "state/transcripts/0195a8f0-0000-7000-8000-000000000000.meta.json";
    scratch::write(&world.home().join(broken), "{garbage");
    let page = Page::open(&world);
    let reads = || {
        let told = std::fs::read_to_string(format!("/proc/{}/io", page.child.id())).unwrap();
        let line = told.lines().find(|it| it.starts_with("rchar")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let mut events = page.events("");
    events.until("tasks", |_| true);
    let before = reads();
    until(|| reads() > before);
    drop(events);
    // Whoever has gone is noticed with the next look, and a second is longer than the pause between two.
    until(|| {
        let before = reads();
        std::thread::sleep(std::time::Duration::from_secs(1));
        reads() == before
    });
}
