//! No job is stranded. Whatever becomes ready, however late that commits, is taken in the end, though takes close every stream
//! that they find empty.
//!
//! Eight clients take, each through a store of its own, while others submit, commit late, roll back, pause, promote, restart and
//! prune. A checker looks all the while whether every ready job can be found by every kind of executors (`unfound.sql`).

mod clients;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) use clients::WEAR;
use clients::{check, foreign, operate, submit, take};
use fastrand::Rng;
use tokio::sync::Barrier;

use super::*;
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, TaskLimits};
use crate::job::Claimed;
use crate::lifecycle::Event;
use crate::store::Settled;
use crate::store::conformance::seeds;

cases![
    no_job_is_stranded,
    no_job_is_stranded_by_new_generations_of_streams,
    no_job_is_stranded_beside_a_transaction_that_is_open_all_the_while,
    a_transaction_older_than_two_thousand_others_is_found_when_it_commits,
    a_take_that_steps_over_every_group_keeps_their_streams,
    a_group_that_is_resumed_while_a_kind_comes_is_known_to_that_kind,
];

/// So long clients work against each other, for each seed.
const WORKING: Duration = Duration::from_millis(2500);
/// Kinds of executors: queues and tasks. Each of the first four always has an executor: a kind that had none would open all
/// streams anew, and so hide what it had lost.
const KINDS: [(&[&str], &[&str]); 5] = [
    (&["default"], &["work"]),
    (&["default"], &["mail", "work"]),
    (&["other", "default"], &["mail"]),
    (&["other"], &["work"]),
    (&["default", "other"], &["mail", "work"]),
];
const STEADY: usize = 4;
const TAKERS: usize = 8;
/// Ready jobs that an executor of some kind cannot find.
const UNFOUND: &str = include_str!("stranded/unfound.sql");

/// What all clients of a run share.
struct Run {
    place: Place,
    seed: u64,
    /// All takers are there.
    begun: Barrier,
    over: AtomicBool,
    book: Mutex<Book>,
}

/// What is known of the jobs.
#[derive(Default)]
struct Book {
    /// Committed, in no order.
    all: Vec<JobId>,
    /// In whose hands, from before the answer is looked at until just before they are given back.
    held: HashMap<JobId, Uuid>,
    ended: HashSet<JobId>,
}

