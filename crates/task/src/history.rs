//! The conversation, and how it is made shorter.
//!
//! A conversation is the assignment and then rounds: an answer of the model, and what it got back. Only whole rounds are left out,
//! the oldest first, so that a call of a tool and its result stay or go together. The assignment always stays, with a note
//! that says how much is missing; so does the last round.

use std::sync::Arc;

use agents_model::{Message, Part, Role, Sealed, ToolResult};

/// How many bytes make a token, roughly. It is only used to guess whether something still fits.
const BYTES_PER_TOKEN: usize = 4;

/// A conversation.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<Arc<Sealed<Message>>>,
    sizes: Vec<usize>,
    left_out: usize,
    assignment: String,
}

impl History {
    /// One that begins with an assignment.
    #[must_use]
    pub fn new(assignment: &str) -> Self {
        let mut history = Self { assignment: assignment.to_owned(), ..Self::default() };
        history.append(Message::user(assignment));
        history
    }

    /// One that goes on: what was said before, and what is said now. Messages of one side in a row become one.
    #[must_use]
    pub fn resumed(before: &[Message], prompt: &str) -> Self {
        let Some((first, rest)) = before.split_first() else { return Self::new(prompt) };
        // Both must be known when everything in between is left out.
        let assignment = format!("{}\n\n[Later you were told:]\n{prompt}", first.text());
        let mut history = Self { assignment, ..Self::default() };
        history.append(first.clone());
        for message in rest.iter().chain([&Message::user(prompt)]) {
            let last = history.messages.last().filter(|it| it.role == message.role);
            match last.map(|it| Message::clone(it)) {
                Some(mut last) => {
                    last.parts.extend(message.parts.iter().cloned());
                    history.messages.pop();
                    history.sizes.pop();
                    history.append(last);
                }
                None => history.append(message.clone()),
            }
        }
        history
    }

    /// All of it, the oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<Arc<Sealed<Message>>> {
        self.messages.clone()
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Roughly how many tokens it is.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.sizes.iter().sum::<usize>() / BYTES_PER_TOKEN
    }

    fn append(&mut self, message: Message) {
        self.sizes.push(size(&message));
        self.messages.push(message.seal());
    }

    /// The model answered. An answer without anything in it is none.
    pub fn answered(&mut self, message: Message) {
        if !message.parts.is_empty() {
            self.append(message);
        }
    }

    /// Tools answered, and there may be something to say besides. All calls of the last answer must be among the results.
    pub fn results(&mut self, results: Vec<ToolResult>, notes: Vec<String>) {
        let results = results.into_iter().map(Part::ToolResult);
        let parts = results.chain(notes.into_iter().map(Part::Text)).collect();
        self.append(Message { role: Role::User, parts });
    }

    /// We say something. Two messages of one side in a row become one: not every provider takes them.
    pub fn say(&mut self, text: String) {
        let last = self.messages.last().filter(|it| it.role == Role::User);
        let Some(last) = last else { return self.append(Message::user(text)) };
        let mut message = Message::clone(last);
        message.parts.push(Part::Text(text));
        self.messages.pop();
        self.sizes.pop();
        self.append(message);
    }

    /// Leaves out the oldest rounds until so much is left, or only the last one. Gives how many messages are gone.
    pub fn compact(&mut self, keep: Keep) -> usize {
        let starts: Vec<usize> = (1..self.messages.len())
            .filter(|at| {
                let before = &self.messages[at - 1];
                self.messages[*at].role == Role::Assistant && before.role == Role::User
            })
            .collect();
        let fits = |from: usize| {
            let rest = &self.sizes[from..];
            match keep {
                Keep::Messages(most) => rest.len() < most.max(2),
                Keep::Tokens(most) => {
                    (self.sizes[0] + rest.iter().sum::<usize>()) / BYTES_PER_TOKEN <= most
                }
            }
        };
        let Some((first, rest)) = starts.split_first() else { return 0 };
        if fits(*first) {
            return 0;
        }
        let Some(from) = rest.iter().find(|from| fits(**from)).or(rest.last()).copied() else {
            return 0;
        };
        let gone = from - first;
        self.left_out += gone;
        let note = format!(
            "[{} earlier messages of this conversation were left out: it had become too long. What you need of them, look at again.]",
            self.left_out
        );
        let parts = vec![Part::Text(self.assignment.clone()), Part::Text(note)];
        self.messages.drain(..from);
        self.sizes.drain(..from);
        let head = Message { role: Role::User, parts };
        self.sizes.insert(0, size(&head));
        self.messages.insert(0, head.seal());
        gone
    }
}

/// How much of a conversation is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// So many messages, the assignment included.
    Messages(usize),
    /// Roughly so many tokens.
    Tokens(usize),
}

