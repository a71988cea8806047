//! Looking for ready jobs: the place in the ring, and which groups come next.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::try_join_all;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use super::marks::{Marks, Stretch};
use crate::error::{Error, Result};
use crate::group::Settings;
use crate::job::Lane;
use crate::turn::{Candidate, Peeked, Ring, Stream, Turns};

/// What an executor looks for.
pub(super) struct Look<'a> {
    pub(super) executor: Uuid,
    pub(super) kind: &'a str,
    pub(super) queues: &'a [String],
    pub(super) tasks: &'a HashSet<String>,
    pub(super) want: u32,
    pub(super) turns: &'a Turns,
}

/// What a look found.
pub(super) struct Found {
    /// The place in the ring, locked until the transaction ends.
    pub(super) ring: Ring,
    /// The settings in force.
    pub(super) settings: Arc<Settings>,
    /// What is ready from the place on, queue by queue.
    pub(super) peeks: Vec<Peeked>,
    /// Which jobs are next.
    pub(super) heads: Heads,
}

/// The job at the head of each stream of a group, as far as seen, and where it lies.
pub(super) type Heads = HashMap<(String, Stream), (String, Uuid)>;

impl Look<'_> {
    /// How many useful groups are wanted.
    fn window(&self) -> usize {
        self.turns.window(self.want)
    }

    /// How many streams are looked at: a few a group, and some more for groups that have many.
    fn steps(&self) -> usize {
        self.window().saturating_mul(4).saturating_add(1000)
    }

    /// Whether a stream's jobs may be taken, as far as these settings say.
    fn is_useful(&self, task: &str, settings: &Settings) -> bool {
        self.tasks.contains(task) && !settings.task(task).paused
    }
}

impl PostgresStore {
    /// Locks the place in the ring and looks what is ready from there on.
    pub(super) async fn peek(&self, tx: &Tx, look: &Look<'_>) -> Result<Found> {
        let failed = failed("looking for ready jobs");
        let by_marks = {
            let mut all = self.all_marks();
            let marks = all.entry(look.executor).or_default();
            marks.refresh();
            #[cfg(test)]
            if self.always_by_marks.load(std::sync::atomic::Ordering::Relaxed) && marks.any() {
                marks.peeked(std::time::Duration::from_hours(1));
            }
            marks.guide_peeks()
        };
        // Prepared before anything is sent, so that nothing overtakes the beginning.
        for sql in [&self.sql.lock_ring, &self.sql.peek] {
            tx.prepare(sql).await.map_err(&failed)?;
        }
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let begun = Instant::now();
        // Sent together, answered in order: one round trip. By marks it takes two, since the place must be known.
        let (opened, locked, walked) = futures_util::join!(
            tx.open(Mode::Forgettable),
            async { tx.query(&self.sql.lock_ring, &[&look.kind, &look.executor]).await },
            async {
                if by_marks {
                    Ok((Walked::default(), settings.version))
                } else {
                    self.walk(tx, look, &settings).await
                }
            },
        );
        opened.map_err(&failed)?;
        let row = locked.map_err(&failed)?.pop().ok_or(Error::LeaseLost)?;
        if !row.get::<_, bool>(2) {
            return Err(Error::LeaseLost);
        }
        let ring = Ring {
            place: row.get(0),
            left: row.get::<_, i32>(1).try_into().unwrap_or(0),
        };
        let (mut found, mut version) = walked.map_err(&failed)?;
        if by_marks {
            (found.peeks, version) = self.probe(tx, look, &ring, &settings).await.map_err(&failed)?;
        }
        // Settings that were out of date may have had it step over groups that are paused no longer.
        while settings.version != version {
            settings = self.read_settings_on(tx.client()).await?;
            (found, version) = self.walk(tx, look, &settings).await.map_err(&failed)?;
        }
        if !by_marks {
            self.all_marks()
                .entry(look.executor)
                .or_default()
                .peeked(begun.elapsed());
        }
        Ok(Found {
            ring,
            settings,
            peeks: found.peeks,
            heads: found.heads,
        })
    }

