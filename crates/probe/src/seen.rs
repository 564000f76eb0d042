//! What was loaded, as far as what reached the model and what is on the disk can tell.

use std::collections::BTreeSet;

use agents_model::endpoint::{Request, Tool};
use camino::Utf8Path;

use crate::{
    dialogue::{ANSWER, is_agent},
    sample::{
        AGENT, AGENT_DESCRIPTION, ALLOWED, CRATE, FORBIDDEN, HINT, REASON, SKILL,
        SKILL_DESCRIPTION, TOKEN,
    },
};

/// Something that we bring, or that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thing {
    /// Name and description of the skill are in what the model reads.
    Skill,
    /// So is what we say at the start of a session.
    Context,
    /// The tool of the MCP server is offered to the model.
    Offered,
    /// When the model calls it, the server answers.
    Answered,
    /// A command that a hook denies was tried and not run.
    Denied,
    /// The model gets the hook's own words.
    Reason,
    /// A command that no hook denies was run.
    Others,
    /// Name and description of the agent are in what the model reads.
    Agent,
    /// The agent was asked with its own prompt, and the session heard its answer.
    Delegated,
    /// A hook was run for every event that the host has and that happens in such a session.
    Events,
    /// After `uninstall` everything on the disk is as it was before we came.
    Clean,
    /// The host starts afterwards, and knows nothing of us.
    Alone,
}

impl Thing {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 12] = [
        Self::Skill,
        Self::Context,
        Self::Offered,
        Self::Answered,
        Self::Denied,
        Self::Reason,
        Self::Others,
        Self::Agent,
        Self::Delegated,
        Self::Events,
        Self::Clean,
        Self::Alone,
    ];

    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Context => "context",
            Self::Offered => "tool",
            Self::Answered => "answer",
            Self::Denied => "deny",
            Self::Reason => "reason",
            Self::Others => "others",
            Self::Agent => "agent",
            Self::Delegated => "task",
            Self::Events => "events",
            Self::Clean => "clean",
            Self::Alone => "alone",
        }
    }

    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Skill => "skill listed",
            Self::Context => "context told",
            Self::Offered => "MCP tool offered",
            Self::Answered => "MCP tool called",
            Self::Denied => "deny blocks",
            Self::Reason => "reason told",
            Self::Others => "others run",
            Self::Agent => "agent offered",
            Self::Delegated => "agent runs",
            Self::Events => "every event fires",
            Self::Clean => "clean after uninstall",
            Self::Alone => "starts without us",
        }
    }
}

/// What was seen of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is so.
    Yes,
    /// It is not so, and what is so instead.
    No(String),
}

impl Seen {
    /// It is so, if this is.
    pub fn from(good: bool, otherwise: impl FnOnce() -> String) -> Self {
        if good { Self::Yes } else { Self::No(otherwise()) }
    }
}

/// Events, as manifests write them.
pub type Events = BTreeSet<String>;

/// Everything that a session left behind, and what came after it.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What the model was asked.
    pub requests: &'a [Request],
    /// Where the client worked.
    pub workspace: &'a Utf8Path,
    /// Where the MCP server writes that its tool was called.
    pub log: &'a Utf8Path,
    /// The name of that tool, as the model sees it.
    pub tool: &'a str,
    /// The name of the tool that runs commands, as the model sees it.
    pub shell: &'a str,
    /// The events for which a hook should have been run.
    pub events: &'a Events,
    /// Those for which one was run.
    pub fired: &'a Events,
    /// What came of `uninstall`.
    pub after: &'a After<'a>,
}

/// What came of `uninstall`.
#[derive(Debug)]
pub struct After<'a> {
    /// Whether the disk is as it was.
    pub clean: Seen,
    /// What the model was asked when the client was started once more.
    pub requests: &'a [Request],
    /// The events for which a hook was run all the same.
    pub fired: Events,
    /// Why that session did not run to a good end, if it did not.
    pub trouble: Option<String>,
}