fn size(message: &Message) -> usize {
    let part = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Thinking(thinking) => {
            thinking.text.len() + thinking.signature.as_ref().map_or(0, |it| it.data.len())
        }
        Part::ToolCall(call) => call.name.len() + call.input.to_text().len(),
        Part::ToolResult(result) => result.content.len(),
    };
    // What stands around a message counts, too.
    16 + message.parts.iter().map(part).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use agents_model::{ToolCall, ToolInput, message::ToolStatus};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(id: String) -> Part {
        let input = ToolInput::Json(json!({ "path": "x" }));
        Part::ToolCall(ToolCall { id, name: "read".to_owned(), input, signature: None })
    }

    fn result(id: String, content: String) -> ToolResult {
        ToolResult { id, name: "read".to_owned(), content, status: ToolStatus::Done }
    }

    /// Every call is answered in the very next message, every result has its call right before, sides take turns, and the
    /// assignment is the first thing that is said.
    fn check(history: &History) {
        let ids = |message: &Message, results: bool| -> Vec<String> {
            let id = |part: &Part| match part {
                Part::ToolCall(call) if !results => Some(call.id.clone()),
                Part::ToolResult(result) if results => Some(result.id.clone()),
                _ => None,
            };
            message.parts.iter().filter_map(id).collect()
        };
        let messages = history.messages();
        assert!(messages[0].text().starts_with("the assignment"));
        assert!(ids(&messages[0], true).is_empty());
        for pair in messages.windows(2) {
            assert_ne!(pair[0].role, pair[1].role);
            assert_eq!(ids(&pair[0], false), ids(&pair[1], true));
        }
        assert!(ids(messages.last().unwrap(), false).is_empty());
        assert_eq!(history.sizes.len(), messages.len());
    }

    #[test]
    fn what_fits_stays() {
        let mut history = History::new("the assignment");
        assert_eq!(history.compact(Keep::Messages(1)), 0, "there is only the assignment");
        history.answered(Message::assistant("one"));
        history.say("go on".to_owned());
        assert_eq!(history.compact(Keep::Tokens(0)), 0, "the last round stays");
        history.answered(Message::assistant("two"));
        history.say("go on".to_owned());
        assert_eq!(history.compact(Keep::Messages(5)), 0);
        assert_eq!(history.compact(Keep::Messages(3)), 2);
        assert_eq!(history.len(), 3);
        assert!(history.messages()[0].text().contains("[2 earlier messages"));
        history.answered(Message::assistant("three"));
        history.say("go on".to_owned());
        history.compact(Keep::Messages(3));
        assert!(history.messages()[0].text().contains("[4 earlier messages"), "all of them");
        check(&history);
    }

    #[test]
    fn what_goes_on_knows_both_assignments_whatever_is_left_out() {
        let mut before = vec![Message::user("the assignment")];
        for number in 0..4 {
            before.push(Message::assistant(format!("answer {number}")));
            before.push(Message::user("go on"));
        }
        let mut history = History::resumed(&before, "and now this");
        assert_eq!(history.len(), before.len(), "we speak once in a row");
        assert_eq!(history.messages()[0].text(), "the assignment");
        assert_eq!(history.messages().last().unwrap().text(), "go onand now this");
        check(&history);
        for _ in 0..3 {
            history.answered(Message::assistant("more"));
            history.say("go on".to_owned());
        }
        history.compact(Keep::Messages(3));
        let first = history.messages()[0].text();
        assert!(first.contains("the assignment") && first.contains("and now this"), "{first}");
        check(&history);
        assert_eq!(History::resumed(&[], "alone").messages()[0].text(), "alone");
    }

    #[test]
    fn two_things_that_we_say_are_one_message() {
        let mut history = History::new("the assignment");
        history.answered(Message { role: Role::Assistant, parts: Vec::new() });
        history.say("say something".to_owned());
        assert_eq!(history.len(), 1);
        assert_eq!(history.messages()[0].parts.len(), 2);
    }

    proptest! {
        #[test]
        fn no_call_is_ever_left_without_its_result(
            rounds in proptest::collection::vec((0..4_usize, 0..400_usize, any::<bool>()), 0..40),
            keeps in proptest::collection::vec((any::<bool>(), 0..2000_usize), 1..6),
            every in 1..10_usize,
        ) {
            let mut history = History::new("the assignment");
            let mut keeps = keeps.into_iter().cycle();
            let mut total = 0;
            for (number, (calls, length, note)) in rounds.into_iter().enumerate() {
                let ids: Vec<String> = (0..calls).map(|it| format!("{number}_{it}")).collect();
                let mut parts = vec![Part::Text("x".repeat(length))];
                parts.extend(ids.iter().cloned().map(call));
                history.answered(Message { role: Role::Assistant, parts });
                if calls == 0 {
                    history.say("go on".to_owned());
                } else {
                    let results = ids.into_iter().map(|id| result(id, "y".repeat(length)));
                    let notes = if note { vec!["little is left".to_owned()] } else { Vec::new() };
                    history.results(results.collect(), notes);
                }
                total += 2;
                if number % every == 0 {
                    let (by_messages, most) = keeps.next().unwrap();
                    let keep = if by_messages { Keep::Messages(most % 20) } else { Keep::Tokens(most) };
                    history.compact(keep);
                    let fits = match keep {
                        Keep::Messages(most) => history.len() <= most.max(2),
                        // The note may be longer than what it stands for.
                        Keep::Tokens(most) => history.tokens() <= most + 40,
                    };
                    prop_assert!(fits || history.len() == 3, "{keep:?}");
                }
                check(&history);
            }
            prop_assert_eq!(history.len() - 1 + history.left_out, total, "nothing is counted twice");
        }
    }
}
