//! Submitting by plain SQL: part of the caller's own transaction, heard by those who sleep, and never twice.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::broadcast::Receiver;
use tokio_postgres::error::SqlState;

use super::*;
use crate::job::State;

cases![
    a_transaction_that_is_rolled_back_leaves_nothing,
    a_transaction_that_commits_wakes_whoever_sleeps,
    nobody_is_told_where_nobody_sleeps,
    a_job_that_is_due_soon_is_announced,
    a_unique_key_names_one_unfinished_job,
    a_given_id_is_the_same_job_also_after_it_ended,
    another_groups_id_reveals_nothing,
    thirty_two_callers_with_one_key_make_one_job,
    thirty_two_callers_with_one_id_make_one_job,
    a_key_that_is_just_given_back_makes_a_new_job,
    thirty_two_callers_store_exactly_the_allowed_number,
    a_submitter_submits_and_a_reader_reads_and_neither_does_anything_else,
    what_webhooks_are_told_is_not_submitted_by_others,
];

/// Sends something unmistakable and waits for it: what came before, as far as anything did.
async fn heard_until_probed(place: &Place, client: &Client, signals: &mut Receiver<Signal>) -> Vec<Signal> {
    let probe = JobId::new();
    let mut heard = Vec::new();
    // Who has only just begun to listen may have missed it.
    for _ in 0..100 {
        let notify = format!("select pg_notify('{}', 'cancel {probe}')", place.schema);
        client.batch_execute(&notify).await.expect("it is sent");
        let waiting = async {
            loop {
                match signals.recv().await.expect("the store lives") {
                    Signal::Cancel(id) if id == probe => return,
                    signal => heard.push(signal),
                }
            }
        };
        if tokio::time::timeout(Duration::from_millis(200), waiting).await.is_ok() {
            return heard;
        }
    }
    panic!("nobody listens");
}

/// A store, as another process has it, with an executor that sleeps; and what it hears.
async fn sleeper(place: &Place) -> (Arc<PostgresStore>, Exec, Receiver<Signal>) {
    let store = place.open().await;
    let exec = executor(&store, &["work"]).await;
    store.doze(exec.incarnation, true).await.expect("it dozes");
    let mut signals = store.signals();
    heard_until_probed(place, &place.client().await, &mut signals).await;
    (store, exec, signals)
}

async fn jobs(place: &Place, client: &Client) -> i64 {
    place.number(client, "select count(*) from turnabout.jobs").await
}

async fn a_transaction_that_is_rolled_back_leaves_nothing(place: &Place) {
    let (_store, _exec, mut signals) = sleeper(place).await;
    let client = place.client().await;
    client.batch_execute("begin").await.expect("it begins");
    place.submit(&client, "task => 'work'").await.expect("it is submitted");
    assert_eq!(jobs(place, &client).await, 1, "as far as the caller can see");
    client.batch_execute("rollback").await.expect("it ends");
    assert_eq!(jobs(place, &client).await, 0);
    assert_eq!(heard_until_probed(place, &client, &mut signals).await, []);
}

async fn a_transaction_that_commits_wakes_whoever_sleeps(place: &Place) {
    let (_store, mut exec, mut signals) = sleeper(place).await;
    let (client, other) = (place.client().await, place.client().await);
    client.batch_execute("begin").await.expect("it begins");
    let id = place.submit(&client, "task => 'work'").await.expect("it is submitted");
    assert_eq!(heard_until_probed(place, &other, &mut signals).await, [], "not yet");
    assert_eq!(exec.take(1).await, []);
    client.batch_execute("commit").await.expect("it commits");
    assert_eq!(heard_until_probed(place, &other, &mut signals).await, [Signal::Ready]);
    assert_eq!(exec.take_one().await.id, id);
}

