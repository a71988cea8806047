//! A thousand random interleavings of the verbs, by clients that work at the same time through two stores on the same
//! tables. Whatever the order: nobody is told of a deadlock, and every fence holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use fastrand::Rng;

use super::*;
use crate::group::GroupSettings;
use crate::job::{Claimed, Priority, State};
use crate::lifecycle::Event;
use crate::store::{Settled, Which};

/// In each of four cases, which run at the same time.
const ROUNDS: u64 = 100;
const CLIENTS: u64 = 4;
const STEPS: usize = 6;

cases![
    interleavings_of_the_verbs_keep_every_fence_1,
    interleavings_of_the_verbs_keep_every_fence_2,
    interleavings_of_the_verbs_keep_every_fence_3,
    interleavings_of_the_verbs_keep_every_fence_4,
];

async fn interleavings_of_the_verbs_keep_every_fence_1(place: &Place) {
    interleave(place, 0).await;
}

async fn interleavings_of_the_verbs_keep_every_fence_2(place: &Place) {
    interleave(place, 1).await;
}

async fn interleavings_of_the_verbs_keep_every_fence_3(place: &Place) {
    interleave(place, 2).await;
}

async fn interleavings_of_the_verbs_keep_every_fence_4(place: &Place) {
    interleave(place, 3).await;
}

/// Something that a client did, and when it began and ended on a clock that all share.
#[derive(Debug)]
struct Deed {
    from: u64,
    to: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Ended(JobId, Event, Settled),
    Cancelled(JobId),
    Restarted(JobId),
    Reaped(Uuid),
}

/// One client: an executor that also does what others do.
struct One {
    store: Arc<PostgresStore>,
    exec: Exec,
    hand: Vec<Claimed>,
    deeds: Vec<(Uuid, Deed)>,
    rng: Rng,
    clock: Arc<AtomicU64>,
}

