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
    /// Fewer than 4 count as 4. Executors that share a server with many others have fewer: it is shared out.
    pub connections: u32,
    /// Where to listen for messages (`PostgreSQL`), if not where everything else goes: a pooler that hands out connections by
    /// the transaction delivers none.
    pub listen_url: Option<ListenUrl>,
}

/// A URL, which may hold a password and is never printed.
#[derive(Clone)]
pub struct ListenUrl(pub String);

impl std::fmt::Debug for ListenUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ListenUrl(..)")
    }
}

impl StoreOptions {
    /// Says where to listen for messages (`PostgreSQL`).
    pub fn listen_at(&mut self, url: impl Into<String>) {
        self.listen_url = Some(ListenUrl(url.into()));
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            clock: Clock::System,
            retention: Duration::from_hours(30 * 24),
            schema: "turnabout".to_owned(),
            connections: 8,
            listen_url: None,
        }
    }
}
