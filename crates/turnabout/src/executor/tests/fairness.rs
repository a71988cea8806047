//! The case the project exists for, with real slots and time moved by hand.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::*;
use crate::store::conformance::cases;
use crate::turn::Fairness;

cases![
    a_flood_of_one_group_makes_nobody_wait_for_more_than_one_job_per_slot,
    a_flood_of_ten_thousand_is_no_different,
    a_newcomer_starts_before_what_another_group_has_in_hand,
    a_waiting_job_says_why_it_waits,
    paused_groups_and_tasks_wait_until_resumed,
    time_is_shared_by_what_jobs_cost,
];

const MINUTE: Duration = Duration::from_mins(1);

/// Each job takes a minute of the store's time.
async fn minute(cx: Context<(mpsc::UnboundedSender<String>, crate::clock::Clock)>, _: Play) -> TaskResult {
    let (began, clock) = cx.state();
    let sleep = clock.sleep(MINUTE);
    tokio::pin!(sleep);
    // The sleep is under way when the case hears of it, so that moving the clock ends it.
    let _ = futures_util::poll!(&mut sleep);
    let _ = began.send(cx.group().to_owned());
    sleep.await;
    Ok(())
}

/// 4 slots; group `a` floods, 99 others come after with one job each. Returns the order of starts.
async fn flood(world: &World, size: usize) -> Vec<String> {
    let jobs = jobs_of(world);
    let (sender, mut began) = mpsc::unbounded_channel();
    let flood = (0..size).map(|_| Submission::new(Play("x".into())).group("a"));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let clock = world.store.clock().clone();
    let executor = Executor::with_state(&jobs, (sender, clock)).task(minute).slots(4);
    let executor = executor.start().await.expect("it starts");
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(within(began.recv()).await.expect("a start"));
    }
    let others = (0..99).map(|i| Submission::new(Play("x".into())).group(format!("b{i:02}")));
    assert!(jobs.submit_all(others).await.iter().all(Result::is_ok));
    // 100 groups, four at a time: after 26 minutes each of the others must have had its turn.
    while order.len() < 4 + 26 * 4 && order.iter().filter(|g| g.starts_with('b')).count() < 99 {
        world.clock.advance(MINUTE);
        for _ in 0..4 {
            order.push(within(began.recv()).await.expect("a start"));
        }
    }
    world.clock.advance(MINUTE);
    executor.shutdown(Duration::ZERO).await;
    order
}

fn assert_fair(order: &[String]) {
    let others = order.iter().filter(|g| g.starts_with('b')).count();
    assert_eq!(others, 99, "each of the others had its turn: {order:?}");
    let last = order
        .iter()
        .rposition(|g| g.starts_with('b'))
        .expect("there are others");
    let flooding = order[4..last].iter().filter(|g| *g == "a").count();
    // Four jobs of the first group, one per slot, were running when the others came. After that it has its turn like
    // anyone, which is one in a rotation.
    assert!(
        flooding <= 1,
        "behind one job of the first group per slot, and its turn, not {flooding} more: {order:?}"
    );
}

async fn a_flood_of_one_group_makes_nobody_wait_for_more_than_one_job_per_slot(world: &World) {
    assert_fair(&flood(world, 20).await);
}

async fn a_flood_of_ten_thousand_is_no_different(world: &World) {
    assert_fair(&flood(world, 10_000).await);
}

/// Each job says that it began, and waits to be let through the gate.
async fn gated(cx: Context<(mpsc::UnboundedSender<String>, Arc<Semaphore>)>, _: Play) -> TaskResult {
    let (began, gate) = cx.state();
    let _ = began.send(cx.group().to_owned());
    gate.acquire().await?.forget();
    Ok(())
}

