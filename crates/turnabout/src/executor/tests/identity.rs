//! Who lives under an id.

use super::leases::ghost;
use super::*;
use crate::error::Error;
use crate::job::{Reason, State};
use crate::store::conformance::cases;

cases![
    a_second_executor_with_the_id_of_a_living_one_is_refused,
    one_that_comes_after_a_dead_one_takes_its_jobs_back_at_once,
    executors_without_an_id_count_up,
    an_id_is_free_after_a_shutdown,
];

fn named(jobs: &Jobs, id: &str) -> Executor<Stage> {
    let (stage, _) = stage();
    Executor::with_state(jobs, stage).task(play).name(id)
}

async fn a_second_executor_with_the_id_of_a_living_one_is_refused(world: &World) {
    let jobs = jobs_of(world);
    let first = named(&jobs, "here").start().await.expect("it starts");
    let elsewhere = Jobs::on(world.elsewhere().await.store.clone());
    for jobs in [&jobs, &elsewhere] {
        let second = within(named(jobs, "here").start()).await;
        let error = second.expect_err("the first one lives");
        assert!(matches!(&error, Error::IdTaken { id } if id == "here"), "{error}");
        assert!(error.to_string().contains("another id"), "{error}");
    }
    assert!(first.health().is_good());
    let other = named(&jobs, "there").start().await.expect("another id is free");
    other.shutdown(Duration::ZERO).await;
    first.shutdown(Duration::ZERO).await;
}

async fn one_that_comes_after_a_dead_one_takes_its_jobs_back_at_once(world: &World) {
    let jobs = jobs_of(world);
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    let dead = ghost(world).await;
    let (stage, mut seats) = stage();
    // A lease that no test waits for.
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .name("ghost")
        .lease(Duration::from_mins(1), Duration::from_hours(1));
    let executor = executor.start().await.expect("it starts");
    assert_eq!(seats.next().await.1, job);
    let running = becomes(&jobs, job, |job| job.state == State::Running).await;
    assert_eq!((running.attempts, running.losses), (2, 1));
    let known = world.store.executors().await.expect("read");
    assert!(
        known.iter().all(|one| one.info.incarnation != dead),
        "nothing is left of it"
    );
    seats.curtain.cancel();
    ended(&jobs, job).await;
    let attempts = jobs.attempts(job).await.expect("read");
    assert_eq!(attempts[0].reason, Some(Reason::Lost));
    executor.shutdown(Duration::ZERO).await;
}

async fn executors_without_an_id_count_up(world: &World) {
    let jobs = jobs_of(world);
    let mut executors = Vec::new();
    for _ in 0..3 {
        let (stage, _) = stage();
        executors.push(
            Executor::with_state(&jobs, stage)
                .task(play)
                .start()
                .await
                .expect("it starts"),
        );
    }
    let names: Vec<String> = executors.iter().map(|executor| executor.health().name).collect();
    assert_eq!(names[1..], [format!("{}-2", names[0]), format!("{}-3", names[0])]);
    for executor in executors {
        executor.shutdown(Duration::ZERO).await;
    }
}

async fn an_id_is_free_after_a_shutdown(world: &World) {
    let jobs = jobs_of(world);
    let elsewhere = Jobs::on(world.elsewhere().await.store.clone());
    for jobs in [&jobs, &elsewhere, &jobs] {
        let executor = within(named(jobs, "here").start()).await.expect("it is free");
        executor.shutdown(Duration::ZERO).await;
    }
    assert!(world.store.executors().await.expect("read").is_empty());
}
