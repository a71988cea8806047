//! How many connections this process may have. A server accepts a certain number, and many executors share it: each takes its
//! share of it and leaves some for those who come, so that a heartbeat never has to wait for a connection that somebody else
//! holds to no purpose.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use deadpool_postgres::PoolError;
use uuid::Uuid;

use super::PostgresStore;
use super::client::Object;
use super::connect::no_connection;
use crate::error::Result;

/// The pool never has fewer: some verbs need a second connection while they hold one.
pub(super) const FEWEST: usize = 2;

/// What is known about connections.
pub(super) struct Quota {
    /// What the configuration allows.
    configured: usize,
    /// What the server accepts; `None` behind a pooler, where connections cost next to nothing.
    accepted: Option<usize>,
    /// Executors of this process.
    own: Mutex<HashSet<Uuid>>,
    /// How large the pool may be at present.
    pooled: AtomicUsize,
    /// The server has refused one, and it was told.
    refused: AtomicBool,
    /// Held by whoever makes sure that there are enough: two at once would wait for each other's.
    joining: tokio::sync::Mutex<()>,
}

/// The connections of a process: one listens, some are for heartbeats, the rest is the pool.
#[derive(Debug, PartialEq, Eq)]
struct Share {
    heartbeats: usize,
    pool: usize,
}

impl Quota {
    pub(super) fn new(configured: u32, accepted: Option<u32>) -> Self {
        let configured = configured.max(4) as usize;
        Self {
            configured,
            accepted: accepted.map(|accepted| accepted as usize),
            own: Mutex::default(),
            pooled: AtomicUsize::new(configured - 2),
            refused: AtomicBool::new(false),
            joining: tokio::sync::Mutex::default(),
        }
    }

    /// How large the pool may be at present.
    pub(super) fn pooled(&self) -> usize {
        self.pooled.load(Relaxed)
    }

    /// An executor of this process has registered.
    pub(super) fn came(&self, executor: Uuid) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(executor);
    }

    /// It is gone.
    pub(super) fn went(&self, executor: Uuid) {
        self.own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&executor);
    }

    /// Our share, of so many executors in all.
    fn share(&self, executors: usize) -> Share {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).len().max(1);
        let heartbeats = own.min(2);
        let all = match self.accepted {
            None => self.configured,
            // A tenth is left to others, and one share to whoever comes next.
            Some(accepted) => self.configured.min(accepted * 9 / 10 * own / (executors.max(own) + 1)),
        };
        Share {
            heartbeats,
            pool: all.saturating_sub(1 + heartbeats).max(FEWEST),
        }
    }
}

impl PostgresStore {
    /// An executor registers only if it has what it needs: a heartbeat must never wait for a connection, nor a verb for one that
    /// is not to be had.
    pub(super) async fn have_connections(&self) -> Result<()> {
        let _alone = self.quota.joining.lock().await;
        drop(self.pulse.get().await.map_err(no_connection)?);
        if self.pool.status().size >= FEWEST {
            return Ok(());
        }
        let mut held = Vec::new();
        for _ in 0..FEWEST {
            held.push(self.pool.get().await.map_err(no_connection)?);
        }
        Ok(())
    }

    /// There are so many executors in all: we have our share of the connections, and no more.
    pub(super) fn share_connections(&self, executors: usize) {
        let share = self.quota.share(executors);
        if self.quota.pooled.swap(share.pool, Relaxed) != share.pool {
            self.pool.resize(share.pool);
        }
        if self.pulse.status().max_size != share.heartbeats {
            self.pulse.resize(share.heartbeats);
        }
    }

    /// The server accepts no more connections: we get by with those that there are, if there are any. Said once.
    pub(super) async fn make_do(&self, refused: PoolError) -> Result<Object> {
        let have = self.pool.status().size;
        if have == 0 {
            return Err(no_connection(refused));
        }
        if !self.quota.refused.swap(true, Relaxed) {
            tracing::warn!(have, error = %no_connection(refused).chain(), "going on with fewer connections");
        }
        if self.pool.status().max_size > have {
            self.pool.resize(have);
        }
        self.pool
            .get()
            .await
            .map(|client| self.wrapped(client))
            .map_err(no_connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(configured: u32, accepted: u32, executors: usize) -> usize {
        let quota = Quota::new(configured, Some(accepted));
        quota.came(Uuid::new_v4());
        let share = quota.share(executors);
        assert_eq!(share.heartbeats, 1);
        share.pool
    }

    #[test]
    fn who_is_alone_has_what_is_configured() {
        assert_eq!(pool(8, 97, 1), 6);
        assert_eq!(pool(20, 97, 1), 18);
        assert_eq!(pool(4, 97, 1), 2);
    }

    #[test]
    fn twenty_executors_fit_a_default_server_with_room_for_others() {
        for executors in 1..=20 {
            let each = 2 + pool(8, 97, executors);
            assert!(
                each * executors <= 87,
                "{executors} executors with {each} connections each"
            );
        }
        assert_eq!(pool(8, 97, 5), 6, "few executors lack nothing");
    }

    #[test]
    fn executors_of_one_process_share_its_connections() {
        let quota = Quota::new(8, Some(97));
        for _ in 0..16 {
            quota.came(Uuid::new_v4());
        }
        let share = Share { heartbeats: 2, pool: 5 };
        assert_eq!(quota.share(16), share);
        assert_eq!(
            Quota::new(8, None).share(500).pool,
            6,
            "behind a pooler they cost nothing"
        );
    }
}
