//! Health tells what is wrong now: whatever failed is forgotten with the next success, or when it is no longer wanted.

use std::sync::Arc;

use super::counting::{Counting, Fault};
use super::*;
use crate::job::{Priority, State};
use crate::store::conformance::cases;
use crate::store::{ExecutorInfo, Overview};

cases![
    health_is_green_again_after_a_start_could_not_be_recorded,
    health_is_green_again_when_a_start_need_not_be_recorded_any_longer,
    health_is_green_again_after_tidying_up_failed,
    health_is_green_again_after_a_silent_executor_could_not_be_reaped,
    health_is_green_again_after_progress_could_not_be_reported,
    health_is_green_again_after_a_log_could_not_be_stored,
    health_is_green_again_after_jobs_could_not_be_given_back,
    health_is_green_again_when_there_is_nothing_left_to_claim,
    health_is_green_again_after_an_executor_could_not_go_to_sleep,
    a_new_life_has_no_troubles_of_the_last_one,
];

const BEAT: Duration = Duration::from_millis(50);
const LEASE: Duration = Duration::from_secs(2);
/// Soon enough for whoever asks whether an executor is ready, and long enough for any backoff.
const SOON: Duration = Duration::from_secs(10);

/// A job that must not run twice: its start is written before it begins.
#[derive(Debug, Serialize, Deserialize)]
struct Once(String);

impl Task for Once {
    const NAME: &'static str = "once";
    const RESTARTABLE: bool = false;
    const RETRIES: u32 = 0;
    const PRIORITY: Priority = Priority::High;
}

async fn once(cx: Context<Stage>, task: Once) -> TaskResult<String> {
    cx.log().info(format!("{} begins", task.0));
    cx.progress().step("on its way")?;
    let _ = cx.state().began.send((task.0.clone(), cx.job()));
    tokio::select! {
        () = cx.state().curtain.cancelled() => Ok(task.0),
        () = cx.cancelled() => Err("told to stop".into()),
    }
}

struct Case {
    store: Arc<Counting>,
    jobs: Jobs,
    executor: ExecutorHandle,
    seats: Seats,
}

impl Case {
    /// An executor with one slot, on a store that fails where it is told to.
    async fn new(store: &Arc<Counting>) -> Self {
        let jobs = Jobs::on(store.clone());
        let (stage, seats) = stage();
        let executor = Executor::with_state(&jobs, stage)
            .task(once)
            .slots(1)
            .lease(BEAT, LEASE);
        let executor = executor.start().await.expect("it starts");
        let store = Arc::clone(store);
        Self {
            store,
            jobs,
            executor,
            seats,
        }
    }

    async fn submit(&self) -> JobId {
        self.jobs.submit(Once("x".into())).await.expect("submitted").id
    }

    /// Fails `verb` until health tells, and then no more.
    async fn fail(&self, verb: &'static str, doing: &str) {
        self.store.fail(verb, Fault::Outage, u32::MAX);
        self.tells(doing).await;
        self.store.fail(verb, Fault::Outage, 0);
    }

