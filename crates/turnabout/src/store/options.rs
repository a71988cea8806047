//! What a store is opened with.

use std::time::Duration;

use crate::clock::Clock;

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where time comes from.
    pub clock: Clock,
    /// How long ended jobs are kept. Zero: they are deleted at once.
    pub retention: Duration,
    /// The schema that the tables are in (`PostgreSQL`).
    pub schema: String,
    /// How many connections to `PostgreSQL` are open at the most: one listens, one is for heartbeats, the rest for everything else.
    /// Fewer than 4 count as 4.
    pub connections: u32,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            clock: Clock::System,
            retention: Duration::from_hours(30 * 24),
            schema: "turnabout".to_owned(),
            connections: 8,
        }
    }
}
