//! What an executor asks a store for, and what it gets.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::group::Settings;
use crate::job::Claimed;
use crate::turn::{Tasks, Turns};

/// An executor asks for jobs.
#[derive(Clone, Debug)]
pub struct Take {
    /// Its incarnation. If that is not registered (any longer) nothing is taken: [`Error::LeaseLost`](crate::Error).
    pub executor: Uuid,
    /// The number of this claim; the executor counts up.
    pub number: i64,
    /// The kind of executor, which names the place in the ring: same queues, same tasks.
    pub kind: String,
    /// Its queues.
    pub queues: Vec<String>,
    /// The tasks that it knows.
    pub tasks: Arc<Tasks>,
    /// How many jobs it wants.
    pub want: u32,
    /// Its memory of turns. Comes back in [`Taken`]; lost on an error, which harms nobody.
    pub turns: Turns,
}

/// What an executor got.
#[derive(Debug)]
pub struct Taken {
    /// The jobs, in the order in which they should start.
    pub jobs: Vec<Claimed>,
    /// Its memory of turns, moved on.
    pub turns: Turns,
    /// Whether anything was ready when the store looked, and no limit stood before it. If not, the executor may sleep.
    pub found: bool,
    /// How long until a rate lets a job start that it has kept back now.
    pub again: Option<Duration>,
    /// The settings that were in force.
    pub settings: Arc<Settings>,
}

/// What came of a take that an executor left with the store.
#[derive(Debug)]
pub enum Stood {
    /// It was run, and brought this: perhaps nothing, as everyone may be woken for nothing.
    Taken(Taken),
    /// It was given back without having brought anything; this is the memory of turns that was in it.
    Recalled(Turns),
}
