//! What is done at the page, and what must come of it.

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use serde_json::json;

use crate::{
    stage::{Served, Stage},
    tab::{Colours, Size, Tab},
};

/// Something that people do at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scene {
    Plan,
    Ask,
    Tree,
    Cancel,
    Hostile,
    Keyboard,
    Phone,
    Here,
    Lost,
}

impl Scene {
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
    }

    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Plan => "watch a plan until it is done, pause it and let it go on",
            Self::Ask => "approve one question and deny another",
            Self::Tree => "watch an agent that starts others, and agree for all of them",
            Self::Cancel => "cancel a task and go on from it",
            Self::Hostile => "read a transcript that tries everything",
            Self::Keyboard => "walk through all of it without a mouse",
            Self::Phone => "the same on a phone, and in the dark",
            Self::Here => "plugins with reasons, a diff, and agents with those that they shadow",
            Self::Lost => "the program is killed under the page",
        }
    }

    pub(crate) fn play(
        self,
        stage: &Stage,
        page: &mut Served,
        tab: &mut Tab,
    ) -> anyhow::Result<()> {
        match self {
            Self::Plan => plan(stage, &page.address, tab),
            Self::Ask => ask(stage, &page.address, tab),
            Self::Tree => tree(stage, &page.address, tab),
            Self::Cancel => cancel(stage, &page.address, tab),
            Self::Hostile => hostile(stage, &page.address, tab),
            Self::Keyboard => keyboard(stage, &page.address, tab),
            Self::Phone => phone(stage, &page.address, tab),
            Self::Here => here(stage, &page.address, tab),
            Self::Lost => lost(stage, page, tab),
        }
    }
}

/// Whether a node of the picture has a state, by its colour, too: that is what people see.
fn node(task: &str, state: &str) -> String {
    format!(
        "document.querySelector('.node[data-key=\"node {task}\"]')?.dataset.state === '{state}'"
    )
}

fn fill(task: &str) -> String {
    format!("getComputedStyle(document.querySelector('.node[data-key=\"node {task}\"] rect')).fill")
}

fn plan(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    tab.visit(&format!("{address}#/plans"))?;
    tab.sees("No plan has run yet")?;
    let mut run = stage.begin(&["plan", "run", "plan.toml", "--allow", "bash"])?;
    tab.until(
        "the run is listed",
        "document.querySelector('.row.plan .state[data-state=running]')",
    )?;
    tab.click(".row.plan a")?;
    tab.until("its picture", "document.querySelectorAll('.graph .node').length === 5")?;
    stage.until("the model is waited for", || stage.file("api-waits").exists())?;
    tab.until("one task runs", &node("review-api", "running"))?;
    tab.until("another waits", &node("changelog", "waiting"))?;
    tab.until(
        "others are done",
        &format!("{} && {}", node("review-docs", "completed"), node("survey", "completed")),
    )?;
    let colours = [fill("review-api"), fill("changelog"), fill("survey")];
    let seen = tab.eval(&format!("new Set([{}]).size", colours.join(", ")))?;
    ensure!(seen == 3, "three states have {seen} colours");
    // A picture that is looked at is not drawn anew.
    tab.eval("window.first = document.querySelector('.graph svg'), 0")?;
    tab.click(".node[data-key='node review-docs']")?;
    tab.until(
        "what it said",
        "document.querySelector('.picked').innerText.includes('nothing to complain about')",
    )?;
    tab.screenshot("plan-running")?;
    tab.click("button[data-key='pause-plan']")?;
    tab.until("it is paused", "document.querySelector('h2 .state').textContent === 'paused'")?;
    tab.click("button[data-key='resume-plan']")?;
    tab.until("it goes on", "document.querySelector('h2 .state').textContent === 'running'")?;
    stage.go("api-go");
    tab.until("it is done", "document.querySelector('h2 .state').textContent === 'completed'")?;
    tab.until(
        "all of it",
        "[...document.querySelectorAll('.node')].every((it) => it.dataset.state === 'completed')",
    )?;
    ensure!(run.wait()?, "the run failed");
    tab.screenshot("plan-done")?;
    tab.click("a[data-key='how']")?;
    tab.sees("PLAN docs")
}