async fn nobody_is_told_where_nobody_sleeps(place: &Place) {
    let (store, exec, mut signals) = sleeper(place).await;
    let client = place.client().await;
    store.doze(exec.incarnation, false).await.expect("it wakes");
    place.submit(&client, "task => 'work'").await.expect("it is submitted");
    assert_eq!(heard_until_probed(place, &client, &mut signals).await, []);
    // The same from a process that has the library.
    let there = place.open().await;
    add(&there, vec![job("a")]).await;
    assert_eq!(heard_until_probed(place, &client, &mut signals).await, []);
    store.doze(exec.incarnation, true).await.expect("it dozes");
    add(&there, vec![job("a")]).await;
    // Told after the commit.
    let told = async { while signals.recv().await.expect("the store lives") != Signal::Ready {} };
    tokio::time::timeout(Duration::from_secs(30), told).await.expect("told");
}

async fn a_job_that_is_due_soon_is_announced(place: &Place) {
    let (_store, _exec, mut signals) = sleeper(place).await;
    let client = place.client().await;
    let soon = place.submit(&client, "task => 'work', delay => '3 seconds'").await;
    soon.expect("it is submitted");
    let heard = heard_until_probed(place, &client, &mut signals).await;
    assert!(matches!(heard[..], [Signal::Due(_)]), "{heard:?}");
    // Heartbeats look often enough for this one.
    let later = place.submit(&client, "task => 'work', delay => '1 hour'").await;
    later.expect("it is submitted");
    assert_eq!(heard_until_probed(place, &client, &mut signals).await, []);
}

async fn a_unique_key_names_one_unfinished_job(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let client = place.client().await;
    let keyed = "task => 'work', \"group\" => 'acme', unique_key => 'k'";
    let first = place.submit(&client, keyed).await.expect("new");
    assert_eq!(place.submit(&client, keyed).await.expect("the same"), first);
    let elsewhere = [
        "task => 'work', \"group\" => 'other', unique_key => 'k'",
        "task => 'play', \"group\" => 'acme', unique_key => 'k'",
    ];
    for args in elsewhere {
        assert_ne!(place.submit(&client, args).await.expect("another"), first, "{args}");
    }
    assert_eq!(jobs(place, &client).await, 3);
    for job in exec.take(2).await {
        exec.run(&job, Event::Succeed).await;
    }
    assert_ne!(place.submit(&client, keyed).await.expect("new again"), first);
    assert_eq!(jobs(place, &client).await, 4);
}

async fn a_given_id_is_the_same_job_also_after_it_ended(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let client = place.client().await;
    let id = JobId::new();
    let given = format!("task => 'work', \"group\" => 'acme', id => '{id}'");
    for _ in 0..2 {
        assert_eq!(place.submit(&client, &given).await.expect("stored"), id);
    }
    let taken = exec.take_one().await;
    assert_eq!(place.submit(&client, &given).await.expect("held"), id);
    exec.run(&taken, Event::Succeed).await;
    assert_eq!(place.submit(&client, &given).await.expect("ended"), id);
    assert_eq!(get(&store, id).await.state, State::Success);
    assert_eq!(jobs(place, &client).await, 1);
    assert_eq!(exec.take(1).await, [], "it does not run again");
}

async fn another_groups_id_reveals_nothing(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let client = place.client().await;
    let id = JobId::new();
    let theirs = format!("task => 'work', \"group\" => 'acme', args => '{{\"secret\": 1}}', id => '{id}'");
    let ours = format!("task => 'work', \"group\" => 'other', id => '{id}'");
    place.submit(&client, &theirs).await.expect("stored");
    for state in ["ready", "held", "ended"] {
        let error = place.submit(&client, &ours).await.expect_err(state);
        let error = error.as_db_error().expect("the server says so");
        assert_eq!(error.code(), &SqlState::UNIQUE_VIOLATION);
        assert_eq!(error.message(), "the job id is already in use; choose another");
        assert_eq!((error.detail(), error.hint()), (None, None));
        match state {
            "ready" => drop(exec.take_one().await),
            "held" => {
                let held = exec.heartbeat().await.held;
                assert_eq!(held.len(), 1, "still theirs");
                exec.die().await;
                exec.register().await;
                let job = exec.take_one().await;
                exec.run(&job, Event::Succeed).await;
            }
            _ => {}
        }
    }
    assert_eq!(jobs(place, &client).await, 1);
}

