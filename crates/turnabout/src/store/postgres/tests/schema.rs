//! Migrations: once, whoever comes first; and the schema that they make, for review.

use futures_util::future::join_all;

use super::super::migrate::NEWEST;
use super::*;

cases![
    opening_twice_changes_nothing,
    ten_may_open_an_empty_schema_at_once,
    a_schema_that_is_too_new_is_refused_and_left_alone,
    a_newer_schema_that_allows_this_program_opens,
    a_migration_that_fails_leaves_nothing,
    the_schema_is_the_reviewed_one,
];

/// Everything in the schema, in words.
async fn described(place: &Place) -> String {
    let lines = place.texts(&place.client().await, include_str!("schema.sql")).await;
    let text = lines.join("\n") + "\n";
    text.replace(&place.schema, "turnabout")
}

async fn migrations(place: &Place) -> Vec<String> {
    let sql = "select format('%s %s %s', version, oldest_program, applied) from turnabout.migration order by version";
    place.texts(&place.client().await, sql).await
}

async fn opening_twice_changes_nothing(place: &Place) {
    let store = place.open().await;
    let id = add(&store, vec![job("a")]).await[0];
    let before = (described(place).await, migrations(place).await);
    let again = place.open().await;
    assert_eq!((described(place).await, migrations(place).await), before);
    assert_eq!(before.1.len() as i64, NEWEST);
    assert_eq!(get(&again, id).await.group, "a");
}

async fn ten_may_open_an_empty_schema_at_once(place: &Place) {
    let opening = (0..10).map(|_| place.try_open());
    for store in join_all(opening).await {
        let store = store.expect("it opens");
        add(&store, vec![job("a")]).await;
    }
    assert_eq!(migrations(place).await.len() as i64, NEWEST);
}

async fn a_schema_that_is_too_new_is_refused_and_left_alone(place: &Place) {
    drop(place.open().await);
    let client = place.client().await;
    place
        .run(&client, "insert into turnabout.migration values (99, 98)")
        .await;
    let days = "select count(*) from pg_inherits where inhparent = 'turnabout.job_history'::regclass";
    place.run(&client, "drop table turnabout.ring").await;
    let before = (
        described(place).await,
        migrations(place).await,
        place.number(&client, days).await,
    );
    let error = place.try_open().await.err().expect("it is refused");
    assert!(
        matches!(error, Error::NewerSchema { found: 99, known, .. } if known == NEWEST),
        "{error:?}"
    );
    let text = error.to_string();
    for part in [
        &place.schema,
        "version 99",
        &format!("up to {NEWEST}"),
        "use a newer program",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let after = (
        described(place).await,
        migrations(place).await,
        place.number(&client, days).await,
    );
    assert_eq!(before, after);
}

async fn a_newer_schema_that_allows_this_program_opens(place: &Place) {
    drop(place.open().await);
    let client = place.client().await;
    let newer = format!("insert into turnabout.migration values (99, {NEWEST})");
    place.run(&client, &newer).await;
    let before = migrations(place).await;
    let store = place.open().await;
    add(&store, vec![job("a")]).await;
    assert_eq!(migrations(place).await, before);
}

/// Somebody else's table stands in the way.
async fn a_migration_that_fails_leaves_nothing(place: &Place) {
    let client = place.client().await;
    place
        .run(
            &client,
            &format!("create schema {}; create table turnabout.settings ()", place.schema),
        )
        .await;
    let before = described(place).await;
    let error = place.try_open().await.err().expect("it fails").chain();
    assert!(
        error.contains("preparing the schema") && error.contains("already exists"),
        "{error}"
    );
    assert_eq!(described(place).await, before);
    place.run(&client, "drop table turnabout.settings").await;
    place.open().await;
}

async fn the_schema_is_the_reviewed_one(place: &Place) {
    drop(place.open().await);
    let made = described(place).await;
    if std::env::var_os("TURNABOUT_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/postgres/schema.txt");
        std::fs::write(path, &made).expect("the snapshot is written");
        return;
    }
    let reviewed = include_str!("../schema.txt");
    assert_eq!(
        made, reviewed,
        "the schema is not the one in schema.txt; if that is meant, run this test with TURNABOUT_BLESS=1 and review it"
    );
}
