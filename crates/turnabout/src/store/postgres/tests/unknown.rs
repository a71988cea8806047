//! Jobs of tasks that an executor does not know are stepped over, however many there are.

use std::collections::HashSet;

use super::plans::{Prepared, list, pages, same};
use super::*;
use crate::group::{GroupSettings, QueueSettings, TaskLimits};
use crate::store::Setting;

cases![
    thirty_thousand_unknown_jobs_before_each_group_cost_no_more_than_three_hundred,
    a_hundred_thousand_unknown_task_names_cost_other_groups_nothing,
    a_hundred_thousand_jobs_behind_a_pause_a_limit_or_a_rate_cost_the_others_nothing,
];

/// What a take reads and writes.
const TAKEN_FROM: [&str; 5] = ["job", "arrival", "stream", "ring", "hold"];
const GROUPS: usize = 10;
/// Known jobs of each group, behind the others.
const KNOWN: usize = 5;

/// Jobs in groups `g0` and on, which an executor of this queue knows.
fn known(queue: &str) -> String {
    format!(
        r#"
        insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
        select turnabout.id_at(now()), now(), 2, '{queue}', 'g' || g, 'work', '{{}}'
        from generate_series(1, {KNOWN}) n, generate_series(0, {GROUPS} - 1) g;
        {ARRIVE}
        "#
    )
}

/// Whatever is ready is announced, whether or not it was before.
const ARRIVE: &str = r#"insert into turnabout.arrival (queue, "group", lane, task, first)
    select queue, "group", lane, task, min(seq) from turnabout.job group by queue, "group", lane, task;"#;

/// What a take of all known jobs costs: pages that reserve and claim touch.
async fn cost(place: &Place, store: &PostgresStore, exec: &mut Exec, queue: &str) -> [u64; 2] {
    // Files what has arrived, which is done once.
    let first = exec.take_one().await;
    exec.release(&first).await;
    let client = place.client().await;
    // Without what earlier ones left behind.
    for table in TAKEN_FROM {
        place.run(&client, &format!("vacuum analyze turnabout.{table}")).await;
    }
    let version = place.number(&client, "select version from turnabout.settings").await;
    let me = exec.incarnation;
    let n = |item: &str| same(item, GROUPS);
    let want = GROUPS * KNOWN;
    let reserve = format!("'{me}', {want}, {want}, true, '{{}}', '{{}}', null");
    let claim = format!(
        "'{me}', 99, 1, null, {version}, {}, {known}, {}, {}, {}, {}, {}, {}, {}, {known}",
        list(0..GROUPS),
        n("f"),
        n(queue),
        list((0..GROUPS).map(|g| format!("g{g}"))),
        n("2"),
        n("work"),
        n("0"),
        n("0"),
        known = n(&KNOWN.to_string()),
    );
    let mut costs = [0; 2];
    for (cost, statement) in costs.iter_mut().zip([
        Prepared::alone("reserve", &store.sql.reserve, reserve),
        Prepared::alone("claim", &store.sql.claim, claim),
    ]) {
        statement.prepare(&client).await;
        // What a connection reads first are the server's own tables.
        statement.settle(&client).await;
        *cost = pages(&statement.explain(&client).await);
    }
    costs
}

/// All known jobs are taken at once, and the others are left alone.
async fn takes_what_it_knows(exec: &mut Exec) {
    let jobs = exec.take((GROUPS * KNOWN) as u32).await;
    assert_eq!(jobs.len(), GROUPS * KNOWN);
    assert!(jobs.iter().all(|job| job.task == "work"));
    let groups: HashSet<&str> = jobs.iter().map(|job| job.group.as_str()).collect();
    assert_eq!(groups.len(), GROUPS);
    assert!(exec.take(10).await.is_empty());
}

async fn thirty_thousand_unknown_jobs_before_each_group_cost_no_more_than_three_hundred(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    place.untidied(&client, &TAKEN_FROM).await;
    let mut costs = Vec::new();
    for (queue, unknown) in [("few", 300), ("many", 30_000)] {
        let mut exec = executor_of(&store, queue, &["work"]).await;
        // Of two tasks, urgent ones and others, in the same groups.
        let flood = format!(
            r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
            select turnabout.id_at(now()), now(), 1 + n % 2, '{queue}', 'g' || g,
                case when n % 3 = 0 then 'a' else 'b' end, '{{}}'
            from generate_series(1, {unknown}) n, generate_series(0, {GROUPS} - 1) g"#
        );
        place.run(&client, &flood).await;
        place.run(&client, &known(queue)).await;
        costs.push(cost(place, &store, &mut exec, queue).await);
        takes_what_it_knows(&mut exec).await;
    }
    println!("pages of reserve and claim: {costs:?}");
    for (few, many) in costs[0].iter().zip(costs[1]) {
        // Indexes are a level deeper, and somebody else may hold a snapshot: that is all.
        assert!(many <= 3 * few, "{costs:?}");
    }
}

