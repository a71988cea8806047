//! Pays what is owed: runs hooks that the store has noted for jobs of our tasks, and strikes them off.
//!
//! A hook runs at least once. One that fails, panics or takes too long is tried again a few times, then given up: it
//! never holds up a job, nor the hooks of others.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::life::{Backoff, Life};
use crate::context::HookContext;
use crate::error::Result;
use crate::hook::{Owed, guard};
use crate::task::{TaskResult, Verdict};

/// So many hooks are fetched at once ..
const BATCH: u32 = 64;
/// .. and so many of them run at a time.
const AT_ONCE: usize = 16;
/// A hook is tried so often.
const TRIES: u32 = 5;
/// A hook that failed is tried again after so long, and after the longest that it may take: it may be under way still.
const PAUSE: Duration = Duration::from_secs(30);
/// Looks for hooks so often even if nobody says that there are any.
const LOOK: Duration = Duration::from_secs(5);

/// What may be done when something has become of a job: an async function, `async fn(HookContext<S>) -> TaskResult`.
/// An error means that it should be tried again, unless it is [permanent](crate::TaskError::permanent).
pub trait HookHandler<S>: Send + Sync + 'static {
    /// Runs it.
    fn call(&self, cx: HookContext<S>) -> futures_util::future::BoxFuture<'static, TaskResult>;
}

impl<S, F, Fut> HookHandler<S> for F
where
    F: Fn(HookContext<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = TaskResult> + Send + 'static,
{
    fn call(&self, cx: HookContext<S>) -> futures_util::future::BoxFuture<'static, TaskResult> {
        Box::pin(self(cx))
    }
}

/// Pays for ever, if any of our tasks has hooks.
pub(super) async fn run(life: Arc<Life>) {
    // Other tasks may come to be known.
    while life.plan.tasks().registry.hooked().is_empty() {
        life.owed.notified().await;
    }
    let mut backoff = Backoff::for_store();
    loop {
        match pay(&life).await {
            Ok(0) => {
                backoff.reset();
                life.fine("hooks");
                tokio::select! {
                    () = life.owed.notified() => {}
                    () = life.store.clock().sleep(LOOK) => {}
                }
            }
            Ok(_) => {}
            Err(error) => {
                life.trouble("hooks", &error);
                backoff.wait().await;
            }
        }
    }
}

/// Runs what is owed now. Says how many hooks that were. Only one call at a time: whoever waits for it knows afterwards
/// that nothing is under way.
pub(super) async fn pay(life: &Life) -> Result<usize> {
    let known = life.plan.tasks();
    let tasks = known.registry.hooked();
    if tasks.is_empty() {
        return Ok(0);
    }
    let _alone = life.paying.lock().await;
    let again = life.plan.hook_limit + PAUSE;
    let owed = life.store.owed(tasks, BATCH, again).await?;
    let count = owed.len();
    let mut paid = futures_util::stream::iter(owed)
        .map(|owed| async {
            let number = owed.number;
            is_settled(life, owed).await.then_some(number)
        })
        .buffer_unordered(AT_ONCE);
    while let Some(number) = paid.next().await {
        if let Some(number) = number {
            life.store.strike(vec![number]).await?;
        }
    }
    Ok(count)
}

/// Runs one hook. Says whether that is the end of it.
async fn is_settled(life: &Life, owed: Owed) -> bool {
    let Owed { hook, tries, job, .. } = owed;
    let (id, task) = (job.id, job.task.clone());
    let known = life.plan.tasks();
    let Some(run) = known.registry.get(&task).and_then(|known| known.hook(hook)) else {
        // Never given to us; it is for an executor that has it.
        return false;
    };
    let jobs = life.plan.jobs.clone();
    let why = match guard(life.plan.hook_limit, async { run(job, jobs).await }).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => {
            let why = error.message().unwrap_or_default();
            if error.verdict == Verdict::Permanent {
                tracing::error!(job = %id, task, ?hook, why, "a hook failed");
                return true;
            }
            why
        }
        Err(why) => why,
    };
    if tries < TRIES {
        tracing::warn!(job = %id, task, ?hook, tries, why, "a hook failed, and will be tried again");
        return false;
    }
    tracing::error!(job = %id, task, ?hook, tries, why, "a hook failed too often, and is given up");
    true
}