/// All at once, each on a connection of its own: the jobs that they are told of.
async fn callers(place: &Place, args: &str) -> HashSet<JobId> {
    let clients = join_all((0..32).map(|_| place.client())).await;
    let told = join_all(clients.iter().map(|client| place.submit(client, args))).await;
    told.into_iter().map(|id| id.expect("it is told")).collect()
}

async fn thirty_two_callers_with_one_key_make_one_job(place: &Place) {
    let _store = place.open().await;
    let told = callers(place, "task => 'work', unique_key => 'k'").await;
    assert_eq!(told.len(), 1);
    assert_eq!(jobs(place, &place.client().await).await, 1);
}

async fn thirty_two_callers_with_one_id_make_one_job(place: &Place) {
    let _store = place.open().await;
    let id = JobId::new();
    let told = callers(place, &format!("task => 'work', id => '{id}', unique_key => 'k'")).await;
    assert_eq!(told, HashSet::from([id]));
    assert_eq!(jobs(place, &place.client().await).await, 1);
}

/// A caller who waits for another's transaction gets the job that came of it, or a new one if it came to nothing.
async fn a_key_that_is_just_given_back_makes_a_new_job(place: &Place) {
    let _store = place.open().await;
    let (first, second) = (place.client().await, place.client().await);
    let keyed = "task => 'work', unique_key => 'k'";
    for end in ["rollback", "commit"] {
        first.batch_execute("begin").await.expect("it begins");
        let one = place.submit(&first, keyed).await.expect("submitted");
        let mut waiting = Box::pin(place.submit(&second, keyed));
        let early = tokio::time::timeout(Duration::from_millis(100), &mut waiting).await;
        assert!(early.is_err(), "nobody knows yet which job it is");
        first.batch_execute(end).await.expect("it ends");
        let two = waiting.await.expect("submitted");
        assert_eq!(one == two, end == "commit");
        place.run(&first, "delete from turnabout.job").await;
    }
}

async fn thirty_two_callers_store_exactly_the_allowed_number(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let task = TaskSettings {
        max_unfinished: Some(5),
        ..TaskSettings::named("scarce")
    };
    let info = ExecutorInfo {
        incarnation: Uuid::new_v4(),
        name: "one".to_owned(),
        slots: 1,
        queues: vec!["default".to_owned()],
        tasks: vec!["scarce".to_owned()],
        version: "0".to_owned(),
        beat: 0,
    };
    store.register(&info, "kind", &[task]).await.expect("published");
    let settings = crate::group::GroupSettings {
        max_unfinished: Some(7),
        ..Default::default()
    };
    let setting = crate::store::Setting::Group("small".to_owned(), settings);
    store.set(setting).await.expect("set");
    // Half of them by SQL, half as this process does it.
    let scarce = NewJob {
        task: "scarce".to_owned(),
        owner: Some("ada".to_owned()),
        ..job("default")
    };
    let small = job("small");
    for (call, new, allowed) in [
        ("select turnabout.submit(task => 'scarce', owner => 'ada')", scarce, 5),
        ("select turnabout.submit(task => 'any', \"group\" => 'small')", small, 7),
    ] {
        let before = jobs(place, &client).await;
        let callers = join_all((0..32).map(|_| place.client())).await;
        let sql = call.replace("turnabout.", &format!("{}.", place.schema));
        let by_sql = join_all(callers.iter().map(|client| client.batch_execute(&sql)));
        let by_store = join_all((0..32).map(|_| {
            let id = JobId::new();
            store.submit(vec![NewJob { id, ..new.clone() }])
        }));
        let (by_sql, by_store) = tokio::join!(by_sql, by_store);
        let refused = by_sql.iter().filter_map(|outcome| outcome.as_ref().err());
        let full = refused.filter(|e| e.code() == Some(&SqlState::CONFIGURATION_LIMIT_EXCEEDED));
        let refused = by_store.into_iter().flat_map(|outcome| outcome.expect("an answer"));
        let full_there = refused.filter(|outcome| matches!(outcome, Err(Error::TooMany { .. })));
        assert_eq!(full.count() + full_there.count(), 64 - allowed);
        assert_eq!(jobs(place, &client).await - before, allowed as i64);
    }
}

