//! Server-sent events, from bytes that may be cut anywhere.
//!
//! Every byte is looked at once, however it arrives, and what is kept between two chunks has a bound. An event that
//! lies within one chunk is given out as a part of it, without a copy.

/// How much of one event is kept, if nothing else is said.
pub const DEFAULT_LIMIT: usize = 8 * 1024 * 1024;

/// An event as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` field; empty if there was none.
    pub name: &'a str,
    /// The `data` fields, joined by line feeds.
    pub data: &'a str,
}

/// Why a stream of events cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the limit.
    #[error("an event is larger than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// An event is not text.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// Turns chunks of bytes into events.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data of the event whose end has not come yet, each line with a line feed behind it.
    data: Vec<u8>,
    name: Vec<u8>,
    start: Start,
    /// The last byte was a carriage return: a line feed after it belongs to the same end of line.
    after_cr: bool,
}

/// Whether a byte order mark may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Mark,
    Over,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl SseDecoder {
    /// One that keeps at most `limit` bytes of an event.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            name: Vec::new(),
            start: Start::Mark,
            after_cr: false,
        }
    }

    /// How many bytes it has allocated to keep what is incomplete.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.capacity() + self.data.capacity() + self.name.capacity()
    }

    /// Takes in a chunk and hands out each event that is complete with it, in order. Stops at the first error,
    /// its own or that of `sink`.
    ///
    /// # Errors
    /// An event is too long or not text, or `sink` says so. The decoder is of no use afterwards.
    pub fn feed<E: From<SseError>>(
        &mut self,
        chunk: &[u8],
        mut sink: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = chunk;
        // The one data line of an event that lies within the chunk.
        let mut within: Option<&[u8]> = None;
        loop {
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else { break };
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            self.after_cr = rest[end] == b'\r';
            rest = after;
            // Wherever chunks end, the same is too long.
            self.check(line.len() + within.map_or(0, |before| before.len() + 1))?;
            if self.line.is_empty() {
                let line = self.without_mark(line);
                if line.is_empty() {
                    self.dispatch(within.take(), &mut sink)?;
                } else if let Some(value) = data_of(line) {
                    match within.replace(value) {
                        None if self.data.is_empty() => {}
                        before => {
                            within = None;
                            before.map_or(Ok(()), |before| self.keep_data(before))?;
                            self.keep_data(value)?;
                        }
                    }
                } else {
                    self.field(line)?;
                }
            } else {
                if let Some(before) = within.take() {
                    self.keep_data(before)?;
                }
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                let bytes = self.without_mark(&whole);
                // A kept line is never empty, except when it was nothing but a byte order mark.
                if bytes.is_empty() {
                    self.dispatch(None, &mut sink)?;
                } else if let Some(value) = data_of(bytes) {
                    self.keep_data(value)?;
                } else {
                    self.field(bytes)?;
                }
                whole.clear();
                if self.held() + whole.capacity() <= self.limit {
                    self.line = whole;
                }
            }
        }
        if let Some(before) = within {
            self.keep_data(before)?;
        }
        self.check(rest.len())?;
        keep(self.limit, &mut self.line, rest, [&mut self.data, &mut self.name]);
        Ok(())
    }

    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if self.start == Start::Over {
            return line;
        }
        self.start = Start::Over;
        line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
    }

    /// A field that is not `data`. Of these only the name matters here; comments have no name at all.
    fn field(&mut self, line: &[u8]) -> Result<(), SseError> {
        if let Some(value) = value_of(line, b"event") {
            self.name.clear();
            self.fits(value.len())?;
            keep(self.limit, &mut self.name, value, [&mut self.line, &mut self.data]);
        }
        Ok(())
    }

    fn check(&self, more: usize) -> Result<(), SseError> {
        self.fits(self.line.len() + more)
    }

    /// Whether there is room for so much beside what is known of the event.
    fn fits(&self, more: usize) -> Result<(), SseError> {
        if self.name.len() + self.data.len() + more > self.limit {
            return Err(SseError::TooLong { limit: self.limit });
        }
        Ok(())
    }

    fn keep_data(&mut self, value: &[u8]) -> Result<(), SseError> {
        self.fits(value.len() + 1)?;
        for part in [value, b"\n"] {
            keep(self.limit, &mut self.data, part, [&mut self.line, &mut self.name]);
        }
        Ok(())
    }

    fn dispatch<E: From<SseError>>(
        &mut self,
        within: Option<&[u8]>,
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let data = match within {
            Some(data) => Some(data),
            None => self.data.strip_suffix(b"\n"),
        };
        let outcome = match data {
            Some(data) => {
                let text = |bytes| std::str::from_utf8(bytes).map_err(|_| SseError::NotUtf8);
                sink(SseEvent { name: text(&self.name)?, data: text(data)? })
            }
            None => Ok(()),
        };
        self.name.clear();
        self.data.clear();
        outcome
    }
}

/// Appends something for which there is room. All together never allocate more than the limit: the others give back what they do not use.
fn keep(limit: usize, into: &mut Vec<u8>, bytes: &[u8], mut others: [&mut Vec<u8>; 2]) {
    let needed = into.len() + bytes.len();
    if needed > into.capacity() {
        let held =
            |others: &[&mut Vec<u8>; 2]| others.iter().map(|it| it.capacity()).sum::<usize>();
        if needed + held(&others) > limit {
            others.iter_mut().for_each(|it| it.shrink_to_fit());
        }
        let most = limit.saturating_sub(held(&others));
        let room = (2 * into.capacity()).min(most).max(needed);
        into.reserve_exact(room - into.len());
    }
    into.extend_from_slice(bytes);
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    value_of(line, b"data")
}

/// The value of the field of this name, if the line is one.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
