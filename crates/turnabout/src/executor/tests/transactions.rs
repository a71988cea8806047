//! A handler's transaction: what it writes and the job's success are one.

use std::sync::Arc;
use std::time::Instant;

use tokio_postgres::{Client, NoTls};

use super::*;
use crate::error::Error;
use crate::job::{Reason, State};
use crate::lifecycle::Event;
use crate::store::Transactions;
use crate::store::conformance::world::{on_postgres, on_sqlite, postgres_url};
use crate::task::{Isolation, TaskError};
use crate::testing::drain;

/// Inserts rows and then ends as it is told. Its transaction is as strict as `LEVEL` says.
#[derive(Debug, Serialize, Deserialize)]
struct Write<const LEVEL: u8> {
    table: String,
    how: String,
}

impl<const LEVEL: u8> Task for Write<LEVEL> {
    const NAME: &'static str = match LEVEL {
        0 => "write",
        1 => "write-repeatable",
        _ => "write-serializable",
    };
    const TRANSACTION: Option<Isolation> = Some(match LEVEL {
        0 => Isolation::ReadCommitted,
        1 => Isolation::RepeatableRead,
        _ => Isolation::Serializable,
    });
    const RETRIES: u32 = 1;
    const JITTER: bool = false;
    const TIME_LIMIT: Option<Duration> = Some(Duration::from_mins(5));
}

async fn write<const LEVEL: u8>(cx: Context<Stage>, task: Write<LEVEL>) -> TaskResult<u32> {
    let tx = cx.transaction()?;
    let insert = format!("insert into {} (job) values ($1)", task.table);
    for _ in 0..3 {
        tx.execute(&insert, &[&cx.job().0]).await?;
    }
    cx.log().info("half way");
    let _ = cx.progress().step("half way");
    let _ = cx.progress().set(50);
    let _ = cx.state().began.send((task.how.clone(), cx.job()));
    match task.how.as_str() {
        "fail" => Err("it fails".into()),
        "permanent" => Err(TaskError::permanent("it fails for good")),
        "panic" => panic!("it panics"),
        "wait" => {
            tokio::select! {
                () = cx.state().curtain.cancelled() => Ok(3),
                () = cx.cancelled() => Err("told to stop".into()),
            }
        }
        "deaf" => {
            cx.state().curtain.cancelled().await;
            Ok(3)
        }
        "in the server" => {
            tx.query("select pg_sleep(1000)", &[]).await?;
            Ok(3)
        }
        "commit" => {
            tx.batch_execute("commit").await?;
            Ok(3)
        }
        "aborted" => {
            drop(tx.execute("select 1/0", &[]).await);
            Ok(3)
        }
        "savepoint" => {
            let kept = tx.savepoint().await?;
            tx.execute(&insert, &[&cx.job().0]).await?;
            kept.release().await?;
            let undone = tx.savepoint().await?;
            tx.execute(&insert, &[&cx.job().0]).await?;
            let deeper = tx.savepoint().await?;
            drop(tx.execute("select 1/0", &[]).await);
            // In whatever order.
            drop(undone);
            drop(deeper);
            Ok(4)
        }
        "child" => {
            cx.submit(Echo("child".into())).within(tx).await?;
            Ok(3)
        }
        "childless" => {
            cx.submit(Echo("child".into())).within(tx).await?;
            Err("no child after all".into())
        }
        _ => Ok(3),
    }
}

fn transactions(world: &World) -> &dyn Transactions {
    world.store.transactions().expect("a store that has them")
}

/// A store of its own with a table beside it, and a connection of somebody else's.
struct Place<'a> {
    world: &'a World,
    jobs: Jobs,
    table: String,
    client: Client,
}

