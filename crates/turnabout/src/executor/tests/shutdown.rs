//! Nothing is left claimed, and nothing is lost.

use super::*;
use crate::job::{Reason, State};
use crate::store::conformance::cases;

cases![
    a_shutdown_waits_for_what_runs,
    a_shutdown_past_its_deadline_interrupts_what_runs,
    a_shutdown_in_the_middle_of_a_flood_loses_nothing,
    a_dropped_handle_shuts_the_executor_down,
    b30_a_shutdown_without_a_deadline_waits_for_all_that_runs,
    b32_an_executor_that_is_dismissed_finishes_what_it_has_and_says_so,
];

async fn b30_a_shutdown_without_a_deadline_waits_for_all_that_runs(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 2).await;
    let one = jobs.submit(Play("one".into())).await.expect("submitted").id;
    let two = jobs.submit(Play("two".into())).await.expect("submitted").id;
    seats.next().await;
    seats.next().await;
    let mut shutdown = std::pin::pin!(executor.shutdown(None));
    // However long they take: nothing tells them to stop.
    assert!(futures_util::poll!(&mut shutdown).is_pending());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(futures_util::poll!(&mut shutdown).is_pending());
    seats.curtain.cancel();
    within(shutdown).await;
    for id in [one, two] {
        let job = jobs.get(id).await.expect("it is there");
        assert_eq!((job.state, job.interruptions), (State::Success, 0));
    }
}

async fn b32_an_executor_that_is_dismissed_finishes_what_it_has_and_says_so(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage)
        .task(play)
        .slots(1)
        .lease(Duration::from_millis(20), Duration::from_secs(30));
    let executor = executor.start().await.expect("it starts");
    let first = jobs.submit(Play("first".into())).await.expect("submitted").id;
    assert_eq!(seats.next().await.0, "first");
    let second = jobs.submit(Play("second".into())).await.expect("submitted").id;
    assert!(jobs.dismiss(executor.health().incarnation).await.expect("told"));
    assert!(!jobs.dismiss(uuid::Uuid::new_v4()).await.expect("nobody"));
    within(executor.dismissed()).await;
    let mut shutdown = std::pin::pin!(executor.shutdown(None));
    assert!(
        futures_util::poll!(&mut shutdown).is_pending(),
        "the first one still runs"
    );
    seats.curtain.cancel();
    within(shutdown).await;
    assert_eq!(jobs.get(first).await.expect("there").state, State::Success);
    assert_eq!(jobs.get(second).await.expect("there").state, State::Waiting);
    // One that runs in the foreground ends by itself.
    let idle = Executor::new(&jobs)
        .task(echo)
        .lease(Duration::from_millis(20), Duration::from_secs(30));
    let running = tokio::spawn(idle.run());
    let member = within(async {
        loop {
            if let Some(member) = jobs.executors().await.expect("listed").pop() {
                return member;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(jobs.dismiss(member.info.incarnation).await.expect("told"));
    within(running).await.expect("no panic").expect("it ends well");
    assert!(jobs.executors().await.expect("listed").is_empty());
}

async fn a_shutdown_waits_for_what_runs(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 1).await;
    let first = jobs.submit(Play("first".into())).await.expect("submitted").id;
    let second = jobs.submit(Play("second".into())).await.expect("submitted").id;
    assert_eq!(seats.next().await.0, "first");
    let shutdown = executor.shutdown(Duration::from_mins(1));
    let curtain = async {
        tokio::task::yield_now().await;
        seats.curtain.cancel();
    };
    within(async { tokio::join!(shutdown, curtain) }).await;
    assert_eq!(jobs.get(first).await.expect("it is there").state, State::Success);
    let second = jobs.get(second).await.expect("it is there");
    assert_eq!((second.state, second.attempts), (State::Waiting, 0));
    assert_eq!(jobs.counts().await.expect("counted").held, 0);
    assert!(!executor.health().registered);
}

async fn a_shutdown_past_its_deadline_interrupts_what_runs(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 1).await;
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    within(executor.shutdown(Duration::ZERO)).await;
    let job = jobs.get(job).await.expect("it is there");
    assert_eq!((job.state, job.reason), (State::Waiting, Some(Reason::Interrupted)));
    assert_eq!(
        (job.attempts, job.interruptions),
        (0, 1),
        "an interruption does not count as an attempt"
    );
    assert_eq!(jobs.counts().await.expect("counted").held, 0);
}

async fn a_shutdown_in_the_middle_of_a_flood_loses_nothing(world: &World) {
    let jobs = jobs_of(world);
    let flood = (0..3000).map(|i| Submission::new(Echo(i.to_string())).group(format!("g{}", i % 7)));
    assert!(jobs.submit_all(flood).await.iter().all(Result::is_ok));
    let mut rounds = 0;
    loop {
        let (sender, mut done) = mpsc::unbounded_channel();
        let count = |cx: Context<mpsc::UnboundedSender<()>>, _: Echo| async move {
            let _ = cx.state().send(());
            Ok(())
        };
        let executor = Executor::with_state(&jobs, sender)
            .task(count)
            .slots(3)
            .start()
            .await
            .expect("it starts");
        // In the midst of it, or at its end.
        let enough = async {
            for _ in 0..700 {
                done.recv().await;
            }
        };
        tokio::select! {
            () = enough => {}
            drained = executor.drained() => drained.expect("drained"),
        }
        within(executor.shutdown(Duration::from_secs(10))).await;
        let counts = jobs.counts().await.expect("counted");
        assert_eq!((counts.held, counts.ready + counts.ended), (0, 3000));
        rounds += 1;
        if counts.ready == 0 {
            break;
        }
        assert!(rounds < 100, "it goes on");
    }
    let succeeded = jobs.list().state(State::Success).limit(1000).await.expect("listed");
    assert_eq!((succeeded.jobs.len(), succeeded.next.is_some()), (1000, true));
    assert!(succeeded.jobs.iter().all(|job| job.attempts == 1), "each ran once");
}

async fn a_dropped_handle_shuts_the_executor_down(world: &World) {
    let jobs = jobs_of(world);
    let (stage, mut seats) = stage();
    let executor = player(&jobs, stage, 1).await;
    let job = jobs.submit(Play("x".into())).await.expect("submitted").id;
    seats.next().await;
    drop(executor);
    becomes(&jobs, job, |job| job.state == State::Waiting && job.interruptions == 1).await;
}