async fn a_newcomer_starts_before_what_another_group_has_in_hand(world: &World) {
    let jobs = jobs_of(world);
    let (sender, mut began) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let flood = (0..500).map(|_| Submission::new(Play("x".into())).group("a"));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let executor = Executor::with_state(&jobs, (sender, Arc::clone(&gate))).task(gated);
    let executor = executor.slots(1).start().await.expect("it starts");
    // Five thousand a second of the store's time, so that some are held ahead.
    for _ in 0..100 {
        assert_eq!(within(began.recv()).await.as_deref(), Some("a"));
        world.clock.advance(Duration::from_micros(200));
        gate.add_permits(1);
    }
    assert_eq!(within(began.recv()).await.as_deref(), Some("a"));
    within(async {
        while executor.health().held < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let newcomer = jobs.submit(Play("x".into())).group("b").await.expect("it is stored");
    // A take brings it as soon as enough of what is held ahead has started. Then it is next, or the one after that: the slot
    // may have drawn another just before.
    let mut left = 2;
    while left > 0 {
        left -= usize::from(executor.held().contains(&newcomer.id));
        gate.add_permits(1);
        if within(began.recv()).await.as_deref() == Some("b") {
            break;
        }
        assert!(left > 0, "others that were in hand start first");
    }
    gate.close();
    executor.shutdown(Duration::ZERO).await;
}

async fn a_waiting_job_says_why_it_waits(world: &World) {
    let jobs = jobs_of(world);
    let explain = async |id| jobs.explain(id).await.expect("it is there").to_string();
    jobs.submit(Echo("first".into()))
        .group("acme")
        .await
        .expect("submitted");
    let second = jobs
        .submit(Echo("second".into()))
        .group("acme")
        .await
        .expect("submitted")
        .id;
    jobs.submit(Echo("other".into()))
        .group("other")
        .await
        .expect("submitted");
    let text = explain(second).await;
    assert!(
        text.contains("number 2") && text.contains("2 groups take turns"),
        "{text}"
    );
    assert!(
        text.contains("No live executor takes jobs of the queue `default` and knows the task `echo`"),
        "{text}"
    );
    jobs.group("acme").pause().await.expect("paused");
    let text = explain(second).await;
    assert!(text.contains("The group `acme` is paused"), "{text}");
    let mut gone = world.executor_of(&["default"], &["echo"]).await;
    let text = explain(second).await;
    assert!(!text.contains("xecutor"), "someone would take it: {text}");
    world.advance(Duration::from_mins(2));
    let text = explain(second).await;
    assert!(
        text.contains("The executors that would take it were not heard of for 2m"),
        "{text}"
    );
    gone.heartbeat().await;
    let text = explain(second).await;
    assert!(!text.contains("xecutor"), "it is back: {text}");
    let parked = jobs
        .submit(Echo("x".into()))
        .delay(Duration::from_mins(90))
        .await
        .expect("submitted")
        .id;
    let text = explain(parked).await;
    assert!(text.contains("parked and due in 1h 30m"), "{text}");
    jobs.cancel(parked).await.expect("cancelled");
}

async fn paused_groups_and_tasks_wait_until_resumed(world: &World) {
    let jobs = jobs_of(world);
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    jobs.group("acme").weight(3).pause().await.expect("paused");
    jobs.task_limits("echo").pause().await.expect("paused");
    let job = jobs.submit(Echo("x".into())).group("acme").await.expect("submitted").id;
    executor.drained().await.expect("drained");
    jobs.group("acme").resume().await.expect("resumed");
    executor.drained().await.expect("drained");
    assert_eq!(jobs.get(job).await.expect("it is there").attempts, 0);
    let settings = jobs.settings().await.expect("the settings");
    assert_eq!(
        (settings.group("acme").weight(), settings.group("acme").paused),
        (3, false)
    );
    jobs.task_limits("echo").resume().await.expect("resumed");
    assert_eq!(ended(&jobs, job).await.attempts, 1);
    executor.shutdown(Duration::ZERO).await;
}

/// Two groups, one with jobs of ten minutes and one with jobs of one, share the time of two slots.
async fn time_is_shared_by_what_jobs_cost(world: &World) {
    type Report = mpsc::UnboundedSender<(String, u64)>;
    async fn minutes(cx: Context<(Report, crate::clock::Clock)>, minutes: u64) -> TaskResult {
        let (began, clock) = cx.state();
        let sleep = clock.sleep(Duration::from_mins(minutes));
        tokio::pin!(sleep);
        let _ = futures_util::poll!(&mut sleep);
        let _ = began.send((cx.group().to_owned(), minutes));
        sleep.await;
        Ok(())
    }
    let jobs = jobs_of(world);
    let (sender, mut began) = mpsc::unbounded_channel();
    let work = (0..400).flat_map(|_| [("long", 10), ("short", 1)]);
    let work = work.map(|(group, minutes)| Submission::named("minutes", minutes).group(group));
    assert!(jobs.submit_all(work).await.iter().all(Result::is_ok));
    let settings = crate::task::TaskSettings {
        time_limit: None,
        ..crate::task::TaskSettings::named("minutes")
    };
    let executor = Executor::with_state(&jobs, (sender, world.store.clock().clone()))
        .task_named(settings, minutes)
        .fairness(Fairness::Time)
        .slots(2);
    let executor = executor.start().await.expect("it starts");
    // A small simulation in step with the executor: which jobs run, and when the next one of them ends.
    let mut running: Vec<u64> = Vec::new();
    let mut spent: HashMap<String, u64> = HashMap::new();
    for _ in 0..150 {
        while running.len() < 2 {
            let (group, minutes) = within(began.recv()).await.expect("a start");
            *spent.entry(group).or_default() += minutes;
            running.push(minutes);
        }
        let next = *running.iter().min().expect("two run");
        world.clock.advance(Duration::from_mins(next));
        running.retain_mut(|left| {
            *left -= next;
            *left > 0
        });
    }
    let (long, short) = (spent["long"], spent["short"]);
    assert!(long.abs_diff(short) <= 40, "long {long}, short {short} minutes");
    executor.shutdown(Duration::ZERO).await;
}
