//! Notices when another process (or another store in this one) has written to the same file.
//!
//! The write-ahead log changes with every commit, whoever makes it. Only when it has changed is the writer asked for
//! its `data_version`, which moves with the commits of others and not with its own. So a quiet file costs ten
//! looks a second at a file's time stamp, and nothing at all while nobody listens.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;

use super::calls::CallQueue;
use super::fault::Fault;
use super::rows::uuid;
use super::tx::Tx;
use crate::job::JobId;
use crate::store::Signal;

const PERIOD: Duration = Duration::from_millis(100);
/// Longer than the steps in which a file system's time stamps move.
const YOUNG: Duration = Duration::from_millis(50);

/// Ends its thread when dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    _alive: mpsc::Sender<()>,
}

pub(super) fn watch(log: PathBuf, signals: broadcast::Sender<Signal>, writer: &CallQueue) -> std::io::Result<Watcher> {
    let (alive, ended) = mpsc::channel::<()>();
    let writer = writer.clone();
    thread::Builder::new()
        .name("turnabout-watch".to_owned())
        .spawn(move || {
            let mut seen = None;
            let mut version = None;
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if signals.receiver_count() == 0 {
                    continue;
                }
                let found = stamp(&log);
                if found.is_none() || found == seen {
                    continue;
                }
                // A failing look is repeated at the next period, since the stamp is not remembered.
                let Ok(now) = writer.call_blocking("looking for other processes", move |tx| look(tx, version)) else {
                    continue;
                };
                // Time stamps are coarse: a write right after this look could leave the same one, so a young stamp is
                // not trusted and looked at again.
                seen = found.filter(|(written, _)| written.elapsed().is_ok_and(|age| age > YOUNG));
                version = Some(now);
            }
        })?;
    Ok(Watcher { _alive: alive })
}

/// The version of the data. If others have changed it, everyone here is told, and idle takes are run: they could have
/// submitted, parked or released anything, which those who are told will look up; whom they asked to stop is looked up here.
fn look(tx: &mut Tx<'_>, seen: Option<i64>) -> Result<i64, Fault> {
    let version = tx
        .connection
        .pragma_query_value(None, "data_version", |row| row.get(0))?;
    if seen == Some(version) {
        return Ok(version);
    }
    tx.all_ready();
    tx.parked(Duration::ZERO);
    tx.schedules_changed();
    let connection = tx.connection;
    let mut statement = connection.prepare_cached(sql!("cancelling"))?;
    for id in statement.query_map([], |row| uuid(row, 0))? {
        tx.cancel(JobId(id?));
    }
    Ok(version)
}

fn stamp(log: &Path) -> Option<(SystemTime, u64)> {
    let data = log.metadata().ok()?;
    Some((data.modified().ok()?, data.len()))
}
