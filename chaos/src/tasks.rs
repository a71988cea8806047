//! The handlers of a worker process. Each writes into the side log when it begins and when it ends, whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use turnabout::{Context, Executor, ExecutorHandle, Isolation, Jobs, Submission, Task, TaskError, TaskResult};

use crate::kind::{FEW_RETRIES, Kind};
use crate::record::{How, Record, SideLog, now};

/// Where bookings go. No key: a second one would be seen.
pub const BOOKS: &str = "create table if not exists booked (job uuid not null)";
const BOOK: &str = "insert into booked (job) values ($1)";

/// What handlers share.
pub struct App {
    /// Where they write.
    pub side: SideLog,
    /// Which process this is.
    pub process: u32,
    /// The executor that calls them, as soon as it has started.
    pub executor: watch::Sender<Option<Arc<ExecutorHandle>>>,
    runs: AtomicU32,
}

impl App {
    /// The state of one process.
    pub fn new(side: SideLog, process: u32) -> Arc<Self> {
        Arc::new(Self {
            side,
            process,
            executor: watch::Sender::new(None),
            runs: AtomicU32::new(0),
        })
    }

    async fn begin(self: &Arc<Self>, cx: &Context<Arc<Self>>) -> Run {
        let mut executor = self.executor.subscribe();
        let started = executor
            .wait_for(Option::is_some)
            .await
            .expect("the sender lives in the state");
        let incarnation = started.as_ref().expect("it has started").health().incarnation;
        drop(started);
        let run = self.runs.fetch_add(1, Relaxed);
        self.side.write(&Record::Began {
            at: now(),
            process: self.process,
            incarnation,
            run,
            job: cx.job(),
            attempt: cx.attempt(),
        });
        Run {
            app: Arc::clone(self),
            number: run,
            how: How::Dropped,
        }
    }
}

/// A run under way. Its end is written when it is dropped.
struct Run {
    app: Arc<App>,
    number: u32,
    how: How,
}

impl Run {
    fn done(mut self, cx: &Context<Arc<App>>) -> String {
        self.how = How::Done;
        cx.job().to_string()
    }

    fn failed(mut self, error: impl Into<TaskError>) -> TaskResult<String> {
        self.how = How::Failed;
        Err(error.into())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.app.side.write(&Record::Ended {
            at: now(),
            process: self.app.process,
            run: self.number,
            how: self.how,
        });
    }
}

/// Defines a task for a kind of job: how long it takes in milliseconds, and its settings.
macro_rules! task {
    ($name:ident, $kind:ident { $($settings:tt)* }) => {
        #[derive(Debug, Serialize, Deserialize)]
        struct $name {
            millis: u64,
            fails: u32,
        }

        impl Task for $name {
            const NAME: &'static str = stringify!($kind);
            const RETRY_DELAY: Duration = Duration::from_millis(100);
            const RETRY_CAP: Duration = Duration::from_millis(500);
            $($settings)*
        }
    };
}

task!(Quick, quick { const RETRIES: u32 = 1000; });
task!(Slow, slow { const RETRIES: u32 = 1000; });
task!(Stubborn, stubborn { const RETRIES: u32 = 1000; });
task!(Flaky, flaky { const RETRIES: u32 = 1000; });
task!(Doomed, doomed { const RETRIES: u32 = FEW_RETRIES; });
task!(Once, once { const RESTARTABLE: bool = false; });
task!(Snoozing, snoozing { const RETRIES: u32 = 1000; });
task!(Poison, poison { const RETRIES: u32 = FEW_RETRIES; });
task!(Narrow, narrow { const RETRIES: u32 = 1000; });
task!(Blocking, blocking { const RETRIES: u32 = 1000; });
task!(Booking, booking {
    const RETRIES: u32 = 1000;
    const TRANSACTION: Option<Isolation> = Some(Isolation::ReadCommitted);
});

