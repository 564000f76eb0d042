//! Which schemas are published, and which command each belongs to.

use agents_task::batch_file::BatchFile;
use schemars::{JsonSchema, Schema, schema_for};

use crate::{
    commands::{
        agent::{
            change::AgentChangeDocument,
            explain::AgentExplainDocument,
            list::AgentListDocument,
            show::{AgentForHostDocument, AgentShowDocument},
            unpack::AgentUnpackDocument,
            validate::AgentValidateDocument,
        },
        audit::{AuditDocument, records::AuditRecordsDocument},
        cache::CacheDocument,
        config::{ConfigDocument, PathDocument},
        crate_info::CrateDocument,
        doctor::{DoctorDocument, probe::told::ProbeDocument},
        errors::ErrorsDocument,
        explain::ExplainDocument,
        hook::{HookDocument, HookExplainDocument, ReplayDocument},
        host::HostDocument,
        init::InitDocument,
        list::ListDocument,
        man::ManDocument,
        model::{
            explain::ModelExplainDocument, list::ModelListDocument, serve::ModelServeDocument,
            test::ModelTestDocument,
        },
        order::OrderDocument,
        plan::{
            check::{PlanCheckDocument, PlanJournalDocument},
            draft::PlanNewDocument,
            runs::{PlanGcDocument, PlanListDocument, PlanLogsDocument},
            show::PlanGraphDocument,
            view::{PlanLine, PlanRunDocument},
        },
        purge::PurgeDocument,
        search::SearchDocument,
        secret::SecretListDocument,
        self_update::SelfUpdateDocument,
        show::ShowDocument,
        status::StatusDocument,
        sync::SyncDocument,
        sync_hosts::SyncHostsDocument,
        task::{
            background::TaskBackgroundDocument,
            control::{TaskAsksDocument, TaskSupervisorDocument},
            gc::TaskGcDocument,
            list::TaskListDocument,
            show::TaskShowDocument,
            wait::TaskWaitDocument,
        },
        tour::TourDocument,
        update::UpdateDocument,
        use_plugin::UseDocument,
        validate::ValidateDocument,
        workflow::{CommandListDocument, CommandShowDocument},
    },
    failure::FailureDocument,
    help::HelpDocument,
};

/// Stands for what is printed without a command.
pub(crate) const OVERVIEW: &str = "";
/// Stands for what any command may print.
pub(crate) const EVERY: &str = "*";

/// What a command does with the documents that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It prints them with `--json`: one, or one a line.
    Printed,
    /// It reads them from a file, where they may be TOML or YAML.
    Read,
    /// Hooks get them, or answer with them.
    Exchanged,
}

/// A schema in `docs/json`.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// As they are typed, with the argument that it takes where a command has several: `doctor --probe`.
    pub(crate) commands: &'static [&'static str],
    /// `None` if another crate has the types.
    pub(super) schema: Option<fn() -> Schema>,
}

