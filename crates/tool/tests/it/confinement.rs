//! Ways out, each tried with and without the sandbox of the system. Where the tools alone cannot hold a program (what a shell does is
//! its own business), the sandbox must; where there is none, nothing runs.

use std::{
    io::Read as _,
    net::{TcpListener, UdpSocket},
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_system::sandbox::Network;
use agents_tool::{Confinement, Rights, Sandbox};
use serde_json::json;

use crate::Agent;

#[test]
fn paths_that_lead_out() {
    let agent = Agent::new();
    agent.scratch.write("outside/secret", "secret");
    let root = agent.scratch.path("root");
    std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
    let absolute = agent.scratch.path("outside/secret");
    for path in
        ["../outside/secret", absolute.as_str(), "link/secret", "/etc/passwd", "/proc/self/environ"]
    {
        for said in [
            agent.refused("read", json!({"path": path})),
            agent.refused("write", json!({"path": path, "content": "x"})),
            agent.refused("edit", json!({"path": path, "edits": [{"old": "secret", "new": "x"}]})),
            agent.refused("search", json!({"pattern": "secret", "path": path})),
            agent.refused("find", json!({"pattern": "*", "path": path})),
            agent.refused("bash", json!({"command": "ls", "cwd": path})),
        ] {
            assert!(said.contains("is outside of"), "{path}: {said}");
        }
    }
    assert_eq!(
        agent.ok("search", json!({"pattern": "secret"})),
        "nothing was found",
        "links are not followed"
    );
    assert_eq!(agent.ok("find", json!({"pattern": "secret"})), "nothing was found");
    assert_eq!(fs_err::read_to_string(absolute).unwrap(), "secret");
}

#[test]
fn our_own_environment_does_not_leak() {
    // The names of variables that the test itself was started with, and that are not handed on.
    let agent = Agent::new();
    let seen = agent.bash("env | cut -d= -f1 | sort").content;
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("CARGO_PKG") || name.contains("SECRET"))
    {
        assert!(!seen.lines().any(|it| it == name), "{name}");
    }
    for name in seen.lines() {
        let known = [
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "TZ",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "TERM",
            "NO_COLOR",
            "PAGER",
            "EDITOR",
            "TMPDIR",
            "DEBIAN_FRONTEND",
            "PWD",
            "SHLVL",
            "_",
            "OLDPWD",
        ];
        let family = [
            "LC_",
            "GIT_",
            "XDG_",
            "RUSTUP_",
            "CARGO_TARGET_DIR",
            "SSL_",
            "NIX_",
            "LANGUAGE",
            "LD_LIBRARY_PATH",
        ];
        let fine = known.contains(&name) || family.iter().any(|it| name.starts_with(it));
        assert!(fine, "`{name}` leaks");
    }
    let outer = agent.bash("tr '\\0' '\\n' < /proc/$PPID/environ");
    assert!(
        !outer.content.contains("CARGO_PKG"),
        "the keeper has no environment: {}",
        outer.content
    );
}

#[test]
fn the_sandbox_keeps_programs_in_the_workspace() {
    let Some(agent) = Agent::new().sandboxed() else { return };
    agent.scratch.write("outside/secret", "secret");
    agent.write("file", "inside");
    assert_eq!(
        agent.bash("cat file; echo x > made; cat made; ls /usr > /dev/null && echo fine").content,
        "insidex\nfine"
    );
    let outside = agent.scratch.path("outside");
    for command in [
        format!("cat {outside}/secret"),
        "cat ../outside/secret".to_owned(),
        format!("ln -s {outside}/secret l && cat l"),
        format!("echo x > {outside}/new"),
        format!("mv file {outside}/"),
        format!("ln {outside}/secret hard"),
        format!("rm {outside}/secret"),
        "cat ~/.cargo/credentials.toml ~/.ssh/id_rsa".to_owned(),
        "echo x > ~/.agents-tool-test".to_owned(),
        format!("cat /proc/{}/environ", std::process::id()),
        format!("kill -0 {}", std::process::id()),
    ] {
        let result = agent.bash(&command);
        assert!(result.is_error, "{command}: {}", result.content);
        assert!(!result.content.contains("secret\n"), "{command}: {}", result.content);
    }
    assert_eq!(fs_err::read_to_string(outside.join("secret")).unwrap(), "secret");
    assert!(!outside.join("new").exists());
}

#[test]
fn a_keeper_cannot_be_killed_from_inside() {
    let Some(agent) = Agent::new().sandboxed() else { return };
    let result = agent.bash("kill -9 $PPID; echo $?");
    assert_eq!(result.content.lines().last(), Some("1"), "{}", result.content);
}

