//! Schedules on this store: by which index they are found, however many there are, and what happens when two fire at once.

use super::super::connect::{Mode, Tx};
use super::*;
use crate::schedule::{Definition, Edit, RunKind, ScheduleKey};

cases![
    schedules_are_found_by_an_index,
    whoever_dies_while_firing_has_done_nothing,
    a_second_job_for_one_time_is_impossible,
];

/// Many schedules, of which one is due.
const FILL: &str = "insert into turnabout.schedule (id, \"group\", owner, name, task, due, next, said, standing)
    select gen_random_uuid(), 'g' || n % 100, '', 'n' || n, 'work', now() + n * interval '1 hour' - interval '1 minute',
        now(), '{}', '{}' from generate_series(0, 20000) n";

/// All schedules should have been fired two seconds ago.
const LATE: &str =
    "update turnabout.schedule set due = now() - interval '2 seconds', next = now() - interval '2 seconds',
    standing = (standing::jsonb || jsonb_build_object('next', now() - interval '2 seconds'))::text";

async fn schedules_are_found_by_an_index(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    for (name, sql) in [("due", &store.sql.schedule_due), ("next", &store.sql.next_due)] {
        client
            .batch_execute(&format!("prepare {name} as {sql}"))
            .await
            .expect("prepared while the table is empty");
    }
    place.run(&client, FILL).await;
    for (call, hot) in [("due(null, 250)", true), ("next(null)", false)] {
        let begin = if hot {
            Tx::begin(Mode::Durable)
        } else {
            "begin".to_owned()
        };
        client.batch_execute(&begin).await.expect("it begins");
        let plan = client
            .query(&format!("explain (analyze) execute {call}"), &[])
            .await
            .expect("a plan");
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        client.batch_execute("rollback").await.expect("it ends");
        assert!(
            plan.contains("schedule_due") && !plan.contains("Seq Scan on schedule"),
            "{plan}"
        );
    }
}

fn minutely() -> Edit {
    Edit::Set(Definition::new("work", "every 1 second"))
}

async fn whoever_dies_while_firing_has_done_nothing(place: &Place) {
    let (one, two) = (place.open().await, place.open().await);
    let key = ScheduleKey::new("a");
    one.schedules()
        .edit(vec![(key.clone(), minutely())])
        .await
        .expect("stored");
    let client = place.client().await;
    place.run(&client, LATE).await;
    // Somebody is about to fire it, and is cut off.
    let dying = place.client().await;
    place
        .run(&dying, "begin; select from turnabout.schedule for update")
        .await;
    let fired = two.schedules().fire(10).await.expect("it works");
    assert_eq!((fired.schedules, fired.next), (0, Some(Duration::ZERO)));
    drop(dying);
    let began = Instant::now();
    let runs = loop {
        let fired = two.schedules().fire(10).await.expect("it works");
        if fired.schedules > 0 {
            break fired.runs;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the lock is gone with its holder"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(runs.iter().any(|run| run.kind == RunKind::Fired), "{runs:?}");
    assert_eq!(place.number(&client, "select count(*) from turnabout.job").await, 1);
}

async fn a_second_job_for_one_time_is_impossible(place: &Place) {
    let store = place.open().await;
    store
        .schedules()
        .edit(vec![(ScheduleKey::new("a"), minutely())])
        .await
        .expect("stored");
    let client = place.client().await;
    place.run(&client, LATE).await;
    let before = place.texts(&client, "select standing from turnabout.schedule").await;
    assert_eq!(store.schedules().fire(10).await.expect("it works").schedules, 1);
    // As if the schedule had not been moved on, by whatever mistake.
    let again = format!("update turnabout.schedule set standing = '{}', due = now()", before[0]);
    place.run(&client, &again).await;
    let refused = store.schedules().fire(10).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(place.number(&client, "select count(*) from turnabout.job").await, 1);
}
