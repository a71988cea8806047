//! Handlers that block: each runs on a thread of its own, with the runtime and the span of its attempt.
//!
//! Not on the runtime's threads for blocking work: a runtime waits for those when it ends, for ever if need be, and a
//! handler that never returns must not keep a process from ending.

use std::panic::AssertUnwindSafe;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::plan::Seat;
use crate::task::TaskResult;

/// Runs a handler to its end, however long that takes. Dropped, it leaves the handler to itself, which keeps its seat until
/// it returns.
pub(super) async fn run<R: Send + 'static>(
    seat: Option<Seat>,
    handler: impl FnOnce() -> TaskResult<R> + Send + 'static,
) -> TaskResult<R> {
    let (sender, answer) = oneshot::channel();
    let (runtime, span) = (Handle::current(), tracing::Span::current());
    std::thread::Builder::new()
        .name("turnabout-job".to_owned())
        .spawn(move || {
            let _runtime = runtime.enter();
            let _span = span.enter();
            let done = std::panic::catch_unwind(AssertUnwindSafe(handler));
            // Before the answer: whoever hears it may be the last to leave.
            drop(seat);
            // Nobody waits for it any longer: nothing to be done.
            let _ = sender.send(done);
        })?;
    match answer.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => Err("the handler's thread ended without an answer".into()),
    }
}
