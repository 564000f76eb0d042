//! Providers against the scripted endpoint, over real HTTP.

mod bounds;
mod cancelling;
mod faults;
mod pieces;
mod requests;
mod scripts;
mod secrets;
mod world;
