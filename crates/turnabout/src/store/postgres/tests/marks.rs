//! Looks by the resume marks: what they find, and what that costs.

use std::collections::BTreeSet;

use super::super::connect::Tx;
use super::super::marks::{Key, Marks, Stretch};
use super::super::stock::Memory;
use super::plans::{Prepared, list, pages};
use super::*;
use crate::job::Lane;
use crate::turn::Ring;

cases![
    a_look_by_marks_finds_each_stream_once_in_the_order_of_the_ring,
    a_look_by_marks_costs_the_same_however_much_waits_in_a_known_stream,
    newcomers_beyond_those_wanted_are_left_for_the_next_look,
];

/// What is found, and whether that is all.
async fn probed(store: &PostgresStore, stretches: &[Stretch], new: usize) -> (Vec<Key>, bool) {
    let tx = Tx::on(store.client().await.expect("a connection"));
    let found = store.probe_stretches(&tx, "default", stretches, new).await;
    let (rows, all) = found.expect("it looks");
    drop(tx.finish());
    (
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect(),
        all,
    )
}

/// From the place on, and around.
fn in_order(streams: &BTreeSet<Key>, ring: &Ring) -> Vec<Key> {
    let is_before = |key: &&Key| key.0 < ring.place || key.0 == ring.place && ring.left == 0;
    let before = streams.iter().filter(is_before);
    let after = streams.iter().filter(|key| !is_before(key));
    after.chain(before).cloned().collect()
}

async fn a_look_by_marks_finds_each_stream_once_in_the_order_of_the_ring(place: &Place) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let store = place.open().await;
    let client = place.client().await;
    for _ in 0..60 {
        let mut streams: BTreeSet<Key> = BTreeSet::new();
        let mut marks = Marks::default();
        for (group, lane, task) in (0..27).map(|n| (["a", "b", "c"][n % 3], n / 3 % 3, ["s", "t", "u"][n / 9])) {
            let lane = [Lane::High, Lane::Normal, Lane::Low][lane];
            let key = (group.to_owned(), lane.code(), task.to_owned());
            // Known or not, with a job or not.
            if random.u8(..4) == 0 {
                marks.set(group, lane, "default", task, 0);
            }
            if random.u8(..3) == 0 {
                streams.insert(key);
            }
        }
        let values: Vec<String> = streams
            .iter()
            .map(|(group, lane, task)| format!("('{group}', {lane}, '{task}')"))
            .collect();
        let insert = r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
            select turnabout.id_at(now()), now(), lane, 'default', "group", task, '{}' from (values "#;
        place.run(&client, "delete from turnabout.job").await;
        if !values.is_empty() {
            let insert = format!(
                r#"{insert}{}) s ("group", lane, task), generate_series(1, 2)"#,
                values.join(",")
            );
            place.run(&client, &insert).await;
        }
        let ring = Ring {
            place: ["", "a", "b", "c"][random.usize(..4)].to_owned(),
            left: random.u32(..2),
        };
        let (stretches, whole) = marks.stretches("default", &ring, 100);
        assert!(whole);
        let expected = in_order(&streams, &ring);
        let (found, all) = probed(&store, &stretches, 100).await;
        assert!(all);
        assert_eq!(found, expected, "from {ring:?} by {stretches:?}");
        // Those who are not told are behind all that are.
        let (found, all) = probed(&store, &stretches, 2).await;
        assert!(!all || found == expected, "from {ring:?} by {stretches:?}");
        assert_eq!(found, expected[..found.len()], "from {ring:?} by {stretches:?}");
    }
}

async fn a_look_by_marks_costs_the_same_however_much_waits_in_a_known_stream(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let probe = Prepared::hot("probe", &store.sql.peek_marked);
    probe.prepare(&client).await;
    let mut costs = Vec::new();
    for (queue, jobs) in [("few", 100), ("many", 30_000)] {
        let flood = format!(
            r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
            select turnabout.id_at(now()), now(), 2, '{queue}', 'b', 'work', '{{}}' from generate_series(1, {jobs})"#
        );
        place.run(&client, &flood).await;
        // All before the stream, what follows in its group, and all behind; no other has come.
        let args = format!(
            "'{queue}', {}, {}, {}, {}, {}, {}, '{{0,null,null}}', 100",
            list(["\"\"", "b", "b"]),
            list([-32768, 2, 2]),
            list(["\"\"", "work", "work"]),
            list(["b", "b", "~"]),
            list([2, 3, 1]),
            list(["work", "x", "x"]),
        );
        let plan = probe.explain(&client, &args).await;
        assert_eq!(plan["Actual Rows"], 1, "{plan:#}");
        costs.push(pages(&plan));
    }
    println!("pages: {costs:?}");
    // The index is a level deeper, and that is all.
    assert!(costs[1] <= 2 * costs[0], "{costs:?}");
}

async fn newcomers_beyond_those_wanted_are_left_for_the_next_look(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, (0..50).map(|_| job("m")).collect()).await;
    assert_eq!(exec.take(2).await.len(), 2, "from now on that stream is known");
    add(&store, (0..60).map(|n| job(&format!("g{n:02}"))).collect()).await;
    add(&store, (0..60).map(|n| job(&format!("x{n:02}"))).collect()).await;
    let mut served = Vec::new();
    // By the marks, whatever else is known.
    store.trial.by_marks.store(true, std::sync::atomic::Ordering::Relaxed);
    while served.len() < 121 {
        store.memory(exec.incarnation, |memory| *memory = Memory::default());
        let jobs = exec.take(3).await;
        assert_eq!(jobs.len(), 3);
        served.extend(jobs.into_iter().map(|job| job.group));
    }
    let expected = (0..60).map(|n| format!("x{n:02}"));
    let expected = expected
        .chain((0..60).map(|n| format!("g{n:02}")))
        .chain(["m".to_owned()]);
    assert_eq!(served[..121], expected.collect::<Vec<_>>(), "nobody is passed over");
}
