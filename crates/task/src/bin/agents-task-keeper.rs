//! A keeper for the tests of this room: the program brings its own.

fn main() -> std::process::ExitCode {
    agents_system::process::keeper::keep()
}
