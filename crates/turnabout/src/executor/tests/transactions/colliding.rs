//! Transactions in each other's way.

use super::*;

places![transactions_in_each_others_way_are_tried_again_soon];

/// Reads and writes one row, so that two at once are in each other's way.
#[derive(Serialize, Deserialize)]
struct Count {
    table: String,
}

impl Task for Count {
    const NAME: &'static str = "count";
    const TRANSACTION: Option<Isolation> = Some(Isolation::Serializable);
    const RETRIES: u32 = 50;
}

async fn transactions_in_each_others_way_are_tried_again_soon(place: &Place<'_>) {
    async fn count(cx: Context, task: Count) -> TaskResult {
        let tx = cx.transaction()?;
        let n: i64 = tx
            .query_one(&format!("select n from {}", task.table), &[])
            .await?
            .get(0);
        tokio::task::yield_now().await;
        tx.execute(&format!("update {} set n = $1", task.table), &[&(n + 1)])
            .await?;
        Ok(())
    }
    let table = format!("{}_n", place.table);
    let make = format!("create table {table} (n bigint not null); insert into {table} values (0)");
    place.client.batch_execute(&make).await.expect("made");
    let mut ids = Vec::new();
    for _ in 0..8 {
        let table = table.clone();
        ids.push(place.jobs.submit(Count { table }).await.expect("submitted").id);
    }
    let running = Executor::new(&place.jobs)
        .task(count)
        .slots(8)
        .start()
        .await
        .expect("it starts");
    for id in ids {
        let mut watch = place.jobs.watch(id);
        let job = within(async {
            loop {
                tokio::select! {
                    job = watch.next() => {
                        let job = job.expect("it goes on").expect("the job is there");
                        if job.state.is_final() {
                            return job;
                        }
                    }
                    // Those that are due soon are.
                    () = tokio::time::sleep(Duration::from_millis(20)) => place.world.advance(Duration::from_secs(1)),
                }
            }
        });
        assert_eq!(job.await.state, State::Success);
    }
    let n: i64 = place
        .client
        .query_one(&format!("select n from {table}"), &[])
        .await
        .expect("a number")
        .get(0);
    assert_eq!(n, 8);
    running.shutdown(Duration::ZERO).await;
    place
        .client
        .batch_execute(&format!("drop table {table}"))
        .await
        .expect("it goes");
}
