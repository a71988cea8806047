//! Several processes on one store: each has it opened for itself, and all see the same.

use super::world::{groups, ids};
use super::{World, cases, job};
use crate::error::Error;
use crate::group::GroupSettings;
use crate::job::State;
use crate::lifecycle::Event;
use crate::store::{NewJob, Setting, Settled};

async fn what_one_submits_another_runs_and_a_third_sees(world: &World) {
    let (there, beyond) = (world.elsewhere().await, world.elsewhere().await);
    let mut exec = there.executor().await;
    let submitted = world.flood("a", 3).await;
    assert_eq!(ids(&exec.take(2).await), submitted[..2]);
    let job = beyond.get(submitted[0]).await;
    assert_eq!(job.state, State::Scheduled);
    beyond.happen(submitted[0], Event::Cancel).await.expect("it may");
    let beat = exec.heartbeat().await;
    let cancelling: Vec<_> = beat.held.iter().filter(|(.., cancelling)| *cancelling).collect();
    assert_eq!(cancelling.len(), 1);
    assert_eq!(cancelling[0].0, submitted[0]);
}

async fn executors_of_different_processes_share_one_ring(world: &World) {
    let there = world.elsewhere().await;
    let mut execs = [world.executor().await, there.executor().await];
    for group in ["a", "b", "c"] {
        world.flood(group, 4).await;
    }
    let mut served = String::new();
    for i in 0..9 {
        served.push_str(&execs[i % 2].take_one().await.group);
    }
    assert_eq!(served, "abcabcabc");
}

async fn settings_made_in_one_process_act_at_once_in_another(world: &World) {
    let there = world.elsewhere().await;
    let mut exec = there.executor().await;
    for group in ["a", "b"] {
        world.flood(group, 9).await;
    }
    assert_eq!(groups(&exec.take(2).await), ["a", "b"]);
    let set = async |settings: GroupSettings| {
        let setting = Setting::Group("a".to_owned(), settings);
        world.store.set(setting).await.expect("it is set");
    };
    let plain = GroupSettings::default();
    set(GroupSettings {
        weight: Some(2),
        ..plain
    })
    .await;
    assert_eq!(groups(&exec.take(3).await), ["a", "b", "a"]);
    set(GroupSettings { paused: true, ..plain }).await;
    assert_eq!(groups(&exec.take(2).await), ["b", "b"]);
    set(GroupSettings {
        max_running: Some(4),
        ..plain
    })
    .await;
    exec.turns.forgive();
    let mut of_a = 0;
    for _ in 0..6 {
        of_a += exec.take(2).await.iter().filter(|job| job.group == "a").count();
    }
    assert_eq!(of_a, 1, "three were held when the cap was set");
}

async fn an_executor_reaped_elsewhere_has_lost_its_lease(world: &World) {
    let there = world.elsewhere().await;
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    let reaped = there.store.reap(exec.incarnation, exec.beat).await;
    assert_eq!(reaped.expect("reap works"), 1);
    assert!(matches!(exec.try_take(1).await, Err(Error::LeaseLost)));
    assert_eq!(exec.end(&taken, Event::Succeed).await, Settled::Lost);
    assert_eq!(there.get(id).await.state, State::Waiting);
}

async fn a_unique_key_holds_across_processes(world: &World) {
    let there = world.elsewhere().await;
    let keyed = || NewJob {
        unique: Some("key".to_owned()),
        ..job("a")
    };
    let first = world.add(keyed()).await;
    let second = there.submit(vec![keyed()]).await[0];
    assert_eq!((second.id, second.new), (first, false));
}

async fn many_processes_can_work_at_once(world: &World) {
    const JOBS: usize = 120;
    let mut takers = Vec::new();
    for i in 0..4 {
        let there = world.elsewhere().await;
        takers.push(tokio::spawn(async move {
            let mut exec = there.executor().await;
            there.flood(&format!("g{i}"), JOBS / 4).await;
            let mut done = 0;
            for _ in 0..JOBS {
                for job in exec.take(3).await {
                    assert_eq!(exec.run(&job, Event::Succeed).await, Settled::Done);
                    done += 1;
                }
            }
            done
        }));
    }
    let mut done = 0;
    for taker in takers {
        done += taker.await.expect("no panic");
    }
    done += world.executor().await.drain(10).await.len();
    assert_eq!(done, JOBS);
    assert_eq!(world.store.counts().await.expect("it works").ended as usize, JOBS);
}

cases!(
    what_one_submits_another_runs_and_a_third_sees,
    executors_of_different_processes_share_one_ring,
    settings_made_in_one_process_act_at_once_in_another,
    an_executor_reaped_elsewhere_has_lost_its_lease,
    a_unique_key_holds_across_processes,
    many_processes_can_work_at_once,
);
