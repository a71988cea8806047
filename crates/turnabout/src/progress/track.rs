//! Items that count as they are worked through.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{Stream, StreamExt};

use super::{Cancelled, Progress};

/// What [`Progress::track`] returns.
#[derive(Debug)]
#[must_use = "nothing is counted until the items are worked through"]
pub struct Track<I> {
    items: I,
    count: Count,
}

/// What [`Progress::track_stream`] returns.
#[derive(Debug)]
#[must_use = "nothing is counted until the items are worked through"]
pub struct TrackStream<S> {
    items: S,
    count: Count,
}

/// Counts an item when the next one is asked for: then the work on it is done.
#[derive(Debug)]
struct Count {
    progress: Progress,
    at_work: bool,
    cancelled: bool,
}

impl Count {
    fn new(progress: Progress) -> Self {
        Self {
            progress,
            at_work: false,
            cancelled: false,
        }
    }

    /// Counts the item before. An error comes once, and is the end.
    fn next(&mut self) -> Option<Result<(), Cancelled>> {
        if self.cancelled {
            return None;
        }
        let done = if std::mem::take(&mut self.at_work) {
            self.progress.increment(1)
        } else {
            self.progress.check()
        };
        self.cancelled = done.is_err();
        Some(done)
    }
}

impl<I> Track<I> {
    pub(super) fn new(progress: Progress, items: I) -> Self {
        Self {
            items,
            count: Count::new(progress),
        }
    }
}

impl<I: Iterator> Iterator for Track<I> {
    type Item = Result<I::Item, Cancelled>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(cancelled) = self.count.next()? {
            return Some(Err(cancelled));
        }
        let item = self.items.next()?;
        self.count.at_work = true;
        Some(Ok(item))
    }
}

impl<S> TrackStream<S> {
    pub(super) fn new(progress: Progress, items: S) -> Self {
        Self {
            items,
            count: Count::new(progress),
        }
    }
}

impl<S: Stream + Unpin> Stream for TrackStream<S> {
    type Item = Result<S::Item, Cancelled>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.count.next() {
            None => return Poll::Ready(None),
            Some(Err(cancelled)) => return Poll::Ready(Some(Err(cancelled))),
            Some(Ok(())) => {}
        }
        let item = std::task::ready!(self.items.poll_next_unpin(cx));
        self.count.at_work = item.is_some();
        Poll::Ready(item.map(Ok))
    }
}
