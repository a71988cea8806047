//! One queue's part of a stock: groups in ring order, their streams, and the first jobs of each.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::turn::{Name, Ring, Stream};

/// Where a row lies. Whoever goes there checks what lies there now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store::postgres) struct Tid([u8; 6]);

impl<'a> FromSql<'a> for Tid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TID
    }
}

impl ToSql for Tid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TID
    }

    to_sql_checked!();
}

/// A job that was seen: its place in the lane, and where it lies.
pub(in crate::store::postgres) type Seen = (i64, Tid);

/// One queue's part.
#[derive(Debug, Default)]
pub(in crate::store::postgres) struct Shelf {
    pub(in crate::store::postgres) groups: BTreeMap<Name, Vec<(Stream, Ahead)>>,
    /// The name with which the stretch begins.
    start: String,
    /// The name before which it ends; none: it goes all around the ring.
    pub(in crate::store::postgres) end: Option<String>,
}

/// What was found on a part of a queue.
#[derive(Debug, Default)]
pub(in crate::store::postgres) struct Part {
    pub(in crate::store::postgres) shelf: Shelf,
    /// Whether that is all there is to know of it.
    pub(in crate::store::postgres) keeps: bool,
    /// Whether its streams were taken for short, and far fewer groups than that were found.
    pub(in crate::store::postgres) sparse: bool,
}

/// The first jobs of a stream.
#[derive(Debug, Default)]
pub(in crate::store::postgres) struct Ahead {
    pub(in crate::store::postgres) seen: VecDeque<Seen>,
    /// Whether there may be more after those.
    pub(in crate::store::postgres) more: bool,
    /// Whether there is at least one, even if none was seen.
    pub(in crate::store::postgres) sure: bool,
    /// The last place in the lane that was seen.
    pub(in crate::store::postgres) last: i64,
}

impl Ahead {
    /// These were seen when so many were asked for.
    pub(in crate::store::postgres) fn new(seqs: Vec<i64>, places: Vec<Tid>, depth: i32) -> Self {
        debug_assert!(seqs.is_sorted(), "jobs are told in the order of their lane");
        Self {
            more: seqs.len() >= depth as usize,
            sure: true,
            last: seqs.last().copied().unwrap_or(0),
            seen: seqs.into_iter().zip(places).collect(),
        }
    }

    /// There are some.
    pub(in crate::store::postgres) fn some() -> Self {
        Self {
            more: true,
            sure: true,
            ..Self::default()
        }
    }

    /// So many of those that were seen are gone. Says whether none is left.
    pub(in crate::store::postgres) fn took(&mut self, jobs: usize) -> bool {
        self.seen.drain(..jobs);
        self.sure &= jobs == 0;
        self.has_ended()
    }

    /// Whether there is nothing more.
    pub(in crate::store::postgres) fn has_ended(&self) -> bool {
        self.seen.is_empty() && !self.more
    }

    /// Whether nobody knows if there is another one.
    pub(in crate::store::postgres) fn is_dry(&self) -> bool {
        self.seen.is_empty() && self.more && !self.sure
    }
}

/// A stream whose next jobs have to be looked for before anything can be planned.
#[derive(Clone, Debug)]
pub(in crate::store::postgres) struct Dry {
    pub(in crate::store::postgres) queue: usize,
    pub(in crate::store::postgres) group: Name,
    pub(in crate::store::postgres) stream: Stream,
    pub(in crate::store::postgres) last: i64,
}

/// Which part of a queue a walk looks at: names from the first (none: by the place in the ring) up to the second, then
/// around from the lowest up to the third (none: where it began).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::postgres) struct Way {
    pub(in crate::store::postgres) from: Option<String>,
    pub(in crate::store::postgres) upto: String,
    pub(in crate::store::postgres) around: Option<String>,
}

impl Default for Way {
    fn default() -> Self {
        Self {
            from: None,
            upto: last_name(),
            around: None,
        }
    }
}

/// After all names: longer than any, of the highest character there is.
pub(in crate::store::postgres) fn last_name() -> String {
    "\u{10ffff}".repeat(51)
}

/// With which name a walk from this place begins. Names have no control characters.
pub(in crate::store::postgres) fn first_name(ring: &Ring) -> String {
    if ring.inclusive() {
        ring.place.clone()
    } else {
        format!("{}\u{1}", ring.place)
    }
}

impl Shelf {
    /// What a walk found, all of it: `end` is the name before which it stopped.
    pub(in crate::store::postgres) fn new(start: String, end: Option<String>) -> Self {
        Self {
            groups: BTreeMap::new(),
            start,
            end,
        }
    }

    /// The stretch begins here.
    pub(in crate::store::postgres) fn begin(&mut self, start: String) {
        self.start = start;
    }

    pub(in crate::store::postgres) fn put(&mut self, group: &str, stream: Stream, ahead: Ahead) {
        match self.groups.get_mut(group) {
            Some(streams) => streams.push((stream, ahead)),
            None => drop(self.groups.insert(group.into(), vec![(stream, ahead)])),
        }
    }

    /// The part of the ring that is not known yet.
    pub(in crate::store::postgres) fn rest(&self) -> Option<Way> {
        let end = self.end.clone()?;
        Some(if end >= self.start {
            Way {
                from: Some(end),
                upto: last_name(),
                around: Some(self.start.clone()),
            }
        } else {
            Way {
                from: Some(end),
                upto: self.start.clone(),
                around: Some(String::new()),
            }
        })
    }

    /// The known groups from a place on, in ring order, as far as the stretch goes.
    pub(in crate::store::postgres) fn from(&self, ring: &Ring) -> impl Iterator<Item = Group<'_>> {
        self.after(&first_name(ring))
    }

    /// Those before the place: they come after what is not known yet.
    pub(in crate::store::postgres) fn behind(&self, ring: &Ring) -> impl Iterator<Item = Group<'_>> {
        let place = first_name(ring);
        let is_behind = move |group: &str| {
            if self.start > place {
                *group >= *self.start || *group < *place
            } else {
                *group >= *self.start && *group < *place
            }
        };
        let known = self.end.is_some().then(|| self.after(&self.start));
        known.into_iter().flatten().filter(move |(group, _)| is_behind(group))
    }

    fn after(&self, first: &str) -> impl Iterator<Item = Group<'_>> + use<'_> {
        // What lies between the end of the stretch and the place is not known.
        let (up, around) = match self.end.as_deref() {
            None => (None, first),
            Some(end) if end >= first => (Some(end), ""),
            Some(end) => (None, end),
        };
        let up = up.map_or(Bound::Unbounded, Bound::Excluded);
        let up = self.groups.range::<str, _>((Bound::Included(first), up));
        let around = self.groups.range::<str, _>((Bound::Unbounded, Bound::Excluded(around)));
        up.chain(around)
    }
}

/// A group and its streams.
pub(in crate::store::postgres) type Group<'a> = (&'a Name, &'a Vec<(Stream, Ahead)>);
