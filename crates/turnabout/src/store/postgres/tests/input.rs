//! What the SQL function makes of what it is told.

use std::time::Duration;

use jiff::SignedDuration;
use tokio_postgres::error::SqlState;

use super::*;
use crate::job::{Meta, Priority};

cases![
    named_arguments_work_as_documented,
    what_is_not_said_is_as_the_task_was_published,
    everything_that_is_said_is_stored,
    bad_input_is_a_clear_error_and_stores_nothing,
    strange_ids_are_refused,
    the_largest_arguments_are_stored,
    a_job_that_nobody_could_read_is_not_let_in,
];

async fn named_arguments_work_as_documented(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let sql = r#"select turnabout.submit(task => 'mail', args => '{}', "group" => 'acme')"#;
    let sql = sql::in_schema(sql, &place.schema);
    let id = JobId(client.query_one(&sql, &[]).await.expect("it works").get(0));
    let job = get(&store, id).await;
    assert_eq!((&*job.task, &*job.group, &*job.args), ("mail", "acme", "{}"));
    assert_eq!((&*job.queue, job.priority, job.items), ("default", Priority::Normal, 1));
    assert_eq!(
        id.time().map(Timestamp::as_millisecond),
        Some(job.submitted.as_millisecond())
    );
}

async fn what_is_not_said_is_as_the_task_was_published(place: &Place) {
    let store = place.open().await;
    let scan = TaskSettings {
        queue: "scanner".to_owned(),
        priority: Priority::Low,
        ..TaskSettings::named("scan")
    };
    let exec = Exec::new(store.clone(), Uuid::new_v4(), &["scanner"], vec![scan]);
    exec.register().await;
    let client = place.client().await;
    for (args, queue, priority) in [
        ("'scan'", "scanner", Priority::Low),
        ("'scan', queue => 'fast'", "fast", Priority::Low),
        ("'scan', priority => 'high'", "scanner", Priority::High),
        ("'strange'", "default", Priority::Normal),
    ] {
        let id = place.submit(&client, args).await.expect("submitted");
        let job = get(&store, id).await;
        assert_eq!((&*job.queue, job.priority), (queue, priority), "{args}");
        assert_eq!(job.lane.map(crate::job::Lane::code), Some(priority.code()), "{args}");
        assert_eq!(&*job.group, "default");
    }
}

async fn everything_that_is_said_is_stored(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let parent = JobId::new();
    let args = format!(
        r#"task => 'work', args => '{{"a": [1, "é"]}}', "group" => 'acme/alice', owner => 'ada', queue => 'q',
            priority => 'low', delay => '90 minutes', expires => '2 hours', unique_key => 'k', items => 50,
            meta => '{{"request": "r1"}}', parent => '{parent}'"#
    );
    let id = place.submit(&client, &args).await.expect("submitted");
    let job = get(&store, id).await;
    assert_eq!(
        job.args::<serde_json::Value>().expect("JSON"),
        serde_json::json!({"a": [1, "é"]})
    );
    assert_eq!(
        (&*job.group, job.owner.as_deref(), &*job.queue),
        ("acme/alice", Some("ada"), "q")
    );
    assert_eq!(
        (job.priority, job.unique.as_deref(), job.items),
        (Priority::Low, Some("k"), 50)
    );
    assert_eq!(job.meta, Meta::from([("request".to_owned(), "r1".to_owned())]));
    assert_eq!(job.parent, Some(parent));
    assert_eq!(
        (job.due, job.lane),
        (Some(job.submitted + SignedDuration::from_mins(90)), None)
    );
    assert_eq!(job.expires, Some(job.submitted + SignedDuration::from_hours(2)));

    let id = place.submit(&client, "'work', at => '2123-04-05 06:07:08Z'").await;
    let job = get(&store, id.expect("submitted")).await;
    assert_eq!(job.due, Some("2123-04-05T06:07:08Z".parse().expect("a moment")));
    for past in ["at => '2001-01-01'", "delay => '0'", "at => '-infinity'"] {
        let id = place.submit(&client, &format!("'work', {past}")).await;
        let job = get(&store, id.expect("submitted")).await;
        assert_eq!((job.due, job.lane.is_some()), (None, true), "{past}: ready at once");
    }
    // Nobody can wait longer than for ever, and the library's clock ends with the year 9999.
    let ever = crate::job::When::After(Duration::MAX);
    let id = add(
        &store,
        vec![NewJob {
            when: ever,
            expires: ever,
            ..job_of("acme")
        }],
    )
    .await[0];
    assert!(get(&store, id).await.due > Some(job.submitted));
}

