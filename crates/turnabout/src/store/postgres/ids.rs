//! Executors' ids: a session advisory lock on the connection that listens, so that it ends with its process.
//!
//! Only where listening really works: a pooler that hands out connections by the transaction would keep the lock for us
//! after our death.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::PostgresStore;
use super::listen::{Order, Orders};
use crate::error::Result;
use crate::store::{IdLock, Occupied};

/// How long the connection that listens may take to be there, or to hear us.
const PATIENCE: Duration = Duration::from_secs(2);

/// The ids that executors of this store have. Their locks are taken again whenever the connection was lost.
pub(super) type Ids = Arc<Mutex<BTreeSet<String>>>;

/// An id of ours.
#[derive(Debug)]
struct Lock {
    id: String,
    ids: Weak<Mutex<BTreeSet<String>>>,
    orders: Orders,
}

impl IdLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(ids) = self.ids.upgrade() {
            ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        }
        // If nobody takes the order, the connection is gone, and the lock with it.
        let _ = self.orders.try_send(Order::Unlock(std::mem::take(&mut self.id)));
    }
}

impl PostgresStore {
    pub(super) async fn occupy_id(&self, id: &str) -> Result<Occupied> {
        if !self.can_hear().await? {
            return Ok(Occupied::Untold);
        }
        let ids = self.ear.ids();
        if !ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned()) {
            return Ok(Occupied::Taken { certain: true });
        }
        let lock = Box::new(Lock {
            id: id.to_owned(),
            ids: Arc::downgrade(ids),
            orders: self.ear.orders(),
        });
        let (reply, answer) = oneshot::channel();
        let ordered = self.ear.orders().send(Order::Lock(id.to_owned(), reply)).await.is_ok();
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        match answer {
            Ok(Ok(true)) if ordered => Ok(Occupied::Ours { lock, certain: false }),
            Ok(Ok(false)) => {
                // Whoever has it beats at once when asked, which tells that it lives.
                self.run("asking who lives", &self.sql.notify, &[&format!("who {id}")])
                    .await?;
                Ok(Occupied::Taken { certain: false })
            }
            _ => Ok(Occupied::Untold),
        }
    }

    /// Sends ourselves a message by another connection, and says whether it arrived.
    async fn can_hear(&self) -> Result<bool> {
        if !self.ear.is_there(PATIENCE).await {
            return Ok(false);
        }
        let (number, echo) = self.ear.next_echo();
        self.run("trying to hear ourselves", &self.sql.notify, &[&echo]).await?;
        Ok(self.ear.has_heard(number, PATIENCE).await)
    }
}