async fn a_hundred_thousand_unknown_task_names_cost_other_groups_nothing(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    place.untidied(&client, &TAKEN_FROM).await;
    let mut exec = executor(&store, &["work"]).await;
    // The indexes are as deep from the beginning.
    let elsewhere = r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
        select turnabout.id_at(now()), now(), 2, 'elsewhere', 'g0', 'work', '{}' from generate_series(1, 100000)"#;
    place.run(&client, elsewhere).await;
    place.run(&client, &known("default")).await;
    let mut costs = vec![cost(place, &store, &mut exec, "default").await];
    for (from, to) in [(1, 1_000), (1_001, 100_000)] {
        let flood = format!(
            r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
            select turnabout.id_at(now()), now(), 2, 'default', 'g0', 'unknown' || n, '{{}}'
            from generate_series({from}, {to}) n; {ARRIVE}"#
        );
        place.run(&client, &flood).await;
        costs.push(cost(place, &store, &mut exec, "default").await);
    }
    // The same once more in a group that is paused.
    let moved = format!(r#"update turnabout.job set "group" = 'g00' where task <> 'work'; {ARRIVE}"#);
    place.run(&client, &moved).await;
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    let set = store.set(Setting::Group("g00".to_owned(), paused)).await;
    set.expect("it is paused");
    costs.push(cost(place, &store, &mut exec, "default").await);
    println!("pages of reserve and claim: {costs:?}");
    for more in &costs[1..] {
        for (without, with) in costs[0].iter().zip(more) {
            // Stepping over them would be thousands of pages; a snapshot that somebody else holds is some dozens.
            assert!(*with <= 3 * without, "{costs:?}");
        }
    }
    takes_what_it_knows(&mut exec).await;
}

async fn a_hundred_thousand_jobs_behind_a_pause_a_limit_or_a_rate_cost_the_others_nothing(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    place.untidied(&client, &TAKEN_FROM).await;
    let paused = TaskLimits {
        paused: true,
        ..TaskLimits::default()
    };
    let capped = TaskLimits {
        max_running: Some(1),
        ..TaskLimits::default()
    };
    let rated = TaskLimits {
        rate: "1/d".parse().ok(),
        ..TaskLimits::default()
    };
    let asleep = QueueSettings { paused: true };
    store
        .set(Setting::Queue("asleep".to_owned(), asleep))
        .await
        .expect("set");
    for (task, limits) in [
        ("paused", paused),
        ("capped", capped),
        ("rated", rated),
        ("asleep", paused),
    ] {
        let mut costs = Vec::new();
        for (size, each) in [("few", 10), ("many", 10_000)] {
            let queue = format!("{task}-{size}");
            // In the same groups, before the others; for the last one, in a queue that is paused.
            let there = if task == "asleep" { "asleep" } else { &queue };
            let flood = format!(
                r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
                select turnabout.id_at(now()), now(), 1 + n % 2, '{there}', 'g' || g, '{task}', '{{}}'
                from generate_series(1, {each}) n, generate_series(0, {GROUPS} - 1) g; {ARRIVE}"#
            );
            place.run(&client, &flood).await;
            if task != "asleep" {
                let mut other = executor_of(&store, &queue, &[task]).await;
                let setting = |limits| Setting::Task(task.to_owned(), limits);
                store.set(setting(TaskLimits::default())).await.expect("set");
                store.set(setting(limits)).await.expect("set");
                // The only one that may run, runs; held by somebody else.
                assert!(other.take(1).await.len() <= 1);
            }
            let tasks = ["work", task].map(settings).to_vec();
            let mut exec = Exec::new(store.clone(), Uuid::new_v4(), &[&queue, "asleep"], tasks);
            exec.register().await;
            place.run(&client, &known(&queue)).await;
            costs.push(cost(place, &store, &mut exec, &queue).await);
            takes_what_it_knows(&mut exec).await;
        }
        println!("{task}: pages of reserve and claim: {costs:?}");
        for (few, many) in costs[0].iter().zip(costs[1]) {
            assert!(many <= 3 * few, "{task}: {costs:?}");
        }
    }
}
