//! A store that is out of reach for a while, and loops that cannot go on.

use super::counting::{Counting, Fault};
use super::*;
use crate::job::State;
use crate::store::conformance::cases;

cases![
    what_has_ended_before_a_lease_was_lost_is_written_when_the_store_is_back,
    health_tells_which_loop_is_behind,
];

/// A job that must not run twice.
#[derive(Debug, Serialize, Deserialize)]
struct Only(String);

impl Task for Only {
    const NAME: &'static str = "only";
    const RESTARTABLE: bool = false;
}

async fn only(cx: Context<Stage>, task: Only) -> TaskResult<String> {
    let _ = cx.state().began.send((task.0.clone(), cx.job()));
    cx.state().curtain.cancelled().await;
    Ok(task.0)
}

async fn what_has_ended_before_a_lease_was_lost_is_written_when_the_store_is_back(world: &World) {
    const VERBS: [&str; 5] = ["heartbeat", "settle", "register", "executors", "log"];
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(only);
    let executor = executor
        .lease(Duration::from_millis(100), Duration::from_secs(3))
        .start()
        .await
        .expect("it starts");
    let job = jobs.submit(Only("x".into())).await.expect("submitted").id;
    seats.next().await;
    becomes(&jobs, job, |job| job.state == State::Running).await;
    for verb in VERBS {
        store.fail(verb, Fault::Outage, u32::MAX);
    }
    seats.curtain.cancel();
    // Nothing can be written, so it gives up its lease.
    within(async {
        while executor.health().registered {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(!executor.health().is_good());
    for verb in VERBS {
        store.fail(verb, Fault::Outage, 0);
    }
    let job = ended(&jobs, job).await;
    assert_eq!((job.state, job.attempts, job.losses), (State::Success, 1, 0));
    within(async {
        while !executor.health().is_good() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    executor.shutdown(Duration::ZERO).await;
}

async fn health_tells_which_loop_is_behind(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(play);
    let executor = executor
        .lease(Duration::from_millis(500), Duration::from_mins(1))
        .start()
        .await
        .expect("it starts");
    jobs.submit(Play("x".into())).await.expect("submitted");
    seats.next().await;
    assert!(!executor.health().behind.contains_key("finisher"));
    store.fail("settle", Fault::Hang, 1);
    seats.curtain.cancel();
    within(async {
        while !executor.health().behind.contains_key("finisher") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(!executor.health().is_good());
    let troubles = executor.health().troubles;
    assert!(
        !troubles.contains_key("finishing"),
        "nothing has failed: it only takes long"
    );
}
