//! Standing orders: takes that executors of this process have left with the writer, because they found nothing.
//!
//! Only the writer's thread has them, and everything that concerns them comes through its line. So there is no moment
//! between looking in vain and standing by in which a job could be missed, and none in which an order is both recalled
//! and served.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::oneshot;

use super::desk::Tx;
use super::fault::{Broken, Fault};
use super::line::told;
use super::taking;
use crate::error::Result;
use crate::store::{Stood, Take, Taken};
use crate::turn::Turns;

/// What a caller does who is told of an error.
pub(super) const DOING: &str = "standing by";
/// So many tasks are told apart in one transaction; past that anyone may find something.
const TASKS: usize = 32;

/// Gives each order a number of its own.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A take that is run when something may be ready for it.
pub(super) struct Order {
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
    /// Was run in vain, and waits.
    Standing,
    /// Something may be ready for it.
    Woken,
    /// A job that was just stored went straight to it, or was about to: its memory of turns is elsewhere.
    Served,
}

impl Order {
    pub(super) fn new(take: Take) -> (Self, oneshot::Receiver<Result<Stood>>) {
        let (reply, answer) = oneshot::channel();
        let order = Self {
            number: NUMBERS.fetch_add(1, Relaxed),
            take,
            state: State::New,
            outcome: None,
            reply,
        };
        (order, answer)
    }

    pub(super) fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let outcome = taking::take(tx, &mut self.take);
        let kept = outcome.is_ok();
        self.outcome = Some(outcome);
        kept
    }

    /// A job is about to go straight to it. Its memory of turns comes back by one of the next two; if by neither, it is told
    /// of an error.
    pub(super) fn begin(&mut self) -> Turns {
        self.state = State::Served;
        std::mem::take(&mut self.take.turns)
    }

    pub(super) fn serve(&mut self, taken: Taken) {
        self.outcome = Some(Ok(taken));
    }

    /// It goes on standing: the job was not stored.
    pub(super) fn withdraw(&mut self, mut turns: Turns) {
        turns.forgive();
        self.take.turns = turns;
        self.state = State::Standing;
    }

    /// Tells what it brought. One that was new and brought nothing is returned, and stands from now on.
    fn answer(mut self, end: &Result<(), Broken>) -> Option<Self> {
        match told(DOING, self.outcome.take(), end.clone()) {
            Ok(taken) if self.state == State::New && taken.jobs.is_empty() && !taken.found => {
                self.take.turns = taken.turns;
                // Who was left out may be the one for whom a job becomes ready.
                self.take.turns.forgive();
                self.state = State::Standing;
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

/// All orders, the longest standing first. Whoever was served comes back as the last, so that executors take turns.
#[derive(Default)]
pub(super) struct Orders {
    all: Vec<Order>,
}

impl Orders {
    pub(super) fn add(&mut self, order: Order) {
        self.all.push(order);
    }

    /// Gives an order back, unless it was answered before.
    pub(super) fn recall(&mut self, number: u64) {
        if let Some(at) = self.all.iter().position(|order| order.number == number) {
            let order = self.all.remove(at);
            let _ = order.reply.send(Ok(Stood::Recalled(order.take.turns)));
        }
    }

    /// Whether some wait for a transaction.
    pub(super) fn wait(&self) -> bool {
        self.all.iter().any(|order| order.state == State::New)
    }

    /// Whether there are any, and all of them stand.
    pub(super) fn stand(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|order| order.state == State::Standing)
    }

    /// Jobs have become ready. Orders that nobody waits for any longer are dropped.
    pub(super) fn wake(&mut self, ready: &Ready) {
        self.all.retain_mut(|order| {
            if order.state == State::Standing && ready.concerns(&order.take) {
                order.state = State::Woken;
            }
            !order.reply.is_closed()
        });
    }

    /// Those that are to be run.
    pub(super) fn woken(&mut self) -> impl Iterator<Item = &mut Order> {
        self.all
            .iter_mut()
            .filter(|order| matches!(order.state, State::New | State::Woken))
    }

    /// The one that has stood longest of those who wait for such a job.
    pub(super) fn standing(&mut self, queue: &str, task: &str) -> Option<&mut Order> {
        self.all.iter_mut().find(|order| {
            order.state == State::Standing
                && order.take.want > 0
                && order.take.tasks.contains(task)
                && order.take.queues.iter().any(|known| known == queue)
                && !order.reply.is_closed()
        })
    }

    /// What stored a job for one of these was undone: that one is told, as when the commit fails.
    pub(super) fn disappoint(&mut self) {
        for order in self.all.iter_mut().filter(|order| order.state == State::Served) {
            order.outcome = Some(Err(Broken::by_another().told(DOING).into()));
        }
    }

    /// The transaction has ended: whoever was run in it is told. When it failed, that is an error, as for every verb: what
    /// was seen in it is not to be believed. For those that were not run nothing has changed.
    pub(super) fn answer(&mut self, end: &Result<(), Broken>) {
        if self.all.is_empty() || self.stand() {
            return;
        }
        self.all = std::mem::take(&mut self.all)
            .into_iter()
            .filter_map(|order| match order.state {
                State::Standing => Some(order),
                State::New | State::Woken | State::Served => order.answer(end),
            })
            .collect();
    }
}

/// For whom something may have become ready.
#[derive(Debug, Default)]
pub(super) enum Ready {
    #[default]
    Nobody,
    /// Those who know one of these tasks.
    Tasks(Vec<String>),
    All,
}

impl Ready {
    pub(super) fn any(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    pub(super) fn note(&mut self, task: &str) {
        match self {
            Self::Nobody => *self = Self::Tasks(vec![task.to_owned()]),
            Self::Tasks(tasks) if tasks.iter().any(|known| known == task) => {}
            Self::Tasks(tasks) if tasks.len() < TASKS => tasks.push(task.to_owned()),
            Self::Tasks(_) => *self = Self::All,
            Self::All => {}
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        match other {
            Self::Nobody => {}
            Self::Tasks(tasks) => tasks.iter().for_each(|task| self.note(task)),
            Self::All => *self = Self::All,
        }
    }

    fn concerns(&self, take: &Take) -> bool {
        match self {
            Self::Nobody => false,
            Self::Tasks(tasks) => tasks.iter().any(|task| take.tasks.contains(task.as_str())),
            Self::All => true,
        }
    }
}
