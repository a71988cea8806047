//! What is special about this store. What every store must do is in the conformance suite.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::*;
use crate::clock::ManualClock;
use crate::group::GroupSettings;
use crate::job::{Priority, State, When};
use crate::lifecycle::{Policy, decide};
use crate::store::{Configuration as _, Counts, ExecutorInfo, Executors as _, Filter, Overview as _};
use crate::task::TaskSettings;
use crate::turn::{Fairness, Scheme, Turns};

mod claims;
mod life;
mod plans;
mod retention;
mod schedules;
mod standby;
mod streams;
mod unknown;

async fn memory() -> Arc<SqliteStore> {
    SqliteStore::open(":memory:", manual())
        .await
        .expect("a store in memory")
}

async fn file(path: &Path) -> Arc<SqliteStore> {
    SqliteStore::open(path.to_str().expect("a path"), StoreOptions::default())
        .await
        .expect("a store in a file")
}

fn manual() -> StoreOptions {
    StoreOptions {
        clock: Clock::Manual(ManualClock::new()),
        ..StoreOptions::default()
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn job(group: &str, task: &str) -> NewJob {
    NewJob {
        task: task.to_owned(),
        ..crate::store::conformance::world::job(group)
    }
}

async fn submit(store: &SqliteStore, jobs: Vec<NewJob>) -> Vec<JobId> {
    let outcomes = store.submit(jobs).await.expect("submitted");
    outcomes.into_iter().map(|o| o.expect("stored").id).collect()
}

/// A statement that stands for what a verb writes.
const MARK: &str = "INSERT INTO ring (kind, place, left) VALUES (?1, '', 0)";

async fn marks(store: &SqliteStore) -> Vec<String> {
    store
        .read("looking", |tx| {
            let mut statement = tx.connection.prepare("SELECT kind FROM ring ORDER BY kind")?;
            let marks = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(marks)
        })
        .await
        .expect("marks")
}

#[test]
fn the_migrations_make_the_schema_that_was_reviewed() {
    let mut connection = Connection::open_in_memory().expect("memory");
    open::migrate(&mut connection, ":memory:", open::MIGRATIONS).expect("migrated");
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'trigger' ORDER BY tbl_name, type DESC, name")
        .expect("a statement");
    let made: Vec<String> = statement
        .query_map([], |row| row.get::<_, String>(0))
        .expect("rows")
        .map(|sql| sql.expect("a row") + ";\n")
        .collect();
    let made = made.join("\n");
    let reviewed = include_str!("schema.sql");
    let reviewed = reviewed.split_once("\n\n").map_or(reviewed, |(_, schema)| schema);
    assert_eq!(made, reviewed, "if this is meant, put it into schema.sql:\n{made}");
}

#[tokio::test]
async fn a_file_of_before_is_brought_up_to_date_with_all_that_is_in_it() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let ids = submit(&store, vec![job("a", "mail")]).await;
    drop(store);
    let name = path.to_str().expect("a path");
    let mut connection = Connection::open(&path).expect("it opens");
    let version = |c: &Connection| {
        c.pragma_query_value(None, "user_version", |row| row.get::<_, isize>(0))
            .map(isize::unsigned_abs)
    };
    let migrations = |next: &'static str| [open::MIGRATIONS, &[next]].concat();

    let broken = migrations("ALTER TABLE job ADD COLUMN colour TEXT; nonsense");
    open::migrate(&mut connection, name, &broken).expect_err("the second half is wrong");
    assert_eq!(
        version(&connection),
        Ok(open::MIGRATIONS.len()),
        "and the first half is undone"
    );
    let good = migrations("ALTER TABLE job ADD COLUMN colour TEXT");
    open::migrate(&mut connection, name, &good).expect("it works");
    open::migrate(&mut connection, name, &good).expect("once more is nothing");
    assert_eq!(version(&connection), Ok(good.len()));
    let found = connection.query_row("SELECT id, colour FROM job", [], |row| {
        Ok((JobId(rows::uuid(row, 0)?), row.get::<_, Option<String>>(1)?))
    });
    assert_eq!(found, Ok((ids[0], None)));
}

#[tokio::test]
async fn whoever_only_looks_does_not_wait_for_those_who_write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("jobs.db");
    drop(file(&path).await);
    let writer = Connection::open(&path).expect("a connection");
    writer.execute_batch("begin immediate").expect("it writes");
    let store = file(&path).await;
    assert_eq!(store.list(&Filter::default()).await.expect("a list"), Vec::new());
}

