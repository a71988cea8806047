//! Handlers that report how far they are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::counting::{Counting, Fault};
use super::*;
use crate::executor::reporter::PERIOD;
use crate::job::State;
use crate::store::conformance::cases;

cases![
    thirds_are_seen_live_and_all_only_at_success,
    another_process_sees_how_far_a_job_is,
    a_million_reports_cost_few_writes,
    a_handler_that_keeps_its_thread_is_seen_all_the_same,
    all_jobs_are_written_together,
    a_report_that_got_lost_is_written_again,
    what_is_done_is_told_anew_by_each_attempt,
    a_job_that_says_nothing_costs_nothing,
];

/// A handler that reports what the case tells it to, and says when it has.
struct Baton {
    orders: tokio::sync::Mutex<mpsc::UnboundedReceiver<u64>>,
    done: mpsc::UnboundedSender<()>,
}

/// Reports as it is told, out of a total of 3; ends when there are no more orders.
async fn obey(cx: Context<Baton>, task: Play) -> TaskResult<String> {
    cx.progress().set_total(3);
    let mut orders = cx.state().orders.lock().await;
    while let Some(by) = orders.recv().await {
        cx.progress().step(format!("after {by}"))?;
        cx.progress().increment(by)?;
        let _ = cx.state().done.send(());
    }
    Ok(task.0)
}

fn baton() -> (Baton, mpsc::UnboundedSender<u64>, mpsc::UnboundedReceiver<()>) {
    let (order, orders) = mpsc::unbounded_channel();
    let (done, heard) = mpsc::unbounded_channel();
    let orders = tokio::sync::Mutex::new(orders);
    (Baton { orders, done }, order, heard)
}

async fn thirds_are_seen_live_and_all_only_at_success(world: &World) {
    let jobs = jobs_of(world);
    let (baton, order, mut heard) = baton();
    let executor = Executor::with_state(&jobs, baton).task(obey);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    let mut watch = jobs.watch(id);
    let mut seen: Vec<u8> = Vec::new();
    for percent in [33, 66, 99] {
        order.send(1).expect("the handler listens");
        heard.recv().await.expect("it has reported");
        loop {
            let job = within(watch.next()).await.expect("it goes on").expect("the job");
            assert!(!job.state.is_final() && job.progress <= percent, "{job:?}");
            seen.push(job.progress);
            if job.progress == percent && job.step.is_some() {
                assert_eq!(job.step.as_deref(), Some("after 1"));
                break;
            }
        }
    }
    order.send(50).expect("the handler listens");
    drop(order);
    let job = ended(&jobs, id).await;
    assert_eq!((job.state, job.progress, job.step), (State::Success, 100, None));
    assert!(seen.is_sorted(), "it never goes back: {seen:?}");
    executor.shutdown(Duration::ZERO).await;
}

