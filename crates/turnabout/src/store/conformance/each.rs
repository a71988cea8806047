//! Limits of a task on one executor: each executor runs so many of its jobs at the most, and other work fills the other slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Exec, World, cases, job};
use crate::group::{Cap, TaskLimits};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::store::insight::HeldBy;
use crate::store::{NewJob, Setting};
use crate::turn::Here;

async fn limit(world: &World, max_running: Option<u32>, max_running_each: Option<u32>) {
    let limits = TaskLimits {
        max_running,
        max_running_each,
        ..TaskLimits::default()
    };
    world
        .store
        .set(Setting::Task("work".to_owned(), limits))
        .await
        .expect("it is set");
}

/// An executor that counts what it holds of the task `work`, as a real one does.
fn counting(exec: &mut Exec) -> Arc<AtomicU32> {
    let held = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&held);
    exec.turns.here = Here::new(
        move |of| {
            if *of == Cap::Task("work".to_owned()) {
                count.load(Relaxed)
            } else {
                0
            }
        },
        1000,
        1000,
    );
    held
}

async fn c58_each_executor_runs_so_many_jobs_of_a_task_at_the_most(world: &World) {
    let mut execs = world.executors(2).await;
    let held: Vec<_> = execs.iter_mut().map(counting).collect();
    limit(world, None, Some(2)).await;
    for group in ["a", "b", "c"] {
        world.flood(group, 10).await;
    }
    let mut jobs = Vec::new();
    for (exec, held) in execs.iter_mut().zip(&held) {
        let (taken, _) = exec.try_take(8).await.expect("it works");
        assert_eq!(taken.len(), 2);
        held.fetch_add(2, Relaxed);
        exec.turns.forgive();
        let (none, found) = exec.try_take(8).await.expect("it works");
        assert!(
            none.is_empty() && !found,
            "nobody has to look for what a limit keeps back"
        );
        jobs.push(taken);
    }
    // A place here is free here, and for nobody else.
    execs[0].run(&jobs[0][0], Event::Succeed).await;
    held[0].fetch_sub(1, Relaxed);
    for exec in &mut execs {
        exec.turns.forgive();
    }
    assert!(execs[1].take(8).await.is_empty());
    execs[1].turns.forgive();
    assert_eq!(execs[0].take(8).await.len(), 1);
    held[0].fetch_add(1, Relaxed);
    // Changed at run time, and beside a limit over all.
    limit(world, None, Some(5)).await;
    execs[0].turns.forgive();
    assert_eq!(execs[0].take(8).await.len(), 3);
    held[0].fetch_add(3, Relaxed);
    limit(world, Some(8), Some(7)).await;
    execs[1].turns.forgive();
    assert_eq!(execs[1].take(8).await.len(), 1, "seven are held over all");
    limit(world, None, None).await;
    execs[1].turns.forgive();
    assert_eq!(execs[1].take(8).await.len(), 8);
}

async fn c58_other_work_fills_the_other_slots(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    counting(&mut exec);
    limit(world, None, Some(1)).await;
    for group in ["a", "b", "c"] {
        world.flood(group, 10).await;
        let mail = NewJob {
            task: "mail".to_owned(),
            ..job(group)
        };
        world.submit(vec![mail.clone(), mail]).await;
    }
    let taken = exec.take(7).await;
    let works = taken.iter().filter(|job| job.task == "work").count();
    assert_eq!((works, taken.len()), (1, 7));
}

async fn c58_a_job_says_that_each_executor_runs_as_many_as_it_may(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let mut execs = world.executors(2).await;
    limit(world, None, Some(1)).await;
    world.flood("a", 2).await;
    let id = world.add(job("a")).await;
    let mut held = Vec::new();
    for exec in &mut execs {
        let why = jobs.explain(id).await.expect("it is told");
        assert_eq!(why.each_full, None, "{why}");
        held.push(exec.take_one().await);
    }
    let why = jobs.explain(id).await.expect("it is told");
    assert_eq!(why.each_full, Some(1));
    let said = "Each executor that would take it runs 1 job of the task `work`, which is the limit on one executor.";
    assert!(why.to_string().contains(said), "{why}");
    execs[0].run(&held[0], Event::Succeed).await;
    assert_eq!(jobs.explain(id).await.expect("it is told").each_full, None);
}

async fn c58_the_setting_is_kept_told_and_checked(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let set = jobs
        .task_limits("work")
        .max_running_each(Some(3))
        .await
        .expect("it is set");
    assert_eq!(set.max_running_each, Some(3));
    let known = world.elsewhere().await.store.settings().await.expect("it works");
    assert_eq!(known.task("work").max_running_each, Some(3));
    jobs.task_limits("work")
        .max_running_each(Some(0))
        .await
        .expect_err("use pause");
    jobs.task_limits("work")
        .max_running_each(None)
        .await
        .expect("it is set");
    assert!(jobs.settings().await.expect("it works").tasks.is_empty());
}

async fn c49_what_each_executor_holds_of_a_task_is_told(world: &World) {
    let mut execs = world.executors(2).await;
    world.flood("a", 5).await;
    assert!(world.store.insight().held_by().await.expect("it is told").is_empty());
    let mut expected = Vec::new();
    for (exec, want) in execs.iter_mut().zip([1u32, 3]) {
        assert_eq!(exec.take(want).await.len(), want as usize);
        expected.push(HeldBy {
            task: "work".to_owned(),
            executor: exec.incarnation,
            jobs: want.into(),
        });
    }
    let mut told = world.store.insight().held_by().await.expect("it is told");
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

cases!(
    c49_what_each_executor_holds_of_a_task_is_told,
    c58_each_executor_runs_so_many_jobs_of_a_task_at_the_most,
    c58_other_work_fills_the_other_slots,
    c58_a_job_says_that_each_executor_runs_as_many_as_it_may,
    c58_the_setting_is_kept_told_and_checked,
);