#[tokio::test]
async fn a_path_that_cannot_work_is_refused_with_a_hint() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    std::fs::write(path("letter"), "Dear Ada, ".repeat(1000)).expect("a file");
    let other = Connection::open(path("other.db")).expect("a database");
    other
        .execute_batch("PRAGMA user_version = 7; CREATE TABLE job (a)")
        .expect("a table");
    let cases = [
        (String::new(), "empty"),
        (path(""), "folder; name a file"),
        (path("nowhere/jobs.db"), "no folder"),
        (path("letter"), "not a SQLite database"),
        (path("letter/jobs.db"), "no folder"),
        (path("other.db"), "another program's"),
        ("/proc/jobs.db".to_owned(), "may write"),
    ];
    for (path, hint) in cases {
        let error = SqliteStore::open(&path, manual()).await.expect_err(&path);
        assert!(matches!(error, crate::Error::Open { .. }), "{path}: {error:?}");
        assert!(error.to_string().contains(hint), "{path}: {error}");
    }
    assert_eq!(
        std::fs::read_to_string(path("letter")).expect("a letter").len(),
        10_000,
        "a refused file is left alone"
    );
}

#[tokio::test]
async fn a_store_made_by_a_newer_program_is_refused() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    drop(file(&path).await);
    Connection::open(&path)
        .and_then(|c| c.pragma_update(None, "user_version", 1000))
        .expect("a newer version");
    let error = SqliteStore::open(path.to_str().expect("a path"), manual())
        .await
        .expect_err("refused");
    assert!(
        matches!(error, crate::Error::NewerSchema { found: 1000, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_committed_is_on_the_disk() {
    let folder = folder();
    let store = file(&folder.path().join("jobs.db")).await;
    let (log, synchronous, vacuum) = store
        .write("looking", |tx| {
            let get = |name| tx.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let log: String = tx
                .connection
                .pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            Ok((log, get("synchronous")?, get("auto_vacuum")?))
        })
        .await
        .expect("settings");
    assert_eq!((log.as_str(), synchronous, vacuum), ("wal", 2, 2));
}

#[tokio::test]
async fn jobs_outlive_the_store_that_was_given_them() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    let ids = submit(&store, vec![job("a", "mail")]).await;
    drop(store);
    let again = file(&path).await;
    assert_eq!(again.get(&ids).await.expect("jobs")[0].id, ids[0]);
}

/// Keeps the writer busy until it is told to go on, so that what is sent meanwhile becomes one batch.
async fn hold(store: &Arc<SqliteStore>) -> std::sync::mpsc::Sender<()> {
    let (go, wait) = std::sync::mpsc::channel();
    let (tell, told) = tokio::sync::oneshot::channel();
    let store = store.clone();
    tokio::spawn(async move {
        store
            .write("holding", move |_| {
                let _ = tell.send(());
                let _ = wait.recv();
                Ok(())
            })
            .await
    });
    told.await.expect("the writer is busy");
    go
}

fn mark(store: &Arc<SqliteStore>, name: &'static str, then: fn(&Connection) -> Result<(), Fault>) -> Marking {
    let store = store.clone();
    tokio::spawn(async move {
        store
            .write("marking", move |tx| {
                tx.connection.execute(MARK, [name])?;
                tx.all_ready();
                then(tx.connection)
            })
            .await
    })
}

type Marking = tokio::task::JoinHandle<Result<()>>;

/// Waits until so many calls are in the queue.
async fn queued(store: &SqliteStore, verbs: usize) {
    while store.writer.waiting() < verbs {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_error_or_a_panic_undoes_only_its_own_verb() {
    let store = memory().await;
    let go = hold(&store).await;
    let first = mark(&store, "first", |_| Ok(()));
    let wrong = mark(&store, "wrong", |_| Err(crate::Error::Conflict("job id").into()));
    let panic = mark(&store, "panic", |_| panic!("on purpose"));
    let last = mark(&store, "last", |_| Ok(()));
    queued(&store, 4).await;
    go.send(()).expect("the writer waits");
    first.await.expect("no panic").expect("kept");
    let error = wrong.await.expect("no panic").expect_err("its own error");
    assert!(matches!(error, crate::Error::Conflict(_)), "{error}");
    let error = panic.await.expect("the panic stays inside").expect_err("an error");
    assert!(error.chain().contains("panicked"), "{}", error.chain());
    last.await.expect("no panic").expect("kept");
    assert_eq!(marks(&store).await, ["first", "last"]);
}

#[tokio::test]
async fn when_the_transaction_is_lost_everyone_in_it_is_told_and_nothing_has_happened() {
    let store = memory().await;
    let mut signals = store.signals();
    let go = hold(&store).await;
    let first = mark(&store, "first", |_| Ok(()));
    // What SQLite does by itself when the disk is full.
    let broken = mark(&store, "broken", |c| Ok(c.execute_batch("ROLLBACK")?));
    let last = mark(&store, "last", |_| Ok(()));
    queued(&store, 3).await;
    go.send(()).expect("the writer waits");
    for verb in [first, broken, last] {
        let error = verb.await.expect("no panic").expect_err("told");
        assert!(error.is_transient(), "{error}");
    }
    assert!(marks(&store).await.is_empty());
    assert!(signals.try_recv().is_err(), "nothing happened, nothing is signalled");
    mark(&store, "later", |_| Ok(()))
        .await
        .expect("no panic")
        .expect("works again");
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_passes() {
    let folder = folder();
    let store = file(&folder.path().join("jobs.db")).await;
    let pages = |most: u32| {
        let store = store.clone();
        async move {
            store
                .write("limiting", move |tx| {
                    tx.connection
                        .query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))?;
                    Ok(())
                })
                .await
                .expect("limited");
        }
    };
    pages(1).await;
    let many: Vec<NewJob> = (0..1000).map(|_| job("a", "mail")).collect();
    let error = store.submit(many.clone()).await.expect_err("no room");
    assert!(error.is_transient(), "{}", error.chain());
    assert_eq!(store.counts().await.expect("counts"), Counts::default());
    pages(1_000_000).await;
    assert_eq!(submit(&store, many).await.len(), 1000);
}

#[tokio::test]
async fn another_process_that_keeps_the_file_locked_is_an_error_that_passes() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let store = file(&path).await;
    store
        .write("hurrying", |tx| Ok(tx.connection.busy_timeout(Duration::ZERO)?))
        .await
        .expect("impatient");
    let other = Connection::open(&path).expect("another process");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let error = store.submit(vec![job("a", "mail")]).await.expect_err("locked");
    assert!(error.is_transient(), "{}", error.chain());
    assert!(store.get(&[]).await.is_ok(), "reading goes on");
    other.execute_batch("ROLLBACK").expect("unlocked");
    submit(&store, vec![job("a", "mail")]).await;
}

async fn heard(signals: &mut broadcast::Receiver<Signal>, wanted: Signal) {
    let listen = async { while signals.recv().await.expect("signals") != wanted {} };
    tokio::time::timeout(Duration::from_secs(20), listen)
        .await
        .expect("the signal comes");
}

#[tokio::test]
async fn two_stores_on_one_file_wake_each_other() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let (one, two) = (file(&path).await, file(&path).await);
    let mut signals = two.signals();
    // The first look finds a file that it has never seen, and says so once.
    heard(&mut signals, Signal::Ready).await;
    submit(&one, vec![job("a", "mail")]).await;
    // Something may be due, or ready.
    heard(&mut signals, Signal::Due(Duration::ZERO)).await;
    heard(&mut signals, Signal::Ready).await;
    // Its own writes, which it signals itself, do not look like another's.
    two.write("marking", |tx| Ok(tx.connection.execute(MARK, ["mine"])?))
        .await
        .expect("written");
    let again = tokio::time::timeout(Duration::from_millis(500), signals.recv()).await;
    assert!(again.is_err(), "{again:?}");
}

#[tokio::test]
async fn a_dropped_store_ends_its_threads() {
    let folder = folder();
    let store = file(&folder.path().join("jobs.db")).await;
    let mut signals = store.signals();
    drop(store);
    // Each thread holds a sender of signals; the last one to go closes the channel.
    let ended = async { while signals.recv().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), ended)
        .await
        .expect("all threads end");
}

#[tokio::test]
async fn many_stores_can_open_a_new_file_at_once() {
    let folder = folder();
    let path = folder.path().join("jobs.db");
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { file(&path).await })
        })
        .collect();
    for (at, store) in opening.into_iter().enumerate() {
        let store = store.await.expect("opened");
        submit(&store, vec![job(&format!("g{at}"), "mail")]).await;
    }
    assert_eq!(file(&path).await.counts().await.expect("counts").ready, 8);
}

#[tokio::test]
async fn a_hundred_thousand_jobs_can_be_submitted_in_one_call() {
    let store = memory().await;
    let jobs: Vec<NewJob> = (0..100_000).map(|i| job(&format!("g{}", i % 1000), "mail")).collect();
    let ids: Vec<JobId> = jobs.iter().map(|j| j.id).collect();
    assert_eq!(submit(&store, jobs).await, ids);
    assert_eq!(store.counts().await.expect("counts").ready, 100_000);
}