async fn another_process_sees_how_far_a_job_is(world: &World) {
    let jobs = jobs_of(world);
    let elsewhere = world.elsewhere().await;
    let there = jobs_of(&elsewhere);
    let (baton, order, mut heard) = baton();
    let executor = Executor::with_state(&jobs, baton).task(obey);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    for (n, percent) in [(1, 33), (2, 66)] {
        order.send(1).expect("the handler listens");
        heard.recv().await.expect("it has reported");
        let reported = Instant::now();
        within(async {
            while there.get(id).await.expect("the job").progress != percent {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let job = there.get(id).await.expect("the job");
        assert_eq!(job.step.as_deref(), Some("after 1"));
        println!("report {n} was seen elsewhere after {:?}", reported.elapsed());
    }
    // A watch over there sees it, too, though nobody announces it.
    let mut watch = there.watch(id);
    order.send(1).expect("the handler listens");
    within(async {
        loop {
            let job = watch.next().await.expect("it goes on").expect("the job");
            if job.progress == 99 {
                break;
            }
        }
    })
    .await;
    drop(order);
    assert_eq!(ended(&there, id).await.progress, 100);
    executor.shutdown(Duration::ZERO).await;
}

async fn a_million_reports_cost_few_writes(world: &World) {
    async fn busy(cx: Context<AtomicUsize>, _: Play) -> TaskResult {
        let progress = cx.progress();
        progress.set_total(1_000_000);
        let began = Instant::now();
        for i in 0..1_000_000 {
            progress.increment(1)?;
            if i == 500_000 {
                tokio::task::yield_now().await;
            }
        }
        let took = began.elapsed();
        println!("1,000,000 increments took {took:?}");
        cx.state().store(took.as_millis() as usize, Ordering::Relaxed);
        Ok(())
    }
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let began = Instant::now();
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    let executor = Executor::with_state(&jobs, AtomicUsize::new(0)).task(busy);
    let executor = executor.start().await.expect("it starts");
    assert_eq!(ended(&jobs, id).await.progress, 100);
    executor.shutdown(Duration::ZERO).await;
    let writes = store.calls().get("report").copied().unwrap_or(0);
    let allowed = began.elapsed().as_secs_f64() / PERIOD.as_secs_f64() + 1.0;
    assert!(
        f64::from(writes) <= allowed,
        "{writes} writes, where {allowed} are allowed"
    );
    println!("{writes} writes");
}

async fn a_handler_that_keeps_its_thread_is_seen_all_the_same(world: &World) {
    async fn stubborn(cx: Context<std::sync::mpsc::SyncSender<()>>, _: Play) -> TaskResult {
        cx.progress().set(50)?;
        // Blocks its thread until the case has seen it.
        let _ = cx.state().send(());
        Ok(())
    }
    let jobs = jobs_of(world);
    let (go_on, wait) = std::sync::mpsc::sync_channel(0);
    let executor = Executor::with_state(&jobs, go_on).task(stubborn);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    becomes(&jobs, id, |job| job.progress == 50).await;
    tokio::task::spawn_blocking(move || wait.recv())
        .await
        .expect("no panic")
        .expect("it waits");
    ended(&jobs, id).await;
    executor.shutdown(Duration::ZERO).await;
}

async fn all_jobs_are_written_together(world: &World) {
    async fn say(cx: Context<Stage>, task: Play) -> TaskResult {
        cx.progress().set(50)?;
        let _ = cx.state().began.send((task.0, cx.job()));
        cx.state().curtain.cancelled().await;
        Ok(())
    }
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (stage, mut seats) = stage();
    let began = Instant::now();
    let executor = Executor::with_state(&jobs, stage).task(say).slots(20);
    let executor = executor.start().await.expect("it starts");
    let submitted = jobs.submit_all((0..20).map(|i| Play(i.to_string()))).await;
    for _ in 0..20 {
        seats.next().await;
    }
    for outcome in submitted {
        becomes(&jobs, outcome.expect("submitted").id, |job| job.progress == 50).await;
    }
    let writes = store.calls().get("report").copied().unwrap_or(0);
    let allowed = began.elapsed().as_secs_f64() / PERIOD.as_secs_f64() + 1.0;
    assert!(
        f64::from(writes) <= allowed,
        "{writes} writes, where {allowed} are allowed"
    );
    seats.curtain.cancel();
    executor.shutdown(Duration::from_secs(30)).await;
}

async fn a_report_that_got_lost_is_written_again(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (baton, order, mut heard) = baton();
    store.fail("report", Fault::Outage, 2);
    let executor = Executor::with_state(&jobs, baton).task(obey);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    order.send(2).expect("the handler listens");
    heard.recv().await.expect("it has reported");
    becomes(&jobs, id, |job| job.progress == 66).await;
    drop(order);
    ended(&jobs, id).await;
    executor.shutdown(Duration::ZERO).await;
}

async fn what_is_done_is_told_anew_by_each_attempt(world: &World) {
    async fn twice(cx: Context<Baton>, _: Play) -> TaskResult {
        cx.progress().set(if cx.attempt() == 1 { 80 } else { 20 })?;
        let mut orders = cx.state().orders.lock().await;
        match orders.recv().await {
            Some(_) => Err("once more".into()),
            None => Ok(()),
        }
    }
    let jobs = jobs_of(world);
    let (baton, order, _heard) = baton();
    let executor = Executor::with_state(&jobs, baton).task(twice);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    becomes(&jobs, id, |job| job.progress == 80).await;
    order.send(0).expect("the handler listens");
    let stuck = becomes(&jobs, id, |job| job.state == State::Stuck).await;
    assert_eq!(stuck.progress, 0);
    world.clock.advance(Duration::from_mins(1));
    becomes(&jobs, id, |job| job.progress == 20).await;
    drop(order);
    assert_eq!(ended(&jobs, id).await.progress, 100);
    executor.shutdown(Duration::ZERO).await;
}

async fn a_job_that_says_nothing_costs_nothing(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    jobs.submit(Echo("x".into())).await.expect("submitted");
    crate::testing::drain(Executor::new(&jobs).task(echo))
        .await
        .expect("drained");
    assert_eq!(store.calls().get("report"), None);
}
