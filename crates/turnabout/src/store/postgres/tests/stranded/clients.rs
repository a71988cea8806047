//! Those who work against each other: takers, submitters, foreign transactions, an operator, and a checker.

use tokio_postgres::error::SqlState;

use super::super::taking::polled;
use super::*;
use crate::job::{Priority, When};
use crate::store::Which;

/// Few, so that they run empty all the time.
const GROUPS: [&str; 4] = ["a", "b", "c", "d"];
/// No more jobs than this are on their way, so that takes come to the end of what there is.
const ENOUGH: usize = 150;
/// Every kind's streams get a new generation with its next take.
pub(in super::super) const WEAR: &str = "begin; select from turnabout.kind order by id for update;
    update turnabout.ring set worn = 1000000000; commit";

async fn pause(rng: &mut Rng, most: u64) {
    tokio::time::sleep(Duration::from_micros(rng.u64(..most))).await;
}

/// Takes, and ends, releases or parks what it has taken. The steady ones live on, and are told of at the end; others die and begin
/// anew, also as another kind.
pub(super) async fn take(run: Arc<Run>, n: usize) -> Option<Exec> {
    let mut rng = run.rng(n as u64);
    let store = run.store().await;
    let steady = n < STEADY;
    let mut exec = run.executor(&store, n % KINDS.len()).await;
    let mut hand: Vec<Claimed> = Vec::new();
    run.begun.wait().await;
    while !run.is_over() {
        exec.turns.forgive();
        match rng.u32(..40) {
            0 if !steady => {
                hand.clear();
                run.bury(&exec).await;
                exec = run.executor(&store, rng.usize(..KINDS.len())).await;
            }
            1..4 if !steady => {
                // What it may have claimed is found when it dies.
                let want = rng.u32(1..=5);
                if let Some(taken) = polled(rng.usize(1..12), exec.try_take(want)).await {
                    let (jobs, _) = taken.expect("take works");
                    run.took(&exec, &jobs);
                    hand.extend(jobs);
                }
            }
            4 => drop(exec.heartbeat().await),
            _ if hand.len() < 10 => {
                let jobs = exec.take(rng.u32(1..=5)).await;
                run.took(&exec, &jobs);
                if jobs.is_empty() {
                    pause(&mut rng, 4000).await;
                }
                hand.extend(jobs);
            }
            _ => {}
        }
        while rng.u8(..10) > 2
            && let Some(job) = hand.pop()
        {
            let event = match rng.u32(..10) {
                0 => Event::Release,
                1 => Event::RetryAfter(Duration::from_millis(rng.u64(1..50))),
                _ => Event::Succeed,
            };
            run.end(&exec, &job, event).await;
        }
    }
    if !steady {
        run.bury(&exec).await;
        return None;
    }
    for job in &hand {
        run.end(&exec, job, Event::Release).await;
    }
    Some(exec)
}

fn random(rng: &mut Rng) -> NewJob {
    NewJob {
        task: if rng.bool() { "work" } else { "mail" }.to_owned(),
        queue: (rng.u8(..3) == 0).then(|| "other".to_owned()),
        priority: rng.choice(Priority::ALL).copied(),
        ..job(GROUPS[rng.usize(..GROUPS.len())])
    }
}

/// Submits a few, with keys, to be parked, and now and then so many that they are copied.
pub(super) async fn submit(run: Arc<Run>, store: Arc<PostgresStore>, n: u64) {
    let mut rng = run.rng(n);
    while !run.is_over() {
        pause(&mut rng, 5000).await;
        if run.waiting() > ENOUGH {
            continue;
        }
        let count = match rng.u32(..60) {
            0 => rng.usize(501..600),
            _ => rng.usize(1..5),
        };
        let mut jobs: Vec<NewJob> = (0..count).map(|_| random(&mut rng)).collect();
        for job in jobs.iter_mut().take(5) {
            match rng.u32(..8) {
                0 => job.unique = Some(format!("key {}", rng.u32(..6))),
                1 => job.when = When::After(Duration::from_millis(rng.u64(1..60))),
                _ => {}
            }
        }
        let outcomes = store.submit(jobs).await.expect("submit works");
        let stored = outcomes.into_iter().map(|outcome| outcome.expect("it is stored"));
        run.committed(stored.filter(|submitted| submitted.new).map(|submitted| submitted.id));
    }
}

/// Submits by plain SQL in transactions that commit late, or never.
pub(super) async fn foreign(run: Arc<Run>, n: u64) {
    let mut rng = run.rng(n);
    let client = run.place.client().await;
    while !run.is_over() {
        match transaction(&run, &client, &mut rng).await {
            Ok(jobs) => run.committed(jobs),
            // At the strictest level the server may refuse any of two that ran beside each other.
            Err(error) => {
                let code = error.code();
                assert_eq!(code, Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error:?}");
                client.batch_execute("rollback").await.expect("it is undone");
            }
        }
    }
}

