//! The statements that an executor runs all the time, with arguments that touch a batch of jobs.

use uuid::Uuid;

use super::BATCH;
use super::prepared::{Prepared, list, same};
use crate::job::JobId;
use crate::store::postgres::sql::{Sql, in_schema};

/// What the arguments speak of.
pub(super) struct About<'a> {
    pub(super) schema: &'a str,
    pub(super) me: Uuid,
    /// The claim by which the jobs are held.
    pub(super) claim: i64,
    /// The version of the settings.
    pub(super) version: i64,
    pub(super) held: &'a [JobId],
    pub(super) ended: &'a [JobId],
}

/// As many copies of a value as there are jobs in a batch.
fn n(item: &str) -> String {
    same(item, BATCH)
}

fn new_ids() -> String {
    list((0..BATCH).map(|_| JobId::new()))
}

/// The names of groups that have ready jobs.
fn groups() -> Vec<String> {
    (0..BATCH).map(|n| format!("g{n:04}")).collect()
}

/// Every hot statement.
pub(super) fn all(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    [
        taking(sql, about),
        submitting(sql, about),
        settling(sql, about),
        keeping(sql, about),
        changing(sql, about),
        reading(sql, about),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Each pick has two streams, so that both ways through `claim` are walked.
pub(super) fn taking(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let (me, version) = (about.me, about.version);
    let claim = |tasks: usize| {
        let streams = BATCH / tasks * tasks;
        let m = |item: &str| same(item, streams);
        let names = groups();
        format!(
            "'{me}', 99, 1, null, {version}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}",
            list((0..streams).map(|i| i / tasks)),
            m("2"),
            m(if tasks > 1 { "t" } else { "f" }),
            m("default"),
            list((0..streams).map(|i| &names[i / tasks])),
            m("2"),
            list((0..streams).map(|i| ["work", "other"][i % tasks])),
            m("0"),
            m("0"),
            m("2"),
        )
    };
    vec![
        Prepared::alone(
            "reserve",
            &sql.reserve,
            format!("'{me}', {BATCH}, {BATCH}, true, '{{}}', '{{}}', null"),
        ),
        Prepared::alone("claim_one_stream", &sql.claim, claim(1)),
        Prepared::alone("claim_two_streams", &sql.claim, claim(2)),
        Prepared::hot("prune_arrivals", &sql.prune_arrivals, "'4000000000000'".to_owned()),
    ]
}

fn submitting(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let plain = format!(
        "null, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, null, null, null, null, null",
        new_ids(),
        n("null"),
        n("1"),
        n("null"),
        n("null"),
        list(groups()),
        n("work"),
        n("null"),
        n("args"),
        n("null"),
        n("null"),
        n("f"),
        n("0"),
    );
    let insert = |ids: String| {
        format!(
            "null, {ids}, {null}, {null}, {null}, {null}, {null}, {one}, {two}, {queue}, {groups}, {task}, {null}, {keys}, \
             {args}, {null}, {seqs}, {null}, {no}, false",
            null = n("null"),
            one = n("1"),
            two = n("2"),
            queue = n("default"),
            groups = list(groups()),
            task = n("work"),
            keys = list((1..=BATCH).map(|key| format!("key{key}"))),
            args = n("args"),
            seqs = list(1..=BATCH),
            no = n("f"),
        )
    };
    let submit = in_schema("select turnabout.submit($1, unique_key => $2, id => $3)", about.schema);
    vec![
        Prepared::alone("insert_plain", &sql.insert_plain, plain),
        Prepared::hot("insert", &sql.insert, insert(new_ids())),
        Prepared::hot(
            "holders",
            &sql.holders,
            format!(
                "{}, {}, {}, {}",
                list(about.ended),
                n("parked"),
                n("work"),
                list(1..=BATCH)
            ),
        ),
        Prepared::hot(
            "unfinished",
            &sql.unfinished,
            format!(
                "{}, {}, {}, {}",
                list(["g0001", "g0002"]),
                list(["\"\"", "work"]),
                list(["\"\"", "ada"]),
                list([100, 100])
            ),
        ),
        Prepared::alone("submit", &submit, format!("'work', 'new', '{}'", JobId::new())),
    ]
}

/// What is done when the first executor of a kind comes: all streams are opened.
pub(super) fn opening(about: &About<'_>) -> Vec<Prepared> {
    let open = in_schema("select turnabout.open_streams(id) from turnabout.kind", about.schema);
    vec![Prepared::alone("open_streams", &open, String::new())]
}

pub(super) fn settling(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let (me, held) = (about.me, list(about.held));
    let claim = &n(&about.claim.to_string());
    let first = about.held[0];
    vec![
        Prepared::hot(
            "start",
            &sql.start,
            format!("'{me}', null, 2, {held}, {claim}, {}, {}", n("1"), n("now")),
        ),
        Prepared::hot(
            "finish",
            &sql.finish,
            format!(
                "'{me}', null, {held}, {claim}, {no}, {success}, {null}, {one}, {zero}, {zero}, {null}, {null}, {ran}, \
                 '{{}}', '{{}}', '{{}}', '{{}}'",
                no = n("f"),
                success = n("4"),
                null = n("null"),
                one = n("1"),
                zero = n("0"),
                ran = n("now"),
            ),
        ),
        Prepared::hot("forget", &sql.forget, format!("'{me}', {held}, {claim}, {}", n("f"))),
        Prepared::alone(
            "forget_all",
            &sql.forget_all,
            format!("'{me}', {held}, {claim}, {}", n("f")),
        ),
        Prepared::hot(
            "give_back",
            &sql.give_back,
            format!(
                "'{me}', null, {held}, {claim}, {no}, {zero}, {null}, {two}, {one}, {zero}, {zero}, {two}, {null}, {null}, \
                 {ran}, {no}, '{{}}', '{{}}', {one}, 100",
                no = n("f"),
                zero = n("0"),
                one = n("1"),
                two = n("2"),
                null = n("null"),
                ran = n("now"),
            ),
        ),
        Prepared::hot(
            "end_within",
            &sql.end_within,
            format!("'{first}', '{me}', {}, 4, null, null, now(), null, true", about.claim),
        ),
        Prepared::hot("fold_freed", &sql.fold_freed, String::new()),
        Prepared::hot("forget_reports", &sql.forget_reports, format!("'{me}', {held}")),
    ]
}

fn keeping(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let (me, claim, held) = (about.me, about.claim, list(about.held));
    let claims = &n(&claim.to_string());
    vec![
        Prepared::alone("beat", &sql.beat, format!("'{me}', 1, null, 'echo'")),
        Prepared::alone("held", &sql.held, format!("'{me}', '{{{claim}}}'")),
        Prepared::alone("held_by_any", &sql.held, format!("'{me}', null")),
        Prepared::alone("peers", &sql.peers, String::new()),
        Prepared::alone("drop_holds", &sql.drop_holds, format!("'{me}', '{{{claim}}}'")),
        Prepared::alone("sweep_holds", &sql.sweep_holds, format!("'{me}', '{{{claim}}}'")),
        Prepared::alone("deregister", &sql.deregister, format!("'{me}'")),
        Prepared::hot("lock_held", &sql.lock_held, format!("'{me}'")),
        Prepared::hot(
            "report",
            &sql.report,
            format!("'{me}', {held}, {claims}, {}, {}", n("50"), n("\"step 1\"")),
        ),
        Prepared::hot(
            "log",
            &sql.log,
            format!(
                "'{me}', {held}, {claims}, {lines}, {lines}, {}, {}, {}, {}",
                n("1"),
                n("3"),
                n("2030-01-01"),
                n("line"),
                lines = list(1..=BATCH),
            ),
        ),
        Prepared::hot("log_ends", &sql.log_ends, held),
    ]
}

fn changing(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let (held, ended) = (list(about.held), list(about.ended));
    vec![
        Prepared::alone("expired", &sql.expired, "null, 0".to_owned()),
        Prepared::hot("lock_expired", &sql.lock_expired, format!("null, {BATCH}, 0")),
        Prepared::alone("next_due", &sql.next_due, "null".to_owned()),
        Prepared::hot("lock_due", &sql.lock_due, format!("null, {BATCH}")),
        Prepared::hot("announce", &sql.announce, "null, 'g0001', null".to_owned()),
        Prepared::hot("lock_live", &sql.lock, held.clone()),
        Prepared::hot("request_cancel", &sql.request_cancel, held),
        Prepared::hot("lock_ended", &sql.lock_ended, ended.clone()),
        Prepared::hot("delete_ended", &sql.delete, ended.clone()),
        Prepared::hot(
            "restart",
            &sql.restart,
            format!("{ended}, 0, null, {}, {}, 100", n("2"), n("1")),
        ),
    ]
}

fn reading(sql: &Sql, about: &About<'_>) -> Vec<Prepared> {
    let (me, held, ended) = (about.me, list(about.held), list(about.ended));
    vec![
        Prepared::hot("check_held", &sql.check, format!("'{me}', {held}")),
        Prepared::hot("ended", &sql.ended, ended.clone()),
        Prepared::hot("read_live", &sql.read, format!("{held}, false")),
        Prepared::hot("read_ended", &sql.read_ended, format!("{ended}, false")),
    ]
}
