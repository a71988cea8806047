//! Seats: connections that stay with one kind of work. A statement is parsed and planned anew on every connection that it
//! comes to, which takes as long as a hundred runs of it, and comes first when all are busy. So whoever takes jobs, whoever
//! writes what became of them, and whoever stores a few, sits on the same connection again and again; and when an executor
//! comes, what it will need is planned before the first job waits for it.
//!
//! A connection in a seat is one of the pool's. Where those are few, there are no seats.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::BytesMut;
use deadpool_postgres::Object;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use crate::error::Result;

/// With fewer connections than this there are no seats.
const ENOUGH: u32 = 6;

/// Where a connection stays between two works of a kind.
#[derive(Clone, Default)]
pub(super) struct Seat(Arc<Mutex<Option<Object>>>);

impl Seat {
    fn swap(&self, client: Option<Object>) -> Option<Object> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), client)
    }

    /// Work is done. Should there be another connection meanwhile, that one goes back to the pool.
    pub(super) fn leave(&self, client: Object) {
        drop(self.swap(Some(client)));
    }
}

/// The seats of a store.
#[derive(Default)]
pub(super) struct Seats {
    /// For whoever takes jobs.
    pub(super) taking: Seat,
    /// For whoever writes what became of them.
    pub(super) settling: Seat,
    /// For whoever stores a few jobs.
    pub(super) submitting: Seat,
}

impl Seats {
    /// Connections of before are not to be trusted.
    pub(super) fn clear(&self) {
        for seat in [&self.taking, &self.settling, &self.submitting] {
            drop(seat.swap(None));
        }
    }
}

impl PostgresStore {
    /// The connection of a seat; another one while that is in use.
    pub(super) async fn sit(&self, seat: &Seat) -> Result<Tx> {
        if self.options.connections < ENOUGH {
            return Ok(Tx::on(self.client().await?));
        }
        let client = match seat.swap(None).filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.client().await?,
        };
        Ok(Tx::seated(client, seat.clone()))
    }

    /// Plans what an executor will need, on the connections on which it will.
    pub(super) async fn warm_up(&self) -> Result<()> {
        let sql = &self.sql;
        let taking = [
            &sql.take_all,
            &sql.catch_up_ring,
            &sql.lock_ring,
            &sql.glance,
            &sql.peek,
            &sql.peek_marked,
            &sql.refill,
            &sql.move_ring,
            &sql.claim_heads,
            &sql.claim,
            &sql.claim_merged,
            &sql.count_claimed,
        ];
        let mut settling = vec![&sql.start, &sql.give_back, &sql.lock_all_caps];
        if self.options.retention.is_zero() {
            settling.extend([&sql.forget_all, &sql.forget]);
        } else {
            settling.push(&sql.finish);
        }
        let submitting = [&sql.insert_plain, &sql.insert_and_take];
        futures_util::try_join!(
            self.plan_all(&self.seats.taking, &taking),
            self.plan_all(&self.seats.settling, &settling),
            self.plan_all(&self.seats.submitting, &submitting),
        )
        .map(drop)
    }

    /// Runs these with nothing, which does nothing.
    async fn plan_all(&self, seat: &Seat, statements: &[&String]) -> Result<()> {
        let failed = failed("planning statements");
        let tx = self.sit(seat).await?;
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        for sql in statements {
            let statement = tx.prepare(sql).await.map_err(&failed)?;
            let nothing: Vec<&(dyn ToSql + Sync)> = statement.params().iter().map(|_| &Nothing as _).collect();
            tx.client().query(&statement, &nothing).await.map_err(&failed)?;
        }
        tx.commit().await.map_err(&failed)
    }
}

/// Plans what executors will need, beside whatever else goes on. (Tests begin more executors than they run jobs.)
#[cfg(not(test))]
pub(super) fn warm_up(store: std::sync::Weak<PostgresStore>) {
    tokio::spawn(async move {
        if let Some(store) = store.upgrade()
            && let Err(error) = store.warm_up().await
        {
            // Whoever needs them will see for themselves.
            tracing::debug!(%error, "statements could not be planned ahead");
        }
    });
}

/// Null, of any type.
#[derive(Debug)]
struct Nothing;

impl ToSql for Nothing {
    fn to_sql(
        &self,
        _: &Type,
        _: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(IsNull::Yes)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
