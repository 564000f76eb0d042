//! Tasks on the workers of a cluster, with [Restate](https://restate.dev) as the engine that remembers them.
//!
//! The driver of a run is where its journal is, and decides; [`Cluster`] is its executor. Each attempt is one invocation in Restate, named
//! by run, node and attempt: given in twice, it is there once, and a driver that comes back finds it again. A worker is a process
//! that serves a lane: a virtual object of its own in Restate, `agents.NAME`, at an address that Restate can reach ([`worker`]). The task itself
//! is one durable step of the invocation: once its result is acknowledged, nobody does it again.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | what drivers and workers say to each other, with its version |
//! | [`server`] | Restate's own addresses: the ingress and the administration |
//! | [`lanes`] | which worker gets a task, and who takes over the lane of one that is gone |
//! | [`parcels`] | files on their way, in pieces with a checksum |
//! | [`cluster`] | the executor of a driver |
//! | [`worker`] | the service of a worker, and the address that it is reached at |
//! | [`hall`] | the tasks that a worker works on, whoever listens |
//!
//! # When something is gone
//! | what | then |
//! |---|---|
//! | the driver | tasks go on; the next driver of the run finds them by their names |
//! | a worker | Restate tries again; after a while the driver gives its lane to another worker, which does again what was not acknowledged |
//! | the server | tasks go on for a while; when the server is back it finds them at their workers |
//! | the way between a worker and the server | the same as whichever of both seems gone, and after a while the worker stops what nobody asks for any more |

pub mod cluster;
pub mod hall;
pub mod lanes;
pub mod parcels;
pub mod server;
pub mod worker;

pub use super::wire;
pub use cluster::{Cluster, Pace, Packed, Workshop};
pub use server::{Server, ServerError};
pub use worker::{Bench, Finished, Listening, Worker};
