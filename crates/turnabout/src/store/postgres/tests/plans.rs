//! Plans do not flip: what was prepared on an empty table walks indexes when the table is full.

use std::fmt::Display;

use serde_json::Value;

use super::super::connect::{Mode, Tx};
use super::*;

cases![statements_prepared_on_an_empty_table_walk_indexes_when_it_is_full];

/// So many jobs are touched by each statement that touches jobs by their ids.
const BATCH: usize = 20;
/// Picks of a merged claim, which reads ahead in each of two streams.
const PICKS: usize = 5;
/// No statement here touches more pages than a batch can explain; the table and each index have thousands.
const PAGES: u64 = 1000;
/// A peek over as many groups: a descent of the index and a row for each of its steps.
const PEEK_PAGES: u64 = 300;

/// A statement of the store, prepared on a connection.
pub(super) struct Prepared<'a> {
    name: &'static str,
    sql: &'a str,
    /// Whether it runs in a transaction of the store, with the settings for hot statements.
    hot: bool,
}

impl<'a> Prepared<'a> {
    pub(super) fn hot(name: &'static str, sql: &'a str) -> Self {
        Self { name, sql, hot: true }
    }

    fn cold(name: &'static str, sql: &'a str) -> Self {
        Self { name, sql, hot: false }
    }

    pub(super) async fn prepare(&self, client: &Client) {
        let Self { name, sql, .. } = self;
        client
            .batch_execute(&format!("prepare {name} as {sql}"))
            .await
            .unwrap_or_else(|e| panic!("{name}: {e:?}"));
    }

    /// Runs it in a transaction as the store's, which is rolled back.
    async fn within(&self, client: &Client, command: &str) -> Vec<tokio_postgres::SimpleQueryMessage> {
        let begin = if self.hot {
            Tx::begin(Mode::Durable)
        } else {
            "begin".to_owned()
        };
        client.batch_execute(&begin).await.expect("it begins");
        let messages = client.simple_query(command).await;
        let messages = messages.unwrap_or_else(|e| panic!("{}: {e:?}", self.name));
        client.batch_execute("rollback").await.expect("it ends");
        messages
    }

    fn call(&self, args: &str) -> String {
        let name = self.name;
        if args.is_empty() {
            format!("execute {name}")
        } else {
            format!("execute {name}({args})")
        }
    }

    /// Often enough for the server to settle on a plan.
    pub(super) async fn settle(&self, client: &Client, args: &str) {
        for _ in 0..6 {
            self.within(client, &self.call(args)).await;
        }
    }

    /// Runs it, and tells how.
    pub(super) async fn explain(&self, client: &Client, args: &str) -> Value {
        let command = format!("explain (analyze, buffers, format json) {}", self.call(args));
        let messages = self.within(client, &command).await;
        let text: String = messages
            .iter()
            .filter_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            })
            .collect();
        let plans: Value = serde_json::from_str(&text).expect("a plan in JSON");
        plans[0]["Plan"].clone()
    }
}

/// Tables of jobs that a plan reads from one end to the other.
fn scanned(plan: &Value) -> Vec<String> {
    let mut found: Vec<String> = plan["Plans"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(scanned)
        .collect();
    let table = plan["Relation Name"].as_str().unwrap_or_default();
    if plan["Node Type"].as_str().is_some_and(|node| node.contains("Seq Scan")) && table.starts_with("job") {
        found.push(table.to_owned());
    }
    found
}

/// Pages touched.
pub(super) fn pages(plan: &Value) -> u64 {
    ["Shared Hit Blocks", "Shared Read Blocks"]
        .iter()
        .filter_map(|key| plan[key].as_u64())
        .sum()
}

/// An array, as text that becomes one of whatever type is wanted.
pub(super) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("'{{{}}}'", items.join(","))
}

pub(super) fn same(item: &str, times: usize) -> String {
    list(vec![item; times])
}

/// Groups `g0000` and on, so that the lowest come first.
const FLOOD: &str = r#"
    select turnabout.ensure_day(now(), 'job_log'), turnabout.ensure_day(now(), 'job_attempt');
    insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
    select turnabout.id_at(now()), now(), 2, 'default', 'g' || lpad((n % 1000)::text, 4, '0'),
        case when n % 7 = 0 then 'other' else 'work' end, '{}'
    from generate_series(1, 200000) n;
    insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
    select turnabout.id_at(now()), now(), 2, 'lone', 'g', 'work', '{}' from generate_series(1, 3);
    insert into turnabout.job (id, submitted, due, expires, lane, queue, "group", task, unique_key, args)
    select turnabout.id_at(now()), now(), now() + (n - 1000) * interval '1 second', now() + n * interval '1 hour',
        2, 'default', 'parked', 'work', n::text, '{}'
    from generate_series(1, 20000) n;
    insert into turnabout.job_history (id, submitted, finished, attempts, interruptions, losses, items, state, priority,
        queue, "group", task, args)
    select turnabout.id_at(now()), now(), now(), 1, 0, 0, 1, 4, 2, 'default', 'g', 'work', '{}'
    from generate_series(1, 50000) n;
