//! A process that dies.

use super::*;

places![a_process_that_dies_leaves_rows_and_success_together_or_neither];

/// Not a case of its own: what the next one runs as another process, until it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let Ok(schema) = std::env::var("TURNABOUT_CHILD_SCHEMA") else {
        return;
    };
    let jobs = Jobs::open(postgres_url()).schema(schema).await.expect("opened");
    let (stage, _seats) = stage();
    let running = Executor::with_state(&jobs, stage)
        .task(write::<0>)
        .task(write::<1>)
        .slots(4)
        .start()
        .await
        .expect("it starts");
    running.ended().await;
}

/// Killed at any moment, in particular right after a commit: the rows are those of the jobs that have succeeded.
async fn a_process_that_dies_leaves_rows_and_success_together_or_neither(place: &Place<'_>) {
    let schema = place.schema();
    for round in 0..5 {
        let flood = (0..150).map(|n| {
            if n % 2 == 0 {
                Submission::new(place.write::<0>("fine"))
            } else {
                Submission::new(place.write::<1>("fine"))
            }
        });
        for outcome in place.jobs.submit_all(flood).await {
            outcome.expect("submitted");
        }
        let before = place.rows().await;
        let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "executor::tests::transactions::dying::child_process",
                "--nocapture",
            ])
            .env("TURNABOUT_CHILD_SCHEMA", &schema)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        // As soon as somebody else sees what it has committed.
        let since = Instant::now();
        while place.rows().await < before + 3 * (1 + 7 * round) {
            assert!(since.elapsed() < Duration::from_mins(1), "nothing happens");
        }
        child.kill().expect("killed");
        child.wait().expect("dead");
        // Transactions that were open are rolled back when the server notices.
        let open = format!(
            "select count(*) from pg_locks where relation = '{}'::regclass and pid <> pg_backend_pid()",
            place.table
        );
        while place
            .client
            .query_one(&open, &[])
            .await
            .expect("a number")
            .get::<_, i64>(0)
            > 0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let wrong = format!(
            "select count(*) from (select job, count(*) as n from {} group by job) r
             full join (select id from {schema}.job_history where state = 4) h on h.id = r.job
             where h.id is null or r.job is null or r.n <> 3",
            place.table
        );
        let wrong: i64 = place.client.query_one(&wrong, &[]).await.expect("a number").get(0);
        assert_eq!(wrong, 0, "round {round}");
    }
    assert!(place.rows().await >= 15);
}