fn job_of(group: &str) -> NewJob {
    super::job(group)
}

async fn bad_input_is_a_clear_error_and_stores_nothing(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let long = "ä".repeat(101);
    let mut bad = vec![
        ("null".to_owned(), "must not be null"),
        ("'work', args => null".to_owned(), "must not be null"),
        ("'work', \"group\" => null".to_owned(), "must not be null"),
        ("'work', items => 0".to_owned(), "items must be at least 1"),
        ("'work', items => -1".to_owned(), "items must be at least 1"),
        ("'work', items => null".to_owned(), "items must be at least 1"),
        ("'work', items => 3000000000".to_owned(), "does not exist"),
        (
            "'work', priority => 'urgent'".to_owned(),
            "priority \"urgent\" is none of high, normal, low",
        ),
        ("'work', priority => ''".to_owned(), "none of high, normal, low"),
        ("'work', priority => 'HIGH'".to_owned(), "none of high, normal, low"),
        ("'work', args => '{'".to_owned(), "invalid input syntax for type json"),
        (
            "'work', args => '\"\\u0000\"'".to_owned(),
            "unsupported Unicode escape sequence",
        ),
        (
            "'work', args => to_jsonb(repeat('x', 1048576 - 1))".to_owned(),
            "the arguments are larger than 1 MiB",
        ),
        ("'work', at => 'infinity'".to_owned(), "before the year 9999"),
        ("'work', at => '9999-12-31'".to_owned(), "before the year 9999"),
        ("'work', delay => '9000 years'".to_owned(), "before the year 9999"),
        ("'work', delay => '1000000 years'".to_owned(), "out of range"),
        ("'work', expires => '9000 years'".to_owned(), "before the year 9999"),
        ("'work', delay => '-1 hour'".to_owned(), "must not be negative"),
        ("'work', expires => '-1 hour'".to_owned(), "must not be negative"),
        ("'work', expires => '0'".to_owned(), "must not be negative"),
        (
            "'work', delay => '1 hour', expires => '1 hour'".to_owned(),
            "expire before it may start",
        ),
        (
            "'work', at => now() + interval '1 day', expires => '1 hour'".to_owned(),
            "expire before it may start",
        ),
        ("' work'".to_owned(), "task \" work\" begins or ends with a blank"),
        ("'work', \"group\" => 'acme '".to_owned(), "begins or ends with a blank"),
        ("'work', \"group\" => '  '".to_owned(), "begins or ends with a blank"),
        ("'work', queue => U&'q\\3000'".to_owned(), "begins or ends with a blank"),
        (
            "'work', owner => U&'a\\200Bda'".to_owned(),
            "a sign that nobody can see",
        ),
        (
            "'work', owner => U&'\\202Eada'".to_owned(),
            "a sign that nobody can see",
        ),
        ("'work', meta => '[]'".to_owned(), "meta must be an object"),
        ("'work', meta => 'null'".to_owned(), "meta must be an object"),
        (
            "'work', meta => '{\"a\": 1}'".to_owned(),
            "meta must be an object whose values are texts",
        ),
        ("'work', meta => '{\"\": \"x\"}'".to_owned(), "meta key is empty"),
        (
            "'work', meta => jsonb_build_object('a', repeat('x', 4096))".to_owned(),
            "at most 32 entries and 4096 bytes",
        ),
        (
            "'work', meta => (select jsonb_object_agg(n, '') from generate_series(1, 33) n)".to_owned(),
            "at most 32 entries and 4096 bytes",
        ),
    ];
    for group in ["/", "/a", "a/", "a//b"] {
        bad.push((
            format!("'work', \"group\" => '{group}'"),
            "begins or ends with a slash, or has an empty part",
        ));
    }
    for (name, what) in [
        ("task", "task"),
        ("\"group\"", "group"),
        ("owner", "owner"),
        ("queue", "queue"),
        ("unique_key", "unique key"),
    ] {
        let task = if name == "task" { "" } else { "task => 'work', " };
        for (value, why) in [
            ("''".to_owned(), "is empty"),
            (format!("'{long}'"), "is longer than 200 bytes"),
            ("E'a\\nb'".to_owned(), "contains a control character"),
            ("E'\\x7f'".to_owned(), "contains a control character"),
            ("U&'\\0085'".to_owned(), "contains a control character"),
        ] {
            bad.push((format!("{task}{name} => {value}"), why));
            let error = place.submit(&client, &bad[bad.len() - 1].0).await.expect_err(what);
            let error = error
                .as_db_error()
                .map_or_else(|| error.to_string(), |e| e.message().to_owned());
            assert!(error.starts_with(what), "{name} => {value}: {error}");
        }
    }
    for (args, why) in bad {
        let shown: String = args.chars().take(80).collect();
        let error = place.submit(&client, &args).await.expect_err(&shown);
        let error = error.as_db_error().expect("the server says so");
        assert!(error.message().contains(why), "{shown}: {}", error.message());
    }
    let counts = store.counts().await.expect("counted");
    assert_eq!(counts, Counts::default(), "nothing is stored");
}