"#;

fn statements<'a>(sql: &'a Sql, exec: &Exec, ids: &[JobId], ended: &[JobId]) -> Vec<(Prepared<'a>, String)> {
    let (me, kind) = (exec.incarnation, &exec.kind);
    let (live, old) = (list(ids), list(ended));
    let groups: Vec<String> = (0..BATCH).map(|n| format!("g{n:04}")).collect();
    let twice = |i: usize| i / 2;
    let pairs: Vec<&String> = (0..2 * PICKS).map(|i| &groups[twice(i)]).collect();
    let tasks: Vec<&str> = (0..2 * PICKS).map(|i| ["work", "other"][i % 2]).collect();
    let n = |item: &str| same(item, BATCH);
    let m = |item: &str| same(item, 2 * PICKS);
    let plain = || {
        format!(
            "null, '{{}}', {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, '{{}}', {}, {}",
            list((0..BATCH).map(|_| JobId::new())),
            n("null"),
            n("1"),
            n("null"),
            n("null"),
            list(&groups),
            n("work"),
            n("null"),
            n("args"),
            n("null"),
            n("f"),
            n("0")
        )
    };
    vec![
        (
            Prepared::hot("peek", &sql.peek),
            format!("'{kind}', 'default', {BATCH}, 2000, '{{}}', '{{work}}', null, '~', null, 1"),
        ),
        (Prepared::hot("glance", &sql.glance), "'default', 16".to_owned()),
        (
            Prepared::hot("refill", &sql.refill),
            format!(
                "8, {}, {}, {}, {}, {}",
                n("default"),
                list(&groups),
                n("2"),
                n("work"),
                n("0")
            ),
        ),
        (
            Prepared::hot("peek_marked", &sql.peek_marked),
            format!(
                "'default', {}, {}, {}, {}, {}, {}, {}",
                list(&groups),
                n("1"),
                n("work"),
                list(&groups),
                n("2"),
                n("work"),
                n("0")
            ) + ", 100",
        ),
        (
            Prepared::hot("claim", &sql.claim),
            format!(
                "'{me}', 2, 1, {}, {}, {}, {}, {}, {}",
                n("default"),
                list(&groups),
                n("2"),
                n("work"),
                n("0"),
                n("1")
            ),
        ),
        (
            Prepared::hot("claim_heads", &sql.claim_heads),
            format!("'{me}', 2, 1, {}, {}", n("\"(0,1)\""), list(1..=BATCH)),
        ),
        (
            Prepared::hot("claim_merged", &sql.claim_merged),
            format!(
                "'{me}', 2, 1, {}, {}, {}, {}, {}, {}, {}, {}",
                list((0..2 * PICKS).map(twice)),
                m("1"),
                m("default"),
                list(pairs),
                m("2"),
                list(tasks),
                m("0"),
                m("12")
            ),
        ),
        (Prepared::hot("count_claimed", &sql.count_claimed), format!("'{me}', 2")),
        (
            Prepared::cold("take_all", &sql.take_all),
            format!("'{me}', 2, 1, '{kind}', '{{default}}', '{{work}}', 16, 0"),
        ),
        (
            Prepared::cold("take_lone", &sql.take_all),
            format!("'{me}', 2, 1, '{kind}', '{{lone,empty}}', '{{work}}', 16, 0"),
        ),
        (Prepared::cold("insert_plain", &sql.insert_plain), plain()),
        (
            Prepared::cold("insert_and_take", &sql.insert_and_take),
            format!(
                "{}, '{me}', 2, 1, '{kind}', '{{lone,empty}}', '{{work}}', 16, 0",
                plain()
            ),
        ),
        (
            Prepared::hot("start", &sql.start),
            format!("'{me}', null, 2, {live}, {}, {}", n("1"), n("1")),
        ),
        (
            Prepared::hot("finish", &sql.finish),
            format!(
                "'{me}', null, {live}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, '{{}}', '{{}}'",
                n("1"),
                n("f"),
                n("4"),
                n("null"),
                n("1"),
                n("0"),
                n("0"),
                n("null"),
                n("null"),
                n("0.1")
            ),
        ),
        (
            Prepared::hot("forget", &sql.forget),
            format!("'{me}', {live}, {}, {}", n("1"), n("f")),
        ),
        (
            Prepared::cold("forget_all", &sql.forget_all),
            format!("'{me}', {live}, {}, {}", n("1"), n("f")),
        ),
        (
            Prepared::hot("give_back", &sql.give_back),
            format!(
                "'{me}', null, {live}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, '{{}}', '{{}}', {}, 100",
                n("1"),
                n("f"),
                n("0"),
                n("null"),
                n("2"),
                n("1"),
                n("0"),
                n("0"),
                n("2"),
                n("null"),
                n("null"),
                n("1.5"),
                n("f"),
                n("1")
            ),
        ),
        (
            Prepared::hot("report", &sql.report),
            format!("'{me}', {live}, {}, {}, {}", n("1"), n("50"), n("\"step 1\"")),
        ),
        (
            Prepared::hot("log", &sql.log),
            format!(
                "'{me}', {live}, {}, {}, {}, {}, {}, {}, {}",
                n("1"),
                list(1..=BATCH),
                list(1..=BATCH),
                n("1"),
                n("3"),
                n("2030-01-01"),
                n("line")
            ),
        ),
        (Prepared::hot("log_ends", &sql.log_ends), live.clone()),
        (
            Prepared::hot("forget_reports", &sql.forget_reports),
            format!("'{me}', {live}"),
        ),
        (Prepared::hot("lock_due", &sql.lock_due), format!("null, {BATCH}")),
        (
            Prepared::hot("lock_expired", &sql.lock_expired),
            format!("null, {BATCH}, 0"),
        ),
        (Prepared::hot("lock_held", &sql.lock_held), format!("'{me}'")),
        (Prepared::hot("lock_live", &sql.lock), live.clone()),
        (Prepared::hot("lock_ended", &sql.lock_ended), old.clone()),
        (Prepared::hot("delete_ended", &sql.delete), old.clone()),
        (Prepared::hot("look", &sql.check), format!("'{me}', {live}")),
        (Prepared::hot("ended", &sql.ended), old.clone()),
        (
            Prepared::hot("holders", &sql.holders),
            format!("{old}, {}, {}, {}", n("parked"), n("work"), list(1..=BATCH)),
        ),
        (
            Prepared::hot("unfinished", &sql.unfinished),
            format!(
                "{}, {}, {}, {}",
                list(["g1", "g2"]),
                list(["\"\"", "work"]),
                list(["\"\"", "ada"]),
                list([100, 100])
            ),
        ),
        (Prepared::cold("beat", &sql.beat), format!("'{me}', 1, null, 'echo'")),
        (Prepared::cold("held", &sql.held), format!("'{me}'")),
        (Prepared::cold("executors", &sql.executors), String::new()),
        (Prepared::cold("deregister", &sql.deregister), format!("'{me}'")),
        (
            Prepared::cold("drop_holds", &sql.drop_holds),
            format!("'{me}', '{{1}}'"),
        ),
        (
            Prepared::cold("sweep_holds", &sql.sweep_holds),
            format!("'{me}', '{{1}}'"),
        ),
        (Prepared::hot("orphans", &sql.orphans), String::new()),
        (Prepared::hot("set_cap", &sql.set_cap), "0, 'g0001', 2".to_owned()),
        (Prepared::hot("read_live", &sql.read), live),
        (Prepared::hot("read_ended", &sql.read_ended), old),
    ]
}

