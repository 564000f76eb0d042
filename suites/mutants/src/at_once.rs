//! Several of the same kind at once.

use std::{
    num::NonZero,
    sync::{Mutex, PoisonError},
};

use camino::{Utf8Path, Utf8PathBuf};

/// Does all of them, `jobs` at a time, each with an empty directory that is gone afterwards. The first failure ends it.
pub(crate) fn each<T: Send>(
    jobs: NonZero<usize>,
    items: Vec<T>,
    act: impl Fn(T, &Utf8Path) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let waiting = Mutex::new(items.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(item) = next() {
            // Short, since sockets are made in there.
            let scratch = tempfile::Builder::new().prefix("m-").tempdir()?;
            let path = Utf8PathBuf::try_from(scratch.path().canonicalize()?)?;
            if let Err(error) = act(item, &path) {
                while next().is_some() {}
                return Err(error);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|it| {
            it.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a worker panicked: this is a bug")))
        });
        ends.collect::<Vec<_>>().into_iter().collect()
    })
}
