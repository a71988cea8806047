//! Whether the store knows that a job has started. Start marks are gathered, unless someone needs one at once; either way
//! each is written once, so that nothing changes the job's row afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use uuid::Uuid;

use super::hand::{Held, Stop};
use crate::error::{Error, Result};
use crate::store::{Settled, Start, Store};

const UNKNOWN: u8 = 0;
const BEING_WRITTEN: u8 = 1;
const KNOWN: u8 = 2;

/// Whether the store knows of a start.
#[derive(Debug, Default)]
pub(super) struct StartMark(AtomicU8);

impl StartMark {
    pub(super) fn is_known(&self) -> bool {
        self.0.load(Relaxed) == KNOWN
    }

    /// Whether it is now for the caller to write it.
    pub(super) fn begin(&self) -> bool {
        self.0
            .compare_exchange(UNKNOWN, BEING_WRITTEN, Relaxed, Relaxed)
            .is_ok()
    }

    pub(super) fn set(&self) {
        self.0.store(KNOWN, Relaxed);
    }

    /// It could not be written.
    pub(super) fn give_up(&self) {
        let _ = self.0.compare_exchange(BEING_WRITTEN, UNKNOWN, Relaxed, Relaxed);
    }
}

/// Gives up unless it was set, also if whoever writes is dropped.
struct Writing<'a>(&'a StartMark);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl Held {
    /// Makes sure that the store knows of the start.
    pub(crate) async fn record_start(&self, store: &Arc<dyn Store>, executor: Uuid) -> Result<()> {
        while !self.marked.is_known() {
            if !self.marked.begin() {
                // Gathered with others just now.
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            }
            let _writing = Writing(&self.marked);
            let at = self.started_at().unwrap_or_else(|| store.insight().moment());
            let refused = store.start(executor, vec![Start::of(&self.job, at)]).await?.pop();
            self.marked.set();
            match refused {
                None | Some((_, Settled::Done)) => {}
                Some((_, Settled::Cancelling)) => {
                    self.stop(Stop::Cancel);
                    return Err(Error::invalid("claim", "the job is being cancelled"));
                }
                Some((_, Settled::Lost)) => {
                    self.stop(Stop::Lost);
                    return Err(Error::invalid("claim", "the job was given to someone else"));
                }
            }
        }
        Ok(())
    }
}
