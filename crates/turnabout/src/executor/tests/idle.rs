//! An executor that has nothing to do does next to nothing, and an outage does not hurt it.

use super::counting::{Counting, Fault};
use super::*;
use crate::job::State;
use crate::store::conformance::cases;

cases![
    an_idle_executor_makes_fewer_than_two_calls_a_second,
    a_submit_wakes_an_idle_executor,
    idle_executors_with_different_tasks_each_get_their_jobs,
    an_executor_that_stands_by_shuts_down_at_once,
    an_outage_is_waited_out_and_health_says_so,
    outcomes_survive_an_outage,
    an_outcome_that_cannot_be_stored_is_a_failure,
    a_claim_whose_answer_got_lost_is_given_back,
    a_loop_that_panics_is_begun_anew,
];

/// Without waiting for it in real time, this could only be believed.
async fn an_idle_executor_makes_fewer_than_two_calls_a_second(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    executor.drained().await.expect("drained");
    // Falling asleep takes a few looks; then it is quiet.
    tokio::time::sleep(Duration::from_secs(2)).await;
    store.calls();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let calls = store.calls();
    assert!(calls.values().sum::<u32>() < 12, "{calls:?}");
    assert!(executor.is_idle() && executor.health().is_good());
    executor.shutdown(Duration::ZERO).await;
}

async fn a_submit_wakes_an_idle_executor(world: &World) {
    let jobs = jobs_of(world);
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    executor.drained().await.expect("drained");
    for i in 0..5 {
        let job = jobs.submit(Echo(i.to_string())).await.expect("submitted").id;
        assert_eq!(ended(&jobs, job).await.state, State::Success);
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn idle_executors_with_different_tasks_each_get_their_jobs(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let one = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    let two = player(&jobs, stage, 2).await;
    one.drained().await.expect("drained");
    two.drained().await.expect("drained");
    for i in 0..5 {
        let played = jobs.submit(Play(i.to_string())).await.expect("submitted").id;
        assert_eq!(seats.next().await, (i.to_string(), played));
        let echoed = jobs.submit(Echo(i.to_string())).await.expect("submitted").id;
        assert_eq!(ended(&jobs, echoed).await.state, State::Success);
        jobs.cancel(played).await.expect("cancelled");
        ended(&jobs, played).await;
    }
    one.shutdown(Duration::ZERO).await;
    two.shutdown(Duration::ZERO).await;
}

/// Once it stands by for an hour: that comes after a few looks, in real time.
async fn an_executor_that_stands_by_shuts_down_at_once(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task(echo);
    let executor = executor.lease(Duration::from_hours(1), Duration::from_hours(3));
    let executor = executor.start().await.expect("it starts");
    let mut stood = 0;
    within(async {
        while stood < 4 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            stood += store.calls().get("stand_by").copied().unwrap_or(0);
        }
    })
    .await;
    within(executor.shutdown(Duration::from_hours(1))).await;
}

async fn an_outage_is_waited_out_and_health_says_so(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    store.fail("take", Fault::Outage, 3);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    let troubled = async {
        while executor.health().is_good() {
            tokio::task::yield_now().await;
        }
        executor.health()
    };
    let health = within(troubled).await;
    assert!(health.troubles["claiming"].contains("so the test wanted"), "{health:?}");
    assert_eq!(ended(&jobs, job).await.state, State::Success);
    assert!(executor.health().is_good());
    executor.shutdown(Duration::ZERO).await;
}

async fn outcomes_survive_an_outage(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    for fault in [Fault::Outage, Fault::LostReply] {
        store.fail("settle", fault, 2);
        let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
        let job = ended(&jobs, job).await;
        assert_eq!((job.state, job.attempts), (State::Success, 1), "{fault:?}");
    }
    executor.shutdown(Duration::ZERO).await;
    assert_eq!(jobs.counts().await.expect("counted").held, 0);
}

async fn an_outcome_that_cannot_be_stored_is_a_failure(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task(echo).start().await.expect("it starts");
    store.fail("settle", Fault::Refusal, 1);
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    let job = ended(&jobs, job).await;
    assert_eq!(job.state, State::Failed);
    assert!(job.error.expect("it says why").contains("could not be stored"));
    executor.shutdown(Duration::ZERO).await;
}

async fn a_claim_whose_answer_got_lost_is_given_back(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    store.fail("take", Fault::LostReply, 1);
    let executor = Executor::new(&jobs)
        .task(echo)
        .lease(Duration::from_millis(100), Duration::from_secs(30));
    let executor = executor.start().await.expect("it starts");
    assert_eq!(
        ended(&jobs, job).await.state,
        State::Success,
        "taken, lost, given back by the heartbeat, taken again"
    );
    executor.shutdown(Duration::ZERO).await;
}

async fn a_loop_that_panics_is_begun_anew(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let verbs = ["take", "settle", "heartbeat", "promote", "prune"];
    for verb in verbs {
        store.fail(verb, Fault::Panic, 1);
    }
    let (sender, mut runs) = mpsc::unbounded_channel();
    let count = |cx: Context<mpsc::UnboundedSender<()>>, _: Echo| async move {
        let _ = cx.state().send(());
        Ok(())
    };
    let executor = Executor::with_state(&jobs, sender).task(count);
    let executor = executor.lease(Duration::from_millis(100), Duration::from_secs(30));
    let executor = executor.start().await.expect("it starts");
    let job = jobs.submit(Echo("x".into())).await.expect("submitted").id;
    assert_eq!(ended(&jobs, job).await.state, State::Success);
    assert_eq!(executor.health().restarts as usize, verbs.len());
    executor.shutdown(Duration::ZERO).await;
    assert!(
        runs.try_recv().is_ok() && runs.try_recv().is_ok(),
        "what became of the first run was lost, so there is a second"
    );
}