/// A job of a kind, which takes so long and fails so often.
pub fn submission(kind: Kind, millis: u64, fails: u32) -> Submission {
    match kind {
        Kind::Quick => Submission::new(Quick { millis, fails }),
        Kind::Slow => Submission::new(Slow { millis, fails }),
        Kind::Stubborn => Submission::new(Stubborn { millis, fails }),
        Kind::Flaky => Submission::new(Flaky { millis, fails }),
        Kind::Doomed => Submission::new(Doomed { millis, fails }),
        Kind::Once => Submission::new(Once { millis, fails }),
        Kind::Snoozing => Submission::new(Snoozing { millis, fails }),
        Kind::Poison => Submission::new(Poison { millis, fails }),
        Kind::Narrow => Submission::new(Narrow { millis, fails }),
        Kind::Blocking => Submission::new(Blocking { millis, fails }),
        Kind::Booking => Submission::new(Booking { millis, fails }),
    }
}

/// The arguments of a job that takes so long, for whoever knows its task only by name.
pub fn submission_args(millis: u64) -> serde_json::Value {
    serde_json::json!({ "millis": millis, "fails": 0 })
}

/// An executor that knows all tasks; the one with a transaction only where there are any.
pub fn executor(jobs: &Jobs, app: Arc<App>, transactions: bool) -> Executor<Arc<App>> {
    let executor = Executor::with_state(jobs, app)
        .task(|cx, task: Quick| sleep(cx, task.millis))
        .task(|cx, task: Slow| obey(cx, task.millis))
        .task(|cx, task: Stubborn| sleep(cx, task.millis))
        .task(flaky)
        .task(doomed)
        .task(|cx, task: Once| obey(cx, task.millis))
        .task(snoozing)
        .task(poison)
        .task(|cx, task: Narrow| obey(cx, task.millis))
        .blocking_task(blocking);
    if transactions { executor.task(booking) } else { executor }
}

/// Takes its time, whatever anyone says.
async fn sleep(cx: Context<Arc<App>>, millis: u64) -> TaskResult<String> {
    let run = cx.state().begin(&cx).await;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(run.done(&cx))
}

/// Takes its time, and stops when it is told to.
async fn obey(cx: Context<Arc<App>>, millis: u64) -> TaskResult<String> {
    let run = cx.state().begin(&cx).await;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(millis)) => Ok(run.done(&cx)),
        () = cx.cancelled() => run.failed("told to stop"),
    }
}

/// Fails or panics at first. The number of the attempt grows with each failure, so it comes through in the end.
async fn flaky(cx: Context<Arc<App>>, task: Flaky) -> TaskResult<String> {
    let mut run = cx.state().begin(&cx).await;
    tokio::time::sleep(Duration::from_millis(task.millis)).await;
    if cx.attempt() > task.fails {
        return Ok(run.done(&cx));
    }
    if cx.attempt().is_multiple_of(2) {
        run.how = How::Panicking;
        panic!("it panics as it should");
    }
    run.failed("it fails as it should")
}

async fn doomed(cx: Context<Arc<App>>, task: Doomed) -> TaskResult<String> {
    let run = cx.state().begin(&cx).await;
    tokio::time::sleep(Duration::from_millis(task.millis)).await;
    run.failed("it always fails")
}

async fn snoozing(cx: Context<Arc<App>>, task: Snoozing) -> TaskResult<String> {
    let run = cx.state().begin(&cx).await;
    if fastrand::bool() {
        return run.failed(TaskError::snooze(Duration::from_millis(task.millis)));
    }
    Ok(run.done(&cx))
}

/// Keeps its thread busy, whatever anyone says.
#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "so handlers are called"
)]
fn blocking(cx: Context<Arc<App>>, task: Blocking) -> TaskResult<String> {
    let run = cx.block_on(cx.state().begin(&cx));
    std::thread::sleep(Duration::from_millis(task.millis));
    Ok(run.done(&cx))
}

/// Writes into the database, in one transaction with its success.
async fn booking(cx: Context<Arc<App>>, task: Booking) -> TaskResult<String> {
    let run = cx.state().begin(&cx).await;
    let transaction = cx.transaction()?;
    transaction.execute(BOOK, &[&cx.job().0]).await?;
    tokio::time::sleep(Duration::from_millis(task.millis)).await;
    if cx.attempt() <= task.fails {
        return run.failed("it fails after it has written");
    }
    Ok(run.done(&cx))
}

async fn poison(cx: Context<Arc<App>>, task: Poison) -> TaskResult<String> {
    let _run = cx.state().begin(&cx).await;
    tokio::time::sleep(Duration::from_millis(task.millis)).await;
    // No destructor runs, as if the kernel had killed it.
    std::process::abort()
}
