//! Who runs jobs: executors as the store knows them, and what they have to do to stay known.

use async_trait::async_trait;
use uuid::Uuid;

use super::Occupied;
use crate::error::Result;
use crate::job::JobId;
use crate::task::TaskSettings;
use crate::turn::Charge;

/// An executor as the store knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorInfo {
    /// Random, new at each registration.
    pub incarnation: Uuid,
    /// Its name for people.
    pub name: String,
    /// How many jobs it runs at a time.
    pub slots: u32,
    /// Its queues.
    pub queues: Vec<String>,
    /// The tasks that it knows.
    pub tasks: Vec<String>,
    /// The program's version.
    pub version: String,
    /// Grows with each heartbeat.
    pub beat: i64,
}

/// What a heartbeat brings back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beat {
    /// Whether the executor is still registered. If not, its lease has ended: stop everything, register anew.
    pub alive: bool,
    /// What the store sees in its hands: job, claim number, whether a cancel was requested.
    pub held: Vec<(JobId, i64, bool)>,
    /// All registered executors and their heartbeat numbers, to notice who falls silent.
    pub peers: Vec<(Uuid, i64)>,
    /// Whether it is to take no more jobs.
    pub draining: bool,
    /// Whether it is to end, once it has none in hand.
    pub dismissed: bool,
}

/// The life of an executor, in the store.
#[async_trait]
pub trait Executors {
    /// Makes an executor known, together with its tasks' settings.
    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()>;

    /// Keeps an executor alive, and looks at what it holds and at the others.
    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat>;

    /// Ends an executor if its heartbeat number is (still) `beat`: what it holds is given back or ended as
    /// [`Event::Lose`](crate::lifecycle::Event) demands. Returns how many jobs that were. With an unknown executor: jobs
    /// without an executor.
    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32>;

    /// Forgets an executor that holds nothing any longer.
    async fn deregister(&self, executor: Uuid) -> Result<()>;

    /// Asks for an executor's id, which only one that lives can have.
    async fn occupy(&self, id: &str) -> Result<Occupied>;

    /// Adds to the shared accounts of a kind of executors; returns what the accounts of these groups hold then.
    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>>;
}
