//! A worker as long as it lives.

use std::{process::ExitCode, time::Duration};

use agents_plan::engine::{
    restate::{Listening, Server, Worker, worker::Note},
    settings::RestateSettings,
};
use agents_system::{
    explain::{Code, ErrorKind},
    lock::Lock,
    private, process,
};
use camino::Utf8Path;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bench::Tasks;
use crate::{args::WorkerArgs, failure::Failure, output::Output, settings::Settings};

/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &WorkerArgs,
) -> Result<ExitCode, Failure> {
    let said = RestateSettings::load(&settings.dirs)?;
    output.findings(&said.findings);
    let ingress = args.ingress.clone().unwrap_or(said.ingress);
    let admin = args.admin.clone().unwrap_or(said.admin);
    let server = Server::new(&ingress, &admin)?;
    let name = args.name.clone().unwrap_or_else(|| usual_name(args.listen.port()));
    let all = settings.dirs.state.join("worker");
    // The workspaces of those who drive plans are unpacked there.
    private::make_dir(&all).map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot make `{all}`: {error}"))
            .code(Code::NotWritable)
    })?;
    let _at_work = at_work(&all)?;
    let dir = all.join(&name);
    let (tell, mut heard) = mpsc::unbounded_channel();
    let tasks = Tasks::new(settings, args.mode.map(Into::into), dir.clone(), tell)?;
    let listening = Listening {
        name: name.clone(),
        at: args.listen,
        advertised: args.advertise.clone(),
        identity: args.identity_key.clone().or(said.identity_key),
        slots: usize::from(args.slots),
        patience: args.patience,
        dir,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })?;
    process::listen_for_interrupts();
    let served: Result<(), Failure> = runtime.block_on(async {
        let worker = Worker::open(listening, server, tasks).await?;
        output.talk(&format!("worker `{name}` listens; Ctrl-C ends it"));
        let (send, mut notes) = mpsc::unbounded_channel();
        let end = CancellationToken::new();
        let serving = worker.serve(end.clone(), move |note| drop(send.send(note)));
        tokio::pin!(serving);
        let mut is_told = false;
        loop {
            tokio::select! {
                () = &mut serving => return Ok(()),
                Some(note) = notes.recv() => match note {
                    Note::Registered { uri } => {
                        is_told = false;
                        output.talk(&format!("registered as {uri}"));
                    }
                    Note::NotRegistered { why } if !is_told => {
                        is_told = true;
                        output.talk(&format!("not registered yet: {why}"));
                    }
                    Note::NotRegistered { .. } => {}
                },
                Some(finding) = heard.recv() => output.findings(&[finding]),
                () = tokio::time::sleep(TICK) => if process::interrupted() {
                    end.cancel();
                },
            }
        }
    });
    // Tasks that were told to stop are not waited for any longer: the server gives them to others.
    runtime.shutdown_timeout(Duration::from_secs(2));
    served?;
    Failure::if_interrupted()?;
    Ok(ExitCode::SUCCESS)
}

/// Held by every worker, so that nobody removes what it needs.
fn at_work(dir: &Utf8Path) -> Result<Lock, Failure> {
    // No worker has this name, and with it this place: names have no dots.
    let file = dir.join("at-work.lock");
    let failed =
        |code, why: String| Failure::new(ErrorKind::Failure, format!("`{file}`: {why}")).code(code);
    match Lock::try_join(&file) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(failed(Code::Busy, "everything of ours is being removed".to_owned())),
        Err(error) => Err(failed(Code::NotWritable, error.to_string())),
    }
}

/// The machine and the port.
fn usual_name(port: u16) -> String {
    let machine = fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let machine: String = machine.trim().chars().take(50).map(fine).collect();
    let machine = if machine.is_empty() { "worker".to_owned() } else { machine };
    format!("{machine}-{port}")
}
