//! Jobs of tasks that an executor does not know, or in queues that it does not serve: never taken, never in the way.

use super::world::ids;
use super::{World, cases, job};
use crate::store::NewJob;

fn of_task(group: &str, task: &str) -> NewJob {
    NewJob {
        task: task.to_owned(),
        ..job(group)
    }
}

async fn a_job_of_an_unknown_task_is_never_taken(world: &World) {
    let mut exec = world.executor().await;
    world.add(of_task("a", "other")).await;
    let (jobs, found) = exec.try_take(5).await.expect("it works");
    assert!(jobs.is_empty() && !found);
    let mut other = world.executor_of(&["default"], &["other"]).await;
    assert_eq!(other.take(5).await.len(), 1);
}

async fn unknown_jobs_in_front_do_not_hide_the_others(world: &World) {
    let mut exec = world.executor().await;
    let mut expected = Vec::new();
    for group in ["a", "b", "c"] {
        let unknown: Vec<NewJob> = (0..20).map(|i| of_task(group, &format!("other{}", i % 3))).collect();
        world.submit(unknown).await;
        expected.push(world.add(job(group)).await);
    }
    assert_eq!(ids(&exec.take(3).await), expected);
    assert!(exec.take(3).await.is_empty());
}

async fn groups_with_only_unknown_jobs_are_stepped_over(world: &World) {
    let mut exec = world.executor().await;
    for i in 0..20 {
        world.add(of_task(&format!("g{i:02}"), "other")).await;
    }
    let last = world.add(job("z")).await;
    let mut taken = Vec::new();
    // A take may come back short, but not forever, and it says that there is more.
    for _ in 0..25 {
        let (jobs, found) = exec.try_take(1).await.expect("it works");
        taken.extend(ids(&jobs));
        if !found || !jobs.is_empty() {
            break;
        }
    }
    assert_eq!(taken, [last]);
    let (jobs, found) = exec.try_take(1).await.expect("it works");
    assert!(jobs.is_empty() && !found);
}

async fn an_urgent_unknown_job_does_not_hide_a_less_urgent_known_one(world: &World) {
    use crate::job::Priority;
    let mut exec = world.executor().await;
    for _ in 0..3 {
        world
            .add(NewJob {
                priority: Some(Priority::High),
                ..of_task("a", "other")
            })
            .await;
    }
    let low = world
        .add(NewJob {
            priority: Some(Priority::Low),
            ..job("a")
        })
        .await;
    assert_eq!(ids(&exec.take(3).await), [low]);
}

async fn a_job_in_another_queue_is_not_taken(world: &World) {
    let mut plain = world.executor().await;
    let mut scanner = world.executor_of(&["ocr"], &["work"]).await;
    let mut both = world.executor_of(&["default", "ocr"], &["work"]).await;
    let scan = NewJob {
        queue: Some("ocr".to_owned()),
        ..job("a")
    };
    let scans = [world.add(scan.clone()).await, world.add(scan).await];
    let (jobs, found) = plain.try_take(5).await.expect("it works");
    assert!(jobs.is_empty() && !found);
    let here = world.add(job("a")).await;
    assert_eq!(ids(&scanner.take(1).await), [scans[0]]);
    assert_eq!(ids(&both.take(5).await), [scans[1], here]);
}

async fn groups_of_several_queues_share_one_ring(world: &World) {
    let mut exec = world.executor_of(&["default", "ocr"], &["work"]).await;
    for group in ["a", "c"] {
        world.flood(group, 4).await;
    }
    for group in ["b", "c"] {
        let scans = (0..4).map(|_| NewJob {
            queue: Some("ocr".to_owned()),
            ..job(group)
        });
        world.submit(scans.collect()).await;
    }
    let mut served = String::new();
    for _ in 0..9 {
        served.push_str(&exec.take_one().await.group);
    }
    assert_eq!(
        served, "abcabcabc",
        "one turn a group, in however many queues it has jobs"
    );
}

cases!(
    a_job_of_an_unknown_task_is_never_taken,
    unknown_jobs_in_front_do_not_hide_the_others,
    groups_with_only_unknown_jobs_are_stepped_over,
    an_urgent_unknown_job_does_not_hide_a_less_urgent_known_one,
    a_job_in_another_queue_is_not_taken,
    groups_of_several_queues_share_one_ring,
);