fn ask(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    tab.visit(&format!("{address}#/asks"))?;
    tab.sees("waits for an answer")?;
    let id = stage.task("ASK for it", &[])?;
    tab.sees("`bash` runs `touch made`")?;
    tab.until(
        "it is counted",
        "document.title.startsWith('(1)') && document.getElementById('asked').textContent === '1'",
    )?;
    tab.until(
        "it is read out",
        "document.getElementById('asking').textContent.includes('touch made')",
    )?;
    tab.screenshot("ask")?;
    ensure!(!stage.file("made").exists(), "it did not wait");
    tab.click(".ask button.go")?;
    tab.until("it is said", "document.getElementById('said').textContent.startsWith('approved')")?;
    tab.sees("No task in the background waits")?;
    stage.agents(&["task", "wait", &id])?;
    ensure!(stage.file("made").exists(), "it was not done");
    fs_err::remove_file(stage.file("made"))?;
    let id = stage.task("ASK for it again", &[])?;
    // Where its story is read, it can be answered, too.
    tab.eval(&format!("location.hash = '#/task/{id}'"))?;
    tab.click(".ask button.danger")?;
    tab.until("it is said", "document.getElementById('said').textContent.startsWith('denied')")?;
    tab.until("it ended", "document.querySelector('h2 .state')?.textContent === 'completed'")?;
    ensure!(!stage.file("made").exists(), "it was done all the same");
    Ok(())
}

fn tree(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    stage.agents(&["task", "run", "helper", "Summarise the changelog"])?;
    let id =
        stage.agents(&["task", "run", "lead", "LEAD: is the release ready?", "--background"])?;
    tab.visit(&format!("{address}#/asks"))?;
    tab.click(".ask button[data-key$=' tree']")?;
    stage.until("one of three waits", || stage.file("tests-wait").exists())?;
    tab.eval("location.hash = '#/tasks'")?;
    let below = |state: &str| {
        format!(
            "document.querySelectorAll('.row.task[data-depth=\"1\"][data-state={state}]').length"
        )
    };
    tab.until(
        "three are below the one that started them",
        &format!("{} === 2 && {} === 1", below("completed"), below("running")),
    )?;
    tab.until(
        "and the other task is not",
        "document.querySelectorAll('.row.task[data-depth=\"0\"]').length === 2",
    )?;
    // What the script says that each of the five has read and written.
    tab.sees("$0.19 altogether")?;
    tab.screenshot("tree")?;
    stage.go("tests-go");
    stage.agents(&["task", "wait", &id])?;
    tab.until("all are done", &format!("{} === 3", below("completed")))?;
    tab.click(&format!("a[data-key='{id}']"))?;
    tab.sees("Nothing stands in the way.")
}

fn cancel(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    stage.agents(&["task", "run", "helper", "something else"])?;
    let id = stage.task("SLEEP", &["--allow", "bash"])?;
    stage.until("it sleeps", || stage.file("sleeps").exists())?;
    tab.visit(address)?;
    let button = format!("button[data-key='cancel {id}']");
    tab.until("it runs", &format!("document.querySelector({})", json!(button)))?;
    tab.screenshot("tasks")?;
    tab.click(&button)?;
    tab.until(
        "it asks back",
        &format!("document.querySelector({}).textContent.includes('sure')", json!(button)),
    )?;
    let state = |id: &str| -> anyhow::Result<String> {
        let shown = stage.json(&["task", "show", id, "--json"])?;
        Ok(shown["task"]["state"].as_str().unwrap_or_default().to_owned())
    };
    ensure!(state(&id)? == "running", "one click was enough");
    tab.click(&button)?;
    tab.until("it is cancelled", "document.querySelector('.row .state[data-state=cancelled]')")?;
    ensure!(state(&id)? == "cancelled", "it only looks so");
    tab.click(&format!("a[data-key='{id}']"))?;
    tab.sees("Waiting for the build.")?;
    tab.click("#prompt")?;
    tab.write("AGAIN, please")?;
    tab.click(".resume button")?;
    tab.until("it went on", "document.querySelectorAll('.row.task').length === 3 && document.querySelector('.row .state').textContent === 'completed'")?;
    tab.click(".row.task a")?;
    tab.sees("Went on where it was left.")?;
    tab.sees("resumed from")
}

