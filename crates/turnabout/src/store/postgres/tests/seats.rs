//! Connections that stay with one kind of work.

use super::*;
use crate::lifecycle::Event;
use crate::store::postgres::seats::Seat;

cases![
    work_of_a_kind_stays_on_one_connection,
    planning_ahead_changes_nothing,
    a_connection_that_was_lost_leaves_its_seat,
    there_are_no_seats_where_connections_are_few,
];

/// Which server process a seat's connection leads to.
async fn process(store: &PostgresStore, seat: &Seat) -> i32 {
    let tx = store.sit(seat).await.expect("a connection");
    let row = tx
        .client()
        .query_one("select pg_backend_pid()", &[])
        .await
        .expect("works");
    drop(tx.finish());
    row.get(0)
}

async fn work_of_a_kind_stays_on_one_connection(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let seats = &store.seats;
    let mut processes = Vec::new();
    for _ in 0..3 {
        add(&store, vec![job("a")]).await;
        let job = exec.take_one().await;
        exec.start(&job).await;
        exec.run(&job, Event::Succeed).await;
        store.counts().await.expect("counts");
        processes.push([
            process(&store, &seats.taking).await,
            process(&store, &seats.settling).await,
            process(&store, &seats.submitting).await,
        ]);
    }
    let [taking, settling, submitting] = processes[0];
    assert!(taking != settling && settling != submitting && taking != submitting);
    assert!(processes.iter().all(|these| *these == processes[0]), "{processes:?}");
    // While it is in use, others get another one.
    let tx = store.sit(&seats.taking).await.expect("a connection");
    assert_ne!(process(&store, &seats.taking).await, taking);
    drop(tx.finish());
    assert_eq!(process(&store, &seats.taking).await, taking);
}

async fn planning_ahead_changes_nothing(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let ids = add(&store, vec![job("a"), job("b")]).await;
    let held = exec.take_one().await;
    let client = place.client().await;
    let all = "select md5(string_agg(t::text, '' order by t::text)) from (
        select j::text from turnabout.job j union all select r::text from turnabout.ring r union all
        select e::text from turnabout.executor e union all select s::text from turnabout.settings s union all
        select last_value::text from turnabout.job_seq) t";
    let before = place.texts(&client, all).await;
    store.warm_up().await.expect("all of them can be planned");
    assert_eq!(place.texts(&client, all).await, before);
    assert_eq!(held.id, ids[0]);
    assert_eq!(exec.take_one().await.id, ids[1]);
}

async fn a_connection_that_was_lost_leaves_its_seat(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    assert!(exec.take(1).await.is_empty());
    let before = process(&store, &store.seats.taking).await;
    let client = place.client().await;
    place
        .run(&client, &format!("select pg_terminate_backend({before})"))
        .await;
    let began = Instant::now();
    while exec.try_take(1).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(30), "a dead connection stays");
    }
    assert_ne!(process(&store, &store.seats.taking).await, before);
}

async fn there_are_no_seats_where_connections_are_few(place: &Place) {
    let options = StoreOptions {
        connections: 2,
        ..place.options(Clock::System)
    };
    let store = PostgresStore::open(&place.url, options).await.expect("the store opens");
    let mut exec = executor(&store, &["work"]).await;
    for _ in 0..3 {
        add(&store, vec![job("a")]).await;
        let job = exec.take_one().await;
        exec.run(&job, Event::Succeed).await;
    }
    assert_eq!(store.pool.status().available, store.pool.status().size);
}
