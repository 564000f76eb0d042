//! Finding agents again.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use agents_agent::{Finder, Watch};

use crate::trees::{Tree, shown};

#[test]
fn where_nothing_changed_the_same_value_comes_back() {
    let tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    let mut finder = Finder::new();
    let first = finder.find(&tree.search).unwrap();
    assert!(Arc::ptr_eq(&first, &finder.find(&tree.search).unwrap()));
}

/// Each change, and what is found after it. A stale answer is the one thing that must not happen.
#[test]
fn every_change_is_noticed_at_once() {
    let tree = Tree::new();
    let mut finder = Finder::new();
    let mut after = |change: &dyn Fn()| {
        change();
        shown(&finder.find(&tree.search).unwrap()).join("; ")
    };
    let write = |file: &str, name: &str| drop(tree.agent(file, name));
    let file = |name: &str| tree.scratch.path(name);
    assert_eq!(after(&|| {}), "");
    let user = "home/.claude/agents/a.md";
    assert_eq!(after(&|| write(user, "a")), format!("a: {user}"));
    assert_eq!(after(&|| write(user, "b")), format!("b: {user}"), "same length, same second");
    assert_eq!(after(&|| drop(tree.scratch.write(user, "broken"))), "");
    assert_eq!(after(&|| write(user, "c")), format!("c: {user}"));
    let far = "home/work/app/.claude/agents/p.md";
    assert_eq!(after(&|| write(far, "c")), format!("c: {far}"), "a new project directory");
    let near = "home/work/app/src/.claude/agents/p.md";
    assert_eq!(after(&|| write(near, "d")), format!("d: {near}; c: {user}"), "a nearer one");
    let remove = |dir: &str| fs_err::remove_dir_all(file(dir)).unwrap();
    assert_eq!(after(&|| remove("home/work/app/src/.claude")), format!("c: {far}"));
    let rename = || fs_err::rename(file(far), file("home/work/app/.claude/agents/q.txt")).unwrap();
    assert_eq!(after(&rename), format!("c: {user}"));
    let huge = || drop(tree.scratch.write(user, "x".repeat(300_000)));
    assert_eq!(after(&huge), "");
    assert_eq!(after(&|| write(user, "e")), format!("e: {user}"), "what was too large is mended");
    assert_eq!(
        after(&|| fs_err::write(file("home/work/app/.omp"), "").unwrap()),
        format!("e: {user}")
    );
    let omp = "home/work/app/.omp/agents/o.md";
    let instead = || {
        fs_err::remove_file(file("home/work/app/.omp")).unwrap();
        write(omp, "o");
    };
    assert_eq!(after(&instead), format!("o: {omp}; e: {user}"), "a file became a directory");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_elsewhere_is_noticed() {
    use fs_err::os::unix::fs::symlink;
    let tree = Tree::new();
    tree.agent("home/work/app/one/agents/a.md", "a");
    tree.agent("home/work/app/two/agents/b.md", "b");
    symlink("one", tree.scratch.path("home/work/app/.agents")).unwrap();
    symlink("one", tree.scratch.path("home/work/app/.claude")).unwrap();
    let mut finder = Finder::new();
    assert_eq!(shown(&finder.find(&tree.search).unwrap()).len(), 1);
    fs_err::remove_file(tree.scratch.path("home/work/app/.claude")).unwrap();
    symlink("two", tree.scratch.path("home/work/app/.claude")).unwrap();
    assert_eq!(shown(&finder.find(&tree.search).unwrap()).len(), 2);
}

#[test]
fn an_error_leaves_nothing_stale_behind() {
    let mut tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    let mut finder = Finder::new();
    finder.find(&tree.search).unwrap();
    let plain = tree.search.clone();
    tree.search.named = vec![tree.scratch.path("gone")];
    assert!(finder.find(&tree.search).is_err());
    tree.agent("home/.claude/agents/b.md", "b");
    assert_eq!(finder.find(&plain).unwrap().iter().count(), 2);
}

#[test]
fn a_watch_tells_of_changes_and_only_of_those() {
    let tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    let mut watch = Watch::new(tree.search.clone());
    assert!(watch.poll().unwrap().is_some(), "the first time there is always something to say");
    assert!(watch.poll().unwrap().is_none());
    tree.agent("home/.claude/agents/a.md", "a");
    assert!(watch.poll().unwrap().is_none(), "written again with the same content");
    tree.agent("home/.claude/agents/b.md", "b");
    assert_eq!(watch.poll().unwrap().unwrap().iter().count(), 2);
    fs_err::remove_file(tree.scratch.path("home/.claude/agents/a.md")).unwrap();
    assert_eq!(watch.poll().unwrap().unwrap().iter().count(), 1);
    assert!(watch.poll().unwrap().is_none());
}

#[test]
fn a_subscriber_is_called_with_what_is_new_until_it_leaves() {
    let mut tree = Tree::new();
    tree.agent("home/.claude/agents/a.md", "a");
    let named = tree.scratch.write("named.md", crate::trees::agent("n", "d"));
    tree.search.named = vec![named.clone()];
    let (tell, told) = mpsc::channel();
    let subscription =
        Watch::new(tree.search.clone()).subscribe(Duration::from_millis(1), move |news| {
            let words = |names: Vec<String>| names.join(" ");
            let said = match news {
                Ok(it) => {
                    format!("+{} ~{} -{}", words(it.added), words(it.changed), words(it.removed))
                }
                Err(error) => error.to_string(),
            };
            // The test may be over.
            let _ = tell.send(said);
        });
    let next = || told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(next(), "+n a ~ -");
    tree.agent("home/.claude/agents/b.md", "b");
    assert_eq!(next(), "+b ~ -");
    tree.scratch.write("home/.claude/agents/a.md", crate::trees::agent("a", "another"));
    assert_eq!(next(), "+ ~a -");
    fs_err::remove_file(tree.scratch.path("home/.claude/agents/b.md")).unwrap();
    assert_eq!(next(), "+ ~ -b");
    fs_err::remove_file(&named).unwrap();
    assert!(next().starts_with("--agents path does not exist"), "once, and no more");
    tree.search.named.clear();
    tree.scratch.write("named.md", crate::trees::agent("n", "d"));
    assert_eq!(next(), "+n a ~ -", "after an error everything is new");
    drop(subscription);
    tree.agent("home/.claude/agents/c.md", "c");
    assert_eq!(told.recv(), Err(mpsc::RecvError), "nobody is left to call");
}