fn hostile(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    let id = stage.task("HOSTILE <script>alert(0)</script>", &["--allow", "bash"])?;
    stage.agents(&["task", "wait", &id])?;
    tab.visit(&format!("{address}#/task/{id}"))?;
    tab.sees("end of it")?;
    for text in [
        "<script>alert(1)</script>",
        "<b>bold</b>",
        "<img src=x onerror=",
        "HOSTILE <script>alert(0)",
    ] {
        tab.sees(text)?;
    }
    let folded =
        tab.eval("[...document.querySelectorAll('.story details.tool')].map((it) => it.open)")?;
    ensure!(folded == json!([false]), "tools are {folded}");
    tab.press("o")?;
    tab.until(
        "all is unfolded",
        "[...document.querySelectorAll('.story details')].every((it) => it.open)",
    )?;
    tab.sees("</pre><script>alert(2)</script>")?;
    tab.sees("<iframe src=javascript:alert(3)>")?;
    // What would turn or hide text is shown instead.
    let odd = tab.eval("[...document.querySelectorAll('.odd')].map((it) => it.textContent)")?;
    for mark in ["ESC[31m", "U+202E", "U+200B", "ESC[2J"] {
        ensure!(
            odd.as_array().is_some_and(|all| all.iter().any(|it| it == mark)),
            "{mark} is not among {odd}"
        );
    }
    let raw = tab
        .eval("/[\\u001b\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.body.textContent)")?;
    ensure!(raw == false, "something odd is in the page as it is");
    let links = tab.eval("[...document.querySelectorAll('a')].filter((it) => !it.getAttribute('href').startsWith('#')).length")?;
    ensure!(links == 0, "{links} links lead elsewhere");
    tab.screenshot("hostile")?;
    // Nor is anything obeyed that stands in the address.
    tab.eval("location.hash = '#/task/%3Cimg src=x onerror=alert(7)%3E'")?;
    tab.eval("location.hash = '#/plan/<script>alert(8)<%2fscript>'")?;
    tab.until("it is refused", "document.querySelector('.trouble')")
}

fn focused(tab: &mut Tab) -> anyhow::Result<String> {
    let seen = tab
        .eval("document.activeElement?.dataset.key ?? document.activeElement?.textContent ?? ''")?;
    seen.as_str().map(str::to_owned).context("nothing has the focus")
}

fn keyboard(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    stage.agents(&["task", "run", "helper", "older"])?;
    let asks = stage.task("ASK for it", &[])?;
    tab.visit(address)?;
    tab.until("both are there", "document.querySelectorAll('.row.task').length === 2")?;
    tab.press("Tab")?;
    ensure!(focused(tab)? == "Skip to the content", "the first thing is {}", focused(tab)?);
    let outlined = "getComputedStyle(document.activeElement).outlineStyle !== 'none'";
    tab.until("the focus is seen", outlined)?;
    tab.press("?")?;
    tab.until("shortcuts are listed", "document.getElementById('help').open")?;
    tab.screenshot("keys")?;
    tab.press("Escape")?;
    tab.until("the list is gone", "!document.getElementById('help').open")?;
    tab.press("j")?;
    ensure!(focused(tab)? == asks, "the first row is {}", focused(tab)?);
    tab.press("j")?;
    ensure!(focused(tab)? != asks, "the second row is the first");
    tab.press("k")?;
    tab.press("Enter")?;
    tab.sees("I need a file for this.")?;
    tab.press("a")?;
    tab.until("the list of questions", "document.querySelector('main h2').textContent === 'Asks'")?;
    tab.until("the question", "document.querySelector('.ask')")?;
    tab.press("j")?;
    // From the question on to its buttons.
    tab.press("Tab")?;
    ensure!(focused(tab)?.ends_with(" once"), "the next is {}", focused(tab)?);
    tab.until("the focus is seen", outlined)?;
    tab.press("Enter")?;
    tab.until("it is said", "document.getElementById('said').textContent.startsWith('approved')")?;
    stage.agents(&["task", "wait", &asks])?;
    ensure!(stage.file("made").exists(), "it was not done");
    for (key, heading) in [("p", "Plans"), ("u", "Plugins"), ("g", "Agents"), ("t", "Tasks")] {
        tab.press(key)?;
        tab.until(
            heading,
            &format!("document.querySelector('main h2').textContent.startsWith('{heading}')"),
        )?;
        let current = tab.eval("document.querySelector('#nav [aria-current]').textContent")?;
        ensure!(current == heading, "{current} is marked");
    }
    // Whoever writes is not understood as pressing shortcuts.
    tab.press("j")?;
    tab.press("Enter")?;
    tab.until("there is something to write in", "document.getElementById('prompt')")?;
    tab.eval("document.getElementById('prompt').focus()")?;
    tab.press("t")?;
    tab.until(
        "a letter",
        "document.getElementById('prompt').value === 't' && location.hash.startsWith('#/task/')",
    )?;
    tab.press("Escape")?;
    tab.press("Escape")?;
    tab.until("back at the list", "location.hash === '#/tasks'")?;
    let named = tab.eval("[...document.querySelectorAll('button, a, input, textarea')].filter((it) => !it.textContent.trim() && !it.labels?.length && !it.ariaLabel).length")?;
    ensure!(named == 0, "{named} things have no name");
    Ok(())
}