/// What one of them has committed.
async fn transaction(run: &Run, client: &Client, rng: &mut Rng) -> Result<Vec<JobId>, tokio_postgres::Error> {
    let levels = ["read committed", "repeatable read", "serializable"];
    let level = levels[rng.usize(..levels.len())];
    client.batch_execute(&format!("begin isolation level {level}")).await?;
    let mut mine = Vec::new();
    for _ in 0..rng.u32(1..4) {
        mine.push(submit_one(run, client, rng).await?);
        if rng.bool() {
            client.batch_execute("savepoint s").await?;
            let inner = submit_one(run, client, rng).await?;
            if rng.bool() {
                client.batch_execute("rollback to s").await?;
            } else {
                client.batch_execute("release s").await?;
                mine.push(inner);
            }
        }
        pause(rng, 20_000).await;
    }
    let most = if rng.u8(..4) == 0 { 300_000 } else { 10_000 };
    pause(rng, most).await;
    if rng.u8(..4) == 0 {
        client.batch_execute("rollback").await?;
        return Ok(Vec::new());
    }
    client.batch_execute("commit").await?;
    Ok(mine)
}

async fn submit_one(run: &Run, client: &Client, rng: &mut Rng) -> Result<JobId, tokio_postgres::Error> {
    let job = random(rng);
    let delay = ["null", "null", "null", "interval '30 ms'"][rng.usize(..4)];
    let args = format!(
        "'{}', \"group\" => '{}', queue => '{}', delay => {delay}",
        job.task,
        job.group,
        job.queue.as_deref().unwrap_or("default"),
    );
    run.place.submit(client, &args).await
}

/// Pauses and resumes, restarts, changes priorities, and does what executors do beside their work.
pub(super) async fn operate(run: Arc<Run>, store: Arc<PostgresStore>, worn: bool) {
    let mut rng = run.rng(300);
    let client = run.place.client().await;
    while !run.is_over() {
        pause(&mut rng, 10_000).await;
        match rng.u32(..16) {
            0 => set_paused(&store, &mut rng, true).await,
            1..4 => set_paused(&store, &mut rng, false).await,
            4..6 => {
                let one = rng.choice(&run.book().all).copied();
                let event = Event::Reprioritise(*rng.choice(Priority::ALL).expect("there are some"));
                change(&store, one, event).await;
            }
            6..8 => {
                let one = rng.choice(&run.book().ended).copied();
                // It may be taken again from now on.
                if let Some(id) = one {
                    run.book().ended.remove(&id);
                }
                change(&store, one, Event::Restart).await;
            }
            8 => drop(store.prune().await.expect("prune works")),
            9 => drop(store.reap(Uuid::nil(), 0).await.expect("reap works")),
            10 | 11 if worn => run.place.run(&client, WEAR).await,
            _ => drop(store.promote(100).await.expect("promote works")),
        }
    }
    for group in GROUPS {
        let setting = Setting::Group(group.to_owned(), GroupSettings::default());
        store.set(setting).await.expect("it is resumed");
    }
    for task in ["work", "mail"] {
        let setting = Setting::Task(task.to_owned(), TaskLimits::default());
        store.set(setting).await.expect("it is resumed");
    }
    for setting in [
        Setting::Queue("default".to_owned(), QueueSettings::default()),
        Setting::Global(GlobalSettings::default()),
    ] {
        store.set(setting).await.expect("it is resumed");
    }
}

async fn set_paused(store: &PostgresStore, rng: &mut Rng, paused: bool) {
    let setting = match rng.u8(..12) {
        0 | 1 => Setting::Queue("default".to_owned(), QueueSettings { paused }),
        2 => Setting::Global(GlobalSettings {
            paused,
            ..GlobalSettings::default()
        }),
        3 | 4 => {
            let limits = TaskLimits {
                paused,
                ..TaskLimits::default()
            };
            Setting::Task("mail".to_owned(), limits)
        }
        _ => {
            let settings = GroupSettings {
                paused,
                ..GroupSettings::default()
            };
            Setting::Group(GROUPS[rng.usize(..GROUPS.len())].to_owned(), settings)
        }
    };
    store.set(setting).await.expect("it is set");
}

async fn change(store: &PostgresStore, job: Option<JobId>, event: Event) {
    let jobs = job.into_iter().collect();
    let changed = match store.change(Which::Ids(jobs), event).await {
        // Another job has its unique key by now.
        Err(Error::Conflict("unique key")) if event == Event::Restart => return,
        changed => changed.expect("change works"),
    };
    if event == Event::Restart {
        assert!(changed.iter().all(|changed| changed.outcome.is_ok()), "{changed:?}");
    }
}

/// Looks whether every kind could find every ready job, at any moment.
pub(super) async fn check(run: Arc<Run>) {
    let client = run.place.client().await;
    while !run.is_over() {
        let unfound = run.unfound(&client).await;
        assert!(unfound.is_empty(), "seed {}: nobody finds {unfound:#?}", run.seed);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
