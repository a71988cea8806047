//! Executors of this process that sleep until jobs are ready, and the moment that the writer gives them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;
use uuid::Uuid;

/// So long the writer waits, with its transaction open, for an executor that it has just woken: less than the commit
/// takes that is saved when it comes.
const MOMENT: Duration = Duration::from_micros(150);
/// After so many moments in vain the writer expects nobody ..
const PATIENCE: u32 = 4;
/// .. and tries again after so many more.
const TRIALS: u32 = 100;

/// Who sleeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sleepers {
    asleep: Arc<Mutex<HashSet<Uuid>>>,
    /// How many moments in a row were in vain, or would have been. They may be: the executor may know none of the
    /// tasks, be slow, or be gone without a word.
    in_vain: u32,
}

impl Sleepers {
    pub(super) fn note(&self, executor: Uuid, asleep: bool) {
        let mut sleepers = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        if asleep {
            sleepers.insert(executor);
        } else {
            sleepers.remove(&executor);
        }
    }

    /// Whether someone sleeps who is likely to come when woken.
    pub(super) fn any(&mut self) -> bool {
        if self.asleep.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return false;
        }
        if self.in_vain < PATIENCE {
            return true;
        }
        self.in_vain += 1;
        if self.in_vain == PATIENCE + TRIALS {
            self.in_vain = PATIENCE - 1;
        }
        false
    }

    /// Waits a moment for whoever comes first.
    pub(super) fn wait<T>(&mut self, line: &mut Receiver<T>) -> Option<T> {
        let came = receive(line, Instant::now() + MOMENT);
        self.in_vain = if came.is_some() { 0 } else { self.in_vain + 1 };
        came
    }
}

fn receive<T>(line: &mut Receiver<T>, until: Instant) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(received) = line.poll_recv(&mut context) {
            return received;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_waited_for_again_and_again_in_vain() {
        let (sender, mut line) = tokio::sync::mpsc::channel::<()>(4);
        let mut sleepers = Sleepers::default();
        assert!(!sleepers.any(), "nobody sleeps");
        sleepers.note(Uuid::nil(), true);
        let waits = (0..200).filter(|_| sleepers.any() && sleepers.wait(&mut line).is_none());
        assert!((1..10).contains(&waits.count()));
        sender.try_send(()).expect("room");
        while !sleepers.any() {}
        assert!(sleepers.wait(&mut line).is_some());
        assert!(sleepers.any(), "who came once is waited for");
        sleepers.note(Uuid::nil(), false);
        assert!(!sleepers.any());
    }
}
