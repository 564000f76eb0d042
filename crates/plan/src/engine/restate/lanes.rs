//! Which worker gets a task, and who takes over the lane of one that is gone.
//!
//! A lane is a service of its own in Restate, so that what is given to a worker stays with it, and with whoever serves its lane after
//! it. Every worker can serve every lane: the lane is a part of the address that it is reached at.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use agents_system::digits::decimal;
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use super::server::{Server, ServerError};

const PREFIX: &str = "agents.";
/// Below this of a worker's address are the lanes that it serves.
const PATH: &str = "/lane/";
/// How many tasks a worker takes at once, as its service says it.
pub(super) const SLOTS: &str = "slots";
/// How long it is believed that somebody is there.
const FRESH: Duration = Duration::from_secs(5);
/// How long the server may take to find somebody.
const PROBE: Duration = Duration::from_secs(5);

/// The service of a lane.
#[must_use]
pub fn service(lane: &str) -> String {
    format!("{PREFIX}{lane}")
}

/// The lane of a service, if it is one of ours.
#[must_use]
pub fn lane(service: &str) -> Option<&str> {
    service.strip_prefix(PREFIX).filter(|it| is_name(it))
}

/// The address of a lane at a worker.
#[must_use]
pub fn address(worker: &str, lane: &str) -> String {
    format!("{}{PATH}{lane}", worker.trim_end_matches('/'))
}

/// The worker behind the address of a lane.
#[must_use]
pub fn worker(address: &str) -> Option<&str> {
    Some(address.trim_end_matches('/').rsplit_once(PATH)?.0)
}

/// Whether it can be the name of a lane: of letters, digits, `-` and `_`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(fine)
}

/// A lane as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// The deployment that new tasks go to.
    pub deployment: String,
    /// Its address.
    pub uri: String,
    /// How many tasks it takes at once.
    pub slots: usize,
}

/// The lane with the most room for its size; the first by name of those with the same.
#[must_use]
pub fn emptiest<'a>(lanes: &'a [Lane], load: &HashMap<String, usize>) -> Option<&'a Lane> {
    let of = |lane: &Lane| (load.get(&lane.name).copied().unwrap_or_default(), lane.slots.max(1));
    // Fractions are compared without dividing them.
    lanes.iter().min_by(|one, other| {
        let ((mine, slots), (others, room)) = (of(one), of(other));
        (mine * room).cmp(&(others * slots)).then_with(|| one.name.cmp(&other.name))
    })
}

/// What is known of them now.
#[derive(Debug)]
pub struct Lanes {
    server: Server,
    seen: Mutex<HashMap<String, (Instant, bool)>>,
    /// What this process has given them.
    given: std::sync::Mutex<HashMap<String, usize>>,
}

/// A place in a lane, until it is dropped.
#[derive(Debug)]
pub struct Seat<'a> {
    /// Which.
    pub lane: String,
    given: &'a std::sync::Mutex<HashMap<String, usize>>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut given = self.given.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(count) = given.get_mut(&self.lane) {
            *count = count.saturating_sub(1);
        }
    }
}

