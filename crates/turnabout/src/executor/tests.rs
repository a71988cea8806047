//! The executor at work, on every store. The cases wait for signals (a handler that reports, a job that ends) or move
//! the clock; real time passes only where it is what is tested.

mod blocking;
mod cancelling;
mod counting;
mod drain;
mod fairness;
mod following;
mod handlers;
mod health;
mod history;
mod hooks;
mod identity;
mod idle;
mod inline;
mod learning;
mod leases;
mod limits;
mod logging;
mod outages;
mod owners;
mod punctual;
mod racing;
mod reporting;
mod retries;
mod schedules;
mod scheme;
mod setup;
mod shutdown;
mod tasks;
#[cfg(feature = "postgres")]
mod transactions;
mod watching;
mod wishes;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::executor::{Executor, ExecutorHandle};
use crate::job::{Job, JobId};
use crate::jobs::Jobs;
use crate::store::conformance::World;
use crate::submit::Submission;
use crate::task::{Task, TaskResult};

/// A job whose handler returns what it is given.
#[derive(Debug, Serialize, Deserialize)]
struct Echo(String);

impl Task for Echo {
    const NAME: &'static str = "echo";
    const JITTER: bool = false;
}

async fn echo(_: Context<impl Send + Sync>, task: Echo) -> TaskResult<String> {
    Ok(task.0)
}

/// A job whose handler reports that it began, and ends when it is told how.
#[derive(Debug, Serialize, Deserialize)]
struct Play(String);

impl Task for Play {
    const NAME: &'static str = "play";
    const JITTER: bool = false;
    const RETRIES: u32 = 2;
    const TIME_LIMIT: Option<Duration> = Some(Duration::from_mins(5));
}

/// What a case plays with: who began, and who may end.
struct Stage {
    began: mpsc::UnboundedSender<(String, JobId)>,
    curtain: tokio_util::sync::CancellationToken,
}

/// The audience of a [`Stage`].
struct Seats {
    began: mpsc::UnboundedReceiver<(String, JobId)>,
    curtain: tokio_util::sync::CancellationToken,
}

impl Seats {
    /// The next handler that began.
    async fn next(&mut self) -> (String, JobId) {
        within(self.began.recv()).await.expect("a handler begins")
    }
}

fn stage() -> (Stage, Seats) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let curtain = tokio_util::sync::CancellationToken::new();
    let seats = Seats {
        began: receiver,
        curtain: curtain.clone(),
    };
    (Stage { began: sender, curtain }, seats)
}

/// Begins, and ends when the curtain falls or when it is told to stop.
async fn play(cx: Context<Stage>, task: Play) -> TaskResult<String> {
    let _ = cx.state().began.send((task.0.clone(), cx.job()));
    tokio::select! {
        () = cx.state().curtain.cancelled() => Ok(task.0),
        () = cx.cancelled() => Err("told to stop".into()),
    }
}

fn jobs_of(world: &World) -> Jobs {
    Jobs::on(world.store.clone())
}

/// What a case waits for comes soon, or the case fails: nothing here takes as long as this.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future)
        .await
        .expect("it takes too long")
}

/// Waits for a job's end.
async fn ended(jobs: &Jobs, id: JobId) -> Job {
    within(jobs.watch(id).ended()).await.expect("the job ends")
}

/// Waits until a job is as it should be.
async fn becomes(jobs: &Jobs, id: JobId, right: impl Fn(&Job) -> bool) -> Job {
    let mut watch = jobs.watch(id);
    within(async {
        loop {
            let job = watch.next().await.expect("it goes on").expect("the job is there");
            if right(&job) {
                return job;
            }
        }
    })
    .await
}

/// Starts an executor of [`Play`] with short leases and no grace.
async fn player(jobs: &Jobs, stage: Stage, slots: u32) -> ExecutorHandle {
    let executor = Executor::with_state(jobs, stage)
        .task(play)
        .slots(slots)
        .grace(Duration::from_millis(100));
    executor.start().await.expect("it starts")
}
