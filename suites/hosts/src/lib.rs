//! Real coding agents for suites: what they are, how they are installed, and a network in which they cannot call home.
//!
//! | module | holds |
//! |---|---|
//! | [`client`] | one file per client: its package, the user's own files and environment, its command line |
//! | [`install`] | clients and node from npm into a prefix that is kept, our own programs from cargo |
//! | [`confine`] | a network without anybody in it |
//! | [`table`] | what was seen |
//! | [`tree`] | everything that is on the disk |

pub mod client;
pub mod confine;
pub mod install;
pub mod table;
pub mod tree;

use std::io::Write as _;

/// A line for whoever waits.
pub fn say(line: &str) {
    // Nobody listens any more: then nobody waits.
    let _ = writeln!(std::io::stderr(), "{line}");
}
