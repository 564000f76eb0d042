//! `install_commands`: what is done once for each acquired content.

use agents_system::process::Call;
use camino::Utf8Path;

use crate::{
    bring::Origin,
    entry::{Base, locate},
    error::{AcquireError, Needs},
    installer::{Installer, Job},
    receipt::Content,
    recipe::{InstallationName, Source},
    runnable::{Acquired, Environment},
    slot::Slot,
    step::{COMMAND, Step},
};

impl Installer<'_> {
    /// Runs the commands of `job` in `dir`; `this` is what is known about it so far.
    pub(crate) fn install_commands(
        &self,
        job: Job<'_>,
        dir: &Utf8Path,
        mut this: Acquired,
    ) -> Result<(), AcquireError> {
        let commands = &job.installation.install_commands;
        if commands.is_empty() {
            return Ok(());
        }
        if let Some(Source::Git { .. }) = &job.installation.source {
            // The commands may be what makes it; then it is not known yet.
            let entry = job.installation.entry.as_ref();
            this.target = locate(entry, Base::Tree { dir }).ok().flatten();
        }
        let environment = Environment::of(job.before.iter().chain([&this]));
        for (at, command) in commands.iter().enumerate() {
            let step = Step {
                name: format!("install command {} of {}: `{command}`", at + 1, commands.len()),
                doing: format!("setting up `{}`", job.name),
                needs: Needs::Machine,
                deadline: COMMAND,
                progress: self.progress,
            };
            let call = Call::new("sh").arg("-c").arg(command).cwd(dir);
            step.run(&environment.apply(call))?;
        }
        Ok(())
    }

    /// Remembers that the commands of an installation without a directory of its own have been run. They
    /// belong to the plugin that they stand in.
    pub(crate) fn setup_slot(&self, job: Job<'_>) -> Slot {
        let commands = &job.installation.install_commands;
        let key = ("set-up", job.name.as_str(), job.plugin_dir, &job.installation.source, commands);
        self.slot(job.name.as_str(), &format!("{key:?}"))
    }
}

/// Commands without a content of their own.
pub(crate) struct Setup<'a> {
    pub(crate) name: &'a InstallationName,
    /// What the commands are run for; when it changes, they are run again.
    pub(crate) id: &'a str,
    pub(crate) finish: &'a dyn Fn(&Utf8Path) -> Result<(), AcquireError>,
}

impl Origin for Setup<'_> {
    fn what(&self) -> String {
        format!("set-up of `{}`", self.name)
    }

    fn newest(&self) -> Result<Option<String>, AcquireError> {
        Ok(Some(self.id.to_owned()))
    }

    fn acquire(&self, _: &Utf8Path) -> Result<Content, AcquireError> {
        Ok(Content { id: self.id.to_owned(), ..Content::default() })
    }

    fn finish(&self, base: &Utf8Path) -> Result<(), AcquireError> {
        (self.finish)(base)
    }
}
