//! For tests of applications: jobs in memory, time moved by hand, and an executor that runs until all is done.
//!
//! ```
//! use std::time::Duration;
//! use serde::{Deserialize, Serialize};
//! use turnabout::{Context, Executor, State, Task, TaskResult, testing};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet { name: String }
//!
//! impl Task for Greet { const NAME: &'static str = "greet"; }
//!
//! async fn greet(_: Context, task: Greet) -> TaskResult<String> {
//!     Ok(format!("Hello, {}!", task.name))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> turnabout::Result<()> {
//! let (jobs, clock) = testing::jobs().await?;
//! let job = jobs.submit(Greet { name: "Ada".into() }).delay(Duration::from_hours(1)).await?;
//!
//! testing::drain(Executor::new(&jobs).task(greet)).await?;
//! assert_eq!(jobs.get(job.id).await?.state, State::Waiting, "it is not due yet");
//!
//! clock.advance(Duration::from_hours(1));
//! testing::drain(Executor::new(&jobs).task(greet)).await?;
//! assert_eq!(jobs.get(job.id).await?.result::<String>()?.as_deref(), Some("Hello, Ada!"));
//! # Ok(()) }
//! ```

use std::time::Duration;

pub use crate::clock::{Clock, ManualClock};
use crate::error::Result;
use crate::executor::Executor;
use crate::store::Counts;

/// Jobs in memory, gone with the last clone of the handle, and their clock, which stands still until it is moved.
#[cfg(feature = "sqlite")]
pub async fn jobs() -> Result<(crate::Jobs, ManualClock)> {
    let clock = ManualClock::new();
    let jobs = crate::Jobs::open("sqlite::memory:")
        .clock(Clock::Manual(clock.clone()))
        .await?;
    Ok((jobs, clock))
}

/// Runs this executor until it has nothing in hand and finds nothing more to do, then shuts it down. Says how many
/// jobs there are then: those that are still ready it could not take (of unknown tasks, or paused).
pub async fn drain<S: Send + Sync + 'static>(executor: Executor<S>) -> Result<Counts> {
    let jobs = executor.jobs().clone();
    let handle = executor.start().await?;
    let drained = handle.drained().await;
    handle.shutdown(Duration::ZERO).await;
    drained?;
    jobs.counts().await
}
