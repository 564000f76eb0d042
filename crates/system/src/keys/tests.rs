use super::*;

fn command(script: &str) -> Result<SecretString, KeyError> {
    let words = ["sh", "-c", script].map(str::to_owned).to_vec();
    find_key(&[KeySource::Command(words)]).map(|key| key.unwrap().secret)
}

#[test]
fn a_command_prints_the_key_and_nothing_else() {
    for script in [
        "printf sk-planted",
        "echo sk-planted",
        "printf '  sk-planted\\r\\n'",
        "echo sk-planted; echo loud >&2",
    ] {
        assert_eq!(command(script).unwrap().expose_secret(), "sk-planted", "{script}");
    }
}

#[test]
fn whatever_goes_wrong_with_a_command_no_word_of_it_is_told() {
    for (script, message) in [
        (
            "echo sk-planted; echo sk-planted >&2; exit 3",
            "the key command `sh` ended with exit code 3",
        ),
        ("true", "the key command `sh` printed no key"),
        ("echo; echo", "the key command `sh` printed no key"),
        (
            "printf 'sk-planted\\nsecond'",
            "the key command `sh` printed more than one line, which is no key",
        ),
        (
            "printf 'sk-planted\\377'",
            "the key command `sh` printed what is not text, which is no key",
        ),
        (
            "printf 'sk-planted\\033[1m'",
            "the key command `sh` printed control characters, which no key has",
        ),
        ("head -c 100000 /dev/zero | tr '\\0' k", "the key command `sh` did not run"),
    ] {
        let error = command(script).unwrap_err();
        assert_eq!(error.to_string(), message, "{script}");
        let everything = format!("{error} {error:?} {:?} {:?}", error.hint(), error.details());
        assert!(!everything.contains("planted") && !everything.contains("kkkk"), "{everything}");
    }
}

#[test]
fn a_command_that_is_not_there_is_an_error_and_not_a_missing_key() {
    let error =
        find_key(&[KeySource::Command(vec!["no-such-key-program".to_owned()])]).unwrap_err();
    assert!(
        matches!(error, KeyError::NotRun { source: ProcessError::NotFound { .. }, .. }),
        "{error:?}"
    );
}

#[test]
fn the_first_source_that_has_one_counts() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = scratch.path().join("ran");
    let touch = format!("touch {}; echo sk-late", ran.display());
    let later = vec!["sh".to_owned(), "-c".to_owned(), touch];
    // `PATH` stands for a variable that is set.
    let sources = [
        KeySource::Env("CARGO_AGENTS_NO_SUCH".to_owned()),
        KeySource::Env("PATH".to_owned()),
        KeySource::Command(later),
    ];
    let key = find_key(&sources).unwrap().unwrap();
    assert_eq!(key.from, sources[1]);
    assert!(!ran.exists(), "a command was run that nobody needed");
    assert!(find_key(&sources[..1]).unwrap().is_none());
}

#[test]
fn a_key_is_never_printed_by_accident() {
    let key = Key {
        secret: SecretString::from("sk-planted"),
        from: KeySource::Keyring("anthropic".to_owned()),
    };
    assert!(!format!("{key:?}").contains("planted"));
    let words = vec!["pass".to_owned(), "show".to_owned(), "sk-planted".to_owned()];
    assert_eq!(KeySource::Command(words).to_string(), "the command `pass`");
}
