//! Who can be dispatched to.

use agents_agent::select::Matcher;

use super::{Context, DispatchError};

/// The type for everything that no other one is for.
pub const TYPE_GENERAL_PURPOSE: &str = "general-purpose";
/// The type that looks around.
pub const TYPE_EXPLORE: &str = "explore";
/// The type that plans.
pub const TYPE_PLAN: &str = "plan";
/// A model that thinks.
pub const MODEL_SONNET: &str = "sonnet";
/// A model that is quick.
pub const MODEL_HAIKU: &str = "haiku";

/// Somebody who can be dispatched to.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// The name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The higher, the sooner; less than 0 counts as 0.
    pub priority: i32,
    /// Of those that share it, only the best one counts; blank for none.
    pub mutex_key: String,
    /// What its runs begin with.
    pub base: Context,
    /// What decides whether it fits: the best of these. Without any it always does.
    pub matchers: Vec<Matcher>,
    /// The model of runs that nobody says one for; blank for the usual one.
    pub default_model: String,
}

impl Definition {
    /// One that says nothing but its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether it can be registered.
    ///
    /// # Errors
    /// It has no name, or one with other characters than it may have.
    pub fn validate(&self) -> Result<(), DispatchError> {
        let name = self.name.trim();
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let why = if name.is_empty() {
            "it is blank"
        } else if !name.chars().all(fine) {
            "it may have lower-case letters, digits, `-` and `_`"
        } else {
            return Ok(());
        };
        Err(DispatchError::InvalidName { name: self.name.clone(), why })
    }

    /// In the one form that it is kept in.
    pub(super) fn normalised(mut self) -> Self {
        self.name = self.name.trim().to_lowercase();
        self.description = self.description.trim().to_owned();
        self.priority = self.priority.max(0);
        self.mutex_key = self.mutex_key.trim().to_lowercase();
        self.default_model = self.default_model.trim().to_owned();
        self.base.model = self.base.model.trim().to_owned();
        if self.base.model.is_empty() {
            self.base.model.clone_from(&self.default_model);
        }
        self
    }
}

/// Those that every program knows, by name. They have no handlers: whoever embeds this says who does their work.
#[must_use]
pub fn builtin_definitions() -> Vec<Definition> {
    let definition = |name: &str, description: &str, model: &str, base: Context| Definition {
        description: description.to_owned(),
        default_model: model.to_owned(),
        base: Context { model: model.to_owned(), ..base },
        ..Definition::new(name)
    };
    vec![
        definition(
            TYPE_EXPLORE,
            "Finds its way around code quickly: which files, which functions, who calls them.",
            MODEL_HAIKU,
            Context::with_tools(["glob", "grep", "read"]),
        ),
        definition(
            TYPE_GENERAL_PURPOSE,
            "Takes on what needs several steps: thinking, looking things up, writing code.",
            MODEL_SONNET,
            Context::default(),
        ),
        definition(
            TYPE_PLAN,
            "Works out the steps of something larger before anybody takes them.",
            MODEL_SONNET,
            Context::default(),
        ),
    ]
}

/// The one of this name. Case and surrounding space do not count.
#[must_use]
pub fn builtin_definition(name: &str) -> Option<Definition> {
    let name = name.trim().to_lowercase();
    builtin_definitions().into_iter().find(|it| it.name == name)
}
