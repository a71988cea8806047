//! Looking for ready jobs: the place in the ring, and which groups come next.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::try_join_all;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use super::marks::Marks;
use super::stock::{Ahead, Dry, Memory, Part, Shelf, Standing, Stock, Tid, Way, first_name};
use super::take::Unwritten;
use crate::error::{Error, Result};
use crate::group::Settings;
use crate::job::Lane;
use crate::store::Take;
use crate::turn::{Name, Ring, Stream, Tasks, Turns, shared};

mod glance;
mod probe;
mod short;

/// What an executor looks for.
pub(super) struct Look<'a> {
    pub(super) executor: Uuid,
    pub(super) kind: &'a str,
    pub(super) queues: &'a [String],
    pub(super) tasks: &'a Tasks,
    pub(super) want: u32,
    pub(super) turns: &'a Turns,
}

/// What a look found.
pub(super) struct Found {
    /// The place in the ring, locked until the transaction ends.
    pub(super) ring: Ring,
    /// The settings in force.
    pub(super) settings: Arc<Settings>,
    /// What is ready from the place on.
    pub(super) stock: Stock,
}

impl<'a> Look<'a> {
    pub(super) fn of(take: &'a Take) -> Self {
        Self {
            executor: take.executor,
            kind: &take.kind,
            queues: &take.queues,
            tasks: &take.tasks,
            want: take.want,
            turns: &take.turns,
        }
    }

    /// How many useful groups are wanted.
    pub(super) fn window(&self) -> usize {
        self.turns.window(self.want)
    }

    /// How many streams are looked at: a few a group, and some more for groups that have many.
    fn steps(&self) -> usize {
        self.window().saturating_mul(4).saturating_add(1000)
    }

    /// The groups that a walk steps over.
    pub(super) fn skipped(&self, settings: &Settings) -> BTreeSet<String> {
        let paused = settings.groups.iter().filter(|(_, s)| s.paused).map(|(name, _)| name);
        self.turns.benched().iter().chain(paused).cloned().collect()
    }

    /// Whether a stream's jobs may be taken, as far as these settings say.
    pub(super) fn is_useful(&self, task: &str, settings: &Settings) -> bool {
        self.tasks.contains(task) && !settings.task(task).paused
    }
}

/// What was found on parts of the queues.
type Parts = Vec<Option<Part>>;

/// How a look goes about it.
enum Plan {
    /// A glance, since nothing was ready a moment ago.
    Glance,
    /// What was known before is enough, with these parts of the queues and what these streams hold now.
    Known(Stock, Vec<Option<Way>>, Vec<Dry>),
    /// By the marks, after the place is known.
    Probe,
    /// A walk from the place on.
    Walk,
}

