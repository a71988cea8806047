//! Jobs of tasks that an executor does not know are stepped over, however many there are.

use std::collections::HashSet;

use super::plans::{Prepared, list, pages, same};
use super::*;

cases![thirty_thousand_unknown_jobs_before_each_group_cost_no_more_than_three_hundred];

const GROUPS: usize = 10;
/// Known jobs of each group, behind the others.
const KNOWN: usize = 5;

/// Jobs of two unknown tasks, urgent ones and others, before each of ten groups of a queue; then known ones.
fn flood(queue: &str, unknown: usize) -> String {
    format!(
        r#"
        insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
        select turnabout.id_at(now()), now(), 1 + n % 2, '{queue}', 'g' || g, case when n % 3 = 0 then 'a' else 'b' end, '{{}}'
        from generate_series(1, {unknown}) n, generate_series(0, {GROUPS} - 1) g;
        insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
        select turnabout.id_at(now()), now(), 2, '{queue}', 'g' || g, 'work', '{{}}'
        from generate_series(1, {KNOWN}) n, generate_series(0, {GROUPS} - 1) g;
        "#
    )
}

async fn thirty_thousand_unknown_jobs_before_each_group_cost_no_more_than_three_hundred(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let [peek, claim] = [
        Prepared::hot("peek", &store.sql.peek),
        Prepared::hot("claim", &store.sql.claim),
    ];
    peek.prepare(&client).await;
    claim.prepare(&client).await;
    let mut costs = Vec::new();
    for (queue, unknown) in [("few", 300), ("many", 30_000)] {
        let mut exec = executor_of(&store, queue, &["work"]).await;
        place.run(&client, &flood(queue, unknown)).await;
        let args = format!(
            "'{}', '{queue}', {GROUPS}, 2000, '{{}}', '{{work}}', null, '~', null, 1",
            exec.kind
        );
        let peeked = pages(&peek.explain(&client, &args).await);
        let n = |item: &str| same(item, GROUPS);
        let args = format!(
            "'{}', 1, 1, {}, {}, {}, {}, {}, {}",
            exec.incarnation,
            n(queue),
            list((0..GROUPS).map(|g| format!("g{g}"))),
            n("2"),
            n("work"),
            n("0"),
            n("5")
        );
        let claimed = pages(&claim.explain(&client, &args).await);
        costs.push((peeked, claimed));

        let jobs = exec.take((GROUPS * KNOWN) as u32).await;
        assert_eq!(jobs.len(), GROUPS * KNOWN, "all known jobs are taken at once");
        assert!(jobs.iter().all(|job| job.task == "work"));
        let groups: HashSet<&str> = jobs.iter().map(|job| job.group.as_str()).collect();
        assert_eq!(groups.len(), GROUPS);
        assert!(exec.take(10).await.is_empty(), "the others are left alone");
    }
    println!("pages of peek and claim: {costs:?}");
    let [(peek_few, claim_few), (peek_many, claim_many)] = costs[..] else {
        panic!("two sizes");
    };
    // The index is a level deeper, and that is all.
    assert!(peek_many <= 2 * peek_few, "{costs:?}");
    assert!(claim_many <= 2 * claim_few, "{costs:?}");
}
