//! Files on their way: cut into pieces that are kept in Restate with the lane that needs them, and put together again where their
//! hash is what it must be.

use std::time::Duration;

use agents_system::cache::{digest, hex};

use super::{
    server::{Server, ServerError},
    wire::Parcel,
};

/// The bytes of a piece. Restate keeps each as one value of a state.
pub const PIECE: usize = 1024 * 1024;
/// The largest file that is sent this way.
pub const LARGEST: u64 = 256 * 1024 * 1024;

/// How long the server is waited for before it is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// Why a file did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum ParcelError {
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Too much.
    #[error("{} MiB are more than the {} MiB that are sent through restate", size / 1024 / 1024, LARGEST / 1024 / 1024)]
    TooLarge {
        /// Its bytes.
        size: u64,
    },
    /// It took too long.
    #[error("the server was away for too long")]
    Late,
    /// Something else arrived than was sent, or nothing.
    #[error("what arrived is not `{0}`")]
    Damaged(String),
}

impl Parcel {
    /// Of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { digest: hex(&digest(bytes)), size: bytes.len() as u64 }
    }

    /// What its pieces are called.
    pub fn pieces(&self) -> impl Iterator<Item = String> + use<> {
        let count = self.size.div_ceil(PIECE as u64).max(1);
        let digest = self.digest.clone();
        (0..count).map(move |number| format!("{digest}.{number}"))
    }
}

/// Leaves a file with a lane, if it is not there already.
///
/// # Errors
/// It is too large, or the server does not take it.
pub async fn leave(server: &Server, service: &str, bytes: &[u8]) -> Result<Parcel, ParcelError> {
    let parcel = Parcel::of(bytes);
    if parcel.size > LARGEST {
        return Err(ParcelError::TooLarge { size: parcel.size });
    }
    let names: Vec<String> = parcel.pieces().collect();
    // The last piece is left last.
    if let Some(last) = names.last()
        && server.exchange(service, last, "has", None).await? == b"true"
    {
        return Ok(parcel);
    }
    for (number, name) in names.iter().enumerate() {
        let piece = bytes.get(number * PIECE..).unwrap_or_default();
        let piece = &piece[..piece.len().min(PIECE)];
        server.exchange(service, name, "put", Some(piece.to_vec())).await?;
    }
    Ok(parcel)
}

/// Fetches a file that was left with a lane.
///
/// # Errors
/// The server does not have it, or it is not what was left.
pub async fn fetch(
    server: &Server,
    service: &str,
    parcel: &Parcel,
) -> Result<Vec<u8>, ParcelError> {
    if parcel.size > LARGEST {
        return Err(ParcelError::TooLarge { size: parcel.size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(parcel.size).unwrap_or_default());
    for name in parcel.pieces() {
        bytes.extend(server.exchange(service, &name, "get", None).await?);
    }
    if Parcel::of(&bytes) == *parcel {
        Ok(bytes)
    } else {
        Err(ParcelError::Damaged(parcel.digest.clone()))
    }
}

/// Lets the server forget it. What is not forgotten this way is forgotten in time.
///
/// # Errors
/// The server cannot be told.
pub async fn forget(server: &Server, service: &str, parcel: &Parcel) -> Result<(), ServerError> {
    for name in parcel.pieces() {
        server.tell(service, &name, "forget").await?;
    }
    Ok(())
}

/// Tries until it works, or until something else happens: `None` then.
///
/// # Errors
/// It will not work.
pub(super) async fn insist<T, F>(
    until: impl Future<Output = ()>,
    mut attempt: impl FnMut() -> F,
) -> Result<Option<T>, ParcelError>
where
    F: Future<Output = Result<T, ParcelError>>,
{
    let mut until = std::pin::pin!(until);
    loop {
        match attempt().await {
            Ok(done) => return Ok(Some(done)),
            Err(ParcelError::Server(error)) if error.is_passing() => {}
            Err(error) => return Err(error),
        }
        tokio::select! {
            () = &mut until => return Ok(None),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_named_by_what_they_are_of() {
        let small = Parcel::of(b"hello");
        let names: Vec<String> = small.pieces().collect();
        assert_eq!(names, [format!("{}.0", small.digest)]);
        let large = Parcel { size: 2 * PIECE as u64 + 1, ..small };
        assert_eq!(large.pieces().count(), 3);
        assert_ne!(Parcel::of(b"hello").digest, Parcel::of(b"hallo").digest);
    }
}
