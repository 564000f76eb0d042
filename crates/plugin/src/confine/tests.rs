use agents_system::sandbox::Network;

use super::*;

const DEMO: &str = "/plugins/demo";

fn runnable() -> Runnable {
    Runnable::of_user("sh", ["/plugins/demo/h.sh"])
}

fn confined(needs: &Needs, available: Availability) -> Result<Prepared, ConfineError> {
    let owner = Owner {
        name: &PluginName::new("demo").unwrap(),
        dir: DEMO.into(),
        needs,
        workspace: Some("/ws".into()),
    };
    owner.confine_where(available, &runnable(), &Dirs::below(Utf8Path::new("/ours")))
}

#[test]
fn where_nothing_can_be_confined_nothing_runs() {
    for lack in [Lack::System, Lack::Kernel] {
        let said = confined(&Needs::default(), Availability::Unavailable(lack)).unwrap_err();
        assert!(said.to_string().starts_with("the sandbox is not available here"), "{said}");
    }
}

#[test]
fn only_what_is_declared_is_granted_besides_what_all_have() {
    let needs = Needs {
        read: vec!["/srv".to_owned()],
        write: vec!["target/x".to_owned()],
        network: Network::Denied,
    };
    let name = PluginName::new("demo").unwrap();
    let rights = |workspace: Option<&str>| {
        let workspace = workspace.map(Utf8Path::new);
        let owner = Owner { name: &name, dir: DEMO.into(), needs: &needs, workspace };
        owner.rights(&runnable(), &Dirs::below(Utf8Path::new("/ours")), "/room".into())
    };
    let inside = rights(Some("/ws"));
    assert_eq!(inside.write, ["/dev/null", "/room", "/ws/target/x"]);
    for path in ["/usr", DEMO, "/ws", "/srv", "/ours/cache/installations"] {
        assert!(inside.read.contains(&path.into()), "{path}");
    }
    for path in ["/", "/home", "/dev", "/tmp", "/run", "/ours"] {
        assert!(!inside.read.contains(&path.into()), "{path}");
    }
    let outside = rights(None);
    assert_eq!(outside.write, ["/dev/null", "/room"]);
    assert!(!outside.read.contains(&"/ws".into()));
    assert!(outside.read.contains(&"/srv".into()), "what is absolute means the same everywhere");
}

#[test]
fn directories_that_a_program_writes_to_are_there_when_it_starts() {
    let scratch = agents_testkit::scratch::Scratch::new();
    let write = ["target/", "out/deep/", "file"].map(str::to_owned).to_vec();
    let needs = Needs { write, ..Needs::default() };
    let name = PluginName::new("demo").unwrap();
    let workspace = Some(scratch.root());
    let owner = Owner { name: &name, dir: DEMO.into(), needs: &needs, workspace };
    let dirs = Dirs::below(&scratch.path("ours"));
    owner.confine_where(Availability::Available, &runnable(), &dirs).unwrap();
    assert!(scratch.path("target").is_dir() && scratch.path("out/deep").is_dir());
    assert!(!scratch.path("file").exists(), "that is for the program to make");
}
