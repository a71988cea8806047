//! Executors' ids: a session advisory lock on the connection that listens, so that it ends with its process.
//!
//! Only where listening really works: a pooler that hands out connections by the transaction would keep the lock for us
//! after our death.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use super::PostgresStore;
use super::listen::{Command, Commands};
use crate::error::Result;
use crate::store::{IdLock, Occupied};

/// How long the connection that listens may take to be there, or to hear us.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The ids that executors of this store have. Their locks are taken again whenever the connection was lost.
pub(super) type Ids = Arc<Mutex<BTreeSet<String>>>;

/// An id of ours.
#[derive(Debug)]
struct Lock {
    id: String,
    ids: Weak<Mutex<BTreeSet<String>>>,
    commands: Commands,
}

impl IdLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(ids) = self.ids.upgrade() {
            ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        }
        // If nobody takes the command, the connection is gone, and the lock with it.
        let _ = self.commands.try_send(Command::Unlock(std::mem::take(&mut self.id)));
    }
}

impl PostgresStore {
    pub(super) async fn occupy_id(&self, id: &str) -> Result<Occupied> {
        if !self.can_hear().await? {
            return Ok(Occupied::Untold);
        }
        let ids = self.listener.ids();
        if !ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned()) {
            return Ok(Occupied::Taken { certain: true });
        }
        let lock = Box::new(Lock {
            id: id.to_owned(),
            ids: Arc::downgrade(ids),
            commands: self.listener.commands(),
        });
        let (reply, answer) = oneshot::channel();
        let received = self
            .listener
            .commands()
            .send(Command::Lock(id.to_owned(), reply))
            .await
            .is_ok();
        let answer = tokio::time::timeout(TIMEOUT, answer).await;
        match answer {
            Ok(Ok(true)) if received => Ok(Occupied::Ours { lock, certain: false }),
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
        if !self.listener.is_there(TIMEOUT).await {
            return Ok(false);
        }
        let (number, echo) = self.listener.next_echo();
        self.run("trying to hear ourselves", &self.sql.notify, &[&echo]).await?;
        Ok(self.listener.has_heard(number, TIMEOUT).await)
    }
}
