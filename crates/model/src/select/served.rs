//! Whether the model that answered is the one that was asked.

use agents_system::finding::Finding;

use super::{ModelRef, canonical};

/// Compares what was asked for with what the provider says it served. A date behind the name, another spelling and the end
/// `-latest` make no difference; anything else is a finding, because a pin that is ignored must not pass unseen.
#[must_use]
pub fn check_served(asked: &ModelRef, served: &str) -> Option<Finding> {
    let (wanted, got) = (canonical(&asked.id), canonical(served));
    let is_it = wanted == got
        || got.is_empty()
        // What the provider means by the newest is for the provider to say.
        || is_moving(&wanted)
        || wanted.strip_suffix("-preview") == Some(got.as_str());
    (!is_it).then(|| {
        Finding::warning(format!(
            "`{asked}` was asked for, and `{}` says that it served `{served}`",
            asked.provider
        ))
        .hint(
            "what follows was said by another model; `cargo agents model list` shows what there is",
        )
    })
}

/// A name that means another model every other month. So are the hosts' own: `default`, `sonnet`.
fn is_moving(name: &str) -> bool {
    name.ends_with("latest") || !name.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_is_found_out_and_another_spelling_is_not() {
        for (asked, served, same) in [
            ("claude-sonnet-5-5", "claude-sonnet-5-5", true),
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true),
            ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929", true),
            ("gpt-4o", "gpt-4o-2024-08-06", true),
            ("gemini-pro-latest", "gemini-3.1-pro-preview", true),
            ("sonnet", "claude-sonnet-5-5", true),
            ("claude-sonnet-5-5", "", true),
            ("claude-opus-5-5", "claude-sonnet-5-5", false),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-5-mini", "gpt-5", false),
        ] {
            let finding = check_served(&ModelRef::new("p", asked), served);
            assert_eq!(finding.is_none(), same, "{asked} {served}");
        }
    }
}