/// The roles as they are documented, for this schema alone: roles belong to all databases of a server.
async fn a_submitter_submits_and_a_reader_reads_and_neither_does_anything_else(place: &Place) {
    let store = place.open().await;
    let chief = place.client().await;
    let documented = include_str!("../../../../../../docs/roles.sql");
    let own = |text: &str| {
        let text = text.replace("schema turnabout ", &format!("schema {} ", place.schema));
        text.replace("turnabout_", &format!("{}_", place.schema))
    };
    place.run(&chief, &own(documented)).await;
    let (submitter, reader) = (place.client().await, place.client().await);
    place.run(&submitter, &own("set role turnabout_submitter")).await;
    place.run(&reader, &own("set role turnabout_reader")).await;

    let id = place
        .submit(&submitter, "task => 'mail', \"group\" => 'acme', unique_key => 'k'")
        .await;
    let id = id.expect("it is submitted");
    let again = place
        .submit(&submitter, "task => 'mail', \"group\" => 'acme', unique_key => 'k'")
        .await;
    assert_eq!(again.expect("the same"), id);
    assert_eq!(get(&store, id).await.task, "mail");
    assert_eq!(jobs(place, &reader).await, 1);
    // A limit is counted with the owner's rights, too.
    place
        .run(
            &chief,
            "insert into turnabout.group_setting (name, weight, max_unfinished, paused) values ('one', 1, 1, false)",
        )
        .await;
    let limited = "task => 'mail', \"group\" => 'one'";
    place.submit(&submitter, limited).await.expect("the first");
    let over = place.submit(&submitter, limited).await.expect_err("one too many");
    assert_eq!(over.code(), Some(&SqlState::CONFIGURATION_LIMIT_EXCEEDED));

    let refused = async |client: &Client, sql: &str| {
        let error = client
            .batch_execute(&sql::in_schema(sql, &place.schema))
            .await
            .expect_err(sql);
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error}");
    };
    for client in [&submitter, &reader] {
        for table in [
            "job",
            "job_history",
            "task",
            "group_setting",
            "executor",
            "gate",
            "audit",
            "signing_key",
        ] {
            refused(client, &format!("select * from turnabout.{table}")).await;
            refused(client, &format!("delete from turnabout.{table}")).await;
        }
        refused(client, "select turnabout.wake()").await;
        refused(client, "select turnabout.unfinished('acme', null, null, 9)").await;
        refused(client, "create table turnabout.mine (a int)").await;
        refused(client, "select nextval('turnabout.job_seq')").await;
    }
    refused(&submitter, "select * from turnabout.jobs").await;
    refused(&reader, "select turnabout.submit('mail')").await;

    // Whoever calls it does not choose what it calls.
    let evil = format!("{}_evil", place.schema);
    let trap = format!(
        "create schema {evil}; create function {evil}.octet_length(text) returns int language plpgsql as
            $$ begin raise exception 'called as %', current_user; end $$;
         grant usage on schema {evil} to public"
    );
    chief.batch_execute(&trap).await.expect("a trap");
    let path = format!("set search_path = {evil}, pg_catalog");
    submitter.batch_execute(&path).await.expect("a path");
    place
        .submit(&submitter, "task => 'mail'")
        .await
        .expect("it is submitted");
    let tidy = "drop owned by turnabout_submitter, turnabout_reader; drop role turnabout_submitter, turnabout_reader";
    place.run(&chief, &own(tidy)).await;
    chief
        .batch_execute(&format!("drop schema {evil} cascade"))
        .await
        .expect("it goes");
}

async fn what_webhooks_are_told_is_not_submitted_by_others(place: &Place) {
    drop(place.open().await);
    let client = place.client().await;
    for args in [
        "task => 'webhook:app'",
        "task => 'mail', \"group\" => 'webhooks'",
        "task => 'mail', \"group\" => 'webhooks/acme'",
    ] {
        let error = place.submit(&client, args).await.expect_err(args);
        assert_eq!(error.code(), Some(&SqlState::INVALID_PARAMETER_VALUE), "{args}");
    }
    place
        .submit(&client, "task => 'webhooks', \"group\" => 'webhooks-of-acme'")
        .await
        .expect("others");
}
