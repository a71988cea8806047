//! Watching a job from its beginning to its end.

use super::counting::{Counting, Fault};
use super::*;
use crate::job::State;
use crate::store::conformance::cases;

cases![
    a_watcher_sees_a_job_through_to_its_final_state,
    a_watcher_that_comes_late_sees_the_final_state,
    a_watcher_survives_an_outage,
    many_watchers_of_many_jobs_all_see_the_end,
];

async fn a_watcher_sees_a_job_through_to_its_final_state(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    let mut watch = jobs.watch(job);
    let first = within(watch.next()).await.expect("a state").expect("the job");
    assert_eq!(first.state, State::Waiting);
    let executor = player(&jobs, stage, 1).await;
    seats.next().await;
    becomes(&jobs, job, |job| job.state == State::Running).await;
    seats.curtain.cancel();
    let mut states = vec![first.state];
    while let Some(job) = within(watch.next()).await {
        states.push(job.expect("the job").state);
    }
    assert_eq!(states.last(), Some(&State::Success), "and then it ends: {states:?}");
    assert!(
        states.is_sorted_by(|a, b| a.code() <= b.code()),
        "no job goes backwards: {states:?}"
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn a_watcher_that_comes_late_sees_the_final_state(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    jobs.cancel(job).await.expect("cancelled");
    let mut watch = jobs.watch(job);
    let only = within(watch.next()).await.expect("a state").expect("the job");
    assert_eq!(only.state, State::Cancelled);
    assert!(within(watch.next()).await.is_none());
}

async fn a_watcher_survives_an_outage(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    store.fail("get", Fault::Outage, 3);
    let mut watch = jobs.watch(job);
    assert_eq!(
        within(watch.next()).await.expect("a state").expect("the job").state,
        State::Waiting
    );
}

async fn many_watchers_of_many_jobs_all_see_the_end(world: &World) {
    let jobs = jobs_of(world);
    let outcomes = jobs.submit_all((0..50).map(|i| Echo(i.to_string()))).await;
    let watchers: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| {
            let watch = jobs.watch(outcome.expect("submitted").id);
            tokio::spawn(watch.ended())
        })
        .collect();
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    for watcher in watchers {
        let job = within(watcher).await.expect("no panic").expect("the job");
        assert_eq!(job.state, State::Success);
    }
    executor.shutdown(Duration::ZERO).await;
}
