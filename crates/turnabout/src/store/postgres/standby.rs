//! Executors of this process that have found nothing stand by: each leaves its take here. Whoever stores a few jobs has them
//! taken by one of these in the same statement, so that they start after one commit, not two (docs/adr/0020).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::PostgresStore;
use super::peek::Look;
use crate::error::{Error, Result};
use crate::store::{NewJob, Stood, Take};

/// Those who stand by, the longest first. Whoever was served comes back as the last, so that executors take turns.
#[derive(Default)]
pub(super) struct Standby(Mutex<VecDeque<Order>>);

/// A take that waits for jobs.
pub(super) struct Order {
    pub(super) take: Take,
    pub(super) answer: oneshot::Sender<Result<Stood>>,
}

impl Standby {
    fn orders(&self) -> MutexGuard<'_, VecDeque<Order>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, take: Take) -> oneshot::Receiver<Result<Stood>> {
        let (answer, receiver) = oneshot::channel();
        let mut orders = self.orders();
        orders.retain(|order| !order.answer.is_closed());
        orders.push_back(Order { take, answer });
        receiver
    }

    /// Gives an order back, unless someone has it or it was answered.
    fn recall(&self, executor: Uuid, number: i64) -> Option<Take> {
        let mut orders = self.orders();
        let is_it = |order: &Order| (order.take.executor, order.take.number) == (executor, number);
        let at = orders.iter().position(is_it)?;
        orders.remove(at).map(|order| order.take)
    }

    /// Someone who knows all these jobs and waits for any. Whoever asks for it has to answer it.
    pub(super) fn someone_for(&self, calls: &[&[NewJob]]) -> Option<Order> {
        let mut orders = self.orders();
        orders.retain(|order| !order.answer.is_closed());
        let knows = |order: &Order| {
            calls
                .iter()
                .copied()
                .flatten()
                .all(|job| order.take.tasks.contains(job.task.as_str()))
        };
        let at = orders.iter().position(knows)?;
        orders.remove(at)
    }
}

impl PostgresStore {
    /// Stands by until jobs were taken for it, or `until` is over.
    pub(super) async fn wait_for_jobs(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        let (executor, number) = (take.executor, take.number);
        if self.ask_for_all(&Look::of(&take), number).is_none() {
            // It takes a look by the rules, whoever comes.
            until.await;
            return Ok(Stood::Recalled(take.turns));
        }
        let mut answer = self.standby.add(take);
        let came = tokio::select! {
            biased;
            came = &mut answer => came,
            () = until => match self.standby.recall(executor, number) {
                Some(take) => return Ok(Stood::Recalled(take.turns)),
                None => answer.await,
            },
        };
        came.unwrap_or_else(|_| {
            Err(Error::Store {
                doing: "standing by",
                cause: "the program is shutting down".into(),
                transient: true,
            })
        })
    }
}
