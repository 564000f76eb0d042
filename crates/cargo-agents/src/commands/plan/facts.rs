//! What is known about the place where a plan is to run, and plans as they are there.

use std::collections::BTreeMap;

use agents_plan::{
    check::{AgentFacts, Facts, MemberFacts},
    expand::expand,
    file::{Bundle, Disk, ParamType, Sources, load},
    graph::Graph,
};
use agents_plugin::probes::Acquire;
use agents_system::{
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    nested,
};
use agents_task::schema::Schema;
use agents_workspace::{MemberEdge, Purpose, Workspace, Workspaces};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::super::agent;
use crate::{
    args::PlanParams,
    failure::Failure,
    here::{BrokenWorkspace, visit},
    settings::Settings,
};

/// A plan in its place.
pub(super) struct Found {
    pub(super) bundle: Option<Bundle>,
    pub(super) facts: Facts,
    /// What is wrong with its texts.
    pub(super) findings: Vec<Finding>,
    /// What there is to say about the place; whoever runs something there says it.
    pub(super) surroundings: Vec<Finding>,
}

/// Reads a plan, and finds out what it can use here.
pub(super) fn found(
    settings: &Settings,
    file: &Utf8Path,
    named: &[Utf8PathBuf],
) -> Result<Found, Failure> {
    found_in(settings, file, named, &Disk)
}

/// The same for one whose text is not on the disk.
pub(super) fn found_in(
    settings: &Settings,
    file: &Utf8Path,
    named: &[Utf8PathBuf],
    sources: &dyn Sources,
) -> Result<Found, Failure> {
    let (bundle, findings) = load(&settings.cwd.join(file), sources);
    let (agents, workspace) =
        visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
            Ok((agent::look(here, error, named)?, here.workspace.clone()))
        })?;
    let surroundings = agents.findings;
    let agents = agents.agents.iter().map(|agent| {
        // A schema that is none is the business of whoever starts the agent.
        let schema = agent.output.as_ref().and_then(|it| Schema::of(it).ok());
        let output = schema.map(|it| it.json().clone());
        (agent.name.to_string(), AgentFacts { output, provider: None })
    });
    let agents = agents.collect();
    let members = match &workspace {
        Some(workspace) => members(settings, workspace, bundle.as_ref())?,
        None => Vec::new(),
    };
    Ok(Found { bundle, facts: Facts { agents, members }, findings, surroundings })
}

/// Who and what there is, for whoever works out a plan.
pub(super) struct Known {
    /// Names and descriptions.
    pub(super) agents: Vec<(String, String)>,
    pub(super) members: Vec<String>,
}

pub(super) fn known(settings: &Settings, named: &[Utf8PathBuf]) -> Result<Known, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
        let agents = agent::look(here, error, named)?.agents;
        let told = agents.iter().map(|it| (it.name.to_string(), it.description.clone()));
        let members = here.workspace.iter().flat_map(|it| &it.members);
        Ok(Known {
            agents: told.collect(),
            members: members.map(|it| it.name.to_string()).collect(),
        })
    })
}

impl Found {
    /// The graph, with values for its parameters.
    pub(super) fn graph(&self, params: &PlanParams) -> Result<Graph, Failure> {
        let Some(bundle) = self.bundle.as_ref().filter(|_| sound(&self.findings)) else {
            return Err(wrong(&self.findings));
        };
        let values = values(bundle, params)?;
        expand(bundle, &self.facts, &values).map_err(|findings| wrong(&findings))
    }
}

pub(super) fn sound(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.severity != Severity::Error)
}

/// A plan that cannot run, with everything that is wrong with it.
fn wrong(findings: &[Finding]) -> Failure {
    let errors = findings.iter().filter(|it| it.severity == Severity::Error).count();
    Failure::new(ErrorKind::Usage, told(errors))
        .code(Code::PlanInvalid)
        .with_findings(findings.to_vec())
}

