//! An attempt with a transaction: begun before the handler, ended with the job in it.

use std::sync::Arc;
use std::time::Duration;

use super::finisher::{self, Ending};
use super::hand::{Held, Stop};
use super::life::{Backoff, Life};
use super::logger;
use crate::error::{Error, Result};
use crate::lifecycle::Event;
use crate::store::{Settled, Transactions};
use crate::task::Isolation;
use crate::transaction::{Open, is_collision};

/// A job whose transaction was in the way of another is tried again after so long, and later after a multiple of it.
const SOON: Duration = Duration::from_millis(100);

fn transactions(life: &Life) -> Result<&dyn Transactions> {
    let none = || Error::invalid("transaction", "only a PostgreSQL store can give handlers a transaction");
    life.store.transactions().ok_or_else(none)
}

/// Begins a transaction; waits for a connection. `None`: the job is not to run.
pub(super) async fn begin(life: &Life, held: &Held, isolation: Isolation) -> Option<Open> {
    let mut backoff = Backoff::for_store();
    loop {
        let begun = tokio::select! {
            () = held.token.cancelled() => {
                // Whoever still tries says so again.
                life.fine("beginning a transaction");
                return None;
            }
            begun = async { transactions(life)?.begin(held.job.id, isolation).await } => begun,
        };
        match begun {
            Ok(transaction) => {
                life.fine("beginning a transaction");
                return Some(Open(Some(transaction)));
            }
            Err(error) => {
                life.trouble("beginning a transaction", &error);
                tokio::select! {
                    () = held.token.cancelled() => {}
                    () = backoff.wait() => {}
                }
            }
        }
    }
}

/// The end of an attempt that may have had a transaction. A success is committed with it; everything else is rolled back
/// first, and then settled as usual. `None`: it is committed, and there is nothing left to do.
pub(super) async fn conclude(life: &Life, mut ending: Ending, mut open: Open) -> Option<Ending> {
    let Some(transaction) = open.0.take() else {
        return Some(ending);
    };
    // Guarded again while we wait: should we be dropped, it is undone.
    let guard = Open(Some(Arc::clone(&transaction)));
    if ending.event != Event::Succeed || ending.held.stopped().is_some_and(|why| why != Stop::Shutdown) {
        transaction.roll_back().await;
        return Some(ending);
    }
    // Who sees that it has ended sees its whole log.
    logger::finish(life, std::iter::once(&ending.held)).await;
    // In a moment the store will not see it in our hands any longer, which is as it should be.
    ending.held.end();
    let Some(settle) = ending.settle(life, false) else {
        return Some(ending);
    };
    let settled = async {
        transactions(life)?
            .conclude(life.incarnation, &settle, &transaction)
            .await
    }
    .await;
    drop(guard);
    let error = match settled {
        Ok(Settled::Done) => {
            super::attempt::bill(life, &ending);
            finisher::count(life, &ending, &settle);
            finisher::put_away(life, &ending.held);
            return None;
        }
        Ok(Settled::Cancelling) => {
            ending.held.note_cancel();
            "the job was cancelled".to_owned()
        }
        Ok(Settled::Lost) => {
            ending.held.stop(Stop::Lost);
            "the job was no longer ours".to_owned()
        }
        Err(error) => {
            ending.event = match &error {
                // The handler's own doing, which would be the same next time.
                Error::Invalid { .. } => Event::FailForGood,
                error if is_collision(error) => again_soon(&ending.held),
                // Should it be committed after all, then what is settled now is found to be done already.
                _ => Event::Fail,
            };
            error.chain()
        }
    };
    if ending.event == Event::Succeed {
        ending.event = Event::Fail;
    }
    ending.result = None;
    ending.error = Some(format!("its transaction was rolled back: {error}"));
    Some(ending)
}

/// When to try again after two transactions were in each other's way.
pub(super) fn again_soon(held: &Held) -> Event {
    let doubled = SOON * 2u32.saturating_pow(held.job.attempts.min(8));
    Event::RetryAfter(doubled.mul_f64(0.5 + fastrand::f64()))
}
