//! The skills that apply where the user stands, for our own agents: those that hosts are brought, and no others.

use agents_system::dirs::Dirs;
use agents_task::{
    runner::Unavailable,
    skills::{Card, Loaded, Shelf},
};
use camino::Utf8PathBuf;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::{
    args::Flags,
    commands::door::offer::{Usable, loaded, usable},
    here::{Here, visit_again},
    settings::Settings,
};

/// Looked for when the first agent may use one.
pub(crate) struct Skills {
    flags: Flags,
    dirs: Dirs,
    cwd: Utf8PathBuf,
    found: OnceCell<Vec<Usable>>,
}

impl Skills {
    pub(crate) fn new(settings: &Settings) -> Self {
        // Nothing is brought up to date while tasks run, and nobody watches a progress bar.
        let flags = Flags { quiet: true, ..settings.without_update().flags };
        let (dirs, cwd) = (settings.dirs.clone(), settings.cwd.clone());
        Self { flags, dirs, cwd, found: OnceCell::new() }
    }

    /// The same for an agent that starts now: those that there are at a place that is open.
    pub(crate) fn at(here: &Here<'_>) -> Self {
        let found = usable(here).unwrap_or_default();
        Self { found: OnceCell::from(found), ..Self::new(here.settings) }
    }

    async fn found(&self) -> &[Usable] {
        let looking = || async {
            let (flags, dirs, cwd) = (self.flags.clone(), self.dirs.clone(), self.cwd.clone());
            let looked = tokio::task::spawn_blocking(move || {
                visit_again(&Settings::with_dirs(&flags, dirs, cwd), usable)
            });
            // What keeps skills from being found was told when the agents were looked for.
            looked.await.ok().and_then(Result::ok).unwrap_or_default()
        };
        self.found.get_or_init(looking).await
    }

    /// Those that there are.
    pub(crate) async fn cards(&self) -> Vec<Card> {
        let card = |it: &Usable| Card {
            name: it.card.name.clone(),
            description: it.card.description.clone(),
        };
        self.found().await.iter().map(card).collect()
    }
}

impl Shelf for Skills {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Loaded, Unavailable>> {
        Box::pin(async move {
            let found = self.found().await.iter().find(|it| it.card.name == name);
            let found = found.map(loaded).ok_or_else(|| Unavailable {
                message: format!("there is no skill `{name}` here"),
                hint: None,
            })?;
            Ok(Loaded { text: found.text, dir: found.dir, files: found.files })
        })
    }
}
