//! Which reply of a script comes next.

use std::sync::{Mutex, PoisonError};

use super::{
    file::{ScriptFile, When},
    reply::Reply,
};
use crate::{
    message::{Part, Role},
    request::Request,
};

/// What a reply can depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The model that is asked for.
    pub model: String,
    /// The instructions.
    pub system: String,
    /// The last text of the user.
    pub text: String,
    /// What tools answered after the model's last turn.
    pub results: Vec<String>,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
}

impl From<&Request> for Asked {
    fn from(request: &Request) -> Self {
        let mut asked = Self {
            model: request.model.clone(),
            system: request.system.to_string(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..Self::default()
        };
        let users = request.messages.iter().filter(|it| it.role == Role::User);
        asked.text = users.rev().map(|it| it.text()).find(|it| !it.is_empty()).unwrap_or_default();
        let last = request.messages.iter().rev().take_while(|it| it.role == Role::User);
        for message in last {
            for part in &message.parts {
                if let Part::ToolResult(result) = part {
                    asked.results.push(result.content.clone());
                }
            }
        }
        asked
    }
}

impl When {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self, asked: &Asked) -> bool {
        let is_in = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text.contains(wanted.as_str()))
        };
        is_in(&self.text, &asked.text)
            && is_in(&self.system, &asked.system)
            && self.model.as_ref().is_none_or(|model| *model == asked.model)
            && self.tool.as_ref().is_none_or(|tool| asked.tools.contains(tool))
            && self.result.as_ref().is_none_or(|wanted| {
                asked.results.iter().any(|result| result.contains(wanted.as_str()))
            })
    }
}

/// A script that is being played.
#[derive(Debug)]
pub struct Player {
    file: ScriptFile,
    /// How often each reply was said.
    said: Mutex<Vec<u32>>,
}

impl Player {
    /// From its beginning.
    #[must_use]
    pub fn new(file: ScriptFile) -> Self {
        let said = Mutex::new(vec![0; file.replies.len()]);
        Self { file, said }
    }

    /// The next reply; `None` when the script has no answer to this.
    pub fn next(&self, asked: &Asked) -> Option<Reply> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let replies = || self.file.replies.iter().enumerate();
        let conditional = replies().find(|(index, reply)| {
            reply.when.as_ref().is_some_and(|when| when.holds(asked))
                && reply.times.is_none_or(|times| said[*index] < times)
        });
        let next = || replies().find(|(index, reply)| reply.when.is_none() && said[*index] == 0);
        let (index, reply) = conditional.or_else(next)?;
        said[index] += 1;
        Some(Reply::from(reply))
    }
}
