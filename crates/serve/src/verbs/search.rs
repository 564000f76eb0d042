//! What is meant by a few words.

use crate::offer::SkillCard;

/// What is looked for.
pub(super) fn words(query: Option<&str>) -> Vec<String> {
    query.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect()
}

/// Whether all of the words are somewhere in the texts.
pub(super) fn has_all<'t>(words: &[String], texts: impl IntoIterator<Item = &'t str>) -> bool {
    let all = texts.into_iter().collect::<Vec<_>>().join("\n").to_lowercase();
    words.iter().all(|word| all.contains(word))
}

/// Those that have at least one of the words, the best ones first; without words all, by name.
pub(super) fn ranked(skills: Vec<SkillCard>, words: &[String]) -> Vec<SkillCard> {
    let score = |it: &SkillCard| {
        let of = |word: &String| {
            let name = usize::from(it.name.to_lowercase().contains(word)) * 4;
            let of_crate = usize::from(it.crates.iter().any(|it| it.to_lowercase() == *word)) * 4;
            name + of_crate + usize::from(it.description.to_lowercase().contains(word))
        };
        words.iter().map(of).sum::<usize>()
    };
    let mut scored: Vec<(usize, SkillCard)> =
        skills.into_iter().map(|it| (score(&it), it)).collect();
    scored.retain(|(score, _)| words.is_empty() || *score > 0);
    scored.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.name.cmp(&other.1.name)));
    scored.into_iter().map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_that_is_meant_comes_first() {
        let card = |name: &str, description: &str, of: &str| SkillCard {
            name: name.to_owned(),
            description: description.to_owned(),
            plugin: "p".to_owned(),
            crates: vec![of.to_owned()],
        };
        let all = vec![
            card("queries", "how to write SQL", "tiny-sql"),
            card("retries", "what to do when a query fails", "net"),
            card("logging", "spans and events", "tracing"),
        ];
        let names = |query: &str| {
            let found = ranked(all.clone(), &words(Some(query)));
            found.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["logging", "queries", "retries"]);
        assert_eq!(names("tiny-sql"), ["queries"]);
        assert_eq!(names("Query SQL"), ["queries", "retries"]);
        assert_eq!(names("nothing-like-it"), [""; 0]);
    }
}
