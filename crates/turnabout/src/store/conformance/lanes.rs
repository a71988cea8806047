//! Inside a group: retries first, then the counting scheme, then first in, first out.

use std::time::Duration;

use super::world::ids;
use super::{World, cases, job};
use crate::job::{Claimed, Lane, Priority};
use crate::lifecycle::Event;
use crate::store::NewJob;
use crate::turn::Fairness;

fn urgent(group: &str, priority: Priority) -> NewJob {
    NewJob {
        priority: Some(priority),
        ..job(group)
    }
}

async fn a_due_retry_goes_first_whatever_its_priority(world: &World) {
    let mut exec = world.executor().await;
    let low = world.add(urgent("a", Priority::Low)).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Fail).await;
    world.advance(Duration::from_mins(1));
    for _ in 0..3 {
        world.add(urgent("a", Priority::High)).await;
    }
    world.store.promote(10).await.expect("promote works");
    let taken = exec.take_one().await;
    assert_eq!((taken.id, taken.lane), (low, Lane::Retry));
    assert_eq!(exec.take_one().await.lane, Lane::High);
}

async fn the_scheme_counts_four_high_two_normal_one_low(world: &World) {
    let mut exec = world.executor().await;
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        for _ in 0..20 {
            world.add(urgent("a", priority)).await;
        }
    }
    let mut jobs = Vec::new();
    for _ in 0..14 {
        jobs.push(exec.take_one().await);
    }
    let seen = letters(&jobs);
    // It begins at a random place, and goes round from there.
    let round = "hhhhnnlhhhhnnlhhhhnnl";
    assert!(round.contains(&seen), "{seen}");
}

/// The lanes of jobs, by their first letters.
fn letters<'a>(jobs: impl IntoIterator<Item = &'a Claimed>) -> String {
    let letter = |job: &Claimed| match job.lane {
        Lane::High => 'h',
        Lane::Normal => 'n',
        Lane::Low => 'l',
        Lane::Retry => 'r',
    };
    jobs.into_iter().map(letter).collect()
}

async fn b8_turns_of_an_empty_lane_are_skipped(world: &World) {
    let exec = world.executor().await;
    let mut exec = exec.counting(Fairness::Jobs, "4,2,1", 3);
    for priority in [Priority::High, Priority::Low] {
        for _ in 0..20 {
            world.add(urgent("a", priority)).await;
        }
    }
    let mut jobs = Vec::new();
    for want in [1, 3, 7, 4] {
        jobs.extend(exec.take(want).await);
    }
    let seen = letters(&jobs);
    assert!("hhhhlhhhhlhhhhlhhhhl".contains(&seen), "{seen}");
    exec.take(100).await;
    world.add(urgent("b", Priority::Low)).await;
    let other = exec.take_one().await;
    assert_eq!(other.group, "b", "where only the low lane has jobs it gets every turn");
}

async fn b13_four_high_one_of_the_rest_and_low_never_starves(world: &World) {
    let exec = world.executor().await;
    let mut exec = exec.counting(Fairness::Jobs, "4,1", 3);
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        for _ in 0..40 {
            world.add(urgent("a", priority)).await;
        }
    }
    // In batches, as for jobs of a millisecond: they come in the order in which they start.
    let mut jobs = Vec::new();
    for want in [1, 12, 7, 20] {
        jobs.extend(exec.take(want).await);
    }
    let seen = letters(&jobs);
    assert!("hhhhnhhhhl".repeat(6).contains(&seen), "{seen}");
}

async fn a_batch_that_empties_one_lane_is_filled_from_the_others(world: &World) {
    let mut exec = world.executor().await;
    world.add(urgent("a", Priority::High)).await;
    world.add(urgent("a", Priority::Normal)).await;
    for _ in 0..8 {
        world.add(urgent("a", Priority::Low)).await;
    }
    assert_eq!(exec.take(9).await.len(), 9);
    assert_eq!(exec.take(9).await.len(), 1);
}

