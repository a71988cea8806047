//! Executors of this process that have found nothing stand by: each leaves its take here. Jobs that are stored while someone
//! stands by are that executor's from the beginning: they start after one commit, not two (docs/adr/0020).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::PostgresStore;
use crate::error::{Error, Result};
use crate::store::{NewJob, Stood, Take};

/// Those who stand by, the longest first. Whoever was served comes back as the last, so that executors take turns.
#[derive(Default)]
pub(super) struct Standby(Mutex<VecDeque<IdleTake>>);

/// A take that waits for jobs.
pub(super) struct IdleTake {
    pub(super) take: Take,
    pub(super) answer: oneshot::Sender<Result<Stood>>,
}

impl Standby {
    fn takes(&self) -> MutexGuard<'_, VecDeque<IdleTake>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, take: Take) -> oneshot::Receiver<Result<Stood>> {
        let (answer, receiver) = oneshot::channel();
        let mut takes = self.takes();
        takes.retain(|idle| !idle.answer.is_closed());
        takes.push_back(IdleTake { take, answer });
        receiver
    }

    /// Gives a take back, unless someone has it or it was answered.
    fn recall(&self, executor: Uuid, number: i64) -> Option<Take> {
        let mut takes = self.takes();
        let is_it = |idle: &IdleTake| (idle.take.executor, idle.take.number) == (executor, number);
        let at = takes.iter().position(is_it)?;
        takes.remove(at).map(|idle| idle.take)
    }

    /// Someone who waits for any of these jobs, and has room for all of them. Whoever asks for it has to answer it.
    pub(super) fn someone_for(&self, jobs: &[&NewJob]) -> Option<IdleTake> {
        let mut takes = self.takes();
        takes.retain(|idle| !idle.answer.is_closed());
        let knows = |idle: &IdleTake| {
            jobs.len() <= idle.take.want as usize && jobs.iter().all(|job| idle.take.tasks.contains(job.task.as_str()))
        };
        let at = takes.iter().position(knows)?;
        takes.remove(at)
    }
}

impl PostgresStore {
    /// Stands by until jobs were taken for it, or `until` is over.
    pub(super) async fn wait_for_jobs(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        let (executor, number) = (take.executor, take.number);
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
