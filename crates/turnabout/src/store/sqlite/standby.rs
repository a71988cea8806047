//! Idle takes: takes that executors of this process have left with the writer, because they found nothing.
//!
//! Only the writer's thread has them, and everything that concerns them comes through its queue of calls. So no job can be
//! missed between a take that finds nothing and its waiting here, and no take is both recalled and answered with jobs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::oneshot;

use super::calls::told;
use super::fault::{Broken, Fault};
use super::outbox::Ready;
use super::take;
use super::tx::Tx;
use crate::error::Result;
use crate::store::{Stood, Take, Taken};

/// What a caller does who is told of an error.
pub(super) const DOING: &str = "standing by";

/// Gives each idle take a number of its own.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A take that is run when something may be ready for it.
pub(super) struct IdleTake {
    pub(super) number: u64,
    pub(super) take: Take,
    state: State,
    outcome: Option<Result<Taken, Fault>>,
    reply: oneshot::Sender<Result<Stood>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has never been run: a job may have become ready before it came.
    New,
    /// Was run, found nothing, and waits.
    Waiting,
    /// Something may be ready for it.
    Woken,
}

impl IdleTake {
    pub(super) fn new(take: Take) -> (Self, oneshot::Receiver<Result<Stood>>) {
        let (reply, answer) = oneshot::channel();
        let idle = Self {
            number: NUMBERS.fetch_add(1, Relaxed),
            take,
            state: State::New,
            outcome: None,
            reply,
        };
        (idle, answer)
    }

    pub(super) fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let outcome = take::take(tx, &mut self.take);
        let kept = outcome.is_ok();
        self.outcome = Some(outcome);
        kept
    }

    /// Tells what it brought. One that was new and brought nothing is returned, and waits from now on.
    fn answer(mut self, end: &Result<(), Broken>) -> Option<Self> {
        match told(DOING, self.outcome.take(), end.clone()) {
            Ok(taken) if self.state == State::New && taken.jobs.is_empty() && !taken.found => {
                self.take.turns = taken.turns;
                // Who was left out may be the one for whom a job becomes ready.
                self.take.turns.forgive();
                self.state = State::Waiting;
                Some(self)
            }
            // One that was woken in vain is told as well: whoever is woken too often for nothing knows what to do about it,
            // and here it would cost every submit a look.
            taken => {
                // Should nobody wait for it any longer, the next heartbeat gives back what was taken.
                let _ = self.reply.send(taken.map(Stood::Taken));
                None
            }
        }
    }
}

/// All idle takes, the one that has waited longest first. An executor that got a job comes back as the last, so they take turns.
#[derive(Default)]
pub(super) struct IdleTakes {
    all: Vec<IdleTake>,
}

impl IdleTakes {
    pub(super) fn add(&mut self, take: IdleTake) {
        self.all.push(take);
    }

    /// Gives a take back, unless it was answered before.
    pub(super) fn recall(&mut self, number: u64) {
        if let Some(at) = self.all.iter().position(|idle| idle.number == number) {
            let idle = self.all.remove(at);
            let _ = idle.reply.send(Ok(Stood::Recalled(idle.take.turns)));
        }
    }

    /// Whether some have never been run.
    pub(super) fn any_new(&self) -> bool {
        self.all.iter().any(|idle| idle.state == State::New)
    }

    /// Whether there are any, and all of them wait.
    pub(super) fn all_wait(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|idle| idle.state == State::Waiting)
    }

    /// Jobs have become ready. Takes of executors that are gone are dropped.
    pub(super) fn wake(&mut self, ready: &Ready) {
        self.all.retain_mut(|idle| {
            if idle.state == State::Waiting && ready.concerns(&idle.take) {
                idle.state = State::Woken;
            }
            !idle.reply.is_closed()
        });
    }

    /// Those that are to be run.
    pub(super) fn woken(&mut self) -> impl Iterator<Item = &mut IdleTake> {
        self.all
            .iter_mut()
            .filter(|idle| matches!(idle.state, State::New | State::Woken))
    }

    /// The transaction has ended: whoever was run in it is told. When it failed, that is an error, as for every verb: what
    /// was seen in it is not to be believed. For those that were not run nothing has changed.
    pub(super) fn answer(&mut self, end: &Result<(), Broken>) {
        if self.all.is_empty() || self.all_wait() {
            return;
        }
        self.all = std::mem::take(&mut self.all)
            .into_iter()
            .filter_map(|idle| match idle.state {
                State::Waiting => Some(idle),
                State::New | State::Woken => idle.answer(end),
            })
            .collect();
    }
}