async fn strange_ids_are_refused(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let now = Timestamp::now();
    for id in [
        JobId(Uuid::new_v4()),
        JobId(Uuid::nil()),
        JobId(Uuid::max()),
        JobId::at(now - SignedDuration::from_hours(8 * 24)),
        JobId::at(now + SignedDuration::from_hours(25)),
    ] {
        let error = place.submit(&client, &format!("'work', id => '{id}'")).await;
        let error = error.expect_err("a strange id");
        let error = error.as_db_error().expect("the server says so").message().to_owned();
        assert!(error.contains("UUID of version 7"), "{id}: {error}");
    }
    for id in [
        JobId::at(now - SignedDuration::from_hours(6 * 24)),
        JobId::at(now + SignedDuration::from_hours(23)),
    ] {
        assert_eq!(
            place
                .submit(&client, &format!("'work', id => '{id}'"))
                .await
                .expect("stored"),
            id
        );
    }
    assert_eq!(store.counts().await.expect("counted").ready, 2);
}

async fn the_largest_arguments_are_stored(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let id = place
        .submit(&client, "'work', args => to_jsonb(repeat('x', 1048576 - 2))")
        .await;
    assert_eq!(get(&store, id.expect("it fits")).await.args.len(), 1 << 20);
}

async fn a_job_that_nobody_could_read_is_not_let_in(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let id = place.submit(&client, "'work'").await.expect("stored");
    for set in [
        "priority = 99",
        "state = 42",
        "lane = -1",
        "submitted = 'infinity'",
        "due = '-infinity'",
        "expires = 'infinity'",
        "expires = '10000-01-01Z'",
    ] {
        let sql = format!("update {}.job set {set}", place.schema);
        let error = client.batch_execute(&sql).await.expect_err(set);
        assert_eq!(error.code(), Some(&SqlState::CHECK_VIOLATION), "{set}");
    }
    assert_eq!(get(&store, id).await.priority, Priority::Normal);
}