/// All of them.
pub(crate) const PUBLISHED: &[Published] = &[
    printed::<HelpDocument>("help", &[OVERVIEW]),
    printed::<ListDocument>("plugin-list", &["plugin list"]),
    read::<BatchFile>("task-batch", &["task batch"]),
    printed::<TaskGcDocument>("task-gc", &["task gc"]),
    printed::<TaskListDocument>("task-list", &["task list"]),
    printed::<TaskShowDocument>("task-show", &["task show"]),
    printed::<PlanCheckDocument>("plan-check", &["plan check"]),
    printed::<PlanJournalDocument>("plan-check-journal", &["plan check-journal"]),
    printed::<PlanNewDocument>("plan-new", &["plan new"]),
    printed::<PlanGcDocument>("plan-gc", &["plan gc"]),
    printed::<PlanListDocument>("plan-list", &["plan list"]),
    printed::<PlanLogsDocument>("plan-logs", &["plan logs"]),
    printed::<PlanLine>("plan-run", &["plan run", "plan resume", "plan retry", "plan fork"]),
    printed::<PlanRunDocument>("plan-show", &["plan show RUN"]),
    printed::<PlanGraphDocument>("plan-show-file", &["plan show FILE"]),
    printed::<ShowDocument>("plugin-show", &["plugin show"]),
    printed::<ExplainDocument>("plugin-explain", &["plugin explain"]),
    printed::<ErrorsDocument>("explain", &["explain"]),
    printed::<ValidateDocument>("plugin-validate", &["plugin validate"]),
    printed::<SyncDocument>("plugin-sync", &["plugin sync"]),
    printed::<CacheDocument>("plugin-cache", &["plugin cache list", "plugin cache prune"]),
    printed::<CrateDocument>("crate-info", &["crate-info"]),
    #[cfg(feature = "http")]
    printed::<crate::commands::dashboard::DashboardDocument>("dashboard", &["dashboard"]),
    printed::<DoctorDocument>("doctor", &["doctor"]),
    printed::<ProbeDocument>("doctor-probe", &["doctor --probe"]),
    printed::<HostDocument>("host", &["host list", "host show"]),
    printed::<HookDocument>("hook-test", &["hook test"]),
    printed::<ReplayDocument>("hook-replay", &["hook replay"]),
    printed::<HookExplainDocument>("hook-explain", &["hook explain"]),
    printed::<InitDocument>("init", &["init"]),
    printed::<ManDocument>("man", &["man --dir DIR"]),
    printed::<ConfigDocument>("config-show", &["config show"]),
    printed::<PathDocument>("config-path", &["config path"]),
    printed::<SyncHostsDocument>("sync", &["sync", "diff", "uninstall"]),
    printed::<PurgeDocument>("purge", &["uninstall --purge"]),
    printed::<StatusDocument>("status", &["status"]),
    printed::<UseDocument>("use", &["use", "disable"]),
    printed::<SearchDocument>("search", &["search"]),
    printed::<SecretListDocument>("secret-list", &["secret list", "secret check"]),
    printed::<SelfUpdateDocument>("self-update", &["self-update"]),
    printed::<TourDocument>("tour", &["tour"]),
    elsewhere(
        "task-event",
        Role::Printed,
        &["task run", "task batch", "task resume", "task attach", "task collect"],
    ),
    printed::<TaskBackgroundDocument>(
        "task-background",
        &["task run --background", "task batch --background", "task resume --background"],
    ),
    printed::<TaskWaitDocument>("task-wait", &["task wait"]),
    printed::<TaskAsksDocument>("task-asks", &["task asks"]),
    printed::<TaskSupervisorDocument>("task-supervisor", &["task supervisor"]),
    printed::<AgentListDocument>("agent-list", &["agent list"]),
    printed::<AgentShowDocument>("agent-show", &["agent show"]),
    printed::<AgentForHostDocument>("agent-show-for", &["agent show --for HOST"]),
    printed::<AgentExplainDocument>("agent-explain", &["agent explain"]),
    printed::<AgentValidateDocument>("agent-validate", &["agent validate"]),
    printed::<AgentUnpackDocument>("agent-unpack", &["agent unpack"]),
    printed::<AgentChangeDocument>("agent-change", &["agent new", "agent edit", "agent remove"]),
    printed::<CommandListDocument>("command-list", &["command list"]),
    printed::<CommandShowDocument>("command-show", &["command show"]),
    printed::<ModelListDocument>("model-list", &["model list"]),
    printed::<ModelTestDocument>("model-test", &["model test"]),
    printed::<ModelExplainDocument>("model-explain", &["model explain"]),
    printed::<ModelServeDocument>("model-serve", &["model serve"]),
    printed::<UpdateDocument>("update", &["update"]),
    printed::<AuditDocument>("audit", &["audit"]),
    printed::<AuditRecordsDocument>("audit-records", &["audit record", "audit import"]),
    printed::<OrderDocument>(
        "order",
        &[
            "plan pause",
            "plan resume",
            "plan cancel",
            "plan add",
            "task cancel",
            "task approve",
            "task deny",
            "task supervisor --stop",
        ],
    ),
    printed::<FailureDocument>("error", &[EVERY]),
    elsewhere(
        "plan",
        Role::Read,
        &["plan check", "plan show", "plan run", "plan fork", "plan add"],
    ),
    elsewhere("model-script", Role::Read, &["model serve"]),
    elsewhere("hook-input", Role::Exchanged, &["hook"]),
    elsewhere("hook-output", Role::Exchanged, &["hook"]),
];

const fn printed<T: JsonSchema>(name: &'static str, by: &'static [&'static str]) -> Published {
    Published { name, role: Role::Printed, commands: by, schema: Some(schema_of::<T>) }
}

const fn read<T: JsonSchema>(name: &'static str, by: &'static [&'static str]) -> Published {
    Published { name, role: Role::Read, commands: by, schema: Some(schema_of::<T>) }
}

/// The types are in another crate, which compares them.
const fn elsewhere(name: &'static str, role: Role, by: &'static [&'static str]) -> Published {
    Published { name, role, commands: by, schema: None }
}

fn schema_of<T: JsonSchema>() -> Schema {
    schema_for!(T)
}

/// `doctor --probe` as the words of the command and what follows them.
pub(crate) fn split(typed: &str) -> (&str, &str) {
    let is_argument = |at: usize| !typed[at + 1..].starts_with(|it: char| it.is_ascii_lowercase());
    let ends = typed.match_indices(' ').map(|(at, _)| at).find(|at| is_argument(*at));
    let (path, rest) = typed.split_at(ends.unwrap_or(typed.len()));
    (path, rest.trim_start())
}
