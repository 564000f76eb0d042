//! The interpreter of scripts as a program of its own, for the tests of this room and for those who embed it without a `main` of
//! their own to call [`interpret`](agents_tool::script::interpret) from. `cargo-agents` is its own interpreter.

fn main() -> std::process::ExitCode {
    agents_tool::script::interpret(std::io::stdin().lock(), std::io::stdout())
}
