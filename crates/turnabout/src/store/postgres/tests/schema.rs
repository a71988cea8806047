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
    a_migration_behind_a_backup_stops_nobody_and_the_program_before_it_goes_on,
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

/// So many jobs like the one that is there, parked for a year.
fn many_jobs(many: u32) -> String {
    format!(
        "do $$
        declare columns text := (
            select string_agg(
                case attname when 'id' then 'gen_random_uuid()' when 'due' then 'now() + interval ''1 year''' else quote_ident(attname) end,
                ', ' order by attnum)
            from pg_attribute where attrelid = 'turnabout.job'::regclass and attnum > 0 and not attisdropped);
        begin
            execute format('insert into turnabout.job select %s
                from (select * from turnabout.job limit 1) one, generate_series(1, {many})', columns);
        end $$"
    )
}

/// What the next version might bring: columns, another function.
const NEXT: &str = "
    alter table turnabout.job add column note text, add column colour smallint not null default 0;
    alter table turnabout.job_history add column note text;
    create function turnabout.colour_of(id uuid) returns smallint language sql stable
        as $$ select colour from turnabout.job where job.id = $1 $$;
";

async fn a_migration_behind_a_backup_stops_nobody_and_the_program_before_it_goes_on(place: &Place) {
    let store = place.open().await;
    let mut older = executor(&store, &["work"]).await;
    add(&store, (0..50).map(|_| job("a")).collect()).await;
    let client = place.client().await;
    // Beside a table of many jobs, which nobody takes: TURNABOUT_MANY_JOBS says how many.
    let many = std::env::var("TURNABOUT_MANY_JOBS").map_or(20_000, |many| many.parse().expect("a number"));
    place.run(&client, &many_jobs(many)).await;
    let files = "select format('%s %s', relname, relfilenode) from pg_class
        where relnamespace = 'turnabout'::regnamespace and relkind = 'r' order by 1";
    let files = files.replace("'turnabout'", &format!("'{}'", place.schema));
    let before = place.texts(&client, &files).await;

    // A backup reads all tables, and goes on reading.
    let backup = place.client().await;
    place
        .run(&backup, "begin; lock table turnabout.job in access share mode")
        .await;
    let mut newer = place.client().await;
    let schema = place.schema.clone();
    let migrating = tokio::spawn(async move {
        let known = [super::super::migrate::MIGRATIONS, &[NEXT]].concat();
        super::super::migrate::migrate(&mut newer, &schema, "a newer program", &known).await
    });
    let waiting = "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'
        and relation = 'turnabout.job'::regclass";
    while place.number(&client, waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    // Whoever comes behind it waits a moment, not until the backup is done.
    add(&store, vec![job("b")]).await;
    let taken = older.take(10).await;
    assert!(!taken.is_empty());
    assert!(!migrating.is_finished());
    place.run(&backup, "commit").await;
    migrating.await.expect("it does not panic").expect("it is done");

    // The program before it goes on with what it has and with what comes.
    assert_eq!(migrations(place).await.len() as i64, NEWEST + 1);
    for one in &taken {
        assert_eq!(older.run(one, Event::Succeed).await, Settled::Done);
    }
    let late = add(&store, vec![job("c")]).await[0];
    assert_eq!(taken.len() + older.drain(100).await.len(), 52);
    assert_eq!(get(&*place.open().await, late).await.group, "c");
    // No table was written anew, however long it is.
    assert_eq!(place.texts(&client, &files).await, before);
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
