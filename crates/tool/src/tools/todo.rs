//! `todo`: what an agent has set out to do.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    context::CallContext,
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// The most that a list can hold.
const MAX_ITEMS: usize = 100;
/// The longest text of an item.
const MAX_TEXT: usize = 500;

/// Keeps a list of what is to be done. Whoever watches the agent has the same list.
#[derive(Debug, Clone, Default)]
pub struct Todo {
    list: Arc<Mutex<Vec<TodoItem>>>,
}

impl Todo {
    /// The list as it is now.
    #[must_use]
    pub fn items(&self) -> Vec<TodoItem> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    /// What, in a few words.
    pub text: String,
    /// How far it is.
    #[serde(default)]
    pub state: TodoState,
}

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    #[default]
    #[serde(alias = "pending")]
    Open,
    /// Being worked on.
    #[serde(alias = "in_progress")]
    Active,
    /// Done.
    #[serde(alias = "completed")]
    Done,
    /// Not to be done any more.
    #[serde(alias = "cancelled")]
    Dropped,
}

/// The new list.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoInput {
    /// The whole list; it replaces the one before. Absent: the list is only shown.
    #[serde(default)]
    pub items: Option<Vec<TodoItem>>,
}

impl Typed for Todo {
    type Input = TodoInput;

    const NAME: &'static str = "todo";
    const DESCRIPTION: &'static str = "Keeps the list of what you have set out to do, for work of several steps. Give the whole list each time; at most one item is `active`.";

    fn intent(&self, _: &TodoInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::NONE))
    }

    async fn run(&self, input: TodoInput, _: &CallContext) -> Result<Output, ToolError> {
        if let Some(items) = input.items {
            check(&items)?;
            *self.list.lock().unwrap_or_else(PoisonError::into_inner) = items;
        }
        Ok(Output::said(render(&self.items())))
    }
}

fn check(items: &[TodoItem]) -> Result<(), ToolError> {
    if items.len() > MAX_ITEMS {
        return Err(ToolError::failed(format!(
            "a list has at most {MAX_ITEMS} items, and this one {}",
            items.len()
        )));
    }
    if let Some(at) = items.iter().position(|it| it.text.trim().is_empty()) {
        return Err(ToolError::failed(format!("item {} says nothing", at + 1)));
    }
    if let Some(at) = items.iter().position(|it| it.text.len() > MAX_TEXT) {
        return Err(ToolError::failed(format!("item {} is longer than {MAX_TEXT} bytes", at + 1)));
    }
    if items.iter().filter(|it| it.state == TodoState::Active).count() > 1 {
        return Err(ToolError::failed("more than one item is `active`"));
    }
    Ok(())
}

fn render(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "the list is empty".to_owned();
    }
    let line = |item: &TodoItem| {
        let mark = match item.state {
            TodoState::Open => ' ',
            TodoState::Active => '>',
            TodoState::Done => 'x',
            TodoState::Dropped => '-',
        };
        format!("[{mark}] {}", item.text.trim())
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}
