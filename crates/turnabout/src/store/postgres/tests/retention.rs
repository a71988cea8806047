//! What it costs to forget a million jobs: as a whole day, and row by row. `scripts/measure-retention` runs it.

use super::*;
use crate::group::GlobalSettings;
use crate::retention::Retention;
use crate::store::conformance::beside::submits_beside;

/// Jobs of one day, so many days ago, which ended within it; one of eleven has failed. Each has a line in its log. The server has
/// tidied up since.
async fn ended(place: &Place, client: &Client, jobs: i64, days_ago: i64) {
    let day = format!("(date_trunc('day', now(), 'UTC') - interval '{days_ago} days')");
    let load = format!(
        r#"select turnabout.ensure_day({day}, 'job_history'), turnabout.ensure_day({day}, 'job_log');
        insert into turnabout.job_history (id, submitted, started, finished, attempts, interruptions, losses, items, state,
            priority, queue, "group", task, args, result)
        select turnabout.id_at(t), t, t, t, 1, 0, 0, 1, case when n % 11 = 0 then 5 else 4 end, 2, 'default',
            'g' || n % 1000, 'work', '{{"document": "some-name-of-a-document.pdf"}}', '"done"'
        from (select n, {day} + n * interval '20 hours' / {jobs} as t from generate_series(1, {jobs}) n) s;
        insert into turnabout.job_log (job, number, attempt, level, time, message)
        select id, 1, 1, 2, finished, 'the document was read' from turnabout.job_history"#
    );
    place.run(client, &load).await;
    for table in ["job_history", "job_log"] {
        place.run(client, &format!("vacuum (analyze) turnabout.{table}")).await;
    }
    place.run(client, "checkpoint").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and measures: scripts/measure-retention runs it"]
async fn measured_retention_of_a_million_jobs() {
    in_a_schema(async |place: &Place| {
        let store = place.open().await;
        let client = place.client().await;
        // The days are made, and connections for both.
        submits_beside(&store, store.prune()).await.0.expect("prune works");
        let nothing = tokio::time::sleep(Duration::from_secs(5));
        let ((), _, waits) = submits_beside(&store, nothing).await;
        println!("postgres, nothing beside: {waits}");

        ended(place, &client, 1_000_000, 40).await;
        let (gone, took, waits) = submits_beside(&store, store.prune()).await;
        assert!(gone.expect("prune works") > 900_000);
        println!("postgres, a whole day: {took:.1?}; {waits}");

        ended(place, &client, 1_100_000, 1).await;
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
        println!("postgres, row by row: {took:.1?}; {waits}");
        let begin = Instant::now();
        assert_eq!(store.prune().await.expect("prune works"), 0);
        println!("postgres, once more, with nothing to do: {:.1?}", begin.elapsed());
    })
    .await;
}
