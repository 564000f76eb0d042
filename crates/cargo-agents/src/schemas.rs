//! The published schemas of `--json`, checked against the types that are printed.
//!
//! `UPDATE_DOCS=1 cargo test -p cargo-agents schemas` writes them anew.

use agents_task::batch_file::BatchFile;
use schemars::{JsonSchema, schema_for};

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
        audit::AuditDocument,
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
        model::{
            explain::ModelExplainDocument, list::ModelListDocument, serve::ModelServeDocument,
            test::ModelTestDocument,
        },
        plan::{
            check::{PlanCheckDocument, PlanJournalDocument},
            draft::PlanNewDocument,
            runs::{PlanGcDocument, PlanListDocument, PlanLogsDocument},
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

fn check<T: JsonSchema>(name: &str) {
    let schema = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    let file = format!("{}/../../docs/json/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    agents_testkit::pages::check_generated(&file, &schema);
}

#[test]
fn the_published_schemas_are_those_of_the_printed_documents() {
    check::<HelpDocument>("help");
    check::<ListDocument>("plugin-list");
    check::<BatchFile>("task-batch");
    check::<TaskGcDocument>("task-gc");
    check::<TaskListDocument>("task-list");
    check::<TaskShowDocument>("task-show");
    check::<PlanCheckDocument>("plan-check");
    check::<PlanJournalDocument>("plan-check-journal");
    check::<PlanNewDocument>("plan-new");
    check::<PlanGcDocument>("plan-gc");
    check::<PlanListDocument>("plan-list");
    check::<PlanLogsDocument>("plan-logs");
    check::<PlanLine>("plan-run");
    check::<PlanRunDocument>("plan-show");
    check::<ShowDocument>("plugin-show");
    check::<ExplainDocument>("plugin-explain");
    check::<ErrorsDocument>("explain");
    check::<ValidateDocument>("plugin-validate");
    check::<SyncDocument>("plugin-sync");
    check::<CacheDocument>("plugin-cache");
    check::<CrateDocument>("crate-info");
    #[cfg(feature = "http")]
    check::<crate::commands::dashboard::DashboardDocument>("dashboard");
    check::<DoctorDocument>("doctor");
    check::<ProbeDocument>("doctor-probe");
    check::<HostDocument>("host");
    check::<HookDocument>("hook-test");
    check::<ReplayDocument>("hook-replay");
    check::<HookExplainDocument>("hook-explain");
    check::<InitDocument>("init");
    check::<ConfigDocument>("config-show");
    check::<PathDocument>("config-path");
    check::<SyncHostsDocument>("sync");
    check::<PurgeDocument>("purge");
    check::<StatusDocument>("status");
    check::<UseDocument>("use");
    check::<SearchDocument>("search");
    check::<SecretListDocument>("secret-list");
    check::<SelfUpdateDocument>("self-update");
    check::<TourDocument>("tour");
    check::<TaskBackgroundDocument>("task-background");
    check::<TaskWaitDocument>("task-wait");
    check::<TaskAsksDocument>("task-asks");
    check::<TaskSupervisorDocument>("task-supervisor");
    check::<AgentListDocument>("agent-list");
    check::<AgentShowDocument>("agent-show");
    check::<AgentForHostDocument>("agent-show-for");
    check::<AgentExplainDocument>("agent-explain");
    check::<AgentValidateDocument>("agent-validate");
    check::<AgentUnpackDocument>("agent-unpack");
    check::<AgentChangeDocument>("agent-change");
    check::<CommandListDocument>("command-list");
    check::<CommandShowDocument>("command-show");
    check::<ModelListDocument>("model-list");
    check::<ModelTestDocument>("model-test");
    check::<ModelExplainDocument>("model-explain");
    check::<ModelServeDocument>("model-serve");
    check::<UpdateDocument>("update");
    check::<AuditDocument>("audit");
    check::<FailureDocument>("error");
}

#[test]
fn the_page_of_environment_variables_lists_all_of_them() {
    let rows: String = agents_system::env::ALL
        .iter()
        .map(|variable| format!("| `{}` | {} |\n", variable.name, variable.meaning.trim()))
        .collect();
    let page = format!(
        "# Environment variables\n\nGenerated from `crates/system/src/env.rs`; a test keeps it true.\n\n\
         | variable | meaning |\n|---|---|\n{rows}\n\
         Children that we start for plugins get `SYMPOSIUM_<NAME>` (what to run) and `SYMPOSIUM_DIR_<NAME>` (its directory) for \
         each installation involved, and `PATH` with their directories in front.\n"
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
    agents_testkit::pages::check_generated(file, &page);
}
