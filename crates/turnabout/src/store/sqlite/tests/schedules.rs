//! Schedules on this store: by which index they are found, however many there are.

use super::*;

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
async fn schedules_are_found_by_an_index() {
    let store = memory().await;
    let plans = store
        .write("looking", |tx| {
            let c = tx.connection;
            Ok([
                (
                    "SEARCH schedule USING INDEX schedule_due (due<?)",
                    plan(c, sql!("schedule_due")),
                ),
                (
                    "SEARCH schedule USING COVERING INDEX schedule_due",
                    plan(c, sql!("schedule_next")),
                ),
                ("SEARCH schedule USING PRIMARY KEY", plan(c, sql!("schedule_move"))),
                (
                    "SEARCH schedule USING INDEX schedule_by_key",
                    plan(c, sql!("schedule_get")),
                ),
                (
                    "SEARCH schedule USING INDEX schedule_by_key",
                    plan(c, sql!("schedule_list")),
                ),
                (
                    "SEARCH schedule USING INDEX schedule_by_key",
                    plan(c, sql!("schedule_list_of_group")),
                ),
                (
                    "SEARCH schedule USING INDEX schedule_declared",
                    plan(c, sql!("schedule_declared")),
                ),
                ("SEARCH schedule_run USING PRIMARY KEY", plan(c, sql!("schedule_runs"))),
                (
                    "SEARCH schedule_run USING PRIMARY KEY",
                    plan(c, sql!("schedule_forget_runs")),
                ),
                ("SEARCH job USING COVERING INDEX", plan(c, sql!("schedule_live"))),
            ])
        })
        .await
        .expect("plans");
    for (wanted, plan) in plans {
        let key = wanted.replace("COVERING INDEX", "PRIMARY KEY");
        assert!(plan.contains(wanted) || plan.contains(&key), "{wanted}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
