//! What a look at the shares costs: what is held and who waits, never the length of a backlog.

use super::plans::{Prepared, pages};
use super::*;

cases![a_look_costs_the_same_with_a_hundred_times_the_backlog];

const GROUPS: usize = 20;

/// Pages that each statement of a look touches.
async fn costs(place: &Place, store: &PostgresStore) -> Vec<(&'static str, u64)> {
    let client = place.client().await;
    let mut costs = Vec::new();
    for statement in [
        Prepared::alone("heads", &store.sql.stream_heads, "10000".to_owned()),
        Prepared::alone("held", &store.sql.held_groups, "2".to_owned()),
        Prepared::alone("backlog", &store.sql.backlog, "1000".to_owned()),
        Prepared::alone(
            "ready",
            &store.sql.ready_of,
            "'{default,default}', '{g0,g1}', '{work,NULL}', 100".to_owned(),
        ),
    ] {
        statement.prepare(&client).await;
        // What a connection reads first are the server's own tables.
        statement.settle(&client).await;
        costs.push((statement.name, pages(&statement.explain(&client).await)));
    }
    costs
}

async fn a_look_costs_the_same_with_a_hundred_times_the_backlog(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut all = Vec::new();
    for jobs in [300, 30_000] {
        place
            .run(
                &client,
                &format!(
                    r#"truncate turnabout.job cascade;
                    insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
                    select turnabout.id_at(now()), now(), 2, 'default', 'g' || g, 'work', '{{}}'
                    from generate_series(1, {jobs}) n, generate_series(0, {GROUPS} - 1) g"#
                ),
            )
            .await;
        place.run(&client, "vacuum analyze turnabout.job").await;
        all.push(costs(place, &store).await);
    }
    println!("pages of a look: {all:?}");
    for ((name, few), (_, many)) in all[0].iter().zip(&all[1]) {
        // Indexes are a level deeper, and that is all.
        assert!(*many <= few * 2 + 20, "{name}: {few} and {many} pages");
    }
}
