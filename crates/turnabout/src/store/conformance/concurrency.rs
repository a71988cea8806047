//! Many at once. What must come out does not depend on who is first.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Barrier;

use super::world::settings;
use super::{Exec, World, cases, in_memory, job};
use crate::job::{JobId, State};
use crate::lifecycle::{Event, Refusal};
use crate::store::{NewJob, Settled, Store, Submitted, Which};

const SUBMITTERS: usize = 32;

/// Submits the jobs all at the same time; returns what each submitter was told.
async fn all_at_once(store: &Arc<dyn Store>, jobs: Vec<NewJob>) -> Vec<Submitted> {
    let barrier = Arc::new(Barrier::new(jobs.len()));
    let submitters: Vec<_> = jobs
        .into_iter()
        .map(|job| {
            let (store, barrier) = (store.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                store.submit(vec![job]).await.expect("submit works").remove(0)
            })
        })
        .collect();
    let mut told = Vec::new();
    for submitter in submitters {
        told.push(submitter.await.expect("no panic").expect("the job is stored"));
    }
    told
}

fn keyed(world: &World) -> NewJob {
    NewJob {
        id: JobId::at(world.clock.now()),
        unique: Some("key".to_owned()),
        ..job("a")
    }
}

async fn of_32_submitters_of_one_key_one_makes_the_job(world: &World) {
    let jobs = (0..SUBMITTERS).map(|_| keyed(world)).collect();
    let told = all_at_once(&world.store, jobs).await;
    assert_eq!(told.iter().filter(|s| s.new).count(), 1);
    let ids: HashSet<JobId> = told.iter().map(|s| s.id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.all().await.len(), 1);
}

async fn of_32_submitters_of_one_id_one_makes_the_job(world: &World) {
    let new = NewJob {
        id: JobId::at(world.clock.now()),
        id_given: true,
        ..job("a")
    };
    let told = all_at_once(&world.store, vec![new.clone(); SUBMITTERS]).await;
    assert_eq!(told.iter().filter(|s| s.new).count(), 1);
    assert!(told.iter().all(|s| s.id == new.id));
    assert_eq!(world.all().await.len(), 1);
}

async fn of_32_submitters_of_an_id_that_is_just_finishing_none_makes_a_second_job(world: &World) {
    let mut exec = world.executor().await;
    for _ in 0..5 {
        let new = NewJob {
            id: JobId::at(world.clock.now()),
            id_given: true,
            ..job("a")
        };
        world.submit(vec![new.clone()]).await;
        let taken = exec.take_one().await;
        let (settled, told) = tokio::join!(
            exec.end(&taken, Event::Succeed),
            all_at_once(&world.store, vec![new.clone(); SUBMITTERS])
        );
        assert_eq!(settled, Settled::Done);
        assert!(told.iter().all(|s| s.id == new.id && !s.new));
        assert_eq!(world.get(new.id).await.state, State::Success);
    }
    assert_eq!(world.all().await.len(), 5);
}

async fn of_32_submitters_of_a_key_that_is_just_set_free_at_most_one_makes_a_job(world: &World) {
    let mut exec = world.executor().await;
    let mut last = world.add(keyed(world)).await;
    for round in 0..5 {
        let taken = exec.take_one().await;
        assert_eq!(taken.id, last, "round {round}");
        let jobs = (0..SUBMITTERS).map(|_| keyed(world)).collect();
        let (settled, told) = tokio::join!(exec.end(&taken, Event::Succeed), all_at_once(&world.store, jobs));
        assert_eq!(settled, Settled::Done);
        let new: Vec<JobId> = told.iter().filter(|s| s.new).map(|s| s.id).collect();
        assert!(new.len() <= 1, "{} new jobs of one key", new.len());
        for submitted in &told {
            assert!(
                submitted.id == last || new.contains(&submitted.id),
                "the old job or the new one"
            );
        }
        last = match new.first() {
            Some(id) => *id,
            None => world.add(keyed(world)).await,
        };
        assert_eq!(world.store.counts().await.expect("it works").ready, 1);
    }
}

async fn batches_that_share_keys_in_different_orders_do_not_deadlock(world: &World) {
    let batches: Vec<Vec<NewJob>> = (0..8)
        .map(|i| {
            let mut batch: Vec<NewJob> = (0..40)
                .map(|key| NewJob {
                    id: JobId::at(world.clock.now()),
                    unique: Some(format!("key{key}")),
                    ..job("a")
                })
                .collect();
            fastrand::Rng::with_seed(i).shuffle(&mut batch);
            batch
        })
        .collect();
    let submitters: Vec<_> = batches
        .into_iter()
        .map(|batch| {
            let store = world.store.clone();
            tokio::spawn(async move { store.submit(batch).await })
        })
        .collect();
    let mut new = 0;
    for submitter in submitters {
        let told = submitter.await.expect("no panic").expect("submit works");
        new += told.iter().filter(|s| s.as_ref().is_ok_and(|s| s.new)).count();
    }
    assert_eq!((new, world.all().await.len()), (40, 40));
}