impl One {
    async fn new(store: &Arc<PostgresStore>, rng: Rng, clock: &Arc<AtomicU64>) -> Self {
        Self {
            store: store.clone(),
            exec: executor(store, &["work"]).await,
            hand: Vec::new(),
            deeds: Vec::new(),
            rng,
            clock: clock.clone(),
        }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    fn note(&mut self, from: u64, what: What) {
        let to = self.tick();
        self.deeds.push((self.exec.incarnation, Deed { from, to, what }));
    }

    async fn step(&mut self, jobs: &[JobId]) {
        let job = jobs[self.rng.usize(..jobs.len())];
        let from = self.tick();
        match self.rng.u32(..16) {
            0..4 => match self.exec.try_take(self.rng.u32(1..3)).await {
                Ok((taken, _)) => {
                    self.exec.turns.forgive();
                    self.hand.extend(taken);
                }
                // Someone took it for dead: it begins anew, and what it held is not its own any more.
                Err(Error::LeaseLost) => self.exec = executor(&self.store, &["work"]).await,
                // As every executor, it looks again.
                Err(error) if error.is_transient() => {}
                Err(error) => panic!("a take failed: {}", error.chain()),
            },
            4..8 if !self.hand.is_empty() => {
                let job = self.hand.swap_remove(self.rng.usize(..self.hand.len()));
                self.end(from, &job).await;
            }
            8 if !self.hand.is_empty() => {
                let job = &self.hand[self.rng.usize(..self.hand.len())];
                let marks = vec![crate::store::Start::of(job, self.store.clock().now())];
                self.store
                    .start(self.exec.incarnation, marks)
                    .await
                    .expect("start works");
            }
            9 | 10 => {
                let changed = self.change(job, Event::Cancel).await;
                if changed {
                    self.note(from, What::Cancelled(job));
                }
            }
            11 => {
                if self.change(job, Event::Restart).await {
                    self.note(from, What::Restarted(job));
                }
            }
            12 => {
                let priority = Priority::ALL[self.rng.usize(..Priority::ALL.len())];
                self.change(job, Event::Reprioritise(priority)).await;
            }
            13 => {
                let others = self.store.executors().await.expect("looking works");
                // All of them may have been reaped by others just now.
                let Some(one) = self.rng.choice(&others) else { return };
                let one = &one.info;
                self.store.reap(one.incarnation, one.beat).await.expect("reap works");
                let left = self.store.executors().await.expect("looking works");
                if left.iter().all(|other| other.info.incarnation != one.incarnation) {
                    self.note(from, What::Reaped(one.incarnation));
                }
            }
            14 => drop(self.store.promote(100).await.expect("promote works")),
            _ => {
                let _ = self.exec.heartbeat().await;
            }
        }
    }

    async fn change(&self, job: JobId, event: Event) -> bool {
        let changed = self.store.change(Which::Ids(vec![job]), event).await;
        let changed = changed.unwrap_or_else(|error| panic!("{event:?} failed: {}", error.chain()));
        changed.iter().any(|changed| changed.outcome.is_ok())
    }

    /// Ends an attempt; under a cancel, once more.
    async fn end(&mut self, from: u64, job: &Claimed) {
        let events = [Event::Succeed, Event::Fail, Event::FailForGood, Event::Release];
        let event = events[self.rng.usize(..events.len())];
        let mut settled = self.exec.end(job, event).await;
        if settled == Settled::Cancelling {
            let again = self.exec.outcome(job, event, true);
            settled = self.exec.settle(again).await;
        }
        self.note(from, What::Ended(job.id, event, settled));
    }
}

async fn interleave(place: &Place, quarter: u64) {
    let stores = [place.open().await, place.open().await];
    let capped = GroupSettings {
        max_running: Some(2),
        ..GroupSettings::default()
    };
    let setting = Setting::Group("capped".to_owned(), capped);
    stores[0].set(setting).await.expect("set");
    let clock = Arc::new(AtomicU64::new(0));
    for seed in quarter * ROUNDS + 1..=(quarter + 1) * ROUNDS {
        let ids = add(
            &stores[0],
            ["a", "a", "b", "capped", "capped", "capped"].map(job).to_vec(),
        )
        .await;
        let mut clients = Vec::new();
        for n in 0..CLIENTS {
            let rng = Rng::with_seed(seed * CLIENTS + n);
            let mut one = One::new(&stores[n as usize % 2], rng, &clock).await;
            let ids = ids.clone();
            clients.push(tokio::spawn(async move {
                for _ in 0..STEPS {
                    one.step(&ids).await;
                }
                one.deeds
            }));
        }
        let mut deeds = Vec::new();
        for client in clients {
            let done = tokio::time::timeout(Duration::from_mins(1), client).await;
            deeds.extend(done.expect("nobody waits for ever").unwrap_or_else(|panic| {
                panic!("seed {seed}: {panic}");
            }));
        }
        check(&stores[0], seed, &ids, deeds).await;
    }
}

/// Holds what the clients were told against what the store says, and leaves nothing for the next round.
async fn check(store: &Arc<PostgresStore>, seed: u64, ids: &[JobId], mut deeds: Vec<(Uuid, Deed)>) {
    deeds.sort_by_key(|(_, deed)| deed.to);
    let told = || {
        deeds
            .iter()
            .map(|deed| format!("{deed:?}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut reaped: BTreeMap<Uuid, u64> = BTreeMap::new();
    let (mut successes, mut restarts) = (BTreeMap::new(), BTreeMap::new());
    let mut cancels: BTreeMap<JobId, u64> = BTreeMap::new();
    for (who, deed) in &deeds {
        match deed.what {
            What::Reaped(executor) => drop(reaped.insert(executor, deed.to)),
            What::Ended(id, event, settled) => {
                // One that was reaped may be told that its job has ended by its claim, which the reap saw to; what it
                // wants to write counts for nothing.
                let dead = reaped.get(who).is_some_and(|at| *at < deed.from);
                if event == Event::Succeed && settled == Settled::Done && !dead {
                    *successes.entry(id).or_insert(0) += 1;
                }
            }
            What::Cancelled(id) => drop(cancels.insert(id, deed.from)),
            What::Restarted(id) => *restarts.entry(id).or_insert(0) += 1,
        }
    }
    // Whoever still has something in hand dies.
    for one in store.executors().await.expect("looking works") {
        store
            .reap(one.info.incarnation, one.info.beat)
            .await
            .expect("reap works");
    }
    store.reap(Uuid::nil(), 0).await.expect("reap works");
    let known: BTreeMap<JobId, Job> = store
        .get(ids)
        .await
        .expect("get works")
        .into_iter()
        .map(|j| (j.id, j))
        .collect();
    let restarted: BTreeSet<JobId> = restarts.keys().copied().collect();
    for id in ids {
        let job = &known[id];
        assert!(
            job.claim.is_none() || job.state.is_final(),
            "seed {seed}: {job:?} is held\n{}",
            told()
        );
        let allowed = 1 + restarts.get(id).copied().unwrap_or(0);
        let count: i32 = successes.get(id).copied().unwrap_or(0);
        assert!(
            count <= allowed,
            "seed {seed}: {id} succeeded {count} times\n{}",
            told()
        );
        assert!(
            job.state != State::Success || count > 0,
            "seed {seed}: the dead made {id} succeed\n{}",
            told()
        );
        if cancels.contains_key(id) && !restarted.contains(id) {
            assert_eq!(
                job.state,
                State::Cancelled,
                "seed {seed}: {id} was cancelled\n{}",
                told()
            );
        }
        if !job.state.is_final() {
            store
                .change(Which::Ids(vec![*id]), Event::Cancel)
                .await
                .expect("cancel works");
        }
    }
    let counts = store.counts().await.expect("count works");
    assert_eq!(
        (counts.ready, counts.parked, counts.held),
        (0, 0, 0),
        "seed {seed}\n{}",
        told()
    );
    let mut exec = executor(store, &["work"]).await;
    // Every place under the cap is free again.
    let places = add(store, ["capped"; 3].map(job).to_vec()).await;
    let taken = exec.take(3).await;
    assert_eq!(taken.len(), 2, "seed {seed}: places under the cap\n{}", told());
    exec.die().await;
    let end = store
        .change(Which::Ids(places), Event::Cancel)
        .await
        .expect("cancel works");
    assert!(end.iter().all(|changed| changed.outcome.is_ok()), "seed {seed}");
}
