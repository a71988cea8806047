//! A glance: where nothing was ready a moment ago, little will be now, and all of it can be had by a plain statement instead of
//! a walk. An executor that was asleep takes a single new job that way.

use futures_util::future::try_join_all;
use tokio_postgres::Row;

use super::super::PostgresStore;
use super::super::connect::Tx;
use super::super::stock::{Ahead, Part, Shelf};
use super::{Look, Parts, stream};
use crate::group::Settings;
use crate::job::Lane;
use crate::turn::Name;

/// So many jobs are more than little.
const MUCH: usize = 16;

impl PostgresStore {
    /// All that is ready, queue by queue, and the version of the settings. Nothing: there is more than a glance tells.
    pub(super) async fn glance(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        settings: &Settings,
    ) -> Result<(Option<Parts>, i64), tokio_postgres::Error> {
        let skipped = look.skipped(settings);
        let limit = MUCH as i32;
        let seen = try_join_all(look.queues.iter().map(|queue| async move {
            let rows = tx.query(&self.sql.glance, &[queue, &limit]).await?;
            Ok::<_, tokio_postgres::Error>((queue, rows))
        }));
        let mut version = settings.version;
        let mut parts = Vec::with_capacity(look.queues.len());
        let mut is_all = true;
        for (queue, rows) in &seen.await? {
            let Some((head, rows)) = rows.split_first() else {
                continue;
            };
            version = head.get(3);
            is_all &= rows.len() < MUCH;
            let queue = Name::from(queue.as_str());
            let mut found = Shelf::default();
            for stream_rows in rows.chunk_by(|a, b| key(a) == key(b)) {
                let (group, ..) = key(&stream_rows[0]);
                if !skipped.contains(group) {
                    let seqs = stream_rows.iter().map(|row| row.get(3)).collect();
                    let places = stream_rows.iter().map(|row| row.get(4)).collect();
                    // More were asked for than there are.
                    found.put(
                        group,
                        stream(&stream_rows[0], &queue, look.tasks),
                        Ahead::new(seqs, places, i32::MAX),
                    );
                }
            }
            parts.push(Some(Part {
                shelf: found,
                keeps: true,
                sparse: false,
            }));
        }
        Ok((is_all.then_some(parts), version))
    }
}

/// Which stream a job is in.
fn key(row: &Row) -> (&str, Option<Lane>, &str) {
    (row.get(0), Lane::from_code(row.get(1)), row.get(2))
}
