use super::*;
use crate::id::Taken;

/// A tree of tasks, by path.
struct Tree {
    peers: Peers,
    members: BTreeMap<String, Peer>,
}

impl Tree {
    /// `a/b` was started by `a`.
    fn new(limits: PeerLimits, paths: &[&str]) -> Self {
        let mut tree = Self { peers: Peers::new(limits), members: BTreeMap::new() };
        for path in paths {
            tree.join(path);
        }
        tree
    }

    fn join(&mut self, text: &str) {
        let path = text
            .split('/')
            .fold(TaskPath::root(), |path, name| path.child(name, &Taken::default()));
        let parent = text.rsplit_once('/').map(|(parent, _)| self.members[parent].id);
        let peer = self.peers.join(TaskId::new(), path, parent);
        self.members.insert(text.to_owned(), peer);
    }

    fn of(&self, path: &str) -> &Peer {
        &self.members[path]
    }

    fn send(&self, from: &str, to: &str) -> Result<String, PeerError> {
        self.of(from).send(to, "hello").map(|it| it.to_string())
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(work)
}

const FAMILY: [&str; 6] =
    ["lead", "lead/one", "lead/one/deep", "lead/two", "lead/two/deep", "other"];

#[test]
fn parents_siblings_and_all_below_can_be_written_to_and_nobody_else() {
    let tree = Tree::new(PeerLimits::default(), &FAMILY);
    for (from, to) in [
        ("lead/one", "lead"),
        ("lead/one", "lead/two"),
        ("lead", "lead/one"),
        ("lead", "lead/one/deep"),
        ("lead", "other"),
        ("lead/one/deep", "lead/one"),
    ] {
        assert_eq!(tree.send(from, to).unwrap(), to, "{from} to {to}");
    }
    for (from, to) in [
        ("lead/one/deep", "lead"),
        ("lead/one/deep", "lead/two"),
        ("lead/one/deep", "lead/two/deep"),
        ("lead/one", "other"),
        ("lead/one", "lead/two/deep"),
    ] {
        let reason = NotAllowed::NotInScope;
        let refused = PeerError::Unauthorized { target: to.to_owned(), reason };
        assert_eq!(tree.send(from, to), Err(refused), "{from} to {to}");
    }
    let oneself =
        PeerError::Unauthorized { target: "lead".into(), reason: NotAllowed::SelfAddress };
    assert_eq!(tree.send("lead", "lead"), Err(oneself));
    let paths: Vec<String> =
        tree.of("lead/one").others().iter().map(|it| it.1.to_string()).collect();
    assert_eq!(paths, ["lead", "lead/one/deep", "lead/two"]);
}

#[test]
fn a_task_is_meant_by_its_id_its_path_or_a_name_that_only_one_has() {
    let tree = Tree::new(PeerLimits::default(), &FAMILY);
    let id = tree.of("lead/two").id.to_string();
    assert_eq!(tree.send("lead/one", &id).unwrap(), "lead/two");
    assert_eq!(tree.send("lead/one", " two ").unwrap(), "lead/two");
    assert_eq!(tree.send("lead/one", "deep").unwrap(), "lead/one/deep", "the other is not its own");
    assert_eq!(tree.send("lead", "deep"), Err(PeerError::TargetNotFound("deep".to_owned())));
    assert_eq!(tree.send("lead", "nobody"), Err(PeerError::TargetNotFound("nobody".to_owned())));
}

#[test]
fn another_group_is_not_there() {
    let (tree, elsewhere) =
        (Tree::new(PeerLimits::default(), &["a"]), Tree::new(PeerLimits::default(), &["b"]));
    let id = elsewhere.of("b").id.to_string();
    for target in ["b", id.as_str()] {
        assert_eq!(tree.send("a", target), Err(PeerError::TargetNotFound(target.to_owned())));
    }
}

#[test]
fn what_is_too_long_too_much_or_too_late_is_refused() {
    let limits = PeerLimits { mailbox: 2, body: 5, ..PeerLimits::default() };
    let mut tree = Tree::new(limits, &["a", "b"]);
    let long = tree.of("a").send("b", "123456");
    assert_eq!(long, Err(PeerError::BodyTooLarge { actual: 6, max: 5 }));
    let name = "b".repeat(MAX_TARGET + 1);
    assert_eq!(tree.send("a", &name), Err(PeerError::TargetTooLarge { actual: 257 }));
    tree.send("a", "b").unwrap();
    tree.send("a", "b").unwrap();
    assert_eq!(tree.send("a", "b"), Err(PeerError::MailboxFull("b".to_owned())));
    assert_eq!(tree.of("b").waiting(), 2);
    drop(tree.members.remove("b"));
    assert_eq!(tree.send("a", "b"), Err(PeerError::TargetTerminated("b".to_owned())));
    assert!(tree.of("a").others().is_empty());
}

#[test]
fn messages_come_in_order_and_once() {
    let tree = Tree::new(PeerLimits::default(), &["a", "b", "c"]);
    for (from, body) in [("a", "1"), ("c", "2"), ("a", "3")] {
        tree.of(from).send("b", body).unwrap();
    }
    let letters = block_on(tree.of("b").receive(Duration::ZERO));
    let told: Vec<String> = letters.iter().map(|it| format!("{}{}", it.from, it.body)).collect();
    assert_eq!(told, ["a1", "c2", "a3"]);
    assert_eq!(block_on(tree.of("b").receive(Duration::ZERO)), []);
}

#[test]
fn waiting_ends_with_a_message_with_the_time_and_with_the_limit() {
    const LONG: Duration = Duration::from_secs(24 * 60 * 60);
    let short = PeerLimits { wait: Duration::from_millis(5), ..PeerLimits::default() };
    let tree = Tree::new(PeerLimits { wait: LONG, ..PeerLimits::default() }, &["a", "b"]);
    block_on(async {
        let sending = async {
            tokio::task::yield_now().await;
            tree.send("a", "b").unwrap();
        };
        let (letters, ()) = tokio::join!(tree.of("b").receive(LONG), sending);
        assert_eq!(letters.len(), 1, "it is not waited for more");
        assert!(tree.of("b").receive(Duration::from_millis(1)).await.is_empty());
        let tree = Tree::new(short, &["a", "b"]);
        assert!(
            tree.of("b").receive(LONG).await.is_empty(),
            "nobody waits longer than the group allows"
        );
    });
}

#[test]
fn whoever_is_told_to_end_waits_no_longer() {
    use agents_tool::{Area, CallContext, artifacts::ArtifactDir};
    let dir = tempfile::tempdir().unwrap();
    let dir = camino::Utf8Path::from_path(dir.path()).unwrap();
    let artifacts = Arc::new(ArtifactDir::new(&dir.join("artifacts")));
    let area = Area::workspace(dir).unwrap();
    let context = CallContext::new(area, artifacts, Duration::from_secs(24 * 60 * 60));
    let peers =
        Peers::new(PeerLimits { wait: Duration::from_secs(24 * 60 * 60), ..PeerLimits::default() });
    let peer = Arc::new(peers.join(TaskId::new(), TaskPath::root(), None));
    let mut catalogue = agents_tool::Catalogue::default();
    add_tools(&mut catalogue, &peer).unwrap();
    let check = catalogue.get(CHECK_MESSAGES).unwrap();
    context.cancelled.cancel();
    let waited = block_on(check.call(serde_json::json!({"wait_ms": 86_400_000}), &context));
    assert!(matches!(waited, Err(agents_tool::ToolError::Cancelled)));
}

#[test]
fn of_those_with_the_same_name_the_living_one_is_meant_and_of_two_nobody() {
    let peers = Peers::new(PeerLimits::default());
    let join = |name: &str| {
        peers.join(TaskId::new(), TaskPath::root().child(name, &Taken::default()), None)
    };
    let (writer, first) = (join("writer"), join("worker"));
    drop(first);
    let ended = writer.send("worker", "x");
    assert_eq!(ended, Err(PeerError::TargetTerminated("worker".to_owned())));
    let second = join("worker");
    writer.send("worker", "x").unwrap();
    assert_eq!(second.waiting(), 1);
    let third = join("worker");
    let unclear = writer.send("worker", "x");
    assert_eq!(unclear, Err(PeerError::TargetNotFound("worker".to_owned())));
    writer.send(&third.id.to_string(), "x").unwrap();
}

#[test]
fn a_group_that_lives_long_forgets_those_that_have_ended() {
    let peers = Peers::new(PeerLimits::default());
    let path = |name: &str| TaskPath::root().child(name, &Taken::default());
    let parent = peers.join(TaskId::new(), path("parent"), None);
    let child = peers.join(
        TaskId::new(),
        path("parent").child("child", &Taken::default()),
        Some(parent.id),
    );
    let id = parent.id;
    drop(parent);
    for _ in 0..3 * REMEMBERED {
        drop(peers.join(TaskId::new(), path("one"), None));
    }
    let members = peers.members();
    assert!(members.len() <= REMEMBERED + 2, "{}", members.len());
    assert!(members.contains_key(&id) && members.contains_key(&child.id), "one of them lives");
}
