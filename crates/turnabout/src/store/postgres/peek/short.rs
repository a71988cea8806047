//! Where streams are short, reading all of a group's jobs costs less than stepping from stream to stream and then looking into
//! each: ten thousand groups with ten jobs each are read in a quarter of the time.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::PostgresStore;
use super::super::connect::Tx;
use super::super::stock::{Ahead, Part, Shelf, Way};
use super::stream;
use crate::turn::{Name, Tasks};

/// The place in the ring is locked meanwhile: this takes about 20 ms.
const MOST: usize = 20_000;

/// How many jobs to read for so many groups that have so many each: a tenth more, since some have more.
pub(super) fn most(window: usize, length: usize) -> i64 {
    (window.saturating_mul(length) / 10 * 11 + 100).min(MOST) as i64
}

impl PostgresStore {
    /// Reads the beginning of a part of a queue: rows as those of a walk.
    pub(super) async fn read_short(
        &self,
        tx: &Tx,
        queue: &str,
        way: &Way,
        most: i64,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        #[cfg(test)]
        self.trial.read_short.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (from, around) = (way.from.as_deref(), way.around.as_deref());
        let (from, around) = (from.unwrap_or_default(), around.unwrap_or_default());
        let params: [&(dyn ToSql + Sync); 5] = [&queue, &from, &way.upto, &most, &around];
        tx.query(&self.sql.peek_short, &params).await
    }
}

/// What was read of a part of a queue, `length` jobs a group being expected.
pub(super) fn part(queue: &str, tasks: &Tasks, way: &Way, rows: &[Row], most: i64, length: usize) -> Part {
    let queue = Name::from(queue);
    let read: Vec<(&str, Ahead)> = rows
        .iter()
        // More were asked for than there are.
        .map(|row| (row.get(0), Ahead::new(row.get(5), row.get(6), i32::MAX)))
        .collect();
    let jobs: usize = read.iter().map(|(_, ahead)| ahead.seen.len()).sum();
    let last = read.last().map(|(group, _)| *group).filter(|_| jobs as i64 >= most);
    let mut shelf = Shelf::new(way.from.clone().unwrap_or_default(), last.map(str::to_owned));
    for (row, (group, ahead)) in rows.iter().zip(read) {
        // What is known of a group must be all of it.
        if last != Some(group) {
            shelf.put(group, stream(row, &queue, tasks), ahead);
        }
    }
    // Where a few groups have many jobs, steps get past them.
    let sparse = last.is_some() && 2 * (shelf.groups.len() * length) < jobs;
    Part {
        shelf,
        keeps: true,
        sparse,
    }
}