impl Place<'_> {
    async fn rows(&self) -> i64 {
        let sql = format!("select count(*) from {}", self.table);
        self.client.query_one(&sql, &[]).await.expect("a number").get(0)
    }

    fn schema(&self) -> String {
        let submit = self.world.store.statements().expect("some").submit;
        let (before, _) = submit.split_once(".submit_job").expect("a function");
        before.rsplit(' ').next().expect("a schema").to_owned()
    }

    fn write<const LEVEL: u8>(&self, how: &str) -> Write<LEVEL> {
        Write {
            table: self.table.clone(),
            how: how.to_owned(),
        }
    }

    fn executor(&self, stage: Stage) -> Executor<Stage> {
        Executor::with_state(&self.jobs, stage)
            .task(write::<0>)
            .task(write::<1>)
            .task(write::<2>)
            .task(async |_: Context<Stage>, task: Echo| Ok::<_, TaskError>(task.0))
            .slots(4)
            .grace(Duration::from_millis(50))
    }

    /// Runs one job to its end, or until it is stuck.
    async fn run<const LEVEL: u8>(&self, how: &str) -> Job {
        let (stage, _seats) = stage();
        let id = self.jobs.submit(self.write::<LEVEL>(how)).await.expect("submitted").id;
        drain(self.executor(stage)).await.expect("drained");
        self.jobs.get(id).await.expect("it is there")
    }
}

async fn connect() -> Client {
    let (client, connection) = tokio_postgres::connect(&postgres_url(), NoTls)
        .await
        .expect("connected");
    tokio::spawn(connection);
    client
}

async fn on_a_place(case: impl AsyncFn(&Place<'_>)) {
    on_postgres(async |world: &World| {
        let client = connect().await;
        let table = format!("public.rows_{}", uuid::Uuid::new_v4().simple());
        client
            .batch_execute(&format!("create table {table} (job uuid not null)"))
            .await
            .expect("a table");
        let place = Place {
            world,
            jobs: jobs_of(world),
            table,
            client,
        };
        case(&place).await;
        let drop = format!("drop table {}", place.table);
        place.client.batch_execute(&drop).await.expect("it goes");
    })
    .await;
}

macro_rules! places {
    ($($case:ident),+ $(,)?) => {
        mod cases {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::executor::tests::transactions::on_a_place(super::$case).await;
            })+
        }
    };
}

mod colliding;
mod dying;
mod own;
mod using;

places![
    a_success_and_its_rows_are_there_together,
    what_fails_leaves_no_rows,
    a_cancelled_job_leaves_no_rows,
    a_job_that_times_out_leaves_no_rows,
    a_job_that_loses_its_lease_leaves_no_rows,
    a_job_that_was_taken_away_leaves_no_rows,
    while_it_runs_others_see_its_progress_and_no_rows,
    a_statement_under_way_is_stopped_with_its_handler,
    a_place_under_a_cap_is_given_back,
    jobs_that_are_not_kept_are_gone_after_the_commit,
];

async fn a_success_and_its_rows_are_there_together(place: &Place<'_>) {
    for (n, job) in [
        place.run::<0>("fine").await,
        place.run::<1>("fine").await,
        place.run::<2>("fine").await,
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!((job.state, job.attempts, job.progress), (State::Success, 1, 100));
        assert_eq!(job.result::<u32>().expect("a number"), Some(3));
        assert!(job.started.is_some() && job.finished.is_some(), "run {n}");
    }
    assert_eq!(place.rows().await, 9);
}

async fn what_fails_leaves_no_rows(place: &Place<'_>) {
    for (how, state) in [
        ("fail", State::Stuck),
        ("permanent", State::Failed),
        ("panic", State::Stuck),
        ("aborted", State::Stuck),
    ] {
        for job in [place.run::<0>(how).await, place.run::<1>(how).await] {
            assert_eq!((job.state, job.attempts), (state, 1), "{how}: {:?}", job.error);
        }
        assert_eq!(place.rows().await, 0, "{how}");
    }
}

