//! A snapshot that somebody holds for long (a dump, a report) does not make takes and heartbeats dearer: nothing that is written
//! with each of them is walked through its dead versions.
//!
//! Pages touched are compared, not times, so that a busy machine does not matter. `TURNABOUT_SNAPSHOT_TAKES=300000` asks for
//! the long form, which prints times as well.

use std::collections::BTreeMap;

use super::*;
use crate::lifecycle::Event;

cases![
    takes_over_two_hundred_groups_cost_the_same_under_a_snapshot,
    streams_that_are_born_and_die_cost_the_same_under_a_snapshot,
];

/// Jobs are submitted and ended in batches of this size, and taken one by one.
const BATCH: usize = 200;
/// Heartbeats that are measured.
const BEATS: usize = 20;
/// In between, an executor keeps its lease with every so many takes: as often as it does in 5 s, and not seldom.
const TAKES_A_BEAT: usize = 100;

/// How many takes, and how many of them are compared, at the beginning and at the end.
fn takes() -> (usize, usize) {
    let wanted = std::env::var("TURNABOUT_SNAPSHOT_TAKES").ok();
    match wanted.and_then(|n| n.parse().ok()) {
        Some(n) => (n, 10_000.min(n / 10)),
        None => (4_000, 400),
    }
}

async fn takes_over_two_hundred_groups_cost_the_same_under_a_snapshot(place: &Place) {
    compare(place, 200).await;
}

async fn streams_that_are_born_and_die_cost_the_same_under_a_snapshot(place: &Place) {
    compare(place, 10_000).await;
}

/// Pages touched, by table with its indexes.
type Pages = BTreeMap<String, i64>;

/// One executor. The server counts pages when connections end, so they are ended before and after whatever is measured.
struct Measured<'a> {
    place: &'a Place,
    client: Client,
    exec: Exec,
    store: Arc<PostgresStore>,
    /// Of its connections.
    name: String,
    groups: usize,
    submitted: usize,
}

impl<'a> Measured<'a> {
    async fn new(place: &'a Place, groups: usize) -> Self {
        let client = place.client().await;
        let (store, name) = open(place).await;
        let exec = executor(&store, &["work"]).await;
        let tables = ["job", "ring", "stream", "arrival", "hold", "heartbeat", "executor"];
        place.untidied(&client, &tables).await;
        Self {
            place,
            client,
            exec,
            store,
            name,
            groups,
            submitted: 0,
        }
    }

    /// What was touched by now.
    async fn touched(&self) -> Pages {
        let began = Instant::now();
        let mine = format!("from pg_stat_activity where application_name = '{}'", self.name);
        let pids = format!("select pid::text {mine}");
        let old = self.place.texts(&self.client, &pids).await.join(",");
        let end = format!("select count(pg_terminate_backend(pid)) {mine}");
        self.place.number(&self.client, &end).await;
        let left = format!("select count(*) {mine} and pid = any ('{{{old}}}')");
        while self.place.number(&self.client, &left).await > 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "connections do not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let touched = format!(
            "select relname || ' ' || coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
                + coalesce(idx_blks_read, 0) + coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0)
            from pg_statio_user_tables where schemaname = '{}'",
            self.place.schema
        );
        let rows = self.place.texts(&self.client, &touched).await;
        rows.iter()
            .filter_map(|row| row.split_once(' '))
            .map(|(table, pages)| (table.to_owned(), pages.parse().expect("a number")))
            .collect()
    }

    /// Submits, takes one by one, and ends.
    async fn take(&mut self, takes: usize, beats: bool) {
        for batch in 0..takes / BATCH {
            let jobs = (0..BATCH).map(|n| {
                // Neighbours in a batch are not neighbours in the ring.
                let group = (self.submitted + n) * 7919 % self.groups;
                job(&format!("g{group:05}"))
            });
            add(&self.store, jobs.collect()).await;
            self.submitted += BATCH;
            let mut ends = Vec::new();
            for _ in 0..BATCH {
                let job = self.exec.take_one().await;
                ends.push(self.exec.outcome(&job, Event::Succeed, false));
            }
            let settled = self.store.settle(self.exec.incarnation, ends).await;
            assert_eq!(settled.expect("settle works").len(), BATCH);
            if beats {
                self.beat(BATCH / TAKES_A_BEAT).await;
                if batch % 5 == 0 {
                    self.store.prune().await.expect("prune works");
                }
            }
        }
    }

    async fn beat(&mut self, beats: usize) {
        for _ in 0..beats {
            assert!(self.exec.heartbeat().await.alive);
        }
    }

    /// Pages touched, and the time that it took.
    async fn measure(&mut self, takes: usize, beats: usize) -> (Pages, Duration) {
        // Each begins with a new generation of streams, which is what ends the growth of the one before.
        self.place.run(&self.client, super::stranded::WEAR).await;
        self.take(BATCH, false).await;
        let before = self.touched().await;
        let began = Instant::now();
        self.take(takes, false).await;
        self.beat(beats).await;
        let took = began.elapsed();
        let mut touched = self.touched().await;
        for (table, pages) in &mut touched {
            *pages -= before.get(table).copied().unwrap_or(0);
        }
        touched.retain(|_, pages| *pages > 0);
        (touched, took)
    }
}

/// A store that can be told apart by the name of its connections.
async fn open(place: &Place) -> (Arc<PostgresStore>, String) {
    let name = format!("measured {}", Uuid::new_v4().simple());
    let mark = if place.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{mark}application_name={}", place.url, name.replace(' ', "%20"));
    let store = PostgresStore::open(&url, place.options(Clock::System)).await;
    (store.expect("the store opens"), name)
}

async fn compare(place: &Place, groups: usize) {
    let (takes, window) = takes();
    let mut one = Measured::new(place, groups).await;
    // So that the first window does not have the table to itself.
    one.take(5 * BATCH, true).await;
    let holder = place.client().await;
    let snapshot = "begin isolation level repeatable read; select 1";
    holder.batch_execute(snapshot).await.expect("a snapshot");
    let first = [one.measure(window, 0).await, one.measure(0, BEATS).await];
    one.take(takes - 2 * window, true).await;
    let last = [one.measure(window, 0).await, one.measure(0, BEATS).await];
    holder.batch_execute("commit").await.expect("the snapshot goes");
    for ((what, first), last) in ["takes", "heartbeats"].iter().zip(first).zip(last) {
        let sum = |pages: &Pages| pages.values().sum::<i64>();
        let (before, after) = (sum(&first.0), sum(&last.0));
        println!(
            "{groups} groups, {takes} takes, {what}: {before} pages, then {after}; {:?}, then {:?}",
            first.1, last.1
        );
        for (table, pages) in &last.0 {
            println!("  {table}: {} then {pages}", first.0.get(table).copied().unwrap_or(0));
        }
        assert!(after * 2 <= before * 3, "{what} touch {before} pages, then {after}");
    }
}
