//! What the one MCP server costs: a call of a tool that stands behind it, against calling the same server directly.
//!
//! ```text
//! cargo bench -p cargo-agents --bench doors -- [--rounds <n>]
//! ```
//!
//! The server behind is another one of ours, asked for what costs it least, so that nothing hides what is added. Both are asked in turns,
//! by a client of a few lines. Nothing fails because of a time. `docs/performance.md` says what was found with it.

#![cfg_attr(
    unix,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::disallowed_methods,
        reason = "a benchmark: it prints, starts programs and may stop when it cannot go on"
    )
)]

#[cfg(unix)]
mod unix {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        process::{Child, ChildStdin, ChildStdout, Command, Stdio},
        time::{Duration, Instant},
    };

    use agents_testkit::{knock::Events, scratch::Scratch};
    use serde_json::{Value, json};

    const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-agents");
    /// How many calls a script makes.
    const MANY: usize = 20;

    /// A server and our end of the pipes.
    struct Server {
        child: Child,
        write: ChildStdin,
        read: BufReader<ChildStdout>,
        last: u64,
    }

    impl Server {
        fn start(scratch: &Scratch) -> Self {
            let mut child = Command::new(PROGRAM)
                .arg("mcp")
                .current_dir(scratch.root())
                .env("CARGO_AGENTS_HOME", scratch.path("home"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let (write, read) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut server = Self { child, write, read: BufReader::new(read), last: 0 };
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
            server.ask("initialize", &hello);
            server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            server
        }

        fn say(&mut self, message: &Value) {
            writeln!(self.write, "{message}").unwrap();
        }

        fn ask(&mut self, method: &str, params: &Value) -> Value {
            self.last += 1;
            let id = self.last;
            self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
            loop {
                let mut line = String::new();
                assert!(self.read.read_line(&mut line).unwrap() > 0, "the server has ended");
                let said: Value = serde_json::from_str(&line).unwrap();
                if said["id"] == id {
                    return said;
                }
            }
        }

        fn call(&mut self, tool: &str, arguments: &Value) -> Duration {
            let params = json!({"name": tool, "arguments": arguments});
            let start = Instant::now();
            let said = self.ask("tools/call", &params);
            let took = start.elapsed();
            assert_eq!(said["result"]["isError"], false, "{said}");
            took
        }

        fn resident(&self) -> u64 {
            resident(&self.child)
        }
    }

    /// What a program occupies, in kilobytes.
    fn resident(child: &Child) -> u64 {
        let file = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(file).unwrap_or_default();
        let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or_default()
    }

    /// What the page occupies: before anybody came, with somebody there, and when they have gone.
    fn dashboard(scratch: &Scratch) {
        let mut child = Command::new(PROGRAM)
            .arg("dashboard")
            .current_dir(scratch.root())
            .env("CARGO_AGENTS_HOME", scratch.path("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let (port, token) = address.trim()["http://127.0.0.1:".len()..].split_once('/').unwrap();
        let before = resident(&child);
        let mut events = Events::listen(port.parse().unwrap(), &format!("/{token}events"));
        events.until("plans", |_| true);
        let with = resident(&child);
        drop(events);
        std::thread::sleep(Duration::from_secs(2));
        let after = resident(&child);
        println!(
            "resident page: {before} kB, with somebody there {with} kB, afterwards {after} kB"
        );
        let _ = child.kill();
        let _ = child.wait();
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn median(times: &mut [Duration]) -> (f64, f64) {
        times.sort_unstable();
        (times[times.len() / 2].as_secs_f64() * 1e6, times[0].as_secs_f64() * 1e6)
    }

    pub(super) fn main() {
        let mut args = std::env::args().skip_while(|it| it != "--rounds").skip(1);
        let rounds = args.next().and_then(|it| it.parse().ok()).unwrap_or(200);
        let scratch = Scratch::new();
        let config = format!(
            "[defaults]\nsymposium-recommendations = false\n[mcp-servers.behind]\ncommand = \"{PROGRAM}\"\nargs = [\"mcp\"]\n"
        );
        scratch.write("home/config.toml", config);
        let (mut direct, mut ours) = (Server::start(&scratch), Server::start(&scratch));
        println!("resident before anything was asked: {} kB", direct.resident());
        dashboard(&scratch);
        let through = json!({"server": "behind", "tool": "task_status"});
        let script = format!(
            "for (let i = 0; i < {MANY}; i++) await tools.behind.task_status({{}}); return 1"
        );
        let script = json!({ "script": script });
        ours.call("call_tool", &through);
        let (mut one, mut two, mut many) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            one.push(direct.call("task_status", &json!({})));
            two.push(ours.call("call_tool", &through));
            many.push(ours.call("execute", &script));
        }
        let (one, two, many) = (median(&mut one), median(&mut two), median(&mut many));
        let calls = MANY as f64;
        println!("{:34} {:>9} {:>9} {:>8} {:>8}", "", "median us", "least us", "ratio", "of least");
        for (what, (median, least), (base, base_least)) in [
            ("a server asked directly", one, one),
            ("the same through `call_tool`", two, one),
            ("20 calls in one `execute`", many, (one.0 * calls, one.1 * calls)),
        ] {
            println!(
                "{what:34} {median:9.0} {least:9.0} {:8.2} {:8.2}",
                median / base,
                least / base_least
            );
        }
        println!("resident after {rounds} rounds: {} kB", ours.resident());
    }
}

fn main() {
    #[cfg(unix)]
    unix::main();
}