async fn a_cancelled_job_leaves_no_rows(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let running = place.executor(stage).start().await.expect("it starts");
    // One that stops when told to, and one that has to be dropped.
    for how in ["wait", "deaf", "in the server"] {
        let id = place.jobs.submit(place.write::<1>(how)).await.expect("submitted").id;
        seats.next().await;
        place.jobs.cancel(id).await.expect("told");
        assert_eq!(ended(&place.jobs, id).await.state, State::Cancelled, "{how}");
        assert_eq!(place.rows().await, 0, "{how}");
    }
    // One that is cancelled while it commits: the fence decides.
    for _ in 0..50 {
        let id = place.jobs.submit(place.write::<1>("fine")).await.expect("submitted").id;
        seats.next().await;
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..3000))).await;
        let before = place.rows().await;
        let told = place.jobs.cancel(id).await;
        let job = ended(&place.jobs, id).await;
        match told {
            Ok(_) => assert_eq!((job.state, place.rows().await), (State::Cancelled, before)),
            Err(Error::NotCancellable { .. }) => assert_eq!(job.state, State::Success),
            Err(error) => panic!("{error}"),
        }
    }
    let success = place
        .jobs
        .list()
        .state(State::Success)
        .limit(1000)
        .await
        .expect("a list")
        .jobs
        .len();
    assert_eq!(place.rows().await, 3 * success as i64);
    running.shutdown(Duration::ZERO).await;
}

async fn a_job_that_times_out_leaves_no_rows(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let running = place.executor(stage).start().await.expect("it starts");
    for how in ["wait", "deaf", "in the server"] {
        let id = place.jobs.submit(place.write::<1>(how)).await.expect("submitted").id;
        seats.next().await;
        place.world.advance(Duration::from_mins(6));
        let job = becomes(&place.jobs, id, |job| job.state == State::Stuck).await;
        assert_eq!(job.reason, Some(Reason::TimedOut));
        assert_eq!(place.rows().await, 0, "{how}");
        place.jobs.cancel(id).await.expect("cancelled");
    }
    running.shutdown(Duration::ZERO).await;
}

async fn a_job_that_loses_its_lease_leaves_no_rows(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let running = place.executor(stage).start().await.expect("it starts");
    let incarnation = running.health().incarnation;
    let mut ids = Vec::new();
    for how in ["wait", "deaf"] {
        ids.push(place.jobs.submit(place.write::<0>(how)).await.expect("submitted").id);
        seats.next().await;
    }
    // Others believe that it fell silent, and have taken its jobs over.
    let beats = 0..200;
    let mut reaped = 0;
    for beat in beats {
        reaped += place.world.store.reap(incarnation, beat).await.expect("an answer");
    }
    assert_eq!(reaped, 2);
    seats.curtain.cancel();
    for id in ids {
        // Whoever runs it then: a new life of the same executor does, as the second attempt.
        let job = ended(&place.jobs, id).await;
        assert_eq!((job.state, job.attempts), (State::Success, 2));
    }
    assert_eq!(place.rows().await, 6, "nothing of the first attempts");
    running.shutdown(Duration::ZERO).await;
}

/// The executor does not know yet that the job is no longer its own: the fence stops the commit.
async fn a_job_that_was_taken_away_leaves_no_rows(place: &Place<'_>) {
    let mut exec = place.world.executor_of(&["default"], &["write"]).await;
    place.jobs.submit(place.write::<0>("x")).await.expect("submitted");
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        transactions(place.world).offer(2);
        let held = exec.take(1).await.pop().expect("a job");
        exec.start(&held).await;
        let tx = transactions(place.world)
            .begin(held.id, isolation)
            .await
            .expect("begun");
        let insert = format!("insert into {} (job) values ($1)", place.table);
        tx.execute(&insert, &[&held.id.0]).await.expect("inserted");
        let dead = exec.incarnation;
        exec.die().await;
        let settle = exec.outcome(&held, Event::Succeed, false);
        let settled = transactions(place.world).conclude(dead, &settle, &tx).await;
        // With the older snapshot the server refuses even to look.
        assert!(!matches!(settled, Ok(crate::store::Settled::Done)), "{settled:?}");
        assert_eq!(place.rows().await, 0);
        exec = place.world.executor_of(&["default"], &["write"]).await;
    }
    assert_eq!(exec.take(1).await.len(), 1, "it waits for someone else");
}

