//! What a manager is told, and what it is given.

use std::{sync::Arc, time::Duration};

use agents_agent::{
    AgentDefinition,
    definition::{Limits as Asked, PermissionMode},
    tools::ToolPattern,
};
use agents_model::select::ModelRef;
use agents_tool::Area;
use camino::Utf8PathBuf;

use super::{SubAgentError, hooks::HookDef};
use crate::{
    limits::Limits,
    runner::{Equipment, Opened, Unavailable},
};

/// What holds for all sub-agents that are started with it.
#[derive(Debug, Clone, PartialEq)]
pub struct SubAgentConfig {
    /// The mode of agents that do not say any.
    pub default_permission_mode: Option<PermissionMode>,
    /// Tools that no agent gets.
    pub default_disallowed_tools: Vec<String>,
    /// Whether agents may run without being asked anything.
    pub allow_bypass_permissions: bool,
    /// How far an agent may go that does not say.
    pub limits: Limits,
    /// How deep agents may start agents; see [`Settings::max_depth`](crate::Settings::max_depth).
    pub max_spawn_depth: Option<u32>,
    /// How long one answer of the model may take.
    pub llm_timeout: Duration,
    /// Whether transcripts are kept.
    pub transcript_enabled: bool,
    /// Where, unless [the manager](super::SubAgentManager::set_transcript_config) was told.
    pub transcript_dir: Option<Utf8PathBuf>,
    /// How many, unless the manager was told; all of them at 0.
    pub transcript_max_files: usize,
    /// What runs when an agent starts.
    pub start_hooks: Vec<HookDef>,
}

impl Default for SubAgentConfig {
    fn default() -> Self {
        let time = Some(Duration::from_secs(600));
        Self {
            default_permission_mode: None,
            default_disallowed_tools: Vec::new(),
            allow_bypass_permissions: false,
            limits: Limits { turns: Some(20), time, ..Limits::DEFAULT },
            max_spawn_depth: Some(3),
            llm_timeout: Duration::from_secs(120),
            transcript_enabled: true,
            transcript_dir: None,
            transcript_max_files: 50,
            start_hooks: Vec::new(),
        }
    }
}

/// The model that a sub-agent runs on, and those that it starts.
#[derive(Clone)]
pub struct Model {
    /// What it is called.
    pub model: ModelRef,
    /// What answers.
    pub opened: Opened,
}

/// Where a sub-agent works, and with what.
pub trait Toolbox: Send + Sync {
    /// Where.
    ///
    /// # Errors
    /// There is no such place.
    fn area(&self) -> Result<Area, Unavailable>;

    /// With what.
    ///
    /// # Errors
    /// It cannot be had.
    fn equip(&self, definition: &AgentDefinition, area: &Area) -> Result<Equipment, Unavailable>;
}

/// How long a secret stays given that its agent says nothing about.
const GRANT: Duration = crate::secret::DEFAULT_TTL;

/// The definition that will run: with what the configuration says where it says nothing, and with these skills.
pub(super) fn effective(
    definition: &AgentDefinition,
    skills: Option<&[String]>,
    config: &SubAgentConfig,
) -> Result<Arc<AgentDefinition>, SubAgentError> {
    let mut own = definition.clone();
    let mode = own.permission_mode.filter(|it| *it != PermissionMode::Default);
    own.permission_mode = mode.or(config.default_permission_mode).or(Some(PermissionMode::Default));
    if own.permission_mode == Some(PermissionMode::BypassPermissions)
        && !config.allow_bypass_permissions
    {
        return Err(SubAgentError::Invalid(format!(
            "`{}` asks for `bypass_permissions`, which `allow_bypass_permissions` does not allow",
            own.name
        )));
    }
    let more = config.default_disallowed_tools.iter().map(|it| ToolPattern::new(it));
    let more: Vec<ToolPattern> = more.filter(|it| !own.tools.deny.contains(it)).collect();
    own.tools.deny.extend(more);
    own.limits = Asked { grant: own.limits.grant.or(Some(GRANT)), ..own.limits };
    // The model is the one that is given.
    own.model = Vec::new();
    let skills = skills.filter(|it| !it.is_empty());
    if let Some(skills) = skills {
        own.prompt = with_skills(&own.prompt, skills);
    }
    Ok(Arc::new(own))
}

/// The prompt with the texts of skills after it, in a fence that nothing in them can end.
fn with_skills(prompt: &str, skills: &[String]) -> String {
    let body = skills.join("\n\n");
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{}\n\n{fence}skills\n{}\n{fence}", prompt.trim_end(), body.trim_end())
}
