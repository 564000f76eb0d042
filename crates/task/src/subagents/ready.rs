//! What most programs need, ready to be used: a model, and tools for the files of a directory.

use std::sync::Arc;

use agents_agent::AgentDefinition;
use agents_model::{
    find::{FindError, find},
    script::{ScriptError, ScriptFile, ScriptProvider},
    select::ModelRef,
};
use agents_tool::{
    Area, Catalogue, Confinement,
    hooks::NoHooks,
    tools::{self, Bash},
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Model, Toolbox};
use crate::runner::{Equipment, Opened, Unavailable};

impl Model {
    /// The model that a pattern means (`sonnet`, `openai/large`, `@fast`), among those of `config.toml`, of keys in the environment and
    /// of installed hosts: see [`find()`](agents_model::find::find).
    ///
    /// # Errors
    /// There is none, or it has no key.
    pub fn find(pattern: &str) -> Result<Self, FindError> {
        let found = find(pattern)?;
        let opened = Opened { provider: found.provider, price: found.price, window: found.window };
        Ok(Self { model: found.model, opened })
    }

    /// A model that says what a [script](agents_model::script) tells it to, for nothing. Sub-agents that are started with clones of it
    /// play it together.
    ///
    /// # Errors
    /// There is no such file, or it is no script.
    pub fn script(file: &Utf8Path) -> Result<Self, ScriptError> {
        let provider = Arc::new(ScriptProvider::new("script", ScriptFile::load(file)?));
        let opened = Opened { provider, price: None, window: None };
        Ok(Self { model: ModelRef::new("script", "default"), opened })
    }
}

/// The tools for files (`read`, `write`, `edit`, `search`, `find`, `outline`), in one directory and nowhere else. Which of them an agent gets
/// is what its definition says.
#[derive(Debug, Clone)]
pub struct Workbench {
    root: Utf8PathBuf,
    bash: Option<Bash>,
    confinement: Confinement,
}

impl Workbench {
    /// In this directory, without a shell.
    #[must_use]
    pub fn at(root: impl Into<Utf8PathBuf>) -> Self {
        Self { root: root.into(), bash: None, confinement: Confinement::None }
    }

    /// With a shell, too, whose programs are confined like this.
    #[must_use]
    pub fn with_bash(self, bash: Bash, confinement: Confinement) -> Self {
        Self { bash: Some(bash), confinement, ..self }
    }
}

impl Toolbox for Workbench {
    fn area(&self) -> Result<Area, Unavailable> {
        Area::workspace(&self.root).map_err(|error| unavailable(&error))
    }

    fn equip(&self, _: &AgentDefinition, _: &Area) -> Result<Equipment, Unavailable> {
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, self.bash.clone()).map_err(|error| unavailable(&error))?;
        Ok(Equipment {
            catalogue,
            hooks: Arc::new(NoHooks),
            confinement: self.confinement.clone(),
            bash: self.bash.clone(),
        })
    }
}

fn unavailable(error: &dyn std::error::Error) -> Unavailable {
    Unavailable { message: error.to_string(), hint: None }
}
