//! Looking by the resume marks: each known stream is probed behind its mark, and what is new is looked for in between.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::PostgresStore;
use super::super::connect::Tx;
use super::super::marks::Stretch;
use super::super::stock::{Ahead, Shelf, first_name};
use super::{Look, stream};
use crate::turn::{Name, Ring};

impl PostgresStore {
    /// Probes the known streams of each queue behind their marks, and what is new between them.
    pub(super) async fn probe(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        ring: &Ring,
    ) -> Result<Vec<Shelf>, tokio_postgres::Error> {
        let mut parts = Vec::with_capacity(look.queues.len());
        for queue in look.queues {
            let (rows, whole) = self.probe_queue(tx, look, queue, ring).await?;
            // More streams of the last group may follow.
            let end = rows.last().filter(|_| !whole).map(|row| row.get::<_, String>(0));
            let queue = Name::from(queue.as_str());
            let mut part = Shelf::new(first_name(ring), end.clone());
            for row in &rows {
                let group: &str = row.get(0);
                if end.as_deref() != Some(group) {
                    part.put(group, stream(row, &queue, look.tasks), Ahead::some());
                }
            }
            parts.push(part);
        }
        Ok(parts)
    }

    /// Probes as many streams as it takes to find the groups that are wanted, and tells whether those were all.
    async fn probe_queue(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        queue: &str,
        ring: &Ring,
    ) -> Result<(Vec<Row>, bool), tokio_postgres::Error> {
        let mut most = 2 * look.window() + 100;
        let mut new = look.window() + 10;
        loop {
            let (stretches, known) = {
                let mut marks = self.all_marks();
                let marks = marks.entry(look.executor).or_default();
                marks.stretches(queue, ring, most)
            };
            let (rows, told) = self.probe_stretches(tx, queue, &stretches, new).await?;
            let groups = rows.chunk_by(|a, b| a.get::<_, &str>(0) == b.get::<_, &str>(0)).count();
            if known && told || groups > look.window() {
                return Ok((rows, known && told));
            }
            (most, new) = (most.saturating_mul(4), new.saturating_mul(4));
        }
    }

    /// Probes these stretches, up to the first in which so many streams are new, and tells whether there is none.
    pub(in super::super) async fn probe_stretches(
        &self,
        tx: &Tx,
        queue: &str,
        stretches: &[Stretch],
        new: usize,
    ) -> Result<(Vec<Row>, bool), tokio_postgres::Error> {
        let froms = stretches.iter().map(|(from, ..)| from);
        let tos = stretches.iter().map(|(_, to, _)| to);
        let from_group: Vec<&str> = froms.clone().map(|key| key.0.as_str()).collect();
        let from_lane: Vec<i16> = froms.clone().map(|key| key.1).collect();
        let from_task: Vec<&str> = froms.map(|key| key.2.as_str()).collect();
        let to_group: Vec<&str> = tos.clone().map(|key| key.0.as_str()).collect();
        let to_lane: Vec<i16> = tos.clone().map(|key| key.1).collect();
        let to_task: Vec<&str> = tos.map(|key| key.2.as_str()).collect();
        let marks: Vec<Option<i64>> = stretches.iter().map(|(.., mark)| *mark).collect();
        let limit = i32::try_from(new).unwrap_or(i32::MAX);
        let params: [&(dyn ToSql + Sync); 9] = [
            &queue,
            &from_group,
            &from_lane,
            &from_task,
            &to_group,
            &to_lane,
            &to_task,
            &marks,
            &limit,
        ];
        let mut rows = tx.query(&self.sql.peek_marked, &params).await?;
        let told = cut(&mut rows, new);
        Ok((rows, told))
    }
}

/// A stretch in which so many streams are new may have more of them: what was found behind those comes too early. Says
/// whether there is no such stretch.
fn cut(rows: &mut Vec<Row>, new: usize) -> bool {
    let mut before = 0;
    for stretch in rows.chunk_by(|a, b| a.get::<_, i64>(3) == b.get::<_, i64>(3)) {
        if stretch.len() >= new {
            rows.truncate(before + new);
            return false;
        }
        before += stretch.len();
    }
    true
}