/// A program that tries to reach us by TCP and UDP.
fn knock(agent: &Agent) -> (bool, bool) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    tcp.set_nonblocking(true).unwrap();
    udp.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    agent.bash(&format!(
        "echo hi > /dev/tcp/127.0.0.1/{tcp_port}; echo hi > /dev/udp/127.0.0.1/{udp_port}"
    ));
    let mut heard = String::new();
    let came = tcp.accept().is_ok_and(|(mut stream, _)| {
        let _ = stream.read_to_string(&mut heard);
        true
    });
    (came, udp.recv(&mut [0; 8]).is_ok())
}

#[test]
fn the_network_is_cut_in_the_sandbox_unless_it_is_granted() {
    assert_eq!(knock(&Agent::new()), (true, true), "without a sandbox it is open");
    let Some(mut agent) = Agent::new().sandboxed() else { return };
    assert_eq!(knock(&agent), (false, false));
    agent.context.confinement =
        Confinement::Sandbox(Sandbox { network: Network::Allowed, ..Sandbox::default() });
    assert_eq!(knock(&agent), (true, true));
}

#[test]
fn what_git_and_others_would_run_later_is_put_back() {
    let Some(agent) = Agent::new().sandboxed() else { return };
    agent.write(".git/config", "[core]\n");
    agent.write(".git/hooks/existing", "old");
    let result = agent.bash(
        "git config core.fsmonitor 'touch evil' 2>/dev/null; echo fsmonitor=evil >> .git/config; \
         echo 'touch evil' > .git/hooks/post-checkout; echo new > .git/hooks/existing; \
         mkdir -p .cargo; echo '[build]' > .cargo/config.toml; echo fine > ordinary",
    );
    assert!(result.is_error);
    for path in
        [".git/config", ".git/hooks/post-checkout", ".git/hooks/existing", ".cargo/config.toml"]
    {
        assert!(result.content.contains(path), "{path}: {}", result.content);
    }
    assert_eq!(agent.text(".git/config"), "[core]\n");
    assert_eq!(agent.text(".git/hooks/existing"), "old");
    assert!(!agent.scratch.path("root/.git/hooks/post-checkout").exists());
    assert!(!agent.scratch.path("root/.cargo/config.toml").exists());
    assert_eq!(agent.text("ordinary"), "fine\n");
    // Also when the directory itself is replaced.
    agent.scratch.write("root/elsewhere/post-merge", "evil");
    let result = agent.bash("rm -r .git/hooks && ln -s ../elsewhere .git/hooks");
    assert!(result.is_error, "{}", result.content);
    assert_eq!(agent.text(".git/hooks/existing"), "old");
    assert!(!agent.scratch.path("root/.git/hooks/post-merge").exists());
    assert!(!agent.scratch.path("root/elsewhere/existing").exists());
}

#[test]
fn a_directory_that_looks_like_a_repository_is_none() {
    let agent = Agent::new();
    agent.write("trap/HEAD", "ref: refs/heads/main\n");
    agent.write(
        "trap/config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = \"touch ../evil\"\n",
    );
    agent.write("trap/objects/x", "");
    agent.write("trap/refs/x", "");
    agent.call("bash", json!({"command": "git status", "cwd": "trap"}));
    assert!(!agent.scratch.path("root/evil").exists());
}

/// On a kernel without Landlock, which here is one that refuses to know the call.
#[test]
fn without_a_sandbox_nothing_runs_that_must_run_in_one() {
    use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    const ENOSYS: u32 = 38;
    let filter = SeccompFilter::new(
        [(LANDLOCK_CREATE_RULESET, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(ENOSYS),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    // Filters bind a thread and what it starts.
    let old_kernel = std::thread::spawn(move || {
        apply_filter(&program).unwrap();
        let mut agent = Agent::new();
        assert!(!agent.bash("touch ran-free").is_error);
        agent.context.confinement = Confinement::Sandbox(Sandbox::default());
        let said = agent.bash("touch ran");
        assert!(said.is_error);
        assert!(
            said.content
                .starts_with("the sandbox that this agent must run programs in is not available"),
            "{}",
            said.content
        );
        assert!(!agent.scratch.path("root/ran").exists());
        assert!(agent.scratch.path("root/ran-free").exists());
    });
    old_kernel.join().unwrap();
}

#[test]
fn rights_hold_without_the_sandbox() {
    let agent = Agent::with(Rights::only(["bash(ls *)"]), PermissionMode::BypassPermissions);
    for command in ["ls; cat /etc/passwd", "ls $(id)", "cat /etc/passwd", "ls > /tmp/x", "sh -c ls"]
    {
        assert!(agent.bash(command).content.starts_with("`bash` was refused"), "{command}");
    }
}