    /// Walks each queue from the place in the ring on. What these settings pause is stepped over. Tells also the version
    /// of the settings after that.
    async fn walk(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        settings: &Settings,
    ) -> Result<(Walked, i64), tokio_postgres::Error> {
        let window = i32::try_from(look.window()).unwrap_or(i32::MAX - 1);
        let steps = i32::try_from(look.steps()).unwrap_or(i32::MAX - 1);
        let paused = settings.groups.iter().filter(|(_, s)| s.paused).map(|(name, _)| name);
        let skipped: Vec<&str> = look.turns.benched().iter().chain(paused).map(String::as_str).collect();
        let useful: Vec<&str> = look
            .tasks
            .iter()
            .map(String::as_str)
            .filter(|task| look.is_useful(task, settings))
            .collect();
        let walks = try_join_all(look.queues.iter().map(|queue| async {
            let params: [&(dyn ToSql + Sync); 6] = [&look.kind, queue, &window, &steps, &skipped, &useful];
            tx.query(&self.sql.peek, &params).await
        }));
        let queues = walks.await?;
        let mut walked = Walked::default();
        let mut version = settings.version;
        for (queue, rows) in look.queues.iter().zip(&queues) {
            let Some((head, rows)) = rows.split_first() else {
                continue;
            };
            version = head.get::<_, &str>(5).parse().unwrap_or(-1);
            let last = rows.last();
            let beyond = last.is_some_and(|row| row.get(3));
            let out_of_steps = last.is_some_and(|row| row.get::<_, i32>(4) >= steps);
            let mut groups = gather(rows, queue);
            // What is known of a group must be all of it.
            if beyond || out_of_steps && groups.len() > 1 {
                groups.pop();
            }
            groups.retain(|candidate| !look.turns.benched().contains(&candidate.group));
            walked.peeks.push(Peeked {
                groups,
                complete: !beyond && !out_of_steps,
            });
            let heads = rows
                .iter()
                .map(|row| ((row.get(0), stream(row, queue)), (row.get(5), row.get(6))));
            walked.heads.extend(heads);
        }
        Ok((walked, version))
    }

    /// Probes the known streams of each queue behind their marks, and what is new between them.
    async fn probe(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        ring: &Ring,
        settings: &Settings,
    ) -> Result<(Vec<Peeked>, i64), tokio_postgres::Error> {
        let mut peeks = Vec::with_capacity(look.queues.len());
        for queue in look.queues {
            let (stretches, whole) =
                self.all_marks()
                    .entry(look.executor)
                    .or_default()
                    .stretches(queue, ring, look.steps());
            let rows = self.probe_stretches(tx, queue, &stretches).await?;
            let mut groups = gather(&rows, queue);
            if !whole {
                // More streams of the last group may follow.
                groups.pop();
            }
            let mut peeked = Peeked {
                groups: Vec::new(),
                complete: whole,
            };
            let mut useful = 0;
            for candidate in groups {
                if look.turns.benched().contains(&candidate.group) {
                    continue;
                }
                // As a walk does: it ends at the first group past those that were wanted.
                if useful == look.window() {
                    peeked.complete = false;
                    break;
                }
                let open = !settings.group(&candidate.group).paused;
                useful += usize::from(open && candidate.streams.iter().any(|s| look.is_useful(&s.task, settings)));
                peeked.groups.push(candidate);
            }
            peeks.push(peeked);
        }
        Ok((peeks, self.settings_version(tx).await?))
    }

    async fn settings_version(&self, tx: &Tx) -> Result<i64, tokio_postgres::Error> {
        let rows = tx.query(&self.sql.settings_version, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    async fn probe_stretches(
        &self,
        tx: &Tx,
        queue: &str,
        stretches: &[Stretch],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let froms = stretches.iter().map(|(from, ..)| from);
        let tos = stretches.iter().map(|(_, to, _)| to);
        let from_group: Vec<&str> = froms.clone().map(|key| key.0.as_str()).collect();
        let from_lane: Vec<i16> = froms.clone().map(|key| key.1).collect();
        let from_task: Vec<&str> = froms.map(|key| key.2.as_str()).collect();
        let to_group: Vec<&str> = tos.clone().map(|key| key.0.as_str()).collect();
        let to_lane: Vec<i16> = tos.clone().map(|key| key.1).collect();
        let to_task: Vec<&str> = tos.map(|key| key.2.as_str()).collect();
        let marks: Vec<Option<i64>> = stretches.iter().map(|(.., mark)| *mark).collect();
        let params: [&(dyn ToSql + Sync); 8] = [
            &queue,
            &from_group,
            &from_lane,
            &from_task,
            &to_group,
            &to_lane,
            &to_task,
            &marks,
        ];
        tx.query(&self.sql.peek_marked, &params).await
    }

    /// Jobs went back to the places that they had: no mark may stand behind them.
    pub(super) fn forget_all_marks(&self) {
        self.all_marks().values_mut().for_each(Marks::forget);
    }

    /// An executor goes: so do its marks.
    pub(super) fn drop_marks(&self, executor: Uuid) {
        self.all_marks().remove(&executor);
    }

    pub(super) fn all_marks(&self) -> MutexGuard<'_, HashMap<Uuid, Marks>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows of group, lane and task, in ring order, group by group.
fn gather(rows: &[Row], queue: &str) -> Vec<Candidate> {
    let mut groups: Vec<Candidate> = Vec::new();
    for row in rows {
        let group: &str = row.get(0);
        let stream = stream(row, queue);
        match groups.last_mut() {
            Some(last) if last.group == group => last.streams.push(stream),
            _ => groups.push(Candidate {
                group: group.to_owned(),
                streams: vec![stream],
            }),
        }
    }
    groups
}

fn stream(row: &Row, queue: &str) -> Stream {
    Stream {
        lane: Lane::from_code(row.get(1)).unwrap_or(Lane::Low),
        queue: queue.to_owned(),
        task: row.get(2),
    }
}

/// What a walk found.
#[derive(Default)]
struct Walked {
    peeks: Vec<Peeked>,
    heads: Heads,
}
