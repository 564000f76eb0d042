//! Getting what was written onto the disk, for all tasks together and without any of them waiting for it.

use std::{
    collections::BTreeSet,
    io,
    sync::{Mutex, OnceLock, PoisonError, mpsc},
    thread::JoinHandle,
};

use camino::Utf8PathBuf;

/// What the thread is told.
enum Job {
    /// This file must reach the disk.
    File(Utf8PathBuf),
    /// What was created or replaced in this directory must.
    Directory(Utf8PathBuf),
    /// Something that takes a while and that nobody waits for.
    Work(Box<dyn FnOnce() + Send>),
    /// Tell when everything before this is done.
    Settle(mpsc::Sender<()>),
}

/// The thread; there is none until it is needed.
#[derive(Default)]
pub(super) struct Syncer {
    running: OnceLock<Option<Running>>,
    failed: std::sync::Arc<Mutex<Option<io::Error>>>,
}

struct Running {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Syncer {
    fn send(&self, job: Job) {
        let running = self.running.get_or_init(|| {
            let (jobs, waiting) = mpsc::channel();
            let failed = std::sync::Arc::clone(&self.failed);
            let thread = std::thread::Builder::new().name("transcripts".to_owned());
            // Without a thread nothing is lost but a guarantee against power cuts.
            let thread = thread.spawn(move || work(&waiting, &failed)).ok()?;
            Some(Running { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) })
        });
        let Some(running) = running else { return };
        let jobs = running.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            let _ = jobs.send(job);
        }
    }

    pub(super) fn file(&self, path: Utf8PathBuf) {
        self.send(Job::File(path));
    }

    pub(super) fn directory(&self, path: Utf8PathBuf) {
        self.send(Job::Directory(path));
    }

    pub(super) fn work(&self, work: impl FnOnce() + Send + 'static) {
        self.send(Job::Work(Box::new(work)));
    }

    /// Waits until everything that was asked for so far is done.
    pub(super) fn settle(&self) -> io::Result<()> {
        if self.running.get().is_some() {
            let (done, wait) = mpsc::channel();
            self.send(Job::Settle(done));
            let _ = wait.recv();
        }
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Syncer {
    /// What was asked for is done first.
    fn drop(&mut self) {
        let Some(Some(running)) = self.running.get() else { return };
        running.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = running.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last hold on the store may be one that the thread itself had.
        if let Some(thread) = thread.filter(|it| it.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Takes everything that waits and does each thing once.
fn work(waiting: &mpsc::Receiver<Job>, failed: &Mutex<Option<io::Error>>) {
    while let Ok(first) = waiting.recv() {
        let (mut files, mut directories) = (BTreeSet::new(), BTreeSet::new());
        let (mut works, mut settled) = (Vec::new(), Vec::new());
        for job in std::iter::once(first).chain(waiting.try_iter()) {
            match job {
                Job::File(path) => drop(files.insert(path)),
                Job::Directory(path) => drop(directories.insert(path)),
                Job::Work(work) => works.push(work),
                Job::Settle(done) => settled.push(done),
            }
        }
        for synced in files.iter().map(file).chain(directories.iter().map(directory)) {
            if let Err(error) = synced {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
        for work in works {
            work();
        }
        for done in settled {
            let _ = done.send(());
        }
    }
}

fn file(path: &Utf8PathBuf) -> io::Result<()> {
    match fs_err::OpenOptions::new().append(true).open(path) {
        Ok(file) => file.sync_data(),
        // Retention was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn directory(path: &Utf8PathBuf) -> io::Result<()> {
    fs_err::File::open(path)?.sync_all()
}

/// Elsewhere directories cannot be opened, and need not be.
#[cfg(not(unix))]
fn directory(_: &Utf8PathBuf) -> io::Result<()> {
    Ok(())
}