impl Evidence<'_> {
    /// What was seen of it.
    #[must_use]
    pub fn of(&self, thing: Thing) -> Seen {
        match thing {
            Thing::Skill => self.skill(),
            Thing::Context => self.context(),
            Thing::Offered => self.offered(),
            Thing::Answered => self.answered(),
            Thing::Denied => self.denied(),
            Thing::Reason => self.reason(),
            Thing::Others => self.others(),
            Thing::Agent => self.agent(),
            Thing::Delegated => self.delegated(),
            Thing::Events => self.every_event(),
            Thing::Clean => self.after.clean.clone(),
            Thing::Alone => self.after.alone(self.tool),
        }
    }

    fn skill(&self) -> Seen {
        let reads = |request: &Request| {
            let text = request.text();
            text.contains(SKILL) && text.contains(SKILL_DESCRIPTION)
        };
        Seen::from(self.requests.iter().any(reads), || {
            format!("none of {} requests has `{SKILL}` with its description", self.requests.len())
        })
    }

    fn context(&self) -> Seen {
        Seen::from(self.requests.iter().any(|request| request.text().contains(HINT)), || {
            format!("none of {} requests has {HINT}", self.requests.len())
        })
    }

    fn offered(&self) -> Seen {
        let tool = self.tool;
        Seen::from(self.requests.iter().any(|request| request.tool(tool).is_some()), || {
            format!("`{tool}` is not among {}", self.tools())
        })
    }

    fn answered(&self) -> Seen {
        let answers = self.results();
        if !answers.iter().any(|answer| answer.contains(TOKEN)) {
            return Seen::No(format!("`{TOKEN}` is not in {answers:?}"));
        }
        let calls = fs_err::read_to_string(self.log).unwrap_or_default();
        Seen::from(calls == format!("{CRATE}\n"), || format!("the server noted `{calls}`"))
    }

    fn was_tried(&self) -> bool {
        self.requests.iter().any(|request| {
            request.calls().any(|call| call.arguments.to_string().contains(FORBIDDEN))
        })
    }

    fn denied(&self) -> Seen {
        if !self.was_tried() {
            return Seen::No(format!("`{}` was not tried; there are {}", self.shell, self.tools()));
        }
        Seen::from(!self.workspace.join(FORBIDDEN).exists(), || format!("`{FORBIDDEN}` was made"))
    }

    fn reason(&self) -> Seen {
        let results = self.results();
        Seen::from(results.iter().any(|result| result.contains(REASON)), || {
            format!("`{REASON}` is not in {results:?}")
        })
    }

    fn others(&self) -> Seen {
        Seen::from(self.workspace.join(ALLOWED).exists(), || {
            format!("`{ALLOWED}` was not made: {:?}", self.results())
        })
    }

    fn agent(&self) -> Seen {
        let offered = |request: &Request| {
            let all = everything(request);
            all.contains(AGENT) && all.contains(AGENT_DESCRIPTION)
        };
        Seen::from(self.requests.iter().any(|it| !is_agent(it) && offered(it)), || {
            format!("`{AGENT}` is not in any of {} requests", self.requests.len())
        })
    }

    fn delegated(&self) -> Seen {
        if !self.requests.iter().any(is_agent) {
            return Seen::No(format!("it was not asked; there are {}", self.tools()));
        }
        let mut sessions = self.requests.iter().filter(|it| !is_agent(it));
        Seen::from(sessions.any(|it| it.text().contains(ANSWER)), || {
            "its answer did not reach the session".to_owned()
        })
    }

    fn every_event(&self) -> Seen {
        let missing: Vec<&str> = self.events.difference(self.fired).map(String::as_str).collect();
        Seen::from(missing.is_empty(), || format!("nothing was run for {}", missing.join(", ")))
    }

    fn results(&self) -> BTreeSet<&str> {
        self.requests.iter().flat_map(Request::results).collect()
    }

    fn tools(&self) -> String {
        let names = self.requests.iter().flat_map(|it| &it.tools).map(Tool::full_name);
        let names: Vec<String> = names.collect::<BTreeSet<String>>().into_iter().collect();
        names.join(", ")
    }
}

impl After<'_> {
    /// Nothing can be said about it, for this reason.
    pub(crate) fn untold(why: &str) -> Self {
        let (requests, fired) = (&[][..], Events::new());
        Self { clean: Seen::No(why.to_owned()), requests, fired, trouble: Some(why.to_owned()) }
    }

    /// Whether the client works, and knows nothing of us any more.
    fn alone(&self, tool: &str) -> Seen {
        if let Some(trouble) = &self.trouble {
            return Seen::No(trouble.clone());
        }
        if self.requests.is_empty() {
            return Seen::No("it asked the model nothing".to_owned());
        }
        let known = self.requests.iter().find_map(|request| known(request, tool));
        if let Some(known) = known {
            return Seen::No(format!("it still knows {known}"));
        }
        let fired: Vec<&str> = self.fired.iter().map(String::as_str).collect();
        Seen::from(fired.is_empty(), || format!("a hook of ours was run for {}", fired.join(", ")))
    }
}

/// What of ours the model is told in this request.
fn known(request: &Request, tool: &str) -> Option<&'static str> {
    if request.tool(tool).is_some() {
        return Some("the tool");
    }
    let all = everything(request);
    let told = [
        (SKILL, "the skill"),
        (SKILL_DESCRIPTION, "the skill"),
        (HINT, "what we say at the start of a session"),
        (AGENT, "the agent"),
        (AGENT_DESCRIPTION, "the agent"),
    ];
    told.into_iter().find(|(text, _)| all.contains(text)).map(|(_, what)| what)
}

/// What the model reads, also about its tools: some clients list agents in the description of a tool, others in its schema.
fn everything(request: &Request) -> String {
    let schemas = request.tools.iter().map(|it| it.schema.to_string());
    schemas.chain([request.text()]).collect()
}
