//! One run of an agent: who may start it, its limits, what it does turn by turn, and its outcome.
//!
//! A *task* is one run of an agent: a preflight check, turns between a model and tools under rights, limits and
//! deadlines, a checked result, exactly one ending, and a transcript from which it can be resumed. A program that embeds sub-agents starts
//! with [`SubAgentManager`], which starts them, reports their state, ends them, and collects their results.
//!
//! ```
//! use std::sync::Arc;
//!
//! use agents_task::subagents::{Model, SubAgentConfig, SubAgentManager, Workbench};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # let dir = camino::Utf8PathBuf::from_path_buf(scratch.path().to_owned()).unwrap();
//! # let script = dir.join("script.toml");
//! # fs_err::write(&script, "[[replies]]\ntext = \"In `parse`.\"\n")?;
//! # let agents = dir.join("agents");
//! # fs_err::create_dir(&agents)?;
//! # fs_err::write(agents.join("explore.md"), "---\nname: explore\ndescription: looks\n---\nYou look.\n")?;
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let model = Model::script(&script)?; // or a real one: Model::find("sonnet")
//! let tools = Arc::new(Workbench::at(dir));
//! let mut manager = SubAgentManager::new(4); // as many at the same time
//! manager.load_definitions(&[agents.into()])?;
//! let config = SubAgentConfig { transcript_enabled: false, ..SubAgentConfig::default() };
//! let id = manager.spawn("explore", "Where are errors made?", model, tools, None, &config)?;
//! assert_eq!(manager.collect(&id).await?, "In `parse`.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```
//!
//! [`subagents`] has the rest of it, and `examples/embed` a whole program.
//!
//! | module | holds |
//! |---|---|
//! | [`id`] | what a task is called, and where it stands in its tree |
//! | [`request`] | what somebody wants to be done: one assignment, or many that start together |
//! | [`batch_file`] | many of them, as people write them down |
//! | [`mod@preflight`] | from a request to the agent that will run, or to the rule that stands in the way |
//! | [`refusal`] | those rules |
//! | [`effective`] | the agent that will run: the only one that exists from then on |
//! | [`settings`] | what the configuration says about all tasks |
//! | [`limits`] | how far a tree of tasks may go |
//! | [`schema`] | what a result must look like |
//! | [`history`] | the conversation, and how it is made shorter |
//! | [`turns`] | the loop |
//! | [`submission`] | `yield`, the tool that ends it |
//! | [`evidence`] | what a result rests on, checked |
//! | [`done_when`] | what must hold before a task is done |
//! | [`isolate`] | a git worktree and a build directory of its own for a task |
//! | [`broker`] | one queue of questions for a whole tree |
//! | [`event`] | what happens, for whoever wants to show it |
//! | [`outcome`] | what became of it |
//! | [`workplace`] | where a task works, and what becomes of what it did there |
//! | [`runner`] | tasks, and what these start in turn |
//! | [`dispatch`] | handing an assignment to whichever agent fits |
//! | [`subagents`] | many sub-agents, for programs that embed them |
//! | [`secret`] | secrets that agents ask for |
//! | [`memory`] | what an agent remembers from one task to the next |
//! | [`skills`] | which skills an agent has, and how it loads one |
//! | [`peers`] | messages between tasks |
//! | [`mod@resume`] | tasks that go on from where others ended |
//! | [`recorder`] | who writes down what a task says and hears |
//! | [`transcript`] | the one that keeps it in files |
//! | [`telemetry`] | spans for OpenTelemetry |
//!
//! Below the manager, nothing before [`turns`] waits, reads a clock or touches a disk: requests, definitions and settings go in, values
//! come out.
//!
//! ```
//! use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode};
//! use agents_model::select::{Available, Credentials, ModelRef};
//! use agents_task::{Batch, Caller, Limits, Settings, Situation, TaskRequest, id::Taken, preflight};
//! use agents_tool::{Bypass, Moment, Rights, Standing};
//!
//! let explore = AgentDefinition::blank(AgentName::new("explore").unwrap());
//! let models = [Available::new(ModelRef::new("script", "any"), Credentials::Ready)];
//! let situation = Situation {
//!     agents: &[&explore],
//!     models: &models,
//!     no_worktrees: None,
//!     left: Limits::DEFAULT,
//!     slots: Some(4),
//!     running: 0,
//!     taken: &Taken::default(),
//!     now: Moment::default(),
//!     before: None,
//! };
//! let user = Caller::user(Standing::root(Rights::only(["read"]), PermissionMode::Default, Bypass::Forbidden));
//! let start = |agent: &str| {
//!     let batch = Batch::from(TaskRequest::new(agent, "where are errors made?"));
//!     preflight(&batch, &user, &Settings::default(), &situation)
//! };
//! let agents = start("explore").unwrap();
//! assert!(agents[0].offers("read") && agents[0].offers("yield") && !agents[0].offers("bash"));
//! assert_eq!(start("review").unwrap_err().to_string(), "Unknown agent \"review\". Available: explore");
//! ```
//!
//! A [`Runner`] does all of it: it checks, starts, and lets what was started start others. With a [`Ground`] of your own to stand on,
//! [`run()`](turns::run) runs one task alone.

pub mod batch_file;
pub mod broker;
pub mod dispatch;
pub mod done_when;
pub mod effective;
pub mod event;
pub mod evidence;
pub mod history;
pub mod id;
pub mod isolate;
pub mod limits;
pub mod memory;
pub mod outcome;
pub mod peers;
pub mod preflight;
pub mod recorder;
pub mod refusal;
pub mod request;
pub mod resume;
pub mod runner;
pub mod schema;
#[cfg(test)]
mod schemas;
pub mod secret;
pub mod settings;
pub mod skills;
pub mod subagents;
pub mod submission;
pub mod telemetry;
pub mod transcript;
pub mod turns;
pub mod workplace;

pub use broker::Broker;
pub use effective::{Continuation, EffectiveAgent};
pub use id::{TaskId, TaskPath};
pub use limits::{Budget, Limit, Limits};
pub use outcome::{Ending, Failure, Outcome, Report};
pub use preflight::{Caller, Decided, Settings, Situation, preflight};
pub use recorder::{Recorder, Unrecorded};
pub use refusal::{Refusal, Refused};
pub use request::{Batch, TaskRequest};
pub use runner::{Runner, Running, Surroundings};
pub use settings::TaskSettings;
pub use subagents::SubAgentManager;
pub use turns::{Ground, Patience, run};
