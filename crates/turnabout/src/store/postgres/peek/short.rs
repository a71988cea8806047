//! Where streams are short, reading all of a group's jobs costs less than stepping from stream to stream and then looking into
//! each: ten thousand groups with ten jobs each are read in a quarter of the time.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::PostgresStore;
use super::super::connect::Tx;
use super::super::stock::{Ahead, Shelf, Way};
use super::stream;
use crate::turn::{Name, Tasks};

/// How many jobs to read for so many groups that have so many each: a tenth more, since some have more.
pub(super) fn most(window: usize, length: usize) -> i32 {
    i32::try_from(window.saturating_mul(length) / 10 * 11 + 100).unwrap_or(i32::MAX)
}

impl PostgresStore {
    /// Reads the beginning of a part of a queue: rows as those of a walk.
    pub(super) async fn read_short(
        &self,
        tx: &Tx,
        queue: &str,
        way: &Way,
        most: i32,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        #[cfg(test)]
        self.trial.read_short.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let from = way.from.as_deref().unwrap_or_default();
        let params: [&(dyn ToSql + Sync); 4] = [&queue, &from, &way.upto, &i64::from(most)];
        tx.query(&self.sql.peek_short, &params).await
    }
}

/// What was read of a part of a queue, and whether that is all there is to know of it.
pub(super) fn shelf(queue: &str, tasks: &Tasks, way: &Way, rows: &[Row], most: i32) -> (Shelf, bool) {
    let queue = Name::from(queue);
    let read: Vec<(&str, Ahead)> = rows
        .iter()
        // More were asked for than there are.
        .map(|row| (row.get(0), Ahead::new(row.get(5), row.get(6), i32::MAX)))
        .collect();
    let jobs: usize = read.iter().map(|(_, ahead)| ahead.seen.len()).sum();
    let last = read.last().map(|(group, _)| *group).filter(|_| jobs >= most as usize);
    let around = way.around.as_deref().unwrap_or_default();
    let end = match last {
        Some(last) => Some(last.to_owned()),
        // The way around is left to the next look.
        None if !around.is_empty() => Some(String::new()),
        None => None,
    };
    let mut shelf = Shelf::new(way.from.clone().unwrap_or_default(), end);
    for (row, (group, ahead)) in rows.iter().zip(read) {
        // What is known of a group must be all of it.
        if last != Some(group) {
            shelf.put(group, stream(row, &queue, tasks), ahead);
        }
    }
    (shelf, true)
}
