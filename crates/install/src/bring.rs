//! Bringing one thing into its slot: look, lock, look again, acquire aside, move into place, finish, sign.

use std::time::Duration;

use agents_system::{
    explain::{ErrorKind, Explain as _},
    finding::Finding,
    progress::Progress,
};
use agents_workspace::Network;
use camino::Utf8Path;

use crate::{
    error::AcquireError,
    receipt::{Content, Generation, State, now, part_of},
    slot::{LockedSlot, Slot, Tidied, remove},
};

/// What to do about something that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Update {
    /// Use it.
    #[default]
    None,
    /// Ask whether there is something newer, and take that.
    Check,
    /// Acquire it again.
    Fetch,
}

impl Update {
    /// Without a network, what is there is all there is.
    pub(crate) fn allowed_by(self, network: Network) -> Self {
        match network {
            Network::Allowed => self,
            Network::Offline => Self::None,
        }
    }
}

/// Where a content comes from.
pub(crate) trait Origin {
    /// What it is, in words.
    fn what(&self) -> String;

    /// The id of what would be acquired now; `None` if only acquiring it can tell.
    fn newest(&self) -> Result<Option<String>, AcquireError>;

    /// Puts it into the empty directory `into`.
    fn acquire(&self, into: &Utf8Path) -> Result<Content, AcquireError>;

    /// What remains to be done once it lies where it will stay.
    fn finish(&self, base: &Utf8Path) -> Result<(), AcquireError>;
}

/// What was brought.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) generation: Generation,
    pub(crate) findings: Vec<Finding>,
}

/// Makes sure that `slot` holds what `origin` describes, as fresh as `update` asks for.
pub(crate) fn bring(
    slot: &Slot,
    origin: &impl Origin,
    update: Update,
    progress: &Progress,
) -> Result<Brought, AcquireError> {
    let before = slot.current();
    if update == Update::None
        && let Some(generation) = before
    {
        return Ok(Brought { generation, findings: Vec::new() });
    }
    progress.begin(format!("waiting for {}", origin.what()));
    let locked = slot.lock(progress)?;
    let (state, tidied) = locked.tidy(&origin.what());
    // Somebody else may have brought it while we waited for the lock.
    if state.current != before
        && let Some(generation) = state.current
    {
        return Ok(Brought { generation, findings: Vec::new() });
    }
    match renew(&locked, state, tidied, origin, update) {
        Ok(generation) => Ok(Brought { generation, findings: Vec::new() }),
        Err(error) => keep(before, update, error, &origin.what()),
    }
}

/// Takes what is newer, if nobody has looked for that within `rest` and nobody is at work there. Something must be there
/// already. It is written down first that we looked, so that an origin that cannot be reached is left alone as long.
pub(crate) fn refresh(
    slot: &Slot,
    origin: &impl Origin,
    rest: Duration,
) -> Result<Option<Generation>, AcquireError> {
    let is_due = |state: &State| state.current.is_some() && !state.was_checked_within(rest);
    if !slot.load().is_some_and(|state| is_due(&state)) {
        return Ok(slot.current());
    }
    let Some(locked) = slot.try_lock()? else { return Ok(slot.current()) };
    let (mut state, tidied) = locked.tidy(&origin.what());
    if !is_due(&state) {
        return Ok(state.current);
    }
    state.checked = now();
    locked.store(&state)?;
    renew(&locked, state, tidied, origin, Update::Check).map(Some)
}

fn renew(
    locked: &LockedSlot<'_>,
    mut state: State,
    tidied: Tidied,
    origin: &impl Origin,
    update: Update,
) -> Result<Generation, AcquireError> {
    if update == Update::Check
        && let Some(newest) = origin.newest()?
        && let Some(same) = state.with_id(&newest)
    {
        if state.current.as_ref() != Some(&same) {
            state.promote(same.clone());
        }
        state.checked = now();
        locked.store(&state)?;
        return Ok(same);
    }
    let workplace = locked.workplace()?;
    let into = Utf8Path::from_path(workplace.path());
    let into = into.ok_or_else(|| AcquireError::Io {
        what: "use a cache whose path is not UTF-8".to_owned(),
        source: std::io::ErrorKind::InvalidInput.into(),
    })?;
    let content = origin.acquire(into)?;
    let dir = locked.settle(workplace, &content, tidied)?;
    let place = locked.slot.dir.join(&dir);
    let base = part_of(place.clone(), &content.within);
    let finished = origin.finish(&base).and_then(|()| locked.describe(dir, content));
    let generation = match finished {
        Ok(generation) => generation,
        Err(error) => {
            // The next one to come would remove it; that it fails now changes nothing.
            let _ = remove(&place);
            return Err(error);
        }
    };
    state.promote(generation.clone());
    state.checked = now();
    locked.store(&state)?;
    Ok(generation)
}

/// When only asked to look for something newer, what is there is good enough.
fn keep(
    before: Option<Generation>,
    update: Update,
    error: AcquireError,
    what: &str,
) -> Result<Brought, AcquireError> {
    match before {
        Some(generation) if update == Update::Check && error.kind() != ErrorKind::Cancelled => {
            Ok(Brought { generation, findings: vec![not_updated(what, &error)] })
        }
        _ => Err(error),
    }
}

/// Says why what is there may not be the newest.
pub(crate) fn not_updated(what: &str, error: &AcquireError) -> Finding {
    let message = format!("{what} could not be brought up to date: {error}");
    Finding::warning(message).advised_by(error)
}
