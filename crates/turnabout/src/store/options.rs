//! What a store is opened with.

use std::time::Duration;

use crate::clock::Clock;

/// How the tables of a store are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaStatus {
    /// The version of the tables; 0: there are none.
    pub found: i64,
    /// The newest version that this program knows.
    pub known: i64,
}

impl SchemaStatus {
    /// What to do before a program can work that must not change tables.
    pub(crate) fn hint(self) -> Option<String> {
        match self {
            Self { found: 0, .. } => Some(
                "it has no tables of this program; is it the right one? `turnabout serve` or `turnabout migrate` makes them"
                    .to_owned(),
            ),
            Self { found, known } if found < known => Some(format!(
                "its tables have version {found}, and this program needs version {known}; `turnabout migrate` brings them up \
                 to date"
            )),
            _ => None,
        }
    }
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where time comes from.
    pub clock: Clock,
    /// How long ended jobs are kept. Zero: they are deleted at once.
    pub retention: Duration,
    /// How long the audit log is kept.
    pub audit_retention: Duration,
    /// Whether tables are made, and brought up to date, by opening the store. Otherwise it is an error if they are not.
    pub migrate: bool,
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
            migrate: true,
            audit_retention: Duration::from_hours(365 * 24),
            schema: "turnabout".to_owned(),
            connections: 8,
        }
    }
}