impl PostgresStore {
    /// Locks the place in the ring and looks what is ready from there on.
    pub(super) async fn peek(&self, tx: &Tx, look: &Look<'_>) -> Result<Found> {
        let failed = failed("looking for ready jobs");
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let plan = self.plan(look, &settings);
        // Prepared before anything is sent, so that nothing overtakes the beginning.
        let late = self.unwritten().remove(look.kind);
        if late.is_some() {
            tx.prepare(&self.sql.catch_up_ring).await.map_err(&failed)?;
        }
        let sql = &self.sql;
        for sql in [&sql.lock_ring, &sql.peek, &sql.peek_short, &sql.refill, &sql.glance] {
            tx.prepare(sql).await.map_err(&failed)?;
        }
        let fresh = vec![Some(Way::default()); look.queues.len()];
        let (ways, dry): (_, &[Dry]) = match &plan {
            Plan::Known(_, ways, dry) => (Some(ways), dry),
            Plan::Walk => (Some(&fresh), &[]),
            Plan::Probe | Plan::Glance => (None, &[]),
        };
        let groups = match &plan {
            Plan::Known(stock, ..) => stock.groups() + look.window(),
            _ => look.window(),
        };
        let (depth, length) = self.memory(look.executor, |memory| (memory.depth(groups), memory.length(groups)));
        #[cfg(test)]
        let length = self.trial.length().or(length);
        // Sent together, answered in order: one round trip. By marks it takes two, since the place must be known.
        let (opened, caught_up, locked, refilled, walked, glanced) = futures_util::join!(
            tx.open(Mode::Forgettable),
            async {
                let Some(Unwritten { moves, ring }) = late else {
                    return Ok(0);
                };
                let left = i32::try_from(ring.left).unwrap_or(i32::MAX);
                let params: [&(dyn ToSql + Sync); 4] = [&look.kind, &ring.place, &left, &moves];
                tx.execute(&self.sql.catch_up_ring, &params).await
            },
            async {
                let locked = tx.query(&self.sql.lock_ring, &[&look.kind, &look.executor]).await;
                (locked, Instant::now())
            },
            self.refill(tx, dry, depth),
            async {
                match ways {
                    Some(ways) => self.walk(tx, look, &settings, ways, depth, length).await,
                    None => Ok((Vec::new(), settings.version)),
                }
            },
            async {
                match &plan {
                    Plan::Glance => self.glance(tx, look, &settings).await,
                    _ => Ok((None, settings.version)),
                }
            },
        );
        opened.map_err(&failed)?;
        caught_up.map_err(&failed)?;
        // Waiting for the place is no part of what a look costs.
        let (locked, begun) = locked;
        let row = locked.map_err(&failed)?.pop().ok_or(Error::LeaseLost)?;
        if !row.get::<_, bool>(2) {
            return Err(Error::LeaseLost);
        }
        let ring = Ring {
            place: row.get(0),
            left: row.get::<_, i32>(1).try_into().unwrap_or(0),
        };
        let standing = Standing {
            places: row.get(3),
            settled: row.get(4),
            version: row.get(5),
        };
        self.memory(look.executor, |memory| memory.note(standing));
        let (parts, mut version) = walked.map_err(&failed)?;
        let is_useful = |task: &str| look.is_useful(task, &settings);
        self.memory(look.executor, |memory| memory.learn(&parts, depth, is_useful));
        let (all, glanced) = glanced.map_err(&failed)?;
        let skipped = look.skipped(&settings);
        let probed = matches!(plan, Plan::Probe);
        let mut stock = match plan {
            Plan::Known(mut stock, _, dry)
                if settings.version == version && stock.stands(standing, &ring, &skipped) =>
            {
                for (queue, part) in parts.into_iter().enumerate() {
                    if let Some(part) = part {
                        stock.extend(queue, part.shelf);
                    }
                }
                stock.refill(dry, refilled.map_err(&failed)?);
                return Ok(Found { ring, settings, stock });
            }
            Plan::Glance if all.is_some() => {
                version = glanced;
                stocked(standing, skipped, &ring, all.unwrap_or_default())
            }
            Plan::Known(..) | Plan::Glance => {
                let (parts, now) = self.walk(tx, look, &settings, &fresh, 1, None).await.map_err(&failed)?;
                version = now;
                stocked(standing, skipped, &ring, parts)
            }
            Plan::Probe => {
                let shelves = self.probe(tx, look, &ring).await.map_err(&failed)?;
                version = self.settings_version(tx).await.map_err(&failed)?;
                // Not for keeps: where the marks were wrong, the next look should not be.
                let standing = Standing {
                    settled: false,
                    ..standing
                };
                Stock::new(standing, skipped, ring.clone(), shelves)
            }
            Plan::Walk => stocked(standing, skipped, &ring, parts),
        };
        // Settings that were out of date may have had it step over groups that are paused no longer.
        while settings.version != version {
            settings = self.read_settings_on(tx.client()).await?;
            let (parts, now) = self.walk(tx, look, &settings, &fresh, 1, None).await.map_err(&failed)?;
            version = now;
            let standing = Standing {
                version,
                settled: false,
                ..standing
            };
            stock = stocked(standing, look.skipped(&settings), &ring, parts);
        }
        if !probed {
            self.all_marks()
                .entry(look.executor)
                .or_default()
                .peeked(begun.elapsed());
        }
        Ok(Found { ring, settings, stock })
    }

