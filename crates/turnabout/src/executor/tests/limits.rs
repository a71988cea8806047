//! Limits as handlers see them: never more at a time, never more often, and no executor that spins meanwhile.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::counting::Counting;
use super::*;
use crate::group::Rate;
use crate::job::State;
use crate::store::conformance::cases;

cases![
    c58_limits_over_all_and_on_each_executor_are_never_exceeded_and_used_in_full,
    a_rate_lets_handlers_start_one_by_one_and_wakes_the_executor_for_it,
    jobs_of_a_key_start_one_by_one_whatever_their_group_and_task,
    an_executor_whose_jobs_wait_for_a_limit_makes_few_calls,
    an_executor_uses_as_many_slots_as_it_is_told,
];

/// How many handlers run, and how many ran at once at the most.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    fn up(&self) {
        self.most.fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
    }

    fn down(&self) {
        self.now.fetch_sub(1, SeqCst);
    }
}

/// The gauge of all executors, and that of one.
type Gauges = (Arc<Gauge>, Arc<Gauge>);

async fn measured(cx: Context<Gauges>, _: Echo) -> TaskResult {
    let (all, here) = cx.state();
    all.up();
    here.up();
    // Long enough that others could come in between, if they may.
    tokio::time::sleep(Duration::from_millis(3)).await;
    all.down();
    here.down();
    Ok(())
}

/// Runs jobs of three groups by three executors of four slots, one of which is replaced meanwhile. Says how many ran at once at the
/// most: over all, and on any one executor.
async fn at_once(world: &World, jobs: &Jobs, count: usize) -> (usize, usize) {
    let all = Arc::new(Gauge::default());
    let each = Mutex::new(Vec::new());
    let start = async || {
        let here = Arc::new(Gauge::default());
        each.lock().expect("no panic").push(Arc::clone(&here));
        let executor = Executor::with_state(jobs, (Arc::clone(&all), here))
            .task(measured)
            .slots(4);
        executor.start().await.expect("it starts")
    };
    let mut executors = vec![start().await, start().await];
    let submitted = (0..count).map(|i| Submission::new(Echo(i.to_string())).group(["a", "b", "c"][i % 3]));
    let ids: Vec<JobId> = (jobs.submit_all(submitted).await.into_iter())
        .map(|one| one.expect("submitted").id)
        .collect();
    executors.push(start().await);
    ended(jobs, ids[count / 4]).await;
    executors.remove(0).shutdown(Duration::from_secs(30)).await;
    executors.push(start().await);
    for id in ids {
        ended(jobs, id).await;
    }
    for executor in executors {
        executor.shutdown(Duration::ZERO).await;
    }
    assert_eq!(world.store.counts().await.expect("counted").ready, 0);
    let each = each.lock().expect("no panic");
    let most = each.iter().map(|gauge| gauge.most.load(SeqCst)).max();
    (all.most.load(SeqCst), most.unwrap_or(0))
}

async fn c58_limits_over_all_and_on_each_executor_are_never_exceeded_and_used_in_full(world: &World) {
    let jobs = jobs_of(world);
    jobs.task_limits("echo").max_running(Some(3)).await.expect("it is set");
    assert_eq!(at_once(world, &jobs, 60).await.0, 3);
    let limits = jobs.task_limits("echo").max_running(None).max_running_each(Some(2));
    limits.await.expect("it is set");
    let (all, each) = at_once(world, &jobs, 60).await;
    assert!(each == 2 && all <= 6, "{each} on one executor, {all} over all");
    jobs.task_limits("echo")
        .max_running_each(None)
        .await
        .expect("it is set");
    for group in ["a", "b", "c"] {
        jobs.group(group).max_running(Some(1)).await.expect("it is set");
    }
    assert!(at_once(world, &jobs, 60).await.0 <= 3);
}

async fn told(cx: Context<mpsc::UnboundedSender<JobId>>, _: Echo) -> TaskResult {
    let _ = cx.state().send(cx.job());
    Ok(())
}

