//! Handlers that bring a database driver of their own.

use super::*;

places![
    a_handler_with_a_driver_of_its_own_finishes_in_its_own_transaction,
    the_finish_of_a_cancelled_job_is_refused,
];

#[derive(Serialize, Deserialize)]
struct Own {
    table: String,
    schema: String,
}

impl Task for Own {
    const NAME: &'static str = "own";
}

/// As a handler with another driver would do it.
async fn own(cx: Context<Stage>, task: Own) -> TaskResult<&'static str> {
    let mut client = connect().await;
    let claim = cx.claim().await?;
    let tx = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .start()
        .await?;
    tx.execute(&format!("insert into {} (job) values ($1)", task.table), &[&cx.job().0])
        .await?;
    let _ = cx.state().began.send(("own".to_owned(), cx.job()));
    cx.state().curtain.cancelled().await;
    let finish = format!("select {}.finish($1, $2, '\"done\"')", task.schema);
    tx.execute(&finish, &[&cx.job().0, &claim.to_string()]).await?;
    tx.commit().await?;
    Ok("not this")
}

impl Place<'_> {
    fn own(&self) -> Own {
        Own {
            table: self.table.clone(),
            schema: self.schema(),
        }
    }
}

async fn a_handler_with_a_driver_of_its_own_finishes_in_its_own_transaction(place: &Place<'_>) {
    place.jobs.group("default").max_running(Some(1)).await.expect("set");
    let (stage, mut seats) = stage();
    let id = place.jobs.submit(place.own()).await.expect("submitted").id;
    let next = place.jobs.submit(place.own()).await.expect("submitted").id;
    let running = Executor::with_state(&place.jobs, stage)
        .task(own)
        .slots(2)
        .start()
        .await
        .expect("it starts");
    seats.next().await;
    assert_eq!(place.rows().await, 0);
    seats.curtain.cancel();
    let job = ended(&place.jobs, id).await;
    assert_eq!((job.state, job.attempts, job.reason), (State::Success, 1, None));
    assert_eq!(
        job.result::<String>().expect("a text").as_deref(),
        Some("done"),
        "as it was said there"
    );
    assert_eq!(
        ended(&place.jobs, next).await.state,
        State::Success,
        "its place under the cap was given back"
    );
    assert_eq!(place.rows().await, 2);
    running.shutdown(Duration::ZERO).await;
    assert_eq!(running.health().held, 0);
}

async fn the_finish_of_a_cancelled_job_is_refused(place: &Place<'_>) {
    let (stage, mut seats) = stage();
    let id = place.jobs.submit(place.own()).await.expect("submitted").id;
    let running = Executor::with_state(&place.jobs, stage)
        .task(own)
        .start()
        .await
        .expect("it starts");
    seats.next().await;
    place.jobs.cancel(id).await.expect("told");
    seats.curtain.cancel();
    assert_eq!(ended(&place.jobs, id).await.state, State::Cancelled);
    assert_eq!(place.rows().await, 0);
    running.shutdown(Duration::ZERO).await;
}