    /// How to look, from what is known.
    fn plan(&self, look: &Look<'_>, settings: &Settings) -> Plan {
        let by_marks = {
            let mut all = self.all_marks();
            let marks = all.entry(look.executor).or_default();
            marks.refresh();
            #[cfg(test)]
            if self.trial.by_marks.load(std::sync::atomic::Ordering::Relaxed) && marks.any() {
                marks.peeked(std::time::Duration::from_hours(1));
            }
            marks.guide_peeks()
        };
        let (stock, empty) = self.memory(look.executor, Memory::enter);
        match stock {
            _ if empty && !by_marks => Plan::Glance,
            Some(stock) => {
                let (ways, dry) = stock.missing(look, settings);
                Plan::Known(stock, ways, dry)
            }
            None if by_marks => Plan::Probe,
            None => Plan::Walk,
        }
    }

    /// Walks these parts of the queues; `length` is how many jobs a group has, if its streams are short. What these settings pause is
    /// stepped over. Tells for each what was found and whether that may be kept, and the version of the settings after that.
    async fn walk(
        &self,
        tx: &Tx,
        look: &Look<'_>,
        settings: &Settings,
        ways: &[Option<Way>],
        depth: i32,
        length: Option<usize>,
    ) -> Result<(Parts, i64), tokio_postgres::Error> {
        let window = i32::try_from(look.window()).unwrap_or(i32::MAX - 1);
        let steps = i32::try_from(look.steps()).unwrap_or(i32::MAX - 1);
        let skipped = look.skipped(settings);
        let names: Vec<&str> = skipped.iter().map(String::as_str).collect();
        let useful: Vec<&str> = look
            .tasks
            .iter()
            .map(|task| &**task)
            .filter(|task| look.is_useful(task, settings))
            .collect();
        // How many jobs are read at the most, where streams are short and none is stepped over.
        let most = |way: &Way| {
            let length = length.filter(|_| way.from.is_some() && skipped.is_empty())?;
            Some((short::most(look.window(), length), length))
        };
        let walks = try_join_all(look.queues.iter().zip(ways).map(|(queue, way)| async {
            let Some(way) = way else { return Ok(Vec::new()) };
            if let Some((most, _)) = most(way) {
                return self.read_short(tx, queue, way, most).await;
            }
            let params: [&(dyn ToSql + Sync); 10] = [
                &look.kind,
                queue,
                &window,
                &steps,
                &names,
                &useful,
                &way.from,
                &way.upto,
                &way.around,
                &depth,
            ];
            tx.query(&self.sql.peek, &params).await
        }));
        let queues = walks.await?;
        let mut version = settings.version;
        let mut parts = Vec::with_capacity(queues.len());
        for ((queue, way), rows) in look.queues.iter().zip(ways).zip(&queues) {
            let (Some(way), Some((head, rows))) = (way, rows.split_first()) else {
                parts.push(None);
                continue;
            };
            version = head.get::<_, Vec<i64>>(5).first().copied().unwrap_or(-1);
            parts.push(Some(match most(way) {
                Some((most, length)) => short::part(queue, look.tasks, way, rows, most, length),
                None => part(queue, look.tasks, way, rows, steps, &skipped, depth),
            }));
        }
        Ok((parts, version))
    }

