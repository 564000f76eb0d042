//! The tools that there are.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    context::CallContext,
    executor::{Executor, Request},
    tool::{Intent, Output, Tool, ToolError},
};

/// The tools that there are, by name. What of it an agent may use is not decided here.
#[derive(Clone, Default)]
pub struct Catalogue {
    /// In the order of their names. Every agent has a list of its own, and there may be thousands.
    tools: Vec<Arc<dyn Tool>>,
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.iter().map(|it| it.name())).finish()
    }
}

/// Two tools with one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools `{0}`")]
pub struct TwoTools(pub String);

impl Catalogue {
    /// With one more.
    pub fn add(&mut self, tool: impl Tool + 'static) -> Result<(), TwoTools> {
        self.add_shared(Arc::new(tool))
    }

    /// With one more that others use, too.
    pub fn add_shared(&mut self, tool: Arc<dyn Tool>) -> Result<(), TwoTools> {
        match self.place(tool.name()) {
            Ok(_) => Err(TwoTools(tool.name().to_owned())),
            Err(free) => {
                self.tools.insert(free, tool);
                Ok(())
            }
        }
    }

    /// Where a tool of that name is, or would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.tools.binary_search_by(|it| it.name().cmp(name))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolError> {
        let found = self.place(name).map(|at| &self.tools[at]);
        found.map_err(|_| ToolError::Unknown {
            name: name.to_owned(),
            offered: self.tools.iter().map(|it| it.name().to_owned()).collect(),
        })
    }
}

impl Executor for Catalogue {
    fn show(&self, see: &mut dyn FnMut(&dyn Tool)) {
        self.tools.iter().for_each(|tool| see(tool.as_ref()));
    }

    fn intent(&self, request: &Request, context: &CallContext) -> Result<Intent, ToolError> {
        self.get(&request.tool)?.intent(&request.input, context)
    }

    fn execute<'a>(
        &'a self,
        request: Request,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            context.check()?;
            self.get(&request.tool)?.call(request.input, context).await
        })
    }
}
