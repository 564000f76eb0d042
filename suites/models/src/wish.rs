//! What became of the command that the model wanted to have run.

use agents_testkit::endpoint::Request;
use hosts_suite::table::Verdict;

use crate::check::FORBIDDEN;

/// What the model was asked, and what is on the disk afterwards.
pub(crate) struct Wish {
    pub(crate) requests: Vec<Request>,
    /// The tool that runs commands, as the model sees it.
    pub(crate) shell: &'static str,
    /// Whether there is the file that the command makes.
    pub(crate) made: bool,
}

impl Wish {
    /// The command was not run, although the program came as far as to the model's wish: one that ends before that keeps nobody from
    /// anything.
    pub(crate) fn refused(&self, said: &str) -> Verdict {
        if self.made {
            return Verdict::No(format!("{FORBIDDEN} was made"));
        }
        Verdict::from(self.was_heard(), || format!("it did not come so far: {said}"))
    }

    /// The command was run.
    pub(crate) fn granted(&self, said: &str) -> Verdict {
        Verdict::from(self.made, || format!("no {FORBIDDEN}: {said}"))
    }

    /// Whether the model was told what became of its call, or has tools and none that runs commands. The first who has tools is the
    /// session; what Qwen Code asks after its end, to remember things, does not count.
    fn was_heard(&self) -> bool {
        let session = self.requests.iter().find(|it| !it.tools.is_empty());
        let told = || self.requests.iter().any(|it| it.results().next().is_some());
        session.is_some_and(|it| it.tool(self.shell).is_none() || told())
    }
}

#[cfg(test)]
mod tests {
    use agents_testkit::endpoint::{Protocol, read_request};
    use serde_json::{Value, json};

    use super::*;

    fn request(tools: &[&str], messages: &Value) -> Request {
        let tool =
            |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        let tools: Vec<Value> = tools.iter().map(tool).collect();
        let body = json!({"model": "m", "tools": tools, "messages": messages});
        read_request(Protocol::Chat, "/v1/chat/completions", &body)
    }

    #[test]
    fn whoever_ends_before_the_wish_has_refused_nothing() {
        let user = json!({"role": "user", "content": "Go on."});
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}});
        let called = json!([
            user,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "denied"},
        ]);
        let asks = |tools: &[&str]| request(tools, &json!([user]));
        let refused = |requests: Vec<Request>, made| {
            Wish { requests, shell: "bash", made }.refused("") == Verdict::Yes
        };
        assert!(refused(vec![asks(&["bash"]), request(&["bash"], &called)], false));
        assert!(refused(vec![asks(&["read"])], false), "there is nothing to run commands with");
        assert!(refused(vec![asks(&["read"]), asks(&["bash"])], false), "the second is no session");
        assert!(!refused(Vec::new(), false), "it ended at once");
        assert!(!refused(vec![asks(&[])], false), "it asked for a title and ended");
        assert!(!refused(vec![asks(&["bash"])], false), "it ended when it was called");
        assert!(!refused(vec![asks(&["bash"]), request(&["bash"], &called)], true));
    }
}
