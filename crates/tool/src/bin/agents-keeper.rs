//! The keeper as a program of its own, for the tests of this room and for those who embed it without a `main` of their own to
//! call [`keep`](agents_system::process::keeper::keep) from. `cargo-agents` is its own keeper.

fn main() -> std::process::ExitCode {
    agents_system::process::keeper::keep()
}