    async fn tells(&self, doing: &str) {
        within(async {
            while !self.executor.health().troubles.contains_key(doing) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert!(!self.executor.health().is_good());
    }

    async fn is_green_again(&self) {
        let green = tokio::time::timeout(SOON, async {
            while !self.executor.health().is_good() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(green.await.is_ok(), "{:?}", self.executor.health());
    }
}

async fn health_is_green_again_after_a_start_could_not_be_recorded(world: &World) {
    let mut case = Case::new(&Counting::new(&world.store)).await;
    case.store.fail("start", Fault::Outage, u32::MAX);
    let job = case.submit().await;
    case.fail("start", "recording a start").await;
    assert_eq!(case.seats.next().await.1, job);
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_when_a_start_need_not_be_recorded_any_longer(world: &World) {
    let case = Case::new(&Counting::new(&world.store)).await;
    case.store.fail("start", Fault::Outage, u32::MAX);
    let job = case.submit().await;
    case.tells("recording a start").await;
    case.jobs.cancel(job).await.expect("cancelled");
    assert_eq!(ended(&case.jobs, job).await.state, State::Cancelled);
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_tidying_up_failed(world: &World) {
    let store = Counting::new(&world.store);
    store.fail("reap", Fault::Outage, u32::MAX);
    store.fail("prune", Fault::Outage, u32::MAX);
    let case = Case::new(&store).await;
    case.tells("looking for orphans").await;
    case.tells("pruning").await;
    store.fail("reap", Fault::Outage, 0);
    store.fail("prune", Fault::Outage, 0);
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_a_silent_executor_could_not_be_reaped(world: &World) {
    let case = Case::new(&Counting::new(&world.store)).await;
    let silent = ExecutorInfo {
        incarnation: uuid::Uuid::new_v4(),
        name: "silent".to_owned(),
        slots: 1,
        queues: vec!["default".to_owned()],
        tasks: vec!["once".to_owned()],
        version: String::new(),
        beat: 0,
    };
    world.store.register(&silent, "silent", &[]).await.expect("registered");
    case.fail("reap", "reaping").await;
    case.is_green_again().await;
    within(async {
        while case.store.executors().await.expect("listed").len() > 1 {
            tokio::time::sleep(BEAT).await;
        }
    })
    .await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_progress_could_not_be_reported(world: &World) {
    let mut case = Case::new(&Counting::new(&world.store)).await;
    case.store.fail("report", Fault::Outage, u32::MAX);
    case.submit().await;
    case.fail("report", "reporting progress").await;
    case.is_green_again().await;
    // And if the job ends before.
    case.store.fail("report", Fault::Outage, u32::MAX);
    case.seats.curtain.cancel();
    let job = case.submit().await;
    assert_eq!(case.seats.next().await.0, "x");
    ended(&case.jobs, job).await;
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_a_log_could_not_be_stored(world: &World) {
    let mut case = Case::new(&Counting::new(&world.store)).await;
    case.store.fail("log", Fault::Outage, u32::MAX);
    case.submit().await;
    case.seats.next().await;
    case.fail("log", "storing logs").await;
    case.is_green_again().await;
    // Lines that the store does not want are given up.
    case.store.fail("log", Fault::Refusal, u32::MAX);
    case.seats.curtain.cancel();
    let job = case.submit().await;
    ended(&case.jobs, job).await;
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_jobs_could_not_be_given_back(world: &World) {
    let store = Counting::new(&world.store);
    // It knows nothing of what it has taken, and is told so by its heartbeat.
    store.fail("take", Fault::LostReply, 1);
    store.fail("get", Fault::Outage, u32::MAX);
    Jobs::on(world.store.clone())
        .submit(Once("x".into()))
        .await
        .expect("submitted");
    let mut case = Case::new(&store).await;
    case.fail("get", "giving back jobs").await;
    case.is_green_again().await;
    case.seats.next().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_when_there_is_nothing_left_to_claim(world: &World) {
    let mut case = Case::new(&Counting::new(&world.store)).await;
    case.submit().await;
    case.seats.next().await;
    case.store.fail("take", Fault::Outage, u32::MAX);
    case.store.fail("stand_by", Fault::Outage, u32::MAX);
    // Its slot is taken; an operator's word has it look whether to take more.
    case.executor.wake();
    case.is_green_again().await;
    case.seats.curtain.cancel();
    case.tells("claiming").await;
    let executor = case.executor.health().incarnation;
    world.store.drain(executor, true).await.expect("told");
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn health_is_green_again_after_an_executor_could_not_go_to_sleep(world: &World) {
    let store = Counting::new(&world.store);
    store.fail("doze", Fault::Outage, u32::MAX);
    let mut case = Case::new(&store).await;
    if world.store.serves() {
        // There is nothing to say: the store knows who waits.
        return case.executor.shutdown(Duration::ZERO).await;
    }
    case.tells("going to sleep").await;
    case.seats.curtain.cancel();
    case.submit().await;
    case.seats.next().await;
    store.fail("doze", Fault::Outage, 0);
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}

async fn a_new_life_has_no_troubles_of_the_last_one(world: &World) {
    let mut case = Case::new(&Counting::new(&world.store)).await;
    let first = case.executor.health().incarnation;
    case.store.fail("start", Fault::Outage, u32::MAX);
    case.submit().await;
    case.tells("recording a start").await;
    case.store.fail("heartbeat", Fault::Outage, u32::MAX);
    within(async {
        while case.executor.health().incarnation == first {
            tokio::time::sleep(BEAT).await;
        }
    })
    .await;
    case.store.fail("heartbeat", Fault::Outage, 0);
    case.store.fail("start", Fault::Outage, 0);
    case.seats.next().await;
    case.is_green_again().await;
    case.executor.shutdown(Duration::ZERO).await;
}
