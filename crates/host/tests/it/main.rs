//! What this room publishes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod page;