/// How much is wrong with a plan.
pub(super) fn told(errors: usize) -> String {
    match errors {
        1 => "the plan cannot run: 1 thing is wrong with it".to_owned(),
        many => format!("the plan cannot run: {many} things are wrong with it"),
    }
}

/// What was said, as the plan wants it: a text where it wants a text, else as JSON.
fn values(bundle: &Bundle, params: &PlanParams) -> Result<BTreeMap<String, Value>, Failure> {
    let declared = &bundle.main().plan.params;
    let mut values = BTreeMap::new();
    for (name, text) in &params.params {
        let value = match declared.get(name).map(|it| it.kind) {
            None | Some(ParamType::String) => Value::String(text.clone()),
            Some(ParamType::Strings) if !text.trim_start().starts_with('[') => {
                text.split(',').map(|it| Value::String(it.trim().to_owned())).collect()
            }
            // What is no JSON is a text, and told to be the wrong thing if it is.
            Some(_) => nested::parse(text).unwrap_or_else(|| Value::String(text.clone())),
        };
        if values.insert(name.clone(), value).is_some() {
            let message = format!("`--param {name}` is given twice");
            return Err(Failure::new(ErrorKind::Usage, message));
        }
    }
    Ok(values)
}

/// The members, and what they depend on if the plan wants to know: that may mean to ask cargo.
fn members(
    settings: &Settings,
    workspace: &Workspace,
    bundle: Option<&Bundle>,
) -> Result<Vec<MemberFacts>, Failure> {
    let plans = bundle.into_iter().flat_map(Bundle::files);
    let mut each = plans.flat_map(|it| &it.plan.tasks).filter_map(|it| it.for_each.as_ref());
    let edges = if each.any(|it| it.members.is_some()) {
        let (cache, cargo) = (&settings.dirs.cache, &settings.cargo);
        let details =
            Workspaces { cache, cargo, progress: &settings.progress }.details(workspace)?;
        settings.progress.end();
        acyclic(details.edges)
    } else {
        Vec::new()
    };
    let member = |it: &agents_workspace::Member| MemberFacts {
        name: it.name.to_string(),
        dir: it.dir.strip_prefix(&workspace.root).unwrap_or(&it.dir).to_owned(),
        depends_on: edges
            .iter()
            .filter(|edge| edge.from == it.name)
            .map(|edge| edge.to.to_string())
            .collect(),
    };
    Ok(workspace.members.iter().map(member).collect())
}

/// All that is needed to build, which is never a circle, and of what is needed to test as much as closes none.
fn acyclic(edges: Vec<MemberEdge>) -> Vec<MemberEdge> {
    let (mut kept, dev): (Vec<_>, Vec<_>) =
        edges.into_iter().partition(|it| it.purpose == Purpose::Build);
    for edge in dev {
        let mut open = vec![&edge.to];
        let mut seen = Vec::new();
        while let Some(name) = open.pop() {
            if !seen.contains(&name) {
                seen.push(name);
                open.extend(kept.iter().filter(|it| it.from == *name).map(|it| &it.to));
            }
        }
        let is_circle = seen.contains(&&edge.from);
        if !is_circle {
            kept.push(edge);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use agents_workspace::CrateName;

    use super::*;

    #[test]
    fn tests_that_go_around_in_a_circle_do_not_keep_members_from_having_an_order() {
        let edge = |from: &str, to: &str, purpose| MemberEdge {
            from: CrateName::new(from),
            to: CrateName::new(to),
            purpose,
        };
        let edges = [
            edge("app", "lib", Purpose::Build),
            edge("app", "testkit", Purpose::Dev),
            edge("lib", "testkit", Purpose::Dev),
            edge("testkit", "lib", Purpose::Build),
        ];
        let kept = acyclic(edges.to_vec());
        assert_eq!(kept, [&edges[0], &edges[3], &edges[1]].map(Clone::clone));
    }
}
