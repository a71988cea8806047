//! Hooks at work: each runs, whatever became of the job and whoever made it so, and none strands anything.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::*;
use crate::HookContext;
use crate::job::State;
use crate::store::conformance::cases;
use crate::task::TaskError;
use crate::testing::drain;

#[derive(Debug, Serialize, Deserialize)]
struct Work(String);

impl Task for Work {
    const NAME: &'static str = "work";
    const RETRIES: u32 = 1;
    const RETRY_DELAY: Duration = Duration::from_secs(1);
    const JITTER: bool = false;
}

async fn work(_: Context<Log>, task: Work) -> TaskResult {
    match task.0.as_str() {
        "bad" => Err("bad".into()),
        "worse" => Err(TaskError::permanent("worse")),
        _ => Ok(()),
    }
}

/// What hooks tell.
struct Log {
    told: mpsc::UnboundedSender<(&'static str, String, State)>,
    calls: AtomicU32,
}

type Told = mpsc::UnboundedReceiver<(&'static str, String, State)>;

fn log() -> (Log, Told) {
    let (told, heard) = mpsc::unbounded_channel();
    let calls = AtomicU32::new(0);
    (Log { told, calls }, heard)
}

fn tell(cx: &HookContext<Log>, what: &'static str) -> TaskResult {
    let task: Work = cx.task()?;
    let _ = cx.state().told.send((what, task.0, cx.job().state));
    Ok(())
}

async fn failed(cx: HookContext<Log>) -> TaskResult {
    tell(&cx, "error")
}

async fn cancelled(cx: HookContext<Log>) -> TaskResult {
    tell(&cx, "cancelled")
}

async fn deleted(cx: HookContext<Log>) -> TaskResult {
    tell(&cx, "delete")
}

fn executor(jobs: &Jobs, log: Log) -> Executor<Log> {
    Executor::with_state(jobs, log)
        .task(work)
        .on_error::<Work>(failed)
        .on_cancelled::<Work>(cancelled)
        .before_delete::<Work>(deleted)
}

fn all(told: &mut Told) -> Vec<(&'static str, String, State)> {
    let mut all = Vec::new();
    while let Ok(one) = told.try_recv() {
        all.push(one);
    }
    all.sort();
    all
}

async fn hooks_run_for_what_became_of_jobs(world: &World) {
    let jobs = jobs_of(world);
    let (log, mut told) = log();
    let mut ids = Vec::new();
    for name in ["fine", "bad", "worse"] {
        ids.push(jobs.submit(Work(name.into())).await.expect("submitted").id);
    }
    drain(executor(&jobs, log)).await.expect("drained");
    let owned = |what, name: &str, state| (what, name.to_owned(), state);
    assert_eq!(
        all(&mut told),
        [
            owned("error", "bad", State::Stuck),
            owned("error", "worse", State::Failed)
        ]
    );
    // Nobody runs: the store notes what is owed until someone does.
    jobs.cancel(ids[1]).await.expect("cancelled");
    jobs.delete(ids[0]).await.expect("deleted");
    let waiting = jobs.submit(Work("waiting".into())).await.expect("submitted").id;
    jobs.cancel(waiting).await.expect("cancelled");
    let thrown_away = jobs.submit(Work("thrown away".into())).await.expect("submitted").id;
    jobs.delete(thrown_away).await.expect("C66: one call");
    let (log, mut told) = self::log();
    drain(executor(&jobs, log)).await.expect("drained");
    assert_eq!(
        all(&mut told),
        [
            owned("cancelled", "bad", State::Cancelled),
            owned("cancelled", "waiting", State::Cancelled),
            owned("delete", "fine", State::Success),
            owned("delete", "thrown away", State::Waiting),
        ]
    );
    let (log, mut told) = self::log();
    drain(executor(&jobs, log)).await.expect("drained");
    assert_eq!(all(&mut told), [], "each is paid once");
}

async fn a_running_executor_hears_of_a_hook_at_once(world: &World) {
    let jobs = jobs_of(world);
    let (log, mut told) = log();
    let running = executor(&jobs, log).start().await.expect("it starts");
    let id = jobs
        .submit(Work("later".into()))
        .delay(Duration::from_hours(1))
        .await
        .expect("submitted")
        .id;
    jobs.cancel(id).await.expect("cancelled");
    let heard = within(told.recv()).await.expect("told");
    assert_eq!(heard, ("cancelled", "later".to_owned(), State::Cancelled));
    running.shutdown(Duration::ZERO).await;
}

async fn a_hook_that_fails_is_tried_again_and_given_up_in_the_end(world: &World) {
    async fn panics(cx: HookContext<Log>) -> TaskResult {
        cx.state().calls.fetch_add(1, Relaxed);
        let _ = cx.state().told.send(("panic", String::new(), cx.job().state));
        panic!("a hook that panics");
    }
    async fn hangs(cx: HookContext<Log>) -> TaskResult {
        let _ = cx.state().told.send(("hang", String::new(), cx.job().state));
        std::future::pending().await
    }
    let jobs = jobs_of(world);
    let (log, mut told) = log();
    let executor = Executor::with_state(&jobs, log)
        .task(work)
        .on_error::<Work>(panics)
        .on_cancelled::<Work>(hangs)
        .hook_limit(Duration::from_millis(20));
    let running = executor.start().await.expect("it starts");
    let worse = jobs.submit(Work("worse".into())).await.expect("submitted").id;
    assert_eq!(ended(&jobs, worse).await.state, State::Failed, "no hook holds up a job");
    let id = jobs
        .submit(Work("x".into()))
        .delay(Duration::from_hours(9))
        .await
        .expect("submitted")
        .id;
    jobs.cancel(id).await.expect("cancelled");
    let (mut panics, mut hangs) = (0, 0);
    while panics < 5 || hangs < 5 {
        tokio::select! {
            one = told.recv() => match one.expect("told").0 {
                "panic" => panics += 1,
                _ => hangs += 1,
            },
            // Each time that they may be tried again.
            () = tokio::time::sleep(Duration::from_millis(30)) => world.advance(Duration::from_secs(31)),
        }
    }
    world.advance(Duration::from_mins(5));
    // Whatever was under way is over when this returns.
    within(running.drained()).await.expect("drained");
    world.advance(Duration::from_mins(5));
    within(running.drained()).await.expect("drained");
    assert_eq!((panics, hangs), (5, 5));
    assert_eq!(all(&mut told), [], "they were given up");
    running.shutdown(Duration::ZERO).await;
}

cases![
    hooks_run_for_what_became_of_jobs,
    a_running_executor_hears_of_a_hook_at_once,
    a_hook_that_fails_is_tried_again_and_given_up_in_the_end,
];
