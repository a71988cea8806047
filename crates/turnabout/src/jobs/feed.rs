//! Following many jobs: states, not a log.
//!
//! One task (`hub.rs`) reads the store's hints of what changed, looks those jobs up and passes them on to all who follow.
//! Since every look comes after the one before, nobody is ever told an older state after a newer one. A follower that does
//! not keep up is told to begin anew; it never slows down the others.

mod hub;

use std::collections::HashSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::error::{Error, Result};
use crate::job::{Brief, JobId};
use crate::store::Store;
use crate::store::overview::Whose;

/// So many notes wait for a follower; one that is further behind begins anew.
const WAITING: usize = 256;
/// After a panic, so long before the hub begins anew.
const ANEW: Duration = Duration::from_millis(200);
/// So many callers wait for the hub.
const JOINING: usize = 256;
/// So many jobs may be followed by their ids.
const MAX_IDS: usize = 1000;

/// Which jobs to follow.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    /// These only. Empty: any.
    pub ids: HashSet<JobId>,
    /// Those of this group and owner only.
    pub whose: Whose,
    /// How many of the unfinished jobs are told at the beginning, newest first; those followed by id all are.
    pub initial: u32,
    /// About so many things wait to be told: whoever reads more slowly begins anew. 0: as many as there is room for.
    pub buffer: usize,
}

impl Interest {
    /// Whether a job is among them.
    fn holds(&self, id: JobId, group: &str, owner: Option<&str>) -> bool {
        (self.ids.is_empty() || self.ids.contains(&id)) && self.whose.holds(group, owner)
    }
}

/// How far someone has followed: up to which hint of which epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    epoch: i64,
    number: i64,
}

impl Position {
    /// Before all that is known: changes of the last minutes, if someone watched then.
    pub const OLDEST: Self = Self { epoch: -1, number: 0 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text
            .split_once('-')
            .and_then(|(epoch, number)| Some((epoch.parse().ok()?, number.parse().ok()?)));
        let (epoch, number) = parts.ok_or_else(|| Error::invalid("place", "it is none that was given out"))?;
        Ok(Self { epoch, number })
    }
}

/// What a follower is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// What became of a job.
    Job(Arc<Brief>),
    /// There is no such job (any longer).
    Gone(JobId),
    /// What was told may be incomplete: what is not told again now should be looked up.
    Resync,
    /// All that there was to tell at the beginning has been told; what follows are changes.
    Ready,
}

/// Several things to tell, and how far one has followed once all of them are known.
#[derive(Clone, Debug)]
pub struct Note {
    /// Where to go on from.
    pub place: Position,
    /// In this order. Shared by all who are told the same.
    pub told: Arc<[Told]>,
    text: Arc<OnceLock<Arc<[u8]>>>,
}

impl Note {
    fn new(place: Position, told: Arc<[Told]>) -> Self {
        Self {
            place,
            told,
            text: Arc::default(),
        }
    }

    /// The note as a text: made for the first one who asks, and kept for all others who are told the same.
    pub fn text(&self, make: impl FnOnce(&Self) -> Vec<u8>) -> Arc<[u8]> {
        Arc::clone(self.text.get_or_init(|| make(self).into()))
    }
}

/// Someone who follows jobs.
#[derive(Debug)]
pub struct Following {
    notes: mpsc::Receiver<Note>,
    /// How many things wait.
    waiting: Arc<AtomicUsize>,
}

impl Following {
    /// What to tell next. None: the store is gone.
    pub async fn next(&mut self) -> Option<Note> {
        let note = self.notes.recv().await?;
        self.waiting.fetch_sub(note.told.len(), Ordering::Relaxed);
        Some(note)
    }
}

/// Someone who wants to follow.
struct Join {
    interest: Interest,
    from: Option<Position>,
    notes: mpsc::Sender<Note>,
    waiting: Arc<AtomicUsize>,
}

/// Where one asks to follow.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    joining: mpsc::Sender<Join>,
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join").finish_non_exhaustive()
    }
}

impl Feed {
    /// Begins to listen for those who want to follow; costs nothing while nobody does.
    pub(super) fn new(store: &Arc<dyn Store>) -> Self {
        let (joining, mut joins) = mpsc::channel(JOINING);
        let store = Arc::clone(store);
        tokio::spawn(async move {
            // Whoever followed is cut off, and comes back; a job that cannot be read must not be the end of all.
            while AssertUnwindSafe(hub::run(&store, &mut joins))
                .catch_unwind()
                .await
                .is_err()
            {
                tracing::error!("following jobs has panicked, and begins anew");
                tokio::time::sleep(ANEW).await;
            }
        });
        Self { joining }
    }

    pub(super) async fn follow(&self, interest: Interest, from: Option<Position>) -> Result<Following> {
        if interest.ids.len() > MAX_IDS {
            let why = format!(
                "{} are too many; follow a group, or at most {MAX_IDS}",
                interest.ids.len()
            );
            return Err(Error::invalid("job ids", why));
        }
        let (sender, notes) = mpsc::channel(WAITING);
        let waiting = Arc::new(AtomicUsize::new(0));
        let join = Join {
            interest,
            from,
            notes: sender,
            waiting: Arc::clone(&waiting),
        };
        let gone = |_| Error::Store {
            doing: "following jobs",
            cause: "the task that does so has ended".into(),
            transient: false,
        };
        self.joining.send(join).await.map_err(gone)?;
        Ok(Following { notes, waiting })
    }
}
