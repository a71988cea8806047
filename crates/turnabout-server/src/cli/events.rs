//! Server-sent events, as the API tells them, read one after the other.

use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::body::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde::de::DeserializeOwned;

/// A server that has nothing to tell says so every 15 seconds, unless it is told otherwise. One that says nothing for so
/// long may be gone without a word: whoever follows it looks for themselves.
const SILENCE: Duration = Duration::from_mins(1);
/// No event is longer.
const MAX_EVENT: usize = 16 << 20;

/// A stream of events.
pub(crate) struct Events {
    chunks: BoxStream<'static, anyhow::Result<Bytes>>,
    /// What was received and not read yet.
    rest: Vec<u8>,
}

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    data: String,
}

impl Event {
    /// What it tells.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_str(&self.data).with_context(|| format!("an event `{}` cannot be understood", self.name))
    }
}

impl Events {
    pub(crate) fn new(chunks: BoxStream<'static, anyhow::Result<Bytes>>) -> Self {
        Self {
            chunks,
            rest: Vec::new(),
        }
    }

    /// The next event. None: the stream has ended.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Event>> {
        let mut event = Event::default();
        loop {
            while let Some(line) = self.line() {
                match line.split_once(':') {
                    Some(("event", name)) => name.trim_start().clone_into(&mut event.name),
                    Some(("data", data)) => event.data.push_str(data.strip_prefix(' ').unwrap_or(data)),
                    None if line.is_empty() && !event.name.is_empty() => return Ok(Some(event)),
                    // A place to resume from, or a comment, which shows that someone is there.
                    _ => {}
                }
            }
            if self.rest.len() + event.data.len() > MAX_EVENT {
                bail!("an event is too long");
            }
            match tokio::time::timeout(SILENCE, self.chunks.next()).await {
                Ok(Some(chunk)) => self.rest.extend_from_slice(&chunk?),
                Ok(None) => return Ok(None),
                Err(_) => bail!("nothing was heard for {} seconds", SILENCE.as_secs()),
            }
        }
    }

    /// A line that has been received as a whole.
    fn line(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.rest.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn events_are_read_however_they_are_cut() {
        let text =
            ": alive\n\nevent: job\ndata: {\"n\":1}\nid: 7\n\nevent: end\r\ndata: {}\r\n\r\nevent: lost\ndata: {";
        for size in [1, 2, 3, 7, text.len()] {
            let chunks: Vec<anyhow::Result<Bytes>> = text
                .as_bytes()
                .chunks(size)
                .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
                .collect();
            let mut events = Events::new(stream::iter(chunks).boxed());
            let first = events.next().await.expect("a stream").expect("an event");
            assert_eq!(first.name, "job");
            let told: serde_json::Value = first.read().expect("JSON");
            assert_eq!(told["n"], 1);
            assert_eq!(events.next().await.expect("a stream").expect("an event").name, "end");
            assert_eq!(events.next().await.expect("a stream"), None, "half an event is none");
        }
    }
}
