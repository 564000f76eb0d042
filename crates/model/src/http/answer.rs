//! An answer that comes over a connection.

use reqwest::Response;

use super::network;
use crate::{
    answer::{More, Source},
    error::Problem,
    event::Event,
    wire::{Wire, WireDecoder},
};

/// An answer that comes over a connection, which is gone with it.
pub(super) struct Connection {
    response: Response,
    decoder: WireDecoder,
}

impl Connection {
    pub(super) fn new(response: Response, wire: Wire, limit: usize) -> Self {
        Self { response, decoder: WireDecoder::new(wire, limit) }
    }
}

impl Source for Connection {
    async fn read(&mut self, out: &mut Vec<Event>) -> Result<More, Problem> {
        match self.response.chunk().await {
            Ok(Some(chunk)) => {
                let before = self.decoder.events();
                self.decoder.feed(&chunk, out)?;
                Ok(match self.decoder.is_stopped() {
                    true => More::No,
                    false if self.decoder.events() == before => More::Part,
                    false => More::Yes,
                })
            }
            Ok(None) => self.decoder.finish(out).map(|()| More::No),
            Err(error) => Err(network("reading the answer", error)),
        }
    }

    fn complete(&mut self, out: &mut Vec<Event>) -> bool {
        self.decoder.try_finish(out)
    }
}
