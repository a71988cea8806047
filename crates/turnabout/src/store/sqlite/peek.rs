//! Which groups come next in the ring, and which streams of ready jobs each has.
//!
//! Each stream is one entry of an index, however many jobs it holds.

use std::collections::BTreeSet;

use rusqlite::{Connection, Rows, params};

use super::fault::Fault;
use super::rows::code;
use crate::group::Settings;
use crate::job::Lane;
use crate::turn::{Candidate, Name, Peeked, Ring, Stream, Tasks, shared};

/// A peek looks at so many streams at the most. Groups that it looked at in vain are benched, so the next one gets
/// further.
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
    /// How many groups that can give something are wanted.
    pub(super) window: usize,
}

impl Look<'_> {
    /// Looks into one queue, from the place in the ring once round.
    pub(super) fn peek(&self, connection: &Connection, queue: &str) -> Result<Peeked, Fault> {
        let mut statement = connection.prepare_cached(sql!("peek"))?;
        let name = Name::from(queue);
        let mut found = Found::default();
        let lane = if self.ring.inclusive() { FIRST } else { LAST };
        let mut rows = statement.query(params![queue, self.ring.place, lane, ""])?;
        let mut complete = self.walk(&mut rows, &name, false, &mut found)?;
        drop(rows);
        if complete {
            let mut rows = statement.query(params![queue, "", FIRST, ""])?;
            complete = self.walk(&mut rows, &name, true, &mut found)?;
        }
        Ok(Peeked {
            groups: found.groups,
            complete,
        })
    }

    /// Walks to the end of the ring, or (`wrapped`) from its beginning to the place. Says whether it got there.
    fn walk(&self, rows: &mut Rows<'_>, queue: &Name, wrapped: bool, found: &mut Found) -> Result<bool, Fault> {
        let mut paused = false;
        while let Some(row) = rows.next()? {
            let group = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            if wrapped && !self.ring.wraps(group) {
                break;
            }
            if found.groups.last().is_none_or(|last| *last.group != *group) {
                if self.benched.contains(group) {
                    continue;
                }
                // Only between groups: what is known of a group must be all of it.
                if found.useful == self.window || found.streams >= STREAMS {
                    return Ok(false);
                }
                found.begin(group);
                paused = self.settings.group(group).paused;
            } else if paused {
                continue;
            }
            let task = shared(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?, self.tasks);
            let useful = !paused && self.tasks.contains(&task) && !self.settings.task(&task).paused;
            let stream = Stream {
                lane: code(row, 1, Lane::from_code)?,
                queue: queue.clone(),
                task,
                key: row.get(3)?,
            };
            found.add(stream, useful);
        }
        Ok(true)
    }
}

#[derive(Default)]
struct Found {
    groups: Vec<Candidate>,
    streams: usize,
    /// How many of the groups can give something.
    useful: usize,
    /// Whether the last one can.
    last_is_useful: bool,
}

impl Found {
    fn begin(&mut self, group: &str) {
        self.groups.push(Candidate {
            group: group.into(),
            streams: Vec::new(),
        });
        self.last_is_useful = false;
    }

    fn add(&mut self, stream: Stream, useful: bool) {
        if let Some(last) = self.groups.last_mut() {
            last.streams.push(stream);
        }
        self.streams += 1;
        if useful && !self.last_is_useful {
            self.last_is_useful = true;
            self.useful += 1;
        }
    }
}
