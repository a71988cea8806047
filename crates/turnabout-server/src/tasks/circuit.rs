//! A receiver that fails again and again is left alone: one message at a time finds out whether it is well again. The others
//! wait, and use up no attempt.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use turnabout::{ExecutorHandle, TaskResult};

/// So many messages in a row that did not arrive.
const FAILED: u32 = 5;
/// The first rest; each that follows is twice as long, up to the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// How a receiver is doing.
#[derive(Debug)]
pub(crate) struct Circuit {
    /// How many messages in a row have not arrived.
    failed: watch::Sender<u32>,
}

impl Default for Circuit {
    fn default() -> Self {
        Self {
            failed: watch::Sender::new(0),
        }
    }
}

impl Circuit {
    /// A message was sent. A receiver that refuses it for good is well.
    pub(super) fn note<T>(&self, outcome: &TaskResult<T>) {
        let arrived = outcome.as_ref().err().is_none_or(turnabout::TaskError::is_permanent);
        self.failed.send_modify(|failed| {
            *failed = if arrived { 0 } else { failed.saturating_add(1) };
        });
    }

    /// Rules what an executor sends, as long as it is polled.
    pub(crate) async fn rule(&self, name: &str, executor: &ExecutorHandle, resting: &Resting) {
        let mut failed = self.failed.subscribe();
        loop {
            // The sender lives in `self`, so waiting cannot fail.
            let _ = failed.wait_for(|failed| *failed >= FAILED).await;
            tracing::warn!(
                webhook = name,
                "the receiver does not take messages; they wait, and one at a time is tried"
            );
            resting.set(name, true);
            let mut rest = FIRST;
            while *failed.borrow_and_update() > 0 {
                executor.use_slots(0);
                tokio::time::sleep(rest).await;
                rest = (rest * 2).min(LONGEST);
                failed.mark_unchanged();
                executor.use_slots(1);
                let _ = failed.changed().await;
            }
            tracing::info!(webhook = name, "the receiver takes messages again");
            resting.set(name, false);
            executor.use_slots(None);
        }
    }
}

/// The webhooks of this server whose receivers are left alone at present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resting(Arc<Mutex<BTreeSet<String>>>);

impl Resting {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, webhook: &str, rests: bool) {
        if rests {
            self.all().insert(webhook.to_owned());
        } else {
            self.all().remove(webhook);
        }
    }

    pub(crate) fn contains(&self, webhook: &str) -> bool {
        self.all().contains(webhook)
    }
}
