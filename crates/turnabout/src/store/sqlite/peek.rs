//! Which groups come next in the ring, and which streams of ready jobs each has.
//!
//! A loose index scan: one seek for each stream found, however many jobs it holds.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::fault::Fault;
use super::rows::code;
use crate::group::Settings;
use crate::job::Lane;
use crate::turn::{Candidate, Peeked, Ring, Stream};

/// A peek looks at so many streams at the most. Groups that it looked at in vain are benched, so the next one gets
/// further.
const STREAMS: usize = 20_000;
/// Before every lane, and after every lane.
const FIRST: i64 = -1;
const LAST: i64 = i64::MAX;

/// Steps from stream to stream within one queue.
pub(super) struct Scan<'a> {
    statement: CachedStatement<'a>,
    queue: &'a str,
}

/// A place between streams.
pub(super) struct Mark {
    group: String,
    lane: i64,
    task: String,
}

impl Mark {
    pub(super) fn before(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            lane: FIRST,
            task: String::new(),
        }
    }

    pub(super) fn after(group: String) -> Self {
        Self {
            group,
            lane: LAST,
            task: String::new(),
        }
    }
}

impl<'a> Scan<'a> {
    pub(super) fn of(connection: &'a Connection, queue: &'a str) -> Result<Self, Fault> {
        Ok(Self {
            statement: connection.prepare_cached(sql!("peek"))?,
            queue,
        })
    }

    pub(super) fn next(&mut self, mark: &Mark) -> Result<Option<(String, Lane, String)>, Fault> {
        let found = self
            .statement
            .query_row(params![self.queue, mark.group, mark.lane, mark.task], |row| {
                Ok((row.get(0)?, code(row, 1, Lane::from_code)?, row.get(2)?))
            })
            .optional()?;
        Ok(found)
    }
}

/// Who asks, and for how much.
pub(super) struct Look<'a> {
    pub(super) ring: &'a Ring,
    pub(super) tasks: &'a HashSet<String>,
    pub(super) settings: &'a Settings,
    pub(super) benched: &'a BTreeSet<String>,
    /// How many groups that can give something are wanted.
    pub(super) window: usize,
}

impl Look<'_> {
    /// Looks into one queue, from the place in the ring once round.
    pub(super) fn peek(&self, connection: &Connection, queue: &str) -> Result<Peeked, Fault> {
        let mut scan = Scan::of(connection, queue)?;
        let mut found = Found::default();
        let from = if self.ring.inclusive() {
            Mark::before(&self.ring.place)
        } else {
            Mark::after(self.ring.place.clone())
        };
        let complete = self.walk(&mut scan, from, false, &mut found)?
            && self.walk(&mut scan, Mark::before(""), true, &mut found)?;
        Ok(Peeked {
            groups: found.groups,
            complete,
        })
    }

    /// Walks to the end of the ring, or (`wrapped`) from its beginning to the place. Says whether it got there.
    fn walk(&self, scan: &mut Scan<'_>, from: Mark, wrapped: bool, found: &mut Found) -> Result<bool, Fault> {
        let mut mark = from;
        while let Some((group, lane, task)) = scan.next(&mark)? {
            if wrapped && !self.ring.wraps(&group) {
                break;
            }
            if self.benched.contains(&group) {
                mark = Mark::after(group);
                continue;
            }
            if found.groups.last().is_none_or(|last| last.group != group) {
                // Only between groups: what is known of a group must be all of it.
                if found.useful == self.window || found.streams >= STREAMS {
                    return Ok(false);
                }
                found.begin(&group);
            }
            let paused = self.settings.group(&group).paused;
            found.add(
                Stream {
                    lane,
                    queue: scan.queue.to_owned(),
                    task: task.clone(),
                },
                !paused && self.tasks.contains(&task) && !self.settings.task(&task).paused,
            );
            mark = if paused {
                Mark::after(group)
            } else {
                Mark {
                    group,
                    lane: lane.code().into(),
                    task,
                }
            };
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
            group: group.to_owned(),
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
