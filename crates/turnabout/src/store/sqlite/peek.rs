//! Which groups come next in the ring, and which streams of ready jobs each has.
//!
//! A peek reads streams that the executor may take from, and no others: task by task, from an index without the streams of
//! paused groups. So it costs nothing that jobs of other tasks wait, or how many jobs a stream holds. The streams of the tasks
//! are merged into the order of the ring.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rusqlite::{CachedStatement, Connection, params};

use super::fault::Fault;
use super::rows::code;
use crate::group::Settings;
use crate::job::Lane;
use crate::turn::{Candidate, Name, Peeked, Ring, Stream, Tasks, shared};

/// A peek looks at so many streams at the most. Groups that gave nothing are benched, so the next one gets further.
const STREAMS: usize = 20_000;
/// Before every lane, and after every lane.
const FIRST: i64 = -1;
const LAST: i64 = i64::MAX;

/// Who asks, and for how much.
pub(super) struct Look<'a> {
    pub(super) ring: &'a Ring,
    pub(super) tasks: &'a Tasks,
    pub(super) settings: &'a Settings,
    pub(super) benched: &'a BTreeSet<String>,
    /// How many groups are wanted.
    pub(super) window: usize,
}

impl Look<'_> {
    /// Looks into one queue, from the place in the ring once round.
    pub(super) fn peek(&self, connection: &Connection, queue: &str) -> Result<Peeked, Fault> {
        let mut found = Found {
            queue: queue.into(),
            groups: Vec::new(),
            streams: 0,
        };
        let tasks = self.ready(connection, queue)?;
        let mut statement = connection.prepare_cached(sql!("peek"))?;
        let lane = if self.ring.inclusive() { FIRST } else { LAST };
        let from = (Name::from(self.ring.place.as_str()), lane);
        let mut complete = self.walk(&mut statement, &tasks, &from, false, &mut found)?;
        if complete {
            complete = self.walk(&mut statement, &tasks, &("".into(), FIRST), true, &mut found)?;
        }
        Ok(Peeked {
            groups: found.groups,
            complete,
        })
    }

    /// The tasks of the executor that have ready jobs in a queue, in the order of their names.
    fn ready(&self, connection: &Connection, queue: &str) -> Result<Vec<Name>, Fault> {
        let known = self.tasks.iter().filter(|task| !self.settings.task(task).paused);
        let mut ready = Vec::new();
        let mut statement = connection.prepare_cached(sql!("peek_tasks"))?;
        let mut rows = statement.query(params![queue, names(known)])?;
        while let Some(row) = rows.next()? {
            let task = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            ready.push(shared(task, self.tasks));
        }
        ready.sort_unstable();
        Ok(ready)
    }

    /// Walks to the end of the ring, or (`wrapped`) from its beginning to the place. Says whether it got there.
    fn walk(
        &self,
        statement: &mut CachedStatement<'_>,
        tasks: &[Name],
        from: &(Name, i64),
        wrapped: bool,
        found: &mut Found,
    ) -> Result<bool, Fault> {
        // Each group has a stream at least: if the tasks have about as many each, one read of each will do.
        let enough = self.window / tasks.len().max(1) + 2;
        let mut readers = Vec::with_capacity(tasks.len());
        let mut next = BinaryHeap::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            let mut reader = Reader::new(task, from.clone(), enough);
            next.extend(reader.next(statement, &found.queue)?.map(|entry| entry.of(at)));
            readers.push(reader);
        }
        while let Some(Reverse((group, lane, at, key))) = next.pop() {
            if wrapped && !self.ring.wraps(&group) {
                break;
            }
            next.extend(readers[at].next(statement, &found.queue)?.map(|entry| entry.of(at)));
            if found.groups.last().is_none_or(|last| last.group != group) {
                if self.benched.contains(&*group) {
                    continue;
                }
                // Only between groups: what is known of a group must be all of it.
                if found.groups.len() == self.window || found.streams >= STREAMS {
                    return Ok(false);
                }
            }
            found.add(group, lane, &tasks[at], key);
        }
        Ok(true)
    }
}

/// Tasks as `json_each` reads them.
fn names<'a>(tasks: impl Iterator<Item = &'a Name>) -> String {
    let names: Vec<&str> = tasks.map(|task| &**task).collect();
    serde_json::Value::from(names).to_string()
}

/// What a peek has found so far.
struct Found {
    queue: Name,
    groups: Vec<Candidate>,
    streams: usize,
}

impl Found {
    fn add(&mut self, group: Name, lane: Lane, task: &Name, key: i64) {
        let stream = Stream {
            lane,
            queue: self.queue.clone(),
            task: task.clone(),
            key,
        };
        self.streams += 1;
        match self.groups.last_mut() {
            Some(last) if last.group == group => last.streams.push(stream),
            _ => self.groups.push(Candidate {
                group,
                streams: vec![stream],
            }),
        }
    }
}

/// A stream of a known task.
struct Entry {
    group: Name,
    lane: Lane,
    key: i64,
}

impl Entry {
    /// By what streams are merged, the first of all on top: group, lane, and which task.
    fn of(self, task: usize) -> Reverse<(Name, Lane, usize, i64)> {
        Reverse((self.group, self.lane, task, self.key))
    }
}

/// Reads the streams of one task in the order of the ring, some at a time: each time twice as many as before.
struct Reader<'a> {
    task: &'a Name,
    read: VecDeque<Entry>,
    /// Where to go on: after this group and lane.
    from: (Name, i64),
    /// How many to read next; none if all have been read.
    limit: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(task: &'a Name, from: (Name, i64), limit: usize) -> Self {
        Self {
            task,
            read: VecDeque::new(),
            from,
            limit: Some(limit),
        }
    }

    /// The next stream. `statement` is `peek.sql`.
    fn next(&mut self, statement: &mut CachedStatement<'_>, queue: &str) -> Result<Option<Entry>, Fault> {
        if self.read.is_empty()
            && let Some(limit) = self.limit
        {
            let (group, lane) = &self.from;
            let mut rows = statement.query(params![queue, &**self.task, &**group, lane, limit as i64])?;
            while let Some(row) = rows.next()? {
                self.read.push_back(Entry {
                    group: row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?.into(),
                    lane: code(row, 1, Lane::from_code)?,
                    key: row.get(2)?,
                });
            }
            self.limit = (self.read.len() == limit).then_some(2 * limit);
            if let Some(last) = self.read.back() {
                self.from = (last.group.clone(), last.lane.code().into());
            }
        }
        Ok(self.read.pop_front())
    }
}
