//! Language servers, one for each directory and each way of confining them.

use std::sync::Arc;

use agents_system::process::keeper::Keeper;
use agents_tool::{Area, Confinement, Ground, tools::Lsp};
use camino::Utf8PathBuf;
use tokio::sync::{Mutex, OnceCell};

/// Those of a run.
pub(super) struct Languages {
    keeper: Keeper,
    /// Where `rust-analyzer` is: asked for once, by the first agent that may use it.
    program: OnceCell<Option<Utf8PathBuf>>,
    servers: Mutex<Vec<Entry>>,
}

struct Entry {
    root: Utf8PathBuf,
    confinement: Confinement,
    lsp: Lsp,
}

impl Languages {
    pub(super) fn new(keeper: Keeper) -> Self {
        Self { keeper, program: OnceCell::new(), servers: Mutex::default() }
    }

    /// The one for this area; `None` where none is installed. It is started by the first call.
    pub(super) async fn server(&self, area: &Area, confinement: &Confinement) -> Option<Lsp> {
        let find = || async { tokio::task::spawn_blocking(Lsp::program).await.ok().flatten() };
        let program = self.program.get_or_init(find).await.clone()?;
        let root = area.roots().next()?.0.to_owned();
        let mut servers = self.servers.lock().await;
        if let Some(known) =
            servers.iter().find(|it| it.root == root && it.confinement == *confinement)
        {
            return Some(known.lsp.clone());
        }
        let (keeper, confinement) = (self.keeper.clone(), confinement.clone());
        let ground = Ground { keeper, area: area.clone(), confinement: confinement.clone() };
        let lsp = Lsp::with(program, ground);
        servers.push(Entry { root, confinement, lsp: lsp.clone() });
        Some(lsp)
    }

    pub(super) async fn end(&self) {
        let servers = std::mem::take(&mut *self.servers.lock().await);
        let ends = servers
            .into_iter()
            .map(|it| Arc::new(it.lsp))
            .map(|lsp| async move { lsp.end().await });
        futures_util::future::join_all(ends).await;
    }
}
