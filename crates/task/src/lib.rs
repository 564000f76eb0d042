//! One run of an agent: who may start it, how far it may go, what it does turn by turn, and what became of it.
//!
//! | module | holds |
//! |---|---|
//! | [`id`] | what a task is called, and where it stands in its tree |
//! | [`request`] | what somebody wants to be done: one assignment, or many that start together |
//! | [`mod@preflight`] | from a request to the agent that will run, or to the rule that stands in the way |
//! | [`refusal`] | those rules |
//! | [`effective`] | the agent that will run: the only one that exists from then on |
//! | [`limits`] | how far a tree of tasks may go |
//! | [`schema`] | what a result must look like |
//! | [`history`] | the conversation, and how it is made shorter |
//! | [`turns`] | the loop |
//! | [`submission`] | `yield`, the tool that ends it |
//! | [`evidence`] | what a result rests on, checked |
//! | [`done_when`] | what must hold before a task is done |
//! | [`broker`] | one queue of questions for a whole tree |
//! | [`event`] | what happens, for whoever wants to show it |
//! | [`outcome`] | what became of it |
//!
//! Nothing before [`turns`] waits, reads a clock or touches a disk: requests, definitions and settings go in, values come out.

pub mod broker;
pub mod done_when;
pub mod effective;
pub mod event;
pub mod evidence;
pub mod history;
pub mod id;
pub mod limits;
pub mod outcome;
pub mod preflight;
pub mod refusal;
pub mod request;
pub mod schema;
pub mod submission;
pub mod turns;

pub use broker::Broker;
pub use effective::EffectiveAgent;
pub use id::{TaskId, TaskPath};
pub use limits::{Budget, Limit, Limits};
pub use outcome::{Ending, Failure, Outcome, Report};
pub use preflight::{Caller, Settings, Situation, preflight};
pub use refusal::{Refusal, Refused};
pub use request::{Batch, TaskRequest};
pub use turns::{Ground, Patience, run};
