//! Handlers that block: each runs on a thread of its own, with the runtime and the span of its attempt.
//!
//! Not on the runtime's threads for blocking work: a runtime waits for those when it ends, for ever if need be, and a
//! handler that never returns must not keep a process from ending.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::task::TaskResult;

/// Runs a handler to its end, however long that takes. Dropped, it leaves the handler to itself, and counts it among the
/// `abandoned` until it returns.
pub(super) async fn run<R: Send + 'static>(
    abandoned: Arc<watch::Sender<usize>>,
    handler: impl FnOnce() -> TaskResult<R> + Send + 'static,
) -> TaskResult<R> {
    let (sender, answer) = oneshot::channel();
    let here = Arc::new(Mutex::new(Where::Awaited));
    let there = Arc::clone(&here);
    let leaving = Leaving {
        here,
        abandoned: Arc::clone(&abandoned),
    };
    let (runtime, span) = (Handle::current(), tracing::Span::current());
    std::thread::Builder::new()
        .name("turnabout-job".to_owned())
        .spawn(move || {
            let _runtime = runtime.enter();
            let _span = span.enter();
            let done = std::panic::catch_unwind(AssertUnwindSafe(handler));
            let before = std::mem::replace(&mut *there.lock().unwrap_or_else(PoisonError::into_inner), Where::Over);
            if before == Where::Abandoned {
                abandoned.send_modify(|count| *count -= 1);
            }
            // Nobody waits for it any longer: nothing to be done.
            let _ = sender.send(done);
        })?;
    let answer = answer.await;
    drop(leaving);
    match answer {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => Err("the handler's thread ended without an answer".into()),
    }
}

/// How a handler's thread and whoever waits for it stand to each other.
#[derive(PartialEq)]
enum Where {
    Awaited,
    Abandoned,
    Over,
}

/// Dropped before the handler has returned, it counts it among the abandoned.
struct Leaving {
    here: Arc<Mutex<Where>>,
    abandoned: Arc<watch::Sender<usize>>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if *here == Where::Awaited {
            *here = Where::Abandoned;
            self.abandoned.send_modify(|count| *count += 1);
        }
    }
}