async fn a_rate_lets_handlers_start_one_by_one_and_wakes_the_executor_for_it(world: &World) {
    let jobs = jobs_of(world);
    let rate: Rate = "10/s burst 2".parse().expect("a rate");
    jobs.task_limits("echo").rate(Some(rate)).await.expect("it is set");
    let (sender, mut began) = mpsc::unbounded_channel();
    let executor = Executor::with_state(&jobs, sender).task(told).slots(4);
    let executor = executor.start().await.expect("it starts");
    let many = (0..6).map(|i| Submission::new(Echo(i.to_string())));
    let ids: Vec<JobId> = (jobs.submit_all(many).await.into_iter())
        .map(|one| one.expect("submitted").id)
        .collect();
    let mut next = 0;
    for expected in [2, 1, 1, 0, 2] {
        // Two that may start at once begin in any order.
        let mut due: BTreeSet<JobId> = ids[next..next + expected].iter().copied().collect();
        while !due.is_empty() {
            let id = within(began.recv()).await.expect("it runs");
            assert!(due.remove(&id), "{id} is none of {due:?}");
            ended(&jobs, id).await;
            next += 1;
        }
        executor.drained().await.expect("drained");
        assert!(began.try_recv().is_err(), "one too many after {next}");
        // The executor is woken by the clock, and by nobody else.
        world.advance(Duration::from_millis(if next == 4 { 50 } else { 100 }));
        if next == 4 && expected == 0 {
            world.advance(Duration::from_millis(150));
        }
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn jobs_of_a_key_start_one_by_one_whatever_their_group_and_task(world: &World) {
    async fn other(cx: Context<mpsc::UnboundedSender<JobId>>, _: Play) -> TaskResult {
        let _ = cx.state().send(cx.job());
        Ok(())
    }
    let jobs = jobs_of(world);
    let rate: Rate = "1/m burst 2".parse().expect("a rate");
    let (sender, mut began) = mpsc::unbounded_channel();
    let executor = Executor::with_state(&jobs, sender).task(told).task(other).slots(4);
    let executor = executor.start().await.expect("it starts");
    let echoes = (0..3).map(|i| Submission::new(Echo(i.to_string())).group(format!("g{i}")));
    let plays = (0..2).map(|i| Submission::new(Play(i.to_string())));
    let many = echoes.chain(plays).map(|job| job.rate("smtp", rate));
    for one in jobs.submit_all(many).await {
        assert_eq!(
            jobs.get(one.expect("submitted").id)
                .await
                .expect("it is there")
                .meta
                .len(),
            1
        );
    }
    // Without the key, and with another one.
    let free = [
        Submission::new(Echo("x".into())),
        Submission::new(Echo("y".into())).rate("imap", rate),
    ];
    for one in jobs.submit_all(free).await {
        ended(&jobs, one.expect("submitted").id).await;
    }
    for _ in 0..4 {
        within(began.recv()).await.expect("the burst, and the others");
    }
    for _ in 0..3 {
        executor.drained().await.expect("drained");
        assert!(began.try_recv().is_err(), "one too many");
        let waiting = jobs.list().state(State::Waiting).await.expect("listed").jobs;
        let why = jobs.explain(waiting[0].id).await.expect("explained").to_string();
        assert!(why.contains("with the key `smtp` start at most 1/m burst 2"), "{why}");
        // The executor is woken by the clock, and by nobody else.
        world.advance(Duration::from_mins(1));
        within(began.recv()).await.expect("the next one");
    }
    executor.drained().await.expect("drained");
    let counts = jobs.counts().await.expect("counted");
    assert_eq!((counts.parked, counts.ended), (0, 7));
    let bad = jobs.submit(Echo("x".into())).rate("a\nb", rate).await;
    assert!(bad.expect_err("a bad key").to_string().contains("rate key"));
    executor.shutdown(Duration::ZERO).await;
}

/// Without waiting for it in real time, this could only be believed.
async fn an_executor_whose_jobs_wait_for_a_limit_makes_few_calls(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    for set in [
        jobs.task_limits("play").max_running_each(Some(1)),
        jobs.task_limits("play").max_running_each(None).max_running(Some(1)),
        jobs.task_limits("play").max_running(None).rate("1/h".parse().ok()),
    ] {
        set.await.expect("it is set");
        let (stage, mut seats) = stage();
        let executor = player(&jobs, stage, 4).await;
        let many = (0..20).map(|i| Submission::new(Play(i.to_string())).group(["a", "b"][i % 2]));
        assert!(jobs.submit_all(many).await.iter().all(Result::is_ok));
        seats.next().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        store.calls();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let calls = store.calls();
        let looks = ["take", "stand_by"].map(|call| calls.get(call).copied().unwrap_or(0));
        assert!(looks.iter().sum::<u32>() <= 8, "{calls:?}");
        assert!(seats.began.try_recv().is_err(), "only one may run");
        executor.shutdown(Duration::ZERO).await;
    }
}

async fn an_executor_uses_as_many_slots_as_it_is_told(world: &World) {
    let jobs = jobs_of(world);
    let gauges: Vec<Arc<Gauge>> = (0..2).map(|_| Arc::default()).collect();
    let mut executors = Vec::new();
    for here in &gauges {
        let executor = Executor::with_state(&jobs, (Arc::default(), Arc::clone(here)))
            .task(measured)
            .slots(4);
        executors.push(executor.start().await.expect("it starts"));
    }
    let run = async || {
        let many = (0..20).map(|i| Submission::new(Echo(i.to_string())));
        for one in jobs.submit_all(many).await {
            ended(&jobs, one.expect("submitted").id).await;
        }
        let most = |gauge: &Arc<Gauge>| gauge.most.swap(0, SeqCst);
        gauges.iter().map(most).collect::<Vec<usize>>()
    };
    // The first one stands by by now, or will; what it had asked for before does not count.
    executors[0].use_slots(0);
    executors[1].use_slots(1);
    run().await;
    assert_eq!(run().await, [0, 1]);
    executors[0].use_slots(1);
    executors[1].use_slots(0);
    run().await;
    assert_eq!(run().await, [1, 0]);
    // All of them again: so many run at once that no job could end otherwise.
    executors[0].use_slots(None);
    let together = Arc::new(tokio::sync::Barrier::new(4));
    let meet = async |cx: Context<Arc<tokio::sync::Barrier>>, _: Echo| {
        cx.state().wait().await;
        Ok(())
    };
    let known = Executor::with_state(&jobs, together).task(meet);
    executors[0].replace_tasks(known).await.expect("they are known");
    run().await;
}
