//! A small program behind the doors: one agent, a model that plays a script, a skill, and nothing that could be started.

use std::{sync::Arc, time::Duration};

use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode};
use agents_model::{
    Provider, RetryPolicy,
    script::{ScriptFile, ScriptProvider},
    select::{Available, Credentials, ModelRef},
};
use agents_serve::{
    Offer, Secrets, Terms,
    offer::{FoundCrate, LoadedSkill, ServerTools, SkillCard, TypedCommand},
    sessions::{Grounds, With},
};
use agents_task::{
    Settings, Surroundings,
    runner::{Equipment, Known, Opened, Unavailable, Wearer},
    secret::{self, SecretSettings},
    transcript::Store,
};
use agents_tool::{
    Area, Catalogue, Confinement, Tool, artifacts::ArtifactDir, hooks::NoHooks,
    script::Interpreter, tools,
};
use camino::{Utf8Path, Utf8PathBuf};
use futures_util::future::{BoxFuture, ready};

/// It asks before it writes, and hands something in.
const SCRIPT: &str = r#"
    [[replies]]
    text = "let me see"
    calls = [{ name = "write", input = { path = "note.md", content = "seen" } }]

    [[replies]]
    calls = [{ name = "yield", input = { data = "done" } }]
"#;

/// Everything that there is.
pub(super) struct Place {
    root: Utf8PathBuf,
    agent: Arc<AgentDefinition>,
    _dir: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Arc<Self> {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("it is UTF-8");
        fs_err::create_dir(root.join("ws")).expect("a scratch directory");
        let mut agent = AgentDefinition::blank(AgentName::new("helper").expect("a name"));
        agent.prompt = "You help.".to_owned();
        Arc::new(Self { root, agent: Arc::new(agent), _dir: dir })
    }

    pub(super) fn terms(&self) -> Terms {
        Terms {
            settings: Settings::default(),
            highest: PermissionMode::BypassPermissions,
            usual: PermissionMode::Default,
            closed: None,
            allowed: Vec::new(),
            concurrency: 4,
            approval: Duration::from_secs(60),
            artifacts: Arc::new(ArtifactDir::new(&self.root.join("artifacts"))),
            transcripts: self.store(),
            secrets: Secrets {
                settings: Arc::new(SecretSettings::default()),
                agreed: Vec::new(),
                background: secret::Asks::Nobody,
                hear: Box::new(|_| ()),
            },
            hooks: (Vec::new(), Vec::new()),
            spans: None,
        }
    }

    pub(super) fn store(&self) -> Store {
        Store::new(&self.root.join("transcripts"))
    }
}

impl Surroundings for Place {
    fn agents(&self) -> Known {
        vec![Arc::clone(&self.agent)].into()
    }

    fn models(&self) -> Vec<Available> {
        vec![Available::new(ModelRef::new("script", "demo"), Credentials::Ready)]
    }

    fn open(&self, _: &ModelRef, _: &Area) -> Result<Opened, Unavailable> {
        let script = ScriptFile::parse_toml(SCRIPT).expect("a script");
        let provider = ScriptProvider::new("script", script).with_retry(RetryPolicy::never());
        let provider: Arc<dyn Provider> = Arc::new(provider);
        Ok(Opened { provider, price: None, window: None })
    }

    fn area(&self) -> Result<Area, Unavailable> {
        Ok(Area::workspace(&self.root.join("ws")).expect("it is there"))
    }

    fn equip<'a>(&'a self, _: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, None).expect("each once");
        let (hooks, confinement) = (Arc::new(NoHooks), Confinement::None);
        Box::pin(ready(Ok(Equipment { catalogue, hooks, confinement, bash: None })))
    }
}

fn nothing<T>(what: &str) -> Result<T, Unavailable> {
    Err(Unavailable { message: format!("there is no {what} here"), hint: None })
}

/// The program as a door sees it.
pub(super) struct Shop(pub(super) Arc<Place>);

impl Shop {
    fn card() -> SkillCard {
        SkillCard {
            name: "notes".to_owned(),
            description: "Use when something is to be noted down".to_owned(),
            plugin: "demo".to_owned(),
            crates: vec!["serde".to_owned()],
        }
    }
}

impl Offer for Shop {
    fn surroundings(&self) -> Arc<dyn Surroundings> {
        Arc::clone(&self.0) as Arc<dyn Surroundings>
    }

    fn place_of(&self, _: &AgentDefinition) -> String {
        "here".to_owned()
    }

    fn skills(&self) -> BoxFuture<'_, Result<Vec<SkillCard>, Unavailable>> {
        Box::pin(ready(Ok(vec![Self::card()])))
    }

    fn skill(&self, name: String) -> BoxFuture<'_, Result<LoadedSkill, Unavailable>> {
        let card = Self::card();
        let (text, dir) = ("# Notes".to_owned(), "/nowhere".to_owned());
        let loaded = LoadedSkill { card, text, dir, files: Vec::new() };
        let found = if name == "notes" { Ok(loaded) } else { nothing(&name) };
        Box::pin(ready(found))
    }

    fn find_crate(
        &self,
        name: String,
        version: Option<String>,
    ) -> BoxFuture<'_, Result<FoundCrate, Unavailable>> {
        let source = format!("/nowhere/{name}");
        let found = FoundCrate { name, version: version.unwrap_or_default(), source };
        Box::pin(ready(Ok(found)))
    }

    fn commands(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn typed(&self) -> Vec<TypedCommand> {
        let (name, description) = ("note".to_owned(), "Notes something down".to_owned());
        vec![TypedCommand { name, description }]
    }

    fn expand(&self, name: &str, input: &str) -> Option<String> {
        (name == "note").then(|| format!("Note down: {input}"))
    }

    fn servers(&self) -> Vec<String> {
        vec!["docs".to_owned()]
    }

    fn tools_of(&self, _: Vec<String>) -> BoxFuture<'_, ServerTools> {
        Box::pin(ready(ServerTools::default()))
    }

    fn interpreter(&self) -> Result<Interpreter, Unavailable> {
        nothing("interpreter")
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

impl Grounds for Shop {
    fn open(&self, cwd: &Utf8Path) -> Result<(Arc<dyn Offer>, Terms), Unavailable> {
        if cwd.as_str().contains("nowhere") {
            return nothing("such directory");
        }
        Ok((Arc::new(Self(Arc::clone(&self.0))), self.0.terms()))
    }

    fn kept(&self) -> Utf8PathBuf {
        self.0.root.join("sessions")
    }

    fn agent(&self) -> With {
        With::Usual("helper".to_owned())
    }
}
