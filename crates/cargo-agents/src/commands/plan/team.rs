//! Whoever runs the tasks of a run: this process, or the workers of a cluster.

use std::collections::HashSet;

use agents_plan::{
    engine::{Executor, Life, Parting, Start, Unreachable},
    event::Outcome,
    graph::NodeId,
    ground::Ground,
    journal::{Journals, RunId},
};
use agents_system::{atomic, explain::ErrorKind};

#[cfg(feature = "restate")]
use super::cluster::{self, Afar};
use super::{drive::Studio, work::Crew};
use crate::{args::Engine, failure::Failure, settings::Settings};

/// The file beside a journal that says that the tasks of the run are on a cluster.
const MARK: &str = "engine";
const RESTATE: &[u8] = b"restate\n";

/// Whoever runs the tasks of a run.
pub(super) enum Team {
    Here(Box<Crew>),
    #[cfg(feature = "restate")]
    Afar(Box<Afar>),
}

impl Team {
    #[cfg(feature = "restate")]
    pub(super) fn of(studio: &Studio, run: &RunId) -> Result<Self, Failure> {
        Ok(match studio.engine() {
            Engine::Local => Self::Here(Box::new(studio.crew())),
            Engine::Restate => Self::Afar(Box::new(cluster::afar(studio, run)?)),
        })
    }

    #[cfg(not(feature = "restate"))]
    pub(super) fn of(studio: &Studio, _: &RunId) -> Result<Self, Failure> {
        match studio.engine() {
            Engine::Local => Ok(Self::Here(Box::new(studio.crew()))),
            Engine::Restate => Err(absent()),
        }
    }
}

impl Team {
    /// Takes away what is left of a run that has ended.
    pub(super) async fn tidy(&self) {
        match self {
            Self::Here(_) => {}
            #[cfg(feature = "restate")]
            Self::Afar(cluster) => cluster.tidy().await,
        }
    }
}

/// This program was built without it.
#[cfg(not(feature = "restate"))]
pub(crate) fn absent() -> Failure {
    use agents_system::explain::Code;
    Failure::new(ErrorKind::Usage, "this program was built without the engine `restate`")
        .code(Code::NotBuilt)
        .hint("build it from its sources: `cargo install --path crates/cargo-agents --features restate`")
}

impl Executor for Team {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        match self {
            Self::Here(crew) => crew.run(start, life).await,
            #[cfg(feature = "restate")]
            Self::Afar(cluster) => cluster.run(start, life).await,
        }
    }

    async fn ground(&self, start: &Start) -> Option<Ground> {
        match self {
            Self::Here(crew) => crew.ground(start).await,
            #[cfg(feature = "restate")]
            Self::Afar(cluster) => cluster.ground(start).await,
        }
    }

    async fn living(
        &self,
        attempts: &[(NodeId, u32)],
    ) -> Result<HashSet<(NodeId, u32)>, Unreachable> {
        match self {
            Self::Here(crew) => crew.living(attempts).await,
            #[cfg(feature = "restate")]
            Self::Afar(cluster) => cluster.living(attempts).await,
        }
    }

    fn parting(&self) -> Parting {
        match self {
            Self::Here(crew) => crew.parting(),
            #[cfg(feature = "restate")]
            Self::Afar(cluster) => cluster.parting(),
        }
    }
}

/// Where the tasks of a run are.
pub(super) fn engine_of(journals: &Journals, run: &RunId) -> Engine {
    match fs_err::read(journals.home(run).join(MARK)) {
        Ok(said) if said == RESTATE => Engine::Restate,
        _ => Engine::Local,
    }
}

/// Decides where a run goes on, and remembers it. What is left of it elsewhere is ended, so that nothing is done in two places.
/// Whether somebody is there is asked before ([`available`]): by now something was written down.
pub(super) fn settle_on(
    settings: &Settings,
    journals: &Journals,
    run: &RunId,
    wanted: Option<Engine>,
) -> Result<Engine, Failure> {
    let (was, mark) = (engine_of(journals, run), journals.home(run).join(MARK));
    let wanted = wanted.unwrap_or(was);
    match (was, wanted) {
        (Engine::Local, Engine::Restate) => {
            atomic::write(&mark, RESTATE).map_err(|error| {
                Failure::new(ErrorKind::Failure, format!("cannot write `{mark}`: {error}"))
            })?;
        }
        (Engine::Restate, Engine::Local) => {
            clear(settings, run)?;
            fs_err::remove_file(&mark).map_err(|error| {
                Failure::new(ErrorKind::Failure, format!("cannot remove `{mark}`: {error}"))
            })?;
        }
        _ => {}
    }
    Ok(wanted)
}

/// The engine, if there is one: whoever begins something where nobody is should hear of it, and not wait.
#[cfg(feature = "restate")]
pub(super) fn available(settings: &Settings, engine: Engine) -> Result<Engine, Failure> {
    if engine == Engine::Restate {
        cluster::greet(settings)?;
    }
    Ok(engine)
}

/// The engine, if this program has it.
#[cfg(not(feature = "restate"))]
pub(super) fn available(_: &Settings, engine: Engine) -> Result<Engine, Failure> {
    match engine {
        Engine::Local => Ok(engine),
        Engine::Restate => Err(absent()),
    }
}

#[cfg(feature = "restate")]
pub(super) use cluster::clear;

/// Ends what a run still does on a cluster.
#[cfg(not(feature = "restate"))]
pub(super) fn clear(_: &Settings, _: &RunId) -> Result<(), Failure> {
    Err(absent())
}