async fn no_job_is_taken_twice(world: &World) {
    const JOBS: usize = 300;
    for group in ["a", "b", "c"] {
        world.flood(group, JOBS / 3).await;
    }
    let mut takers = Vec::new();
    for mut exec in world.executors(6).await {
        takers.push(tokio::spawn(async move {
            let mut mine = Vec::new();
            let mut empty = 0;
            // Two takes may meet at the same jobs and one comes back short; not twenty times in a row.
            while empty < 20 {
                let jobs = exec.take(7).await;
                empty = if jobs.is_empty() { empty + 1 } else { 0 };
                exec.turns.forgive();
                for job in &jobs {
                    assert_eq!(exec.run(job, Event::Succeed).await, Settled::Done);
                    mine.push(job.id);
                }
            }
            mine
        }));
    }
    let mut all = Vec::new();
    for taker in takers {
        all.extend(taker.await.expect("no panic"));
    }
    let different: HashSet<JobId> = all.iter().copied().collect();
    assert_eq!((all.len(), different.len()), (JOBS, JOBS));
}

async fn a_cancel_and_an_end_at_once_agree_on_what_happened(world: &World) {
    let mut exec = world.executor().await;
    for _ in 0..20 {
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        let (cancelled, settled) = tokio::join!(
            world.store.change(Which::Ids(vec![id]), Event::Cancel),
            exec.end(&taken, Event::Succeed)
        );
        let cancelled = cancelled.expect("it works").remove(0).outcome;
        match settled {
            Settled::Done => assert_eq!(cancelled, Err(Refusal::NotCancellable)),
            Settled::Cancelling => {
                assert!(cancelled.is_ok());
                let again = exec.outcome(&taken, Event::Succeed, true);
                assert_eq!(exec.settle(again).await, Settled::Done);
            }
            Settled::Lost => panic!("nobody else holds it"),
        }
        let state = world.get(id).await.state;
        let expected = if cancelled.is_ok() {
            State::Cancelled
        } else {
            State::Success
        };
        assert_eq!(state, expected, "whoever was told so was told the truth");
    }
}

async fn a_dead_executor_is_reaped_by_one_of_many(world: &World) {
    let mut dead = world.executor().await;
    world.flood("a", 10).await;
    dead.take(10).await;
    let reapers: Vec<_> = (0..8)
        .map(|_| {
            let (store, incarnation, beat) = (world.store.clone(), dead.incarnation, dead.beat);
            tokio::spawn(async move { store.reap(incarnation, beat).await.expect("reap works") })
        })
        .collect();
    let mut total = 0;
    for reaper in reapers {
        total += reaper.await.expect("no panic");
    }
    assert_eq!(total, 10);
    assert_eq!(world.store.counts().await.expect("it works").ready, 10);
}

async fn a_take_that_races_a_reap_loses_nothing(world: &World) {
    for _ in 0..10 {
        world.flood("a", 4).await;
        let mut exec = Exec::new(
            world.store.clone(),
            uuid::Uuid::new_v4(),
            &["default"],
            vec![settings("work")],
        );
        exec.register().await;
        let store = world.store.clone();
        let (incarnation, beat) = (exec.incarnation, exec.beat);
        let (taken, reaped) = tokio::join!(exec.try_take(4), store.reap(incarnation, beat));
        reaped.expect("reap works");
        // Whatever the order, nothing stays in the hands of one that is gone (a second reap finds orphans).
        world.store.reap(incarnation, beat).await.expect("reap works");
        if let Ok((jobs, _)) = taken {
            for job in jobs {
                assert_eq!(exec.end(&job, Event::Succeed).await, Settled::Lost);
            }
        }
        let counts = world.store.counts().await.expect("it works");
        assert_eq!((counts.ready, counts.held), (4, 0));
        world.executor().await.drain(10).await;
    }
}

cases!(
    of_32_submitters_of_one_key_one_makes_the_job,
    of_32_submitters_of_one_id_one_makes_the_job,
    of_32_submitters_of_an_id_that_is_just_finishing_none_makes_a_second_job,
    of_32_submitters_of_a_key_that_is_just_set_free_at_most_one_makes_a_job,
    batches_that_share_keys_in_different_orders_do_not_deadlock,
    no_job_is_taken_twice,
    a_cancel_and_an_end_at_once_agree_on_what_happened,
    a_dead_executor_is_reaped_by_one_of_many,
    a_take_that_races_a_reap_loses_nothing,
);
in_memory!(no_job_is_taken_twice);