    /// Looks for the next jobs of streams.
    async fn refill(&self, tx: &Tx, dry: &[Dry], depth: i32) -> Result<Vec<Ahead>, tokio_postgres::Error> {
        if dry.is_empty() {
            return Ok(Vec::new());
        }
        let queues: Vec<&str> = dry.iter().map(|dry| &*dry.stream.queue).collect();
        let groups: Vec<&str> = dry.iter().map(|dry| &*dry.group).collect();
        let lanes: Vec<i16> = dry.iter().map(|dry| dry.stream.lane.code()).collect();
        let tasks: Vec<&str> = dry.iter().map(|dry| &*dry.stream.task).collect();
        let lasts: Vec<i64> = dry.iter().map(|dry| dry.last).collect();
        let params: [&(dyn ToSql + Sync); 6] = [&depth, &queues, &groups, &lanes, &tasks, &lasts];
        let rows = tx.query(&self.sql.refill, &params).await?;
        let arrays = rows.iter().map(|row| {
            let seqs: Option<Vec<i64>> = row.get(0);
            let places: Option<Vec<Tid>> = row.get(1);
            Ahead::new(seqs.unwrap_or_default(), places.unwrap_or_default(), depth)
        });
        Ok(arrays.collect())
    }

    async fn settings_version(&self, tx: &Tx) -> Result<i64, tokio_postgres::Error> {
        let rows = tx.query(&self.sql.settings_version, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    /// Jobs went back to the places that they had: no mark may stand behind them.
    pub(super) fn forget_all_marks(&self) {
        self.all_marks().values_mut().for_each(Marks::forget);
    }

    /// An executor goes: so does what it remembers.
    pub(super) fn drop_marks(&self, executor: Uuid) {
        self.all_marks().remove(&executor);
        self.hands.drop(executor);
        self.stocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&executor);
    }

    /// What an executor remembers from take to take.
    pub(super) fn memory<T>(&self, executor: Uuid, with: impl FnOnce(&mut Memory) -> T) -> T {
        let mut stocks = self.stocks.lock().unwrap_or_else(PoisonError::into_inner);
        with(stocks.entry(executor).or_default())
    }

    pub(super) fn all_marks(&self) -> MutexGuard<'_, HashMap<Uuid, Marks>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a walk found on a part of a queue.
fn part(
    queue: &str,
    tasks: &Tasks,
    way: &Way,
    rows: &[Row],
    steps: i32,
    skipped: &BTreeSet<String>,
    depth: i32,
) -> Part {
    let queue = Name::from(queue);
    let last = rows.last();
    let beyond = last.is_some_and(|row| row.get(3));
    let out_of_steps = last.is_some_and(|row| row.get::<_, i32>(4) >= steps);
    let last_group: Option<&str> = last.map(|row| row.get(0));
    let first_group: Option<&str> = rows.first().map(|row| row.get(0));
    // What is known of a group must be all of it, but for one that has more streams than a walk goes steps.
    let cut = beyond || out_of_steps && first_group != last_group;
    let end = match last_group {
        Some(group) if cut => Some(group.to_owned()),
        Some(group) if out_of_steps => Some(format!("{group}\u{1}")),
        _ => None,
    };
    let mut shelf = Shelf::new(way.from.clone().unwrap_or_default(), end);
    for row in rows {
        let group: &str = row.get(0);
        if cut && Some(group) == last_group || skipped.contains(group) {
            continue;
        }
        shelf.put(
            group,
            stream(row, &queue, tasks),
            Ahead::new(row.get(5), row.get(6), depth),
        );
    }
    Part {
        shelf,
        keeps: cut || !out_of_steps,
        sparse: false,
    }
}

/// A stock of what walks have found from the place on.
fn stocked(standing: Standing, skipped: BTreeSet<String>, ring: &Ring, parts: Parts) -> Stock {
    let mut settled = standing.settled;
    let shelves = parts
        .into_iter()
        .map(|part| {
            let Part { mut shelf, keeps, .. } = part.unwrap_or_default();
            settled &= keeps;
            shelf.begin(first_name(ring));
            shelf
        })
        .collect();
    Stock::new(Standing { settled, ..standing }, skipped, ring.clone(), shelves)
}

fn stream(row: &Row, queue: &Name, tasks: &Tasks) -> Stream {
    Stream {
        lane: Lane::from_code(row.get(1)).unwrap_or(Lane::Low),
        queue: queue.clone(),
        task: shared(row.get(2), tasks),
        key: 0,
    }
}
