//! Any file becomes any definition, and what somebody else wrote into it stays.

use agents_agent::{
    definition::{Dialect, Source},
    edit::{ChangeError, change},
    parse::{Input, Strictness, parse},
    render::render,
};
use proptest::prelude::*;

use crate::{generate::definition, round_trip::same};

const NOTE: &str = "# somebody's note";

/// A file with a comment and a key that nobody knows.
fn annotated(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Kiro => text.replacen('{', "{\n  // # somebody's note\n  \"x-mine\": [1],", 1),
        Dialect::Codex => format!("{NOTE}\nx-mine = [1]\n{text}"),
        _ => text.replacen("---\n", &format!("---\n{NOTE}\nx-mine: [1]\n"), 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn any_file_becomes_any_definition(from in definition(), to in definition(), new_prompt: bool) {
        for dialect in Dialect::ALL {
            let rendered = render(&from, dialect);
            let text = annotated(dialect, &rendered.text);
            let (file, source, strictness) = (rendered.file_name.as_str(), Source::Project, Strictness::Lenient);
            let input = Input { file: file.into(), text: &text, dialect, source, strictness };
            let (Some(old), _) = parse(&input) else { panic!("{dialect}\n{text}") };
            prop_assert_eq!(&change(&input, &old).unwrap().text, &text, "{}: nothing to change", dialect);
            let mut wanted = to.clone();
            wanted.extra.clone_from(&old.extra);
            wanted.origin.clone_from(&old.origin);
            wanted.name.clone_from(&old.name);
            if !new_prompt {
                wanted.prompt.clone_from(&old.prompt);
            }
            let kept = render(&wanted, dialect).kept;
            let changed = match change(&input, &wanted) {
                Ok(changed) => changed,
                // TOML has no room for the largest numbers, and some texts cannot be edited in place; none is damaged.
                Err(ChangeError::Text { source, .. }) => {
                    prop_assert!(dialect != Dialect::Ours, "{source}\n{text}");
                    continue;
                }
                Err(error) => panic!("{dialect}: {error}\n{text}\n{}", render(&wanted, dialect).text),
            };
            prop_assert!(changed.text.contains(NOTE) && changed.text.contains("x-mine"), "{}", changed.text);
            if !new_prompt && dialect != Dialect::Kiro && dialect != Dialect::Codex {
                let body = |text: &str| text.split_once("\n---\n").unwrap().1.to_owned();
                prop_assert_eq!(body(&changed.text), body(&text));
            }
            let (back, _) = parse(&Input { text: &changed.text, ..input });
            let back = render(&back.unwrap(), dialect).kept;
            prop_assert!(same(&back, &kept), "{}\n{}", dialect, changed.text);
        }
    }
}
