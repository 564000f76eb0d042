//! Small files that we write and read again, which may be torn, edited, or from somewhere else.

use std::{fmt::Debug, sync::Arc};

use agents_install::{read_receipt, read_tracking};
use agents_serve::{
    offer::Offer,
    sessions::{Grounds, Kept, With},
    tasks::Terms,
};
use agents_system::{cache::CacheFile, process::keeper::Order};
use agents_task::{
    TaskId,
    isolate::{IsolationSettings, Record, Worktrees},
    runner::Unavailable,
    transcript::{Meta, Store},
};
use agents_workspace::{Details, Workspace};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde::{Serialize, de::DeserializeOwned};

use crate::files::in_scratch;

/// Cache files, which every hook reads: bytes that we did not seal are none, and what is sealed is the same after it was stored again.
pub fn cache_file(data: &[u8]) {
    fn kept<T: DeserializeOwned + Serialize + PartialEq + Debug>(cache: &CacheFile, data: &[u8]) {
        fs_err::write(cache.path(), cache.sealed(data)).expect("the file is ours");
        let Some(held) = cache.load::<T>() else { return };
        cache.store(&held).expect("what was read can be stored");
        assert_eq!(cache.load::<T>().as_ref(), Some(&held));
    }
    in_scratch("cache/file", data, |file| {
        let cache = CacheFile::new(file.to_owned(), "fuzz 1");
        let whole = cache.sealed(data.get(32..).unwrap_or_default());
        assert!(cache.load::<Vec<u8>>().is_none() || whole == data, "it was believed");
        kept::<Details>(&cache, data);
        kept::<Workspace>(&cache, data);
        kept::<Vec<(String, Option<u64>)>>(&cache, data);
    });
}

/// What says what was installed: it names nothing but what is in its own place, and is written as it was read.
pub fn receipt(text: &str) {
    if let Some((written, places)) = read_receipt(text.as_bytes()) {
        let again = read_receipt(&written).expect("what was written can be read");
        assert_eq!(again, (written, places.clone()));
        for place in places {
            let mut parts = place.components();
            assert!(parts.all(|it| matches!(it, Utf8Component::Normal(_))), "{place}");
            assert!(!place.as_str().is_empty());
        }
    }
    for name in ["ripgrep", "tool"] {
        let (tracked, newest) = read_tracking(text, name);
        for binary in tracked.iter().flat_map(|(_, _, binaries)| binaries) {
            let bin = Utf8Path::new("/slot/bin");
            assert_eq!(bin.join(binary).parent(), Some(bin), "{binary:?}");
        }
        if let Some(newest) = newest {
            assert!(text.contains(name) && !newest.depends_on(""), "{newest:?}");
        }
    }
}

/// What is kept of tasks, worktrees, conversations and what a keeper is told: what can be read is written again without a loss, and what
/// says that it is somebody else's is nobody's.
pub fn kept(data: &[u8]) {
    fn same<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) -> Option<T> {
        let read: T = serde_json::from_slice(data).ok()?;
        let written = serde_json::to_vec(&read).expect("it can be kept");
        assert_eq!(serde_json::from_slice::<T>(&written).ok().as_ref(), Some(&read));
        Some(read)
    }
    same::<Order>(data);
    let record = same::<Record>(data);
    in_scratch("kept/worktrees/records/fix-0123456789ab.json", data, |file| {
        let home = file.parent().and_then(Utf8Path::parent).expect("a directory");
        let found = Worktrees::new(home, home, IsolationSettings::default()).records();
        assert!(found.len() <= 1 && found.iter().all(|it| it.slug == "fix-0123456789ab"));
        assert!(found.is_empty() || record == found.into_iter().next());
    });
    let meta = same::<Meta>(data);
    let id = TaskId::parse("0192f0c1-2345-7abc-8def-0123456789ab").expect("an id");
    in_scratch(&format!("kept/tasks/{id}.meta.json"), data, |file| {
        let store = Store::new(file.parent().expect("a directory"));
        fs_err::write(store.path(id), "").expect("the file is ours");
        match store.meta(id) {
            Ok(read) => assert!(read.id == id && meta.is_some()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        drop(store.segments(id));
        let (metas, wrong) = store.list().expect("the directory is ours");
        assert!(metas.iter().all(|it| it.id == id) && metas.len() + wrong.len() <= 1);
    });
    in_scratch("kept/sessions/0a-1.json", data, |file| {
        let grounds = Nowhere(file.parent().expect("a directory").to_owned());
        let kept = Kept::load(&grounds, "0a-1").ok();
        assert_eq!(kept, same::<Kept>(data));
        assert_eq!(Kept::all(&grounds).len(), usize::from(kept.is_some()));
        let elsewhere = String::from_utf8_lossy(data);
        let named = Kept::load(&grounds, elsewhere.trim());
        assert!(named.is_err() || elsewhere.trim() == "0a-1");
    });
}

/// A place that conversations are kept in, and in which none can take place.
struct Nowhere(Utf8PathBuf);

impl Grounds for Nowhere {
    fn open(&self, cwd: &Utf8Path) -> Result<(Arc<dyn Offer>, Terms), Unavailable> {
        Err(Unavailable { message: format!("nothing is in `{cwd}`"), hint: None })
    }

    fn kept(&self) -> Utf8PathBuf {
        self.0.clone()
    }

    fn agent(&self) -> With {
        With::Usual("helper".to_owned())
    }
}