impl Run {
    fn new(place: &Place, seed: u64) -> Arc<Self> {
        println!("seed {seed}");
        Arc::new(Self {
            place: Place {
                url: place.url.clone(),
                schema: place.schema.clone(),
            },
            seed,
            begun: Barrier::new(TAKERS + 1),
            over: AtomicBool::new(false),
            book: Mutex::default(),
        })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn rng(&self, client: u64) -> Rng {
        Rng::with_seed(self.seed * 1000 + client)
    }

    /// A store of its own, as another process would open it.
    async fn store(&self) -> Arc<PostgresStore> {
        let options = StoreOptions {
            connections: 3,
            ..self.place.options(Clock::System)
        };
        let store = PostgresStore::open(&self.place.url, options).await;
        store.expect("the store opens")
    }

    async fn executor(&self, store: &Arc<PostgresStore>, kind: usize) -> Exec {
        let (queues, tasks) = KINDS[kind];
        let tasks = tasks.iter().map(|name| settings(name)).collect();
        let exec = Exec::new(store.clone(), Uuid::new_v4(), queues, tasks);
        exec.register().await;
        exec
    }

    fn committed(&self, jobs: impl IntoIterator<Item = JobId>) {
        self.book().all.extend(jobs);
    }

    /// How many jobs are on their way, roughly.
    fn waiting(&self) -> usize {
        let book = self.book();
        book.all.len().saturating_sub(book.ended.len())
    }

    fn took(&self, exec: &Exec, jobs: &[Claimed]) {
        let mut book = self.book();
        for job in jobs {
            let before = book.held.insert(job.id, exec.incarnation);
            assert_eq!(before, None, "seed {}: {} is taken while it is held", self.seed, job.id);
            assert!(
                !book.ended.contains(&job.id),
                "seed {}: {} is taken after its end",
                self.seed,
                job.id
            );
        }
    }

    async fn end(&self, exec: &Exec, job: &Claimed, event: Event) {
        self.book().held.remove(&job.id);
        let settled = exec.end(job, event).await;
        assert_eq!(settled, Settled::Done, "seed {}: {event:?} of {}", self.seed, job.id);
        if event == Event::Succeed {
            self.book().ended.insert(job.id);
        }
    }

    /// Someone finds the executor silent.
    async fn bury(&self, exec: &Exec) {
        self.book().held.retain(|_, who| *who != exec.incarnation);
        exec.die().await;
    }

    /// Jobs that some kind cannot find.
    async fn unfound(&self, client: &Client) -> Vec<String> {
        self.place.texts(client, UNFOUND).await
    }
}

/// What makes a run special.
#[derive(Clone, Copy, Default)]
struct Twist {
    /// Streams get a new generation all the time.
    worn: bool,
    /// A transaction is open from before everything to the end.
    old: bool,
}

async fn no_job_is_stranded(place: &Place) {
    for seed in seeds(2) {
        work(place, seed, Twist::default()).await;
    }
}

async fn no_job_is_stranded_by_new_generations_of_streams(place: &Place) {
    for seed in seeds(1) {
        let twist = Twist {
            worn: true,
            ..Twist::default()
        };
        work(place, 500 + seed, twist).await;
    }
}

async fn no_job_is_stranded_beside_a_transaction_that_is_open_all_the_while(place: &Place) {
    for seed in seeds(1) {
        work(place, 700 + seed, Twist { worn: true, old: true }).await;
    }
}

async fn work(place: &Place, seed: u64, twist: Twist) {
    let run = Run::new(place, seed);
    let store = run.store().await;
    let client = place.client().await;
    if twist.old {
        client.batch_execute("begin").await.expect("it begins");
        let old = place.submit(&client, "'work', \"group\" => 'a'").await;
        run.committed([old.expect("it is submitted")]);
    }
    let mut takers = Vec::new();
    for n in 0..TAKERS {
        takers.push(tokio::spawn(take(run.clone(), n)));
    }
    run.begun.wait().await;
    let mut others = vec![
        tokio::spawn(check(run.clone())),
        tokio::spawn(operate(run.clone(), store.clone(), twist.worn)),
    ];
    for n in 0..2 {
        others.push(tokio::spawn(submit(run.clone(), store.clone(), 100 + n)));
    }
    for n in 0..3 {
        others.push(tokio::spawn(foreign(run.clone(), 200 + n)));
    }
    tokio::time::sleep(WORKING).await;
    run.over.store(true, Ordering::Relaxed);
    for other in others {
        other.await.expect("no panic");
    }
    let mut execs = Vec::new();
    for taker in takers {
        execs.extend(taker.await.expect("no panic"));
    }
    assert_eq!(execs.len(), STEADY, "seed {seed}");
    if twist.old {
        client.batch_execute("commit").await.expect("it commits");
    }
    drain(&run, &store, &mut execs).await;
    for exec in execs {
        store.deregister(exec.incarnation).await.expect("it goes");
    }
}

/// Everything that was submitted is taken by the executors that were there all the while.
async fn drain(run: &Run, store: &Arc<PostgresStore>, execs: &mut [Exec]) {
    let seed = run.seed;
    store.reap(Uuid::nil(), 0).await.expect("reap works");
    let began = Instant::now();
    while let Some(next) = store.promote(1000).await.expect("promote works").next {
        assert!(began.elapsed() < Duration::from_secs(30), "seed {seed}: still parked");
        tokio::time::sleep(next).await;
    }
    let client = run.place.client().await;
    let unfound = run.unfound(&client).await;
    assert!(unfound.is_empty(), "seed {seed}: nobody finds {unfound:#?}");
    let ready = run.place.number(&client, "select count(*) from turnabout.job").await;
    // Each take has a job, but the last ones, which find that there are none.
    let bound = ready as usize + 2 * execs.len();
    let (mut takes, mut idle) = (0, 0);
    while idle < execs.len() {
        let exec = &mut execs[takes % STEADY];
        takes += 1;
        assert!(takes <= bound, "seed {seed}: {takes} takes for {ready} jobs");
        exec.turns.forgive();
        let (jobs, _) = exec.try_take(5).await.expect("take works");
        run.took(exec, &jobs);
        idle = if jobs.is_empty() { idle + 1 } else { 0 };
        for job in &jobs {
            run.end(exec, job, Event::Succeed).await;
        }
    }
    let left = "select j::text from turnabout.job j limit 5";
    let left = run.place.texts(&client, left).await;
    assert!(left.is_empty(), "seed {seed}: stranded are {left:#?}");
    let book = run.book();
    let missing: Vec<&JobId> = book.all.iter().filter(|id| !book.ended.contains(id)).collect();
    assert!(missing.is_empty(), "seed {seed}: never ended are {missing:?}");
    let (all, ended) = (book.all.len(), book.ended.len());
    println!("seed {seed}: {all} jobs, {ended} ended, {ready} of them at last, by {takes} takes");
    assert!(all > 100, "seed {seed}: hardly anything happened");
}

/// Arrivals of younger transactions have been filed and forgotten long before, and generations have come and gone.
async fn a_transaction_older_than_two_thousand_others_is_found_when_it_commits(place: &Place) {
    let client = place.client().await;
    let store = place.open().await;
    client.batch_execute("begin").await.expect("it begins");
    let late = place
        .submit(&client, "'work', \"group\" => 'a'")
        .await
        .expect("submitted");
    let mut exec = executor(&store, &["work"]).await;
    for n in 0..700 {
        add(&store, vec![job("a")]).await;
        let taken = exec.take_one().await;
        assert_ne!(taken.id, late);
        exec.end(&taken, Event::Succeed).await;
        if n % 100 == 0 {
            store.prune().await.expect("prune works");
            place.run(&place.client().await, WEAR).await;
        }
    }
    let age = "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint";
    assert!(place.number(&client, age).await > 2000, "it is not old enough");
    assert!(exec.take(5).await.is_empty());
    client.batch_execute("commit").await.expect("it commits");
    assert_eq!(exec.take_one().await.id, late);
}

/// A generation that is due begins with whichever take comes next, also with one that has nothing to do but that.
async fn a_take_that_steps_over_every_group_keeps_their_streams(place: &Place) {
    let store = place.open().await;
    let capped = GroupSettings {
        max_running: Some(1),
        ..GroupSettings::default()
    };
    let setting = Setting::Group("a".to_owned(), capped);
    store.set(setting).await.expect("it is set");
    add(&store, vec![job("a"), job("a")]).await;
    let mut exec = executor(&store, &["work"]).await;
    let first = exec.take_one().await;
    assert!(exec.take(1).await.is_empty(), "the only place is taken");
    assert!(exec.turns.benched().contains("a"));
    place.run(&place.client().await, WEAR).await;
    assert!(exec.take(1).await.is_empty());
    exec.end(&first, Event::Succeed).await;
    exec.turns.forgive();
    assert_eq!(exec.take(1).await.len(), 1, "the stream is lost");
}

/// The kind is not yet there for whoever resumes the group, and the group not yet resumed for the kind.
async fn a_group_that_is_resumed_while_a_kind_comes_is_known_to_that_kind(place: &Place) {
    let store = place.open().await;
    for paused in [true, false] {
        let task = TaskLimits {
            paused,
            ..TaskLimits::default()
        };
        let setting = Setting::Task("work".to_owned(), task);
        if paused {
            store.set(setting).await.expect("it is paused");
            let other = NewJob {
                queue: Some("other".to_owned()),
                ..job("a")
            };
            add(&store, vec![other]).await;
            continue;
        }
        let client = place.client().await;
        let join = "begin; select turnabout.join_kind('other:work', '{other}', '{work}');
            insert into turnabout.executor (incarnation, kind, name, slots, queues, tasks, version, since)
            select gen_random_uuid(), max(id), 'one', 1, '{other}', '{work}', '1', now() from turnabout.kind";
        place.run(&client, join).await;
        let there = store.clone();
        let resume = tokio::spawn(async move { there.set(setting).await });
        // Either it is done beside the one that comes, or it waits for that.
        let waits = "select count(*) from pg_locks where relation = 'turnabout.kind'::regclass and not granted";
        while !resume.is_finished() && place.number(&client, waits).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        place.run(&client, "commit").await;
        resume.await.expect("no panic").expect("it is resumed");
    }
    let mut exec = executor_of(&store, "other", &["work"]).await;
    assert_eq!(exec.take(1).await.len(), 1, "the job is stranded");
}