async fn the_count_moves_only_when_a_job_was_taken(world: &World) {
    let exec = world.executor().await;
    let mut exec = exec.counting(Fairness::Jobs, "1,1", 5);
    for _ in 0..6 {
        assert!(exec.take(1).await.is_empty());
    }
    for _ in 0..4 {
        world.add(urgent("a", Priority::High)).await;
        world.add(urgent("a", Priority::Low)).await;
    }
    let mut lanes = Vec::new();
    for _ in 0..4 {
        lanes.push(exec.take_one().await.lane);
    }
    assert_ne!(lanes[0], lanes[1]);
    assert_eq!((lanes[0], lanes[1]), (lanes[2], lanes[3]), "the lanes alternate");
}

async fn first_in_first_out_across_executors_tasks_and_queues(world: &World) {
    let queues = ["default", "ocr"];
    let tasks = ["work", "mail", "scan"];
    let mut execs = [
        world.executor_of(&queues, &tasks).await,
        world.executor_of(&queues, &tasks).await,
    ];
    let mut rng = fastrand::Rng::with_seed(9);
    let mut submitted = Vec::new();
    for _ in 0..30 {
        let new = NewJob {
            task: (*rng.choice(&tasks).expect("a task")).to_owned(),
            queue: rng.choice(&queues).map(|q| (*q).to_owned()),
            ..job("a")
        };
        submitted.push(world.add(new).await);
    }
    let mut taken = Vec::new();
    let mut turn = 0;
    while taken.len() < 30 {
        let jobs = execs[turn % 2].take(rng.u32(1..4)).await;
        taken.extend(ids(&jobs));
        turn += 1;
    }
    assert_eq!(taken, submitted);
}

async fn a_change_of_priority_keeps_the_place(world: &World) {
    let mut exec = world.executor().await;
    let first = world.add(urgent("a", Priority::Normal)).await;
    let second = world.add(urgent("a", Priority::Low)).await;
    let third = world.add(urgent("a", Priority::Normal)).await;
    world
        .happen(second, Event::Reprioritise(Priority::Normal))
        .await
        .expect("it may");
    assert_eq!(world.get(second).await.priority, Priority::Normal);
    assert_eq!(ids(&exec.take(3).await), [first, second, third]);
}

async fn a_released_job_keeps_its_place(world: &World) {
    let mut execs = world.executors(2).await;
    let submitted = world.flood("a", 4).await;
    let held = execs[0].take(2).await;
    for job in held.iter().rev() {
        execs[0].release(job).await;
    }
    assert_eq!(ids(&execs[1].take(4).await), submitted);
}

async fn a_job_lost_before_it_started_keeps_its_place(world: &World) {
    let mut execs = world.executors(2).await;
    let submitted = world.flood("a", 4).await;
    execs[0].take(2).await;
    assert_eq!(execs[0].die().await, 2);
    assert_eq!(ids(&execs[1].take(4).await), submitted);
}

async fn delayed_jobs_queue_up_when_they_become_due(world: &World) {
    let mut exec = world.executor().await;
    let delayed = |seconds| NewJob {
        when: crate::job::When::After(Duration::from_secs(seconds)),
        ..job("a")
    };
    let later = world.add(delayed(20)).await;
    let sooner = world.add(delayed(10)).await;
    let now = world.add(job("a")).await;
    world.advance(Duration::from_secs(30));
    world.store.promote(10).await.expect("promote works");
    assert_eq!(ids(&exec.take(3).await), [now, sooner, later]);
}

cases!(
    a_due_retry_goes_first_whatever_its_priority,
    the_scheme_counts_four_high_two_normal_one_low,
    b8_turns_of_an_empty_lane_are_skipped,
    b13_four_high_one_of_the_rest_and_low_never_starves,
    a_batch_that_empties_one_lane_is_filled_from_the_others,
    the_count_moves_only_when_a_job_was_taken,
    first_in_first_out_across_executors_tasks_and_queues,
    a_change_of_priority_keeps_the_place,
    a_released_job_keeps_its_place,
    a_job_lost_before_it_started_keeps_its_place,
    delayed_jobs_queue_up_when_they_become_due,
);