fn phone(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    let ended = stage.task("HOSTILE words", &["--allow", "bash"])?;
    stage.agents(&["task", "wait", &ended])?;
    stage.task("ASK for it", &[])?;
    let _run = stage.begin(&["plan", "run", "plan.toml", "--allow", "bash"])?;
    stage.until("the plan waits", || stage.file("api-waits").exists())?;
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    for (colours, word) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        tab.look_like(Size::Phone, colours)?;
        tab.visit(address)?;
        tab.until("tasks", "document.querySelectorAll('.row.task').length >= 3")?;
        tab.until("tasks fit", fits)?;
        tab.screenshot(&format!("phone-{word}-tasks"))?;
        for (hash, shown) in [
            (format!("task/{ended}"), ".piece.ended"),
            ("asks".to_owned(), ".ask"),
            ("plugins".to_owned(), ".diff"),
            ("agents".to_owned(), ".chain"),
            ("plans".to_owned(), ".row.plan"),
        ] {
            tab.eval(&format!("location.hash = '#/{hash}'"))?;
            tab.until(
                &format!("{shown} at {hash}"),
                &format!("document.querySelector('{shown}')"),
            )?;
            tab.until(&format!("{hash} fits"), fits)?;
            let name = hash.split('/').next().unwrap_or_default();
            tab.screenshot(&format!("phone-{word}-{name}"))?;
        }
        tab.click(".row.plan a")?;
        tab.until("the picture", "document.querySelector('.graph .node')")?;
        tab.until("the plan fits", fits)?;
        tab.screenshot(&format!("phone-{word}-plan"))?;
        let [ink, ground] =
            ["color", "backgroundColor"].map(|it| format!("getComputedStyle(document.body).{it}"));
        let sum = |it: &str| {
            format!("{it}.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)")
        };
        let dark = tab.eval(&format!("{} > {}", sum(&ink), sum(&ground)))?;
        ensure!(dark == (word == "dark"), "{word} has the colours of the other");
    }
    tab.look_like(Size::Desk, Colours::Dark)?;
    tab.until("the picture", "document.querySelector('.graph .node')")?;
    tab.screenshot("dark-plan")?;
    tab.eval(&format!("location.hash = '#/task/{ended}'"))?;
    tab.sees("end of it")?;
    tab.screenshot("dark-task")
}

fn here(stage: &Stage, address: &str, tab: &mut Tab) -> anyhow::Result<()> {
    tab.visit(&format!("{address}#/plugins"))?;
    tab.sees("active because of tiny-sql 0.3.1")
        .or_else(|_| tab.sees("because of tiny-sql 0.3.1"))?;
    tab.until(
        "one is not for this workspace",
        "document.querySelector('main').textContent.includes('another-crate')",
    )?;
    tab.click("summary[data-key='why tiny']")?;
    tab.until("its conditions", "document.querySelector('.why .steps [data-holds=true]')")?;
    tab.until("what a sync would change", "document.querySelector('.diff .added')")?;
    tab.eval(
        "document.querySelectorAll('.card details:has(.diff)').forEach((it) => (it.open = true))",
    )?;
    tab.screenshot("plugins")?;
    stage.agents(&["sync"])?;
    tab.click("button[data-key='again changes']")?;
    tab.sees("Nothing:")?;
    tab.click("#nav a[data-view=agents]")?;
    tab.sees("helps with what you ask")?;
    tab.sees("shadowed by")?;
    tab.screenshot("agents")
}

fn lost(stage: &Stage, page: &mut Served, tab: &mut Tab) -> anyhow::Result<()> {
    stage.agents(&["task", "run", "helper", "something"])?;
    let address = page.address.clone();
    tab.visit(&address)?;
    tab.until("a task", "document.querySelectorAll('.row.task').length === 1")?;
    tab.expect_silence();
    page.running.kill();
    tab.until("it says so", "document.getElementById('line').dataset.state === 'lost' && !document.getElementById('lost').hidden")?;
    tab.until("what was known stays", "document.querySelectorAll('.row.task').length === 1")?;
    tab.screenshot("lost")?;
    // Another one has another token, also at the same port: nobody is let in by an old address.
    let port = address.split([':', '/']).nth(4).context("no port")?.to_owned();
    *page = stage.page(&["--port", &port])?;
    ensure!(page.address != address, "the token is the same");
    tab.visit(&page.address)?;
    tab.until("a task", "document.querySelectorAll('.row.task').length === 1")
}