async fn statements_prepared_on_an_empty_table_walk_indexes_when_it_is_full(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let client = place.client().await;
    // A table that the server knows to be empty is the cheapest one to read as a whole.
    place.run(&client, "vacuum analyze turnabout.job").await;
    let nobody: Vec<JobId> = (0..BATCH).map(|_| JobId::new()).collect();
    for (statement, args) in statements(&store.sql, &exec, &nobody, &nobody) {
        statement.prepare(&client).await;
        statement.settle(&client, &args).await;
    }
    place.run(&client, FLOOD).await;
    // Jobs in somebody's hands, and ended ones, by the store itself.
    let held: Vec<JobId> = exec.take(BATCH as u32).await.iter().map(|job| job.id).collect();
    assert_eq!(held.len(), BATCH);
    let ended = place
        .texts(&client, "select id::text from turnabout.job_history limit 20")
        .await;
    let ended: Vec<JobId> = ended.iter().map(|id| id.parse().expect("an id")).collect();

    for (statement, args) in statements(&store.sql, &exec, &held, &ended) {
        let name = statement.name;
        let plan = statement.explain(&client, &args).await;
        assert_eq!(scanned(&plan), [""; 0], "{name} reads a whole table:\n{plan:#}");
        let pages = pages(&plan);
        if name == "take_lone" {
            assert_eq!(plan["Actual Rows"], 3, "all that is ready there");
        }
        println!("{name}: {pages} pages, {} rows", plan["Actual Rows"]);
        assert!(
            pages < if name == "peek" { PEEK_PAGES } else { PAGES },
            "{name} touches {pages} pages:\n{plan:#}"
        );
    }
}
