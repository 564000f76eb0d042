//! Two sub-agents look at the same crate at the same time. Without an argument a script answers; `embed-example sonnet` asks a model.

use std::{sync::Arc, time::Duration};

use agents_task::{
    Limits,
    event::{Event, What},
    subagents::{Model, SubAgentConfig, SubAgentManager, Workbench},
};
use camino::Utf8Path;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let here = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = match std::env::args().nth(1) {
        // From `config.toml`, a key in the environment, or an installed coding agent.
        Some(name) => Model::find(&name)?,
        None => Model::script(&here.join("script.toml"))?,
    };

    // Two places; definitions from a directory; who wants to know what happens.
    let mut manager = SubAgentManager::new(2);
    manager.load_definitions(&[here.join("agents").into()])?;
    manager.set_sink(Arc::new(show));

    // A definition says which tools its agent gets; here is where they work, and how far everybody may go.
    let tools = Arc::new(Workbench::at(here.join("sample")));
    let config = SubAgentConfig {
        limits: Limits { turns: Some(8), time: Some(Duration::from_secs(120)), ..Limits::DEFAULT },
        transcript_enabled: false,
        ..SubAgentConfig::default()
    };
    let mut started = Vec::new();
    for (agent, prompt) in
        [("numbers", "Review src/lib.rs."), ("names", "Which names in src/lib.rs mislead?")]
    {
        let id = manager.spawn(agent, prompt, model.clone(), tools.clone(), None, &config)?;
        started.push((agent, id));
    }
    for (agent, id) in started {
        println!("{agent}: {}", manager.collect(&id).await?);
    }
    Ok(())
}

fn show(event: &Event) {
    match &event.what {
        What::Started { agent, model, .. } => eprintln!("{agent} runs on {model}"),
        What::ToolStarted { tool, input, .. } => eprintln!("{} calls {tool} {input}", event.path),
        What::Ended { outcome } => eprintln!("{} ended: {:?}", event.path, outcome.ending),
        _ => {}
    }
}
