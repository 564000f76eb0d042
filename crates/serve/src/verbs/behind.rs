//! The MCP servers behind this one: their tools, called one by one or by a script.

use std::sync::Arc;

#[cfg(feature = "script")]
use agents_system::explain::with_causes;
use agents_task::runner::Unavailable;
use agents_tool::Tool;
#[cfg(feature = "script")]
use agents_tool::{
    CallContext, Output,
    script::{Calls, Execute, ExecuteInput},
};
#[cfg(feature = "script")]
use futures_util::future::BoxFuture;
use serde_json::Value;
#[cfg(feature = "script")]
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Verbs,
    answer::{ToolAnswer, ToolList},
    asked::{CallTool, ListTools},
    search::{has_all, words},
    there_are, wrong,
};
use crate::{
    declare,
    offer::{Offer, ServerTools},
};

impl Verbs {
    /// What the servers behind this one have.
    ///
    /// # Errors
    /// There is no such server.
    pub async fn list_tools(&self, asked: ListTools) -> Result<ToolList, Unavailable> {
        let all = self.offer.servers();
        for name in &asked.servers {
            knows(&all, name)?;
        }
        let (wanted, other_servers): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|it| asked.servers.is_empty() || asked.servers.contains(it));
        let ServerTools { tools, findings } = self.offer.tools_of(wanted.clone()).await;
        let words = words(asked.query.as_deref());
        let mut declarations = String::new();
        for server in &wanted {
            let prefix = prefix(server);
            let mut own = tools
                .iter()
                .filter_map(|tool| Some((tool.name().strip_prefix(&prefix)?, tool)))
                .filter(|(name, tool)| has_all(&words, [server, *name, tool.description()]))
                .peekable();
            if own.peek().is_none() {
                continue;
            }
            declarations.push_str(&format!("// server {server}\n"));
            for (name, tool) in own {
                let declared = declare::function(name, tool.description(), &tool.schema());
                declarations.push_str(&format!("{declared}\n"));
            }
        }
        let declarations = self.tasks.masked(&declarations);
        let problems = findings.into_iter().map(|it| it.message).collect();
        Ok(ToolList { declarations, other_servers, problems })
    }

    /// Calls a tool of a server behind this one.
    ///
    /// # Errors
    /// There is no such tool, or the call failed.
    pub async fn call_tool(
        &self,
        asked: CallTool,
        cancelled: &CancellationToken,
    ) -> Result<ToolAnswer, Unavailable> {
        let found = find(&*self.offer, &asked.server, &asked.tool).await?;
        let output = self.call(&found, Value::Object(asked.arguments), cancelled).await?;
        Ok(ToolAnswer { output })
    }

    /// Runs a script that calls tools of the servers behind this one.
    ///
    /// # Errors
    /// It failed, or took more than it may.
    #[cfg(feature = "script")]
    pub async fn execute(
        &self,
        asked: ExecuteInput,
        cancelled: &CancellationToken,
    ) -> Result<ToolAnswer, Unavailable> {
        let calls = Behind { offer: Arc::clone(&self.offer) };
        let tool: Arc<dyn Tool> =
            Arc::new(Execute::new(self.offer.interpreter()?, Arc::new(calls)));
        let input = json!({ "script": asked.script, "timeout": asked.timeout });
        Ok(ToolAnswer { output: self.call(&tool, input, cancelled).await? })
    }
}

/// The tool of a server, which is started if it is not running.
async fn find(offer: &dyn Offer, server: &str, tool: &str) -> Result<Arc<dyn Tool>, Unavailable> {
    knows(&offer.servers(), server)?;
    let ServerTools { tools, findings } = offer.tools_of(vec![server.to_owned()]).await;
    let prefix = prefix(server);
    let own = |it: &Arc<dyn Tool>| it.name().strip_prefix(&prefix).map(str::to_owned);
    if let Some(found) = tools.iter().find(|it| own(it).as_deref() == Some(tool)) {
        return Ok(Arc::clone(found));
    }
    if let Some(finding) = findings.into_iter().next() {
        return Err(Unavailable { message: finding.message, hint: finding.hint });
    }
    let names: Vec<String> = tools.iter().filter_map(own).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Err(wrong(format!("the server `{server}` has no tool `{tool}`"), there_are(&names)))
}

fn knows(servers: &[String], name: &str) -> Result<(), Unavailable> {
    if servers.iter().any(|it| it == name) {
        return Ok(());
    }
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    Err(wrong(format!("there is no MCP server `{name}`"), there_are(&names)))
}

fn prefix(server: &str) -> String {
    format!("mcp__{server}__")
}

/// For scripts.
#[cfg(feature = "script")]
struct Behind {
    offer: Arc<dyn Offer>,
}

#[cfg(feature = "script")]
impl Calls for Behind {
    fn servers(&self) -> Vec<String> {
        self.offer.servers()
    }

    fn call<'a>(
        &'a self,
        server: String,
        tool: String,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, String>> {
        Box::pin(async move {
            let found = find(&*self.offer, &server, &tool).await.map_err(|it| {
                let hint = it.hint.map(|it| format!("; {it}")).unwrap_or_default();
                format!("{}{hint}", it.message)
            })?;
            found.call(input, context).await.map_err(|error| with_causes(&error))
        })
    }
}
