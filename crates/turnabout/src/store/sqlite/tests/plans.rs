//! How the statements go about their work: by which index, and at what cost.

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
                    ("peek_tasks", plan(c, sql!("peek_tasks"))),
                    ("streams_pause", plan(c, sql!("streams_pause"))),
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
                    ("list_live", plan(c, sql!("list_live", "list_filter"))),
                    ("list_history", plan(c, sql!("list_history", "list_filter"))),
                    (
                        "list_history_of_group",
                        plan(c, sql!("list_history_of_group", "list_filter")),
                    ),
                    (
                        "list_history_failed",
                        plan(c, sql!("list_history_failed", "list_filter")),
                    ),
                    (
                        "list_live_of_parent",
                        plan(c, sql!("list_live_of_parent", "list_filter")),
                    ),
                    (
                        "list_history_of_parent",
                        plan(c, sql!("list_history_of_parent", "list_filter")),
                    ),
                    ("past", plan(c, sql!("past"))),
                    ("prune", plan(c, sql!("prune"))),
                    ("stream_heads", plan(c, sql!("stream_heads"))),
                    ("ready_of", plan(c, sql!("ready_of"))),
                    ("ended_since", plan(c, sql!("ended_since"))),
                    ("failures", plan(c, sql!("failures"))),
                    ("failures_of_group", plan(c, sql!("failures_of_group"))),
                    ("audit_newest", plan(c, sql!("audit_newest"))),
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
            .contains("COVERING INDEX takeable (queue=? AND task=? AND (group,lane)>(?,?))"),
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

/// How many columns the program of a statement reads.
fn columns(connection: &Connection, sql: &str) -> usize {
    let mut statement = connection.prepare(&format!("EXPLAIN {sql}")).expect(sql);
    let mut rows = statement.raw_query();
    let mut columns = 0;
    while let Some(row) = rows.next().expect("a program") {
        columns += usize::from(row.get::<_, String>(1).expect("a name") == "Column");
    }
    columns
}

#[tokio::test]
async fn a_count_reads_no_column_that_only_its_list_needs() {
    let store = memory().await;
    let look = |tx: &mut Tx<'_>| {
        let lists = [
            sql!("list_live", "list_filter"),
            sql!("list_history", "list_filter"),
            sql!("list_history_of_group", "list_filter"),
        ];
        Ok(lists.map(|sql| {
            (
                columns(tx.connection, sql),
                columns(tx.connection, &read::counting(sql)),
            )
        }))
    };
    for (list, count) in store.write("looking", look).await.expect("looked") {
        assert!(count + 20 < list, "{count} of {list}");
    }
}
