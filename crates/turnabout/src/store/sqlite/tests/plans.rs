//! How the statements go about their work: by which index, and at what cost.

use rusqlite::StatementStatus;

use super::*;

/// How `SQLite` would go about a statement.
fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect(sql);
    let mut lines: Vec<String> = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().expect("a plan") {
        lines.push(row.get(3).expect("a line"));
    }
    lines.join("; ")
}

#[tokio::test]
async fn no_hot_statement_walks_a_table() {
    let store = memory().await;
    let look = |store: Arc<SqliteStore>| async move {
        store
            .write("looking", |tx| {
                let c = tx.connection;
                Ok([
                    ("peek", plan(c, sql!("peek"))),
                    ("heads", plan(c, sql!("heads"))),
                    ("forget_held", plan(c, sql!("forget_held"))),
                    ("sweep", plan(c, sql!("sweep"))),
                    ("ahead", plan(c, sql!("ahead"))),
                    ("groups", plan(c, sql!("groups"))),
                    ("claim", plan(c, sql!("claim"))),
                    ("fence", plan(c, sql!("fence"))),
                    ("ended_by", plan(c, sql!("ended_by"))),
                    ("finish", plan(c, sql!("finish"))),
                    ("update", plan(c, sql!("update"))),
                    ("due", plan(c, sql!("due"))),
                    ("next_due", plan(c, sql!("next_due"))),
                    ("expired", plan(c, sql!("expired"))),
                    ("held_by", plan(c, sql!("held_by"))),
                    ("key_holder", plan(c, sql!("key_holder"))),
                    ("list_history_of_group", plan(c, sql!("list_history_of_group"))),
                    ("list_live", plan(c, sql!("list_live"))),
                    ("prune", plan(c, sql!("prune"))),
                ])
            })
            .await
            .expect("plans")
    };
    let empty = look(store.clone()).await;
    for (name, plan) in &empty {
        assert!(!plan.contains("SCAN job") || *name == "next_due", "{name}: {plan}");
        let sorts = *name == "held_by";
        assert!(sorts || !plan.contains("TEMP B-TREE"), "{name}: {plan}");
    }
    assert!(
        empty[0]
            .1
            .contains("COVERING INDEX streams (queue=? AND (group,lane,task)>(?,?,?))"),
        "{}",
        empty[0].1
    );
    assert_eq!(
        empty[1].1,
        "SEARCH s USING INTEGER PRIMARY KEY (rowid=?); \
         SEARCH r USING PRIMARY KEY (stream=? AND seq>?); SEARCH j USING PRIMARY KEY (id=?)"
    );
    submit(
        &store,
        (0..5000).map(|i| job(&format!("g{}", i % 50), "mail")).collect(),
    )
    .await;
    store
        .write("analysing", |tx| Ok(tx.connection.execute_batch("ANALYZE")?))
        .await
        .expect("analysed");
    assert_eq!(look(store).await, empty, "plans do not flip");
}

#[tokio::test]
async fn jobs_of_unknown_tasks_are_stepped_over_at_a_cost_that_does_not_grow_with_their_number() {
    let mut steps = Vec::new();
    for unknown in [10, 3000] {
        let store = memory().await;
        for group in ["a", "b", "c"] {
            let mut jobs: Vec<NewJob> = (0..unknown).map(|_| job(group, "alien")).collect();
            jobs.push(job(group, "mail"));
            submit(&store, jobs).await;
        }
        let found = store
            .write("peeking", |tx| {
                let settings = tx.settings()?;
                let look = peek::Look {
                    ring: &crate::turn::Ring::default(),
                    tasks: &crate::turn::Tasks::from_iter(["mail".into()]),
                    settings: &settings,
                    benched: &std::collections::BTreeSet::new(),
                    window: 10,
                };
                let peeked = look.peek(tx.connection, "default")?;
                let statement = tx.connection.prepare_cached(sql!("peek"))?;
                Ok((peeked, statement.get_status(StatementStatus::VmStep)))
            })
            .await
            .expect("peeked");
        let streams: Vec<usize> = found.0.groups.iter().map(|g| g.streams.len()).collect();
        assert_eq!((streams.as_slice(), found.0.complete), ([2, 2, 2].as_slice(), true));
        steps.push(found.1);
    }
    assert_eq!(steps[0], steps[1]);
}