async fn while_it_runs_others_see_its_progress_and_no_rows(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let running = place.executor(stage).start().await.expect("it starts");
    let id = place.jobs.submit(place.write::<2>("wait")).await.expect("submitted").id;
    seats.next().await;
    let since = Instant::now();
    let elsewhere = place.world.elsewhere().await;
    let job = loop {
        let job = elsewhere.get(id).await;
        if job.progress == 50 {
            break job;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{job:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((job.state, job.step.as_deref()), (State::Running, Some("half way")));
    let there = jobs_of(&elsewhere);
    while there.logs(id).await.expect("a page").lines.is_empty() {
        assert!(since.elapsed() < Duration::from_secs(20), "no line of its log");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(place.rows().await, 0);
    seats.curtain.cancel();
    assert_eq!(ended(&place.jobs, id).await.state, State::Success);
    assert_eq!(place.rows().await, 3);
    running.shutdown(Duration::ZERO).await;
}

async fn a_statement_under_way_is_stopped_with_its_handler(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let running = place.executor(stage).start().await.expect("it starts");
    let id = place
        .jobs
        .submit(place.write::<0>("in the server"))
        .await
        .expect("submitted")
        .id;
    seats.next().await;
    running.shutdown(Duration::ZERO).await;
    assert_eq!(
        place.jobs.get(id).await.expect("it is there").reason,
        Some(Reason::Interrupted)
    );
    // Nobody holds a lock on the table any longer.
    let lock = format!("set lock_timeout = '10s'; lock table {}", place.table);
    place
        .client
        .batch_execute(&format!("begin; {lock}; commit"))
        .await
        .expect("locked");
}

async fn a_place_under_a_cap_is_given_back(place: &Place<'_>) {
    place.jobs.group("default").max_running(Some(1)).await.expect("set");
    let (stage, _seats) = stage();
    for _ in 0..6 {
        place.jobs.submit(place.write::<1>("fine")).await.expect("submitted");
    }
    drain(place.executor(stage)).await.expect("drained");
    assert_eq!(place.rows().await, 18, "each had its place in turn");
    let counts = place.jobs.counts().await.expect("counted");
    assert_eq!((counts.ended, counts.ready), (6, 0));
}

async fn jobs_that_are_not_kept_are_gone_after_the_commit(place: &Place<'_>) {
    let world = place.world.reopened(Duration::ZERO).await;
    let jobs = jobs_of(&world);
    let id = jobs.submit(place.write::<1>("fine")).await.expect("submitted").id;
    let (stage, _seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(write::<1>);
    let counts = drain(executor).await.expect("drained");
    assert_eq!((counts.held, counts.ready, counts.ended), (0, 0, 0));
    assert!(matches!(jobs.get(id).await, Err(Error::NotFound(_))));
    assert_eq!(place.rows().await, 3);
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn on_another_store_such_a_task_is_refused_at_the_start() {
    on_sqlite(async |world: &World| {
        let jobs = jobs_of(world);
        let (stage, _seats) = stage();
        let error = Executor::with_state(&jobs, Arc::new(())).task(async |cx: Context<Arc<()>>, _: Write<0>| {
            cx.transaction()?;
            Ok::<_, TaskError>(())
        });
        drop(stage);
        let error = error.start().await.expect_err("refused").to_string();
        assert!(error.contains("`write`") && error.contains("PostgreSQL"), "{error}");
    })
    .await;
}
