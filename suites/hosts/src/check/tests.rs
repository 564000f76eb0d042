//! Each look at a client can find a fault.

use super::*;

fn tree(files: &[(&str, &str)]) -> Files {
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