impl Lanes {
    /// Of a server.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server, seen: Mutex::default(), given: std::sync::Mutex::default() }
    }

    /// All that the server knows, whether or not somebody serves them.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn all(&self) -> Result<Vec<Lane>, ServerError> {
        let deployments = self.server.deployments().await?;
        let uris: BTreeMap<String, String> =
            deployments.into_iter().map(|it| (it.id, it.uri)).collect();
        let services = self.server.services().await?.into_iter();
        let lanes = services.filter_map(|service| {
            let uri = uris.get(&service.deployment_id)?.clone();
            let slots = service.metadata.get(SLOTS).and_then(|it| decimal(it)).unwrap_or(1);
            let name = lane(&service.name)?.to_owned();
            Some(Lane { name, deployment: service.deployment_id, uri, slots })
        });
        Ok(lanes.collect())
    }

    /// Those that somebody serves.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn served(&self) -> Result<Vec<Lane>, ServerError> {
        let mut served = Vec::new();
        for lane in self.all().await? {
            if self.is_served(&lane.uri).await? {
                served.push(lane);
            }
        }
        Ok(served)
    }

    /// Whether the server finds somebody at an address.
    async fn is_served(&self, uri: &str) -> Result<bool, ServerError> {
        let mut seen = self.seen.lock().await;
        if let Some((at, served)) = seen.get(uri)
            && at.elapsed() < FRESH
        {
            return Ok(*served);
        }
        let served = match self.server.probe(uri, PROBE).await {
            Ok(()) => true,
            // The server answers for whoever is not there, and takes its time for it.
            Err(ServerError::Refused { .. }) => false,
            Err(ServerError::Unreachable { source, .. }) if source.is_timeout() => false,
            Err(error) => return Err(error),
        };
        seen.insert(uri.to_owned(), (Instant::now(), served));
        Ok(served)
    }

    /// A place in the lane with the most room; `None` if nobody serves any.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn seat(&self) -> Result<Option<Seat<'_>>, ServerError> {
        #[derive(Deserialize)]
        struct Row {
            name: String,
            n: usize,
        }
        let served = self.served().await?;
        let rows: Vec<Row> = self
            .server
            .query(&format!(
                "SELECT target_service_name AS name, count(*) AS n FROM sys_invocation \
                 WHERE target_service_name LIKE '{PREFIX}%' AND target_handler_name = 'run' AND status != 'completed' \
                 GROUP BY target_service_name"
            ))
            .await?;
        let mut load: HashMap<String, usize> =
            rows.iter().filter_map(|it| Some((lane(&it.name)?.to_owned(), it.n))).collect();
        let mut given = self.given.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (lane, count) in given.iter() {
            let load = load.entry(lane.clone()).or_default();
            *load = (*load).max(*count);
        }
        let Some(lane) = emptiest(&served, &load) else { return Ok(None) };
        let name = lane.name.clone();
        *given.entry(name.clone()).or_default() += 1;
        Ok(Some(Seat { lane: name, given: &self.given }))
    }

    /// Gives a deployment that nobody serves any more to a worker that is there. Tells whether somebody serves it now.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn replace(&self, deployment: &str) -> Result<bool, ServerError> {
        let deployments = self.server.deployments().await?;
        let Some(gone) = deployments.into_iter().find(|it| it.id == deployment) else {
            return Ok(false);
        };
        if self.is_served(&gone.uri).await? {
            return Ok(true);
        }
        let Some((_, name)) = gone.uri.trim_end_matches('/').rsplit_once(PATH) else {
            return Ok(false);
        };
        for other in self.served().await? {
            let Some(worker) = worker(&other.uri) else { continue };
            let uri = address(worker, name);
            if self.is_served(&uri).await? {
                self.server.repoint(deployment, &uri).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, slots: usize) -> Lane {
        let uri = address("http://127.0.0.1:9080", name);
        Lane { name: name.to_owned(), deployment: format!("dp_{name}"), uri, slots }
    }

    #[test]
    fn addresses_hold_the_lane() {
        let lane = named("one", 1);
        assert_eq!(lane.uri, "http://127.0.0.1:9080/lane/one");
        assert_eq!(worker(&lane.uri), Some("http://127.0.0.1:9080"));
        assert_eq!(worker(&format!("{}/", lane.uri)), Some("http://127.0.0.1:9080"));
        assert_eq!(worker("http://127.0.0.1:9080"), None);
        assert_eq!(super::lane(&service("one")), Some("one"));
        assert_eq!(super::lane("agents.of/somebody else"), None);
        assert!(is_name("host-9080") && !is_name("a/b") && !is_name("") && !is_name("a.b"));
    }

    #[test]
    fn the_emptiest_for_its_size_is_next() {
        let lanes = [named("b", 4), named("a", 2)];
        let next = |load: &[(&str, usize)]| {
            let load = load.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            emptiest(&lanes, &load).map(|it| it.name.clone())
        };
        assert_eq!(next(&[]).as_deref(), Some("a"));
        assert_eq!(next(&[("a", 1)]).as_deref(), Some("b"));
        assert_eq!(next(&[("a", 1), ("b", 2)]).as_deref(), Some("a"));
        assert_eq!(next(&[("a", 1), ("b", 1)]).as_deref(), Some("b"));
        assert_eq!(emptiest(&[], &HashMap::new()), None);
    }
}
