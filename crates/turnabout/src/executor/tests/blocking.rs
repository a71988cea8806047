//! Handlers that block, and handlers that never yield: neither keeps an executor from keeping its lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use super::counting::{Counting, Fault};
use super::*;
use crate::job::{Job, State};
use crate::store::conformance::cases;

#[derive(Debug, Serialize, Deserialize)]
struct Grind(String);

impl Task for Grind {
    const NAME: &'static str = "grind";
    const RETRIES: u32 = 0;
    const TIME_LIMIT: Option<Duration> = Some(Duration::from_mins(1));
}

/// What a case sees of handlers that block.
#[derive(Default)]
struct Mill {
    running: AtomicU32,
    stop: AtomicBool,
}

impl Mill {
    /// Blocks the thread until it may go on.
    fn grind(&self) {
        self.running.fetch_add(1, SeqCst);
        while !self.stop.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.running.fetch_sub(1, SeqCst);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of a handler")]
fn grind(cx: Context<Arc<Mill>>, task: Grind) -> TaskResult<String> {
    match task.0.as_str() {
        "panic" => panic!("it panics"),
        "fail" => return Err("it fails".into()),
        "submit" => {
            let child = cx.block_on(cx.submit(Grind("child".into())))?;
            let _ = cx.progress().step("submitted");
            return Ok(child.id.to_string());
        }
        "stop" => {
            while !cx.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Err("told to stop".into());
        }
        "grind" => cx.state().grind(),
        _ => {}
    }
    Ok(task.0)
}

async fn executor(jobs: &Jobs, mill: &Arc<Mill>, slots: u32) -> ExecutorHandle {
    Executor::with_state(jobs, Arc::clone(mill))
        .blocking_task(grind)
        .slots(slots)
        .grace(Duration::from_millis(20))
        .start()
        .await
        .expect("it starts")
}

async fn until(right: impl Fn() -> bool) {
    within(async {
        while !right() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

async fn a_handler_that_blocks_has_the_same_context(world: &World) {
    let jobs = jobs_of(world);
    let running = executor(&jobs, &Arc::default(), 2).await;
    let mut ended_as = Vec::new();
    for how in ["fine", "panic", "fail", "submit"] {
        let id = jobs
            .submit(Grind(how.into()))
            .group("acme")
            .await
            .expect("submitted")
            .id;
        ended_as.push(ended(&jobs, id).await);
    }
    let states: Vec<State> = ended_as.iter().map(|job| job.state).collect();
    assert_eq!(states, [State::Success, State::Failed, State::Failed, State::Success]);
    assert_eq!(ended_as[0].result::<String>().expect("a text").as_deref(), Some("fine"));
    assert!(ended_as[1].error.as_deref().is_some_and(|e| e.contains("it panics")));
    let child = ended_as[3]
        .result::<String>()
        .expect("a text")
        .expect("an id")
        .parse()
        .expect("an id");
    let child = ended(&jobs, child).await;
    assert_eq!((child.parent, child.group.as_str()), (Some(ended_as[3].id), "acme"));
    running.shutdown(Duration::ZERO).await;
}

async fn a_handler_that_blocks_hears_of_a_cancel(world: &World) {
    let jobs = jobs_of(world);
    let running = executor(&jobs, &Arc::default(), 1).await;
    let id = jobs.submit(Grind("stop".into())).await.expect("submitted").id;
    becomes(&jobs, id, |job| job.state == State::Running).await;
    jobs.cancel(id).await.expect("told");
    assert_eq!(ended(&jobs, id).await.state, State::Cancelled);
    running.shutdown(Duration::ZERO).await;
}

async fn one_that_does_not_stop_keeps_its_slot_and_its_job(world: &World) {
    let jobs = jobs_of(world);
    let mill = Arc::<Mill>::default();
    let running = executor(&jobs, &mill, 1).await;
    let id = jobs.submit(Grind("grind".into())).await.expect("submitted").id;
    let next = jobs.submit(Grind("fine".into())).await.expect("submitted").id;
    until(|| mill.running.load(SeqCst) == 1).await;
    becomes(&jobs, id, |job| job.state == State::Running).await;
    jobs.cancel(id).await.expect("told");
    // Well past the grace period.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let job = jobs.get(id).await.expect("it is there");
    assert_eq!((job.state, job.cancelling), (State::Running, true));
    assert_eq!(
        jobs.get(next).await.expect("it is there").state,
        State::Waiting,
        "the slot is taken"
    );
    mill.stop.store(true, SeqCst);
    assert_eq!(ended(&jobs, id).await.state, State::Cancelled);
    assert_eq!(ended(&jobs, next).await.state, State::Success);
    running.shutdown(Duration::ZERO).await;
}

/// Never yields: no await in it.
async fn spin(cx: Context<Arc<Mill>>, _: Grind) -> TaskResult {
    cx.state().grind();
    Ok(())
}

/// What issue 4 asks for: as many handlers that never yield as the runtime has threads, for longer than a lease, while
/// another executor is ready to take over whatever is given up.
async fn handlers_that_never_yield_do_not_stop_heartbeats(world: &World) {
    let (heartbeat, lease) = (Duration::from_millis(100), Duration::from_millis(1500));
    let mill = Arc::<Mill>::default();
    let jobs = jobs_of(world);
    // The busy one has a runtime of its own, with two threads.
    let (store, busy_mill) = (world.elsewhere().await.store.clone(), Arc::clone(&mill));
    let over = tokio_util::sync::CancellationToken::new();
    let until_over = over.clone();
    let busy = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let jobs = Jobs::on(store);
            let executor = Executor::with_state(&jobs, busy_mill)
                .task(spin)
                .slots(4)
                .lease(heartbeat, lease);
            let running = executor.start().await.expect("it starts");
            until_over.cancelled().await;
            running.shutdown(Duration::ZERO).await;
        });
    });
    let mut ids = Vec::new();
    for n in 0..4 {
        let grind = Grind(n.to_string());
        ids.push(jobs.submit(grind).await.expect("submitted").id);
    }
    until(|| mill.running.load(SeqCst) >= 2).await;
    let others = Arc::new(Mill::default());
    others.stop.store(true, SeqCst);
    let watcher = Executor::with_state(&jobs, Arc::clone(&others))
        .task(spin)
        .queues(["nobody's"])
        .lease(heartbeat, lease)
        .start()
        .await
        .expect("it starts");
    tokio::time::sleep(lease * 3).await;
    mill.stop.store(true, SeqCst);
    for id in ids {
        let job = ended(&jobs, id).await;
        assert_eq!(
            (job.state, job.attempts, job.losses),
            (State::Success, 1, 0),
            "nobody took it over"
        );
    }
    watcher.shutdown(Duration::ZERO).await;
    over.cancel();
    within(busy).await.expect("it ends");
}

async fn one_that_outlives_its_lease_keeps_its_slot(world: &World) {
    let ground = keeps_its_slot(world, |executor| executor.blocking_task(grind)).await;
    // It has no retries, and was lost.
    assert_eq!(ground.state, State::Failed);
}

async fn one_that_never_yields_and_outlives_its_lease_keeps_its_slot(world: &World) {
    keeps_its_slot(world, |executor| {
        executor.task(async |cx: Context<Arc<Mill>>, task: Grind| grind(cx, task))
    })
    .await;
}

/// A handler that outlives its executor's lease, in the same process: its slot is not given to another one.
async fn keeps_its_slot(world: &World, add: impl FnOnce(Executor<Arc<Mill>>) -> Executor<Arc<Mill>>) -> Job {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let mill = Arc::<Mill>::default();
    let running = add(Executor::with_state(&jobs, Arc::clone(&mill)))
        .slots(1)
        .lease(Duration::from_millis(50), Duration::from_millis(600))
        .grace(Duration::from_millis(20))
        .start()
        .await
        .expect("it starts");
    let first = running.health().incarnation;
    let ground = jobs.submit(Grind("grind".into())).await.expect("submitted").id;
    until(|| mill.running.load(SeqCst) == 1).await;
    store.fail("heartbeat", Fault::Outage, 1000);
    until(|| running.health().incarnation != first).await;
    store.fail("heartbeat", Fault::Outage, 0);
    until(|| running.health().registered).await;
    let next = jobs.submit(Grind("fine".into())).await.expect("submitted").id;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(mill.running.load(SeqCst), 1);
    assert_eq!(
        jobs.get(next).await.expect("it is there").state,
        State::Waiting,
        "the slot is taken"
    );
    mill.stop.store(true, SeqCst);
    assert_eq!(ended(&jobs, next).await.state, State::Success);
    let ground = ended(&jobs, ground).await;
    running.shutdown(Duration::ZERO).await;
    ground
}

cases![
    one_that_never_yields_and_outlives_its_lease_keeps_its_slot,
    one_that_outlives_its_lease_keeps_its_slot,
    a_handler_that_blocks_has_the_same_context,
    a_handler_that_blocks_hears_of_a_cancel,
    one_that_does_not_stop_keeps_its_slot_and_its_job,
    handlers_that_never_yield_do_not_stop_heartbeats,
];
