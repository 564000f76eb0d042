use super::*;
use camino::Utf8Path;

/// Rules bind a thread, so each test confines one of its own.
fn confined<T: Send>(rights: &Rights, act: impl FnOnce() -> T + Send) -> Option<T> {
    if matches!(available(), Availability::Unavailable(_)) {
        return None;
    }
    std::thread::scope(|scope| {
        let confined = scope.spawn(|| {
            restrict(rights).unwrap();
            act()
        });
        Some(confined.join().unwrap())
    })
}

#[test]
fn only_what_is_granted_can_be_read_or_written() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    for name in ["read", "write", "other"] {
        fs_err::create_dir(root.join(name)).unwrap();
        fs_err::write(root.join(name).join("file"), name).unwrap();
    }
    let rights = Rights {
        read: vec![root.join("read"), root.join("missing")],
        write: vec![root.join("write")],
        network: Network::Denied,
    };
    let can = |name: &str| {
        let file = root.join(name).join("file");
        let read = fs_err::read_to_string(&file).is_ok();
        let changed = fs_err::write(&file, "changed").is_ok();
        let made = fs_err::write(root.join(name).join("new"), "").is_ok();
        (read, changed, made)
    };
    let Some(found) = confined(&rights, || ["read", "write", "other"].map(can)) else { return };
    assert_eq!(found, [(true, false, false), (true, true, true), (false, false, false)]);
    // Nobody else is confined.
    assert_eq!(can("other"), (true, true, true));
}

#[test]
fn there_is_a_way_out_only_where_it_is_granted() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let found = |network| {
        let rights = Rights { network, ..Rights::default() };
        confined(&rights, || {
            let tcp = std::net::TcpStream::connect(address).is_ok();
            let udp = std::net::UdpSocket::bind("127.0.0.1:0").is_ok();
            let local = std::os::unix::net::UnixDatagram::unbound().is_ok();
            let pair = std::os::unix::net::UnixStream::pair().is_ok();
            (tcp, udp, local, pair)
        })
    };
    let Some(denied) = found(Network::Denied) else { return };
    assert_eq!(denied, (false, false, false, true));
    assert_eq!(found(Network::Allowed), Some((true, true, true, true)));
    assert!(std::net::TcpStream::connect(address).is_ok(), "nobody else is cut off");
}

#[test]
fn programs_may_read_what_they_start_with_and_no_credentials() {
    let offline = programs(Network::Denied);
    let cargo = dirs::cargo_home().unwrap();
    let may_read = |path: &Utf8Path| offline.iter().any(|it| path.starts_with(it));
    for path in ["/usr/bin/git", "/lib64/ld-linux-x86-64.so.2", "/etc/passwd", "/dev/urandom"] {
        assert!(may_read(path.into()), "{path}");
    }
    assert!(may_read(&cargo.join("bin/cargo")) && may_read(&cargo.join("registry/index")));
    for path in ["/dev/sda", "/dev/tty", "/run/user/1000/bus", "/var/lib", "/root/.ssh"] {
        assert!(!may_read(path.into()), "{path}");
    }
    assert!(!may_read(&cargo.join("credentials.toml")) && !may_read(&cargo.join("credentials")));
    // Whoever uses the network has to find out where names lead.
    let online = programs(Network::Allowed);
    let more: Vec<&Utf8PathBuf> = online.iter().filter(|it| !offline.contains(it)).collect();
    assert_eq!(more, NAME_SERVICE);
    assert!(offline.iter().all(|it| online.contains(it)));
}

#[test]
fn it_is_told_what_is_missing() {
    let said = [Lack::System, Lack::Kernel].map(|it| SandboxError::Unavailable(it).to_string());
    let missing = ["it needs Linux", "this kernel has no Landlock, or it is turned off"];
    assert_eq!(said, missing.map(|it| format!("the sandbox is not available here: {it}")));
}
