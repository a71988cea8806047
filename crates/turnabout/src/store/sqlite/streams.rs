//! The streams of ready jobs: which there are, and what is in each.
//!
//! A claim takes jobs from the front of a stream and moves the stream's cursor over their entries, which are swept out
//! later, many at once: to take one entry out of each of a thousand streams is to write a thousand pages. So entries up
//! to the cursor are dead, those after it are ready jobs, and a stream without ready jobs does not exist.

use std::collections::hash_map::Entry;

use foldhash::HashMap;
use rusqlite::{OptionalExtension, Statement, params};
use uuid::Uuid;

use super::fault::Fault;
use super::rows::bytes;
use super::tx::Tx;
use crate::job::{JobId, Lane};

/// A stream is swept when about so many of its entries are dead. No two streams agree on when: if they did, takes that
/// visit many would now and then sweep all of them.
const SWEPT: i64 = 32;

/// Which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    pub(super) queue: &'a str,
    pub(super) group: &'a str,
    pub(super) lane: Lane,
    pub(super) task: &'a str,
}

/// A stream that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) id: i64,
    cursor: i64,
    jobs: i64,
}

pub(super) fn find(tx: &Tx<'_>, key: Key<'_>) -> Result<Option<Stream>, Fault> {
    let found = tx
        .connection
        .prepare_cached(sql!("stream_find"))?
        .query_row(params![key.queue, key.group, key.lane.code(), key.task], |row| {
            Ok(Stream {
                id: row.get(0)?,
                cursor: row.get(1)?,
                jobs: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

/// Jobs on their way into streams: each stream is looked up once, and entries are written side by side.
#[derive(Default)]
pub(super) struct Entering<'a> {
    /// By stream: its id, its cursor, and how many come into it.
    streams: HashMap<Key<'a>, (i64, i64, i64)>,
    entries: Vec<(i64, i64, Uuid)>,
}

impl<'a> Entering<'a> {
    pub(super) fn add(&mut self, tx: &Tx<'_>, key: Key<'a>, seq: i64, id: JobId) -> Result<(), Fault> {
        let (stream, cursor, jobs) = match self.streams.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(open(tx, key)?),
        };
        if seq <= *cursor {
            // A job comes back to its old place, or into another lane, and others have gone on.
            sweep(tx, *stream, *cursor)?;
            tx.connection
                .prepare_cached(sql!("stream_rewind"))?
                .execute([*stream])?;
            *cursor = 0;
        }
        *jobs += 1;
        self.entries.push((*stream, seq, id.0));
        Ok(())
    }

    pub(super) fn write(mut self, tx: &Tx<'_>) -> Result<(), Fault> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.entries.sort_unstable();
        let mut add = tx.connection.prepare_cached(sql!("ready_add"))?;
        for (stream, seq, id) in &self.entries {
            add.execute(params![stream, seq, bytes(id)])?;
        }
        let mut count = tx.connection.prepare_cached(sql!("stream_add"))?;
        for (stream, _, jobs) in self.streams.values() {
            count.execute([stream, jobs])?;
        }
        Ok(())
    }
}

fn open(tx: &Tx<'_>, key: Key<'_>) -> Result<(i64, i64, i64), Fault> {
    if let Some(stream) = find(tx, key)? {
        return Ok((stream.id, stream.cursor, 0));
    }
    let id = tx.connection.prepare_cached(sql!("stream_open"))?.insert(params![
        key.queue,
        key.group,
        key.lane.code(),
        key.task
    ])?;
    Ok((id, 0, 0))
}

/// A job becomes ready.
pub(super) fn enter(tx: &Tx<'_>, key: Key<'_>, seq: i64, id: JobId) -> Result<(), Fault> {
    let mut entering = Entering::default();
    entering.add(tx, key, seq, id)?;
    entering.write(tx)
}

/// A job is no longer ready, for another reason than that it was claimed.
pub(super) fn leave(tx: &Tx<'_>, key: Key<'_>, seq: i64) -> Result<(), Fault> {
    let Some(stream) = find(tx, key)? else { return Ok(()) };
    if stream.jobs <= 1 {
        return close(tx, stream.id);
    }
    tx.connection
        .prepare_cached(sql!("ready_remove"))?
        .execute([stream.id, seq])?;
    tx.connection
        .prepare_cached(sql!("stream_add"))?
        .execute([stream.id, -1])?;
    Ok(())
}

/// Jobs up to `cursor` were claimed, and so many are left. `statement` is `stream_move.sql`.
pub(super) fn move_on(
    tx: &Tx<'_>,
    statement: &mut Statement<'_>,
    stream: i64,
    left: i64,
    cursor: i64,
    mut dead: i64,
) -> Result<(), Fault> {
    if left <= 0 {
        return close(tx, stream);
    }
    if dead >= SWEPT + stream % SWEPT {
        sweep(tx, stream, cursor)?;
        dead = 0;
    }
    statement.execute([stream, left, cursor, dead])?;
    Ok(())
}

pub(super) fn close(tx: &Tx<'_>, stream: i64) -> Result<(), Fault> {
    sweep(tx, stream, i64::MAX)?;
    tx.connection.prepare_cached(sql!("stream_close"))?.execute([stream])?;
    Ok(())
}

fn sweep(tx: &Tx<'_>, stream: i64, cursor: i64) -> Result<(), Fault> {
    tx.connection.prepare_cached(sql!("sweep"))?.execute([stream, cursor])?;
    Ok(())
}
