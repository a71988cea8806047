//! Many jobs, several executors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::*;
use crate::job::State;
use crate::store::conformance::cases;
use crate::testing::drain;

cases![
    ten_thousand_jobs_of_a_hundred_groups_drain,
    several_executors_share_the_work_and_no_job_runs_twice,
    a_hundred_thousand_jobs_in_one_call_are_stored_each_with_its_outcome,
    a_bad_job_in_a_batch_is_an_error_of_that_job_alone,
    a_cap_holds_and_a_freed_place_wakes_someone,
];

async fn ten_thousand_jobs_of_a_hundred_groups_drain(world: &World) {
    let jobs = jobs_of(world);
    let flood = (0..10_000).map(|i| Submission::new(Echo("x".into())).group(format!("g{}", i % 100)));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let counts = drain(Executor::new(&jobs).task(echo).slots(8)).await.expect("drained");
    assert_eq!(
        (counts.ready, counts.held, counts.parked, counts.ended),
        (0, 0, 0, 10_000)
    );
    let failed = jobs.list().state(State::Failed).await.expect("listed");
    assert!(failed.jobs.is_empty());
}

async fn several_executors_share_the_work_and_no_job_runs_twice(world: &World) {
    let jobs = jobs_of(world);
    let flood = (0..1000).map(|i| Submission::new(Echo("x".into())).group(format!("g{}", i % 10)));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let runs: Arc<Mutex<HashMap<JobId, u32>>> = Arc::default();
    let count = |cx: Context<Arc<Mutex<HashMap<JobId, u32>>>>, _: Echo| async move {
        *cx.state().lock().expect("the runs").entry(cx.job()).or_default() += 1;
        Ok(())
    };
    let mut executors = Vec::new();
    for _ in 0..4 {
        let executor = Executor::with_state(&jobs, runs.clone()).task(count).slots(2);
        executors.push(executor.start().await.expect("it starts"));
    }
    for executor in &executors {
        within(executor.drained()).await.expect("drained");
    }
    for executor in &executors {
        executor.shutdown(Duration::from_secs(10)).await;
    }
    let runs = runs.lock().expect("the runs");
    assert_eq!(runs.len(), 1000);
    assert!(runs.values().all(|runs| *runs == 1));
}

async fn a_hundred_thousand_jobs_in_one_call_are_stored_each_with_its_outcome(world: &World) {
    let jobs = jobs_of(world);
    let flood = (0..100_000).map(|i| Submission::named("echo", "x").group(format!("g{}", i % 1000)));
    let outcomes = jobs.submit_all(flood).await;
    assert_eq!(outcomes.len(), 100_000);
    let mut ids: Vec<_> = outcomes.into_iter().map(|o| o.expect("stored").id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 100_000);
    assert_eq!(jobs.counts().await.expect("counted").ready, 100_000);
}

async fn a_bad_job_in_a_batch_is_an_error_of_that_job_alone(world: &World) {
    let jobs = jobs_of(world);
    let outcomes = jobs
        .submit_all([
            Submission::new(Echo("good".into())),
            Submission::new(Echo("bad".into())).group("a\0b"),
            Submission::named("", ()),
            Submission::new(Echo("good".into())).unique("once"),
            Submission::new(Echo("same".into())).unique("once"),
        ])
        .await;
    let new: Vec<Option<bool>> = outcomes.iter().map(|o| o.as_ref().ok().map(|o| o.new)).collect();
    assert_eq!(new, [Some(true), None, None, Some(true), Some(false)]);
    assert_eq!(jobs.counts().await.expect("counted").ready, 2);
}

#[derive(Default)]
struct Gauge {
    running: AtomicU32,
    most: AtomicU32,
}

async fn a_cap_holds_and_a_freed_place_wakes_someone(world: &World) {
    async fn measured(cx: Context<Arc<Gauge>>, _: Echo) -> TaskResult {
        let gauge = cx.state();
        let running = gauge.running.fetch_add(1, Relaxed) + 1;
        gauge.most.fetch_max(running, Relaxed);
        // The first one waits for the second, so that both places are seen in use.
        while gauge.most.load(Relaxed) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
        gauge.running.fetch_sub(1, Relaxed);
        Ok(())
    }
    let jobs = jobs_of(world);
    jobs.group("acme").max_running(Some(2)).await.expect("set");
    let flood = (0..100).map(|_| Submission::new(Echo("x".into())).group("acme"));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let gauge = Arc::new(Gauge::default());
    let executor = Executor::with_state(&jobs, gauge.clone()).task(measured).slots(8);
    let executor = executor.start().await.expect("it starts");
    // Well under a second for each job: nobody waits for a poll.
    tokio::time::timeout(Duration::from_secs(20), async {
        while jobs.counts().await.expect("counted").ended < 100 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("places that become free are used at once");
    assert_eq!(gauge.most.load(Relaxed), 2);
    executor.shutdown(Duration::ZERO).await;
}
