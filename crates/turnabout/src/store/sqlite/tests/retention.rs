//! What it costs to forget a million jobs. `scripts/measure-retention` runs it.

use std::time::Instant;

use super::*;
use crate::group::GlobalSettings;
use crate::retention::Retention;
use crate::store::Setting;
use crate::store::conformance::beside::submits_beside;

/// Jobs that ended yesterday, one of eleven failed. Each has a line in its log.
const ENDED: &str = r#"
    INSERT INTO job_history (id, task, "group", queue, priority, state, seq, attempts, interruptions, losses, items, submitted,
        started, finished, args, prepared, result)
    SELECT unhex(printf('%012x7%03x8%03x%012x', ms, n % 4096, 0, n)), 'work', 'g' || n % 1000, 'default', 2,
        CASE WHEN n % 11 = 0 THEN 5 ELSE 4 END, n, 1, 0, 0, 1, ms * 1000, ms * 1000, ms * 1000,
        '{"document": "some-name-of-a-document.pdf"}', 0, '"done"'
    FROM (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100000)
        SELECT n, (unixepoch() - 86400) * 1000 + n / 25 AS ms FROM numbers);
    INSERT INTO job_log (job, number, attempt, level, time, message)
    SELECT id, 1, 1, 2, finished, 'the document was read' FROM job_history"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and measures: scripts/measure-retention runs it"]
async fn measured_retention_of_a_million_jobs() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let nothing = tokio::time::sleep(Duration::from_secs(5));
    let ((), _, waits) = submits_beside(&store, nothing).await;
    println!("sqlite, nothing beside: {waits}");

    let connection = Connection::open(&path).expect("it opens");
    connection.execute_batch(ENDED).expect("the jobs are there");
    drop(connection);
    let retention = Retention {
        success: Some(Duration::from_mins(6)),
        ..Retention::default()
    };
    let global = Setting::Global(GlobalSettings {
        retention,
        ..GlobalSettings::default()
    });
    store.set(global).await.expect("it is set");
    let (gone, took, waits) = submits_beside(&store, store.prune()).await;
    assert_eq!(gone.expect("prune works"), 1_000_000);
    println!("sqlite, a million jobs: {took:.1?}; {waits}");
    let begin = Instant::now();
    assert_eq!(store.prune().await.expect("prune works"), 0);
    println!("sqlite, once more, with nothing to do: {:.1?}", begin.elapsed());
}
