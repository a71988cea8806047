//! The counting scheme, as jobs of a millisecond really start, and what the store says about that.

use std::sync::{Arc, Mutex};

use super::*;
use crate::clock::Clock;
use crate::job::{Priority, State};
use crate::store::conformance::cases;

cases![b13_jobs_of_a_millisecond_start_four_high_one_of_the_rest_and_started_sorts_them];

/// What a handler knows: the clock, and who has begun so far.
type Ran = (Clock, Arc<Mutex<Vec<JobId>>>);

/// Takes a millisecond of the store's time.
async fn short(cx: Context<Ran>, _: Play) -> TaskResult {
    let (clock, began) = cx.state();
    began.lock().expect("the list").push(cx.job());
    if let Clock::Manual(clock) = clock {
        clock.advance(Duration::from_millis(1));
    }
    Ok(())
}

async fn b13_jobs_of_a_millisecond_start_four_high_one_of_the_rest_and_started_sorts_them(world: &World) {
    const EACH: usize = 60;
    let jobs = jobs_of(world);
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        let some = (0..EACH).map(|_| Submission::new(Play("x".into())).group("a").priority(priority));
        assert!(jobs.submit_all(some).await.iter().all(Result::is_ok));
    }
    let began = Arc::new(Mutex::new(Vec::new()));
    let executor = Executor::with_state(&jobs, (world.store.clock().clone(), Arc::clone(&began)))
        .task(short)
        .scheme("4,1")
        .slots(1)
        .start()
        .await
        .expect("it starts");
    within(async {
        while jobs.list().state(State::Success).count(1000).await.expect("counted") < 3 * EACH as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    executor.shutdown(Duration::ZERO).await;
    let mut listed = jobs.list().limit(1000).await.expect("a page").jobs;
    listed.sort_by_key(|job| job.started);
    let began = began.lock().expect("the list").clone();
    let sorted: Vec<JobId> = listed.iter().map(|job| job.id).collect();
    assert_eq!(sorted, began, "by `started` they sort as their handlers began");
    let lanes: String = listed
        .iter()
        .map(|job| match job.priority {
            Priority::High => 'h',
            Priority::Normal => 'n',
            Priority::Low => 'l',
        })
        .collect();
    // While all three have jobs: from a random turn on.
    let seen = &lanes[..70];
    assert!("hhhhnhhhhl".repeat(10).contains(seen), "{lanes}");
}
