//! Each look at a client can find a fault.

use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, text)| (Utf8PathBuf::from(path), text.as_bytes().to_vec())).collect()
}

fn good(verdict: &Verdict) -> bool {
    *verdict == Verdict::Yes
}

#[test]
fn a_comment_that_is_gone_is_noticed_and_a_comma_more_is_not() {
    let files = [("a".into(), "{\n  // mine\n  \"a\": 1\n}\n".to_owned())];
    let now = |text: &str| kept("/h".into(), &files, &tree(&[("/h/a", text)]));
    assert!(good(&now("{\n  // mine\n  \"a\": 1,\n  \"b\": 2\n}\n")));
    assert!(!good(&now("{\n  \"a\": 1,\n  \"b\": 2\n}\n")));
    assert!(!good(&now("")));
}

#[test]
fn what_is_left_is_noticed_unless_the_client_wrote_it() {
    let before = tree(&[("a", "1"), ("mine", "x")]);
    let synced = tree(&[("a", "1 ours"), ("mine", "x"), ("new", "ours")]);
    let clean = |used: &[(&str, &str)], after: &[(&str, &str)]| {
        good(&is_clean(&before, &synced, &tree(used), &tree(after)))
    };
    let unused = [("a", "1 ours"), ("mine", "x"), ("new", "ours")];
    assert!(clean(&unused, &[("a", "1"), ("mine", "x")]));
    assert!(!clean(&unused, &[("a", "1"), ("mine", "x"), ("new", "ours")]));
    assert!(!clean(&unused, &[("a", "1 ours"), ("mine", "x")]));
    assert!(!clean(&unused, &[("mine", "x")]));
    let used = [("a", "1 ours theirs"), ("mine", "x"), ("new", "ours")];
    assert!(clean(&used, &[("a", "1 theirs"), ("mine", "x")]));
    assert!(!clean(&used, &[("a", &format!("1 {TOKEN} theirs")), ("mine", "x")]));
}
