//! One life after the other: registering, living, and being born again after a lease that was lost.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use uuid::Uuid;

use super::handle::Control;
use super::health::Troubles;
use super::identity;
use super::life::{Backoff, Life};
use super::shutdown::{self, End};
use crate::error::{Error, Result};
use crate::store::IdLock;

/// What became of jobs before a lease was lost is written within this time once the store answers, or not at all.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Makes a life known to the store.
pub(super) async fn register(life: &Life) -> Result<()> {
    // Before it is sent: others may see it before we know.
    let sent = std::time::Instant::now();
    let tasks = life.plan.tasks();
    life.store
        .register(&life.info(), &tasks.kind, &tasks.registry.settings())
        .await?;
    let mut troubles = life.health.lock().unwrap_or_else(PoisonError::into_inner);
    troubles.registered = true;
    troubles.renewed = Some(sent);
    tracing::info!(executor = %life.plan.name, incarnation = %life.incarnation, "registered");
    Ok(())
}

/// One life after the other, until a shutdown. Should that panic, which is a fault of ours, it is said: an executor never
/// ends in silence.
pub(super) async fn run(control: Arc<Control>, life: Arc<Life>, id: Option<Box<dyn IdLock>>) {
    let lived = AssertUnwindSafe(lives(&control, life)).catch_unwind().await;
    if let Err(panic) = lived {
        let message = crate::error::panic_message(&*panic);
        tracing::error!(message, "the executor panicked and has ended; restart the program");
        set_unregistered(&control.health);
        control.life().collapsed(message);
    }
    drop(id);
    control.done.send_replace(true);
}

async fn lives(control: &Control, mut life: Arc<Life>) {
    let mut former = Former::default();
    loop {
        let end = shutdown::live(&life, control).await;
        set_unregistered(&control.health);
        match end {
            End::ShutDown => {
                life.stop_writing();
                break;
            }
            End::Lost { stopped } => former.push(life.incarnation, stopped),
        }
        let next = reborn(control, &life, &mut former).await;
        life.stop_writing();
        match next {
            Some(next) => life = next,
            None => break,
        }
    }
}

/// Registrations of ours that may still be in the store.
#[derive(Default)]
struct Former {
    all: Vec<Uuid>,
    /// Those of which no handler runs any longer.
    stopped: Vec<Uuid>,
}

impl Former {
    fn push(&mut self, life: Uuid, stopped: bool) {
        self.all.push(life);
        if stopped {
            self.stopped.push(life);
        }
    }
}

/// The next life. What the last ones held comes back at once if nothing of it runs any longer; else others, or we, find
/// that they are silent.
async fn reborn(control: &Control, last: &Life, former: &mut Former) -> Option<Arc<Life>> {
    let mut backoff = Backoff::for_store();
    loop {
        let life = Life::new(Arc::clone(&last.plan), Arc::clone(&control.health));
        life.store.refresh();
        let registered = tokio::select! {
            () = control.shutdown_requested() => return None,
            // By a connection that does not answer, for so long; the next try gets another one.
            registered = tokio::time::timeout(last.plan.lease / 4, register_again(&life, &former.all)) => {
                registered.unwrap_or_else(|_| Err(Error::Store {
                    doing: "registering",
                    cause: "no answer came in time".into(),
                    transient: true,
                }))
            }
        };
        match registered {
            Ok(()) => {
                written(last).await;
                match identity::reap_former(&life.plan, &former.stopped).await {
                    Ok(()) => {
                        let stopped = std::mem::take(&mut former.stopped);
                        former.all.retain(|life| !stopped.contains(life));
                    }
                    Err(error) => life.trouble("reaping", &error),
                }
                control.set_life(&life);
                return Some(life);
            }
            Err(error) => {
                // It may be registered all the same.
                former.push(life.incarnation, true);
                // The last life is asked how it is until there is another one.
                last.trouble("registering", &error);
                backoff.wait().await;
            }
        }
    }
}

/// Waits until what became of jobs before the last life ended is in the store, now that it answers again. Nobody has
/// taken these jobs over if it still knows that life; else it refuses.
async fn written(last: &Life) {
    last.hurry.notify_one();
    let mut size = last.hand.size.subscribe();
    // The sender lives in `last`, so waiting cannot fail.
    let timeout = LAST_WRITES.min(last.plan.lease / 6);
    let _ = tokio::time::timeout(timeout, size.wait_for(|held| *held == 0)).await;
}

/// Registers under our id, unless someone else took us for dead and lives under it now.
async fn register_again(life: &Life, former: &[Uuid]) -> Result<()> {
    if identity::is_taken_over(&life.plan, former).await? {
        let id = life.plan.name.clone();
        return Err(Error::IdTaken { id });
    }
    register(life).await
}

fn set_unregistered(health: &Mutex<Troubles>) {
    health.lock().unwrap_or_else(PoisonError::into_inner).registered = false;
}
