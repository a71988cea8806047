//! The end of the whole program, as callers ask for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long running jobs may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As the configuration says (executor.exit-deadline).
    AsConfigured,
    /// So long, or with `None` for as long as they take.
    For(Option<Duration>),
}

/// By which callers ask the program to end. All clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Exit(Arc<watch::Sender<Option<Wait>>>);

impl Default for Exit {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Exit {
    /// Asks for it, or once more.
    pub(crate) fn ask(&self, wait: Wait) {
        self.0.send_replace(Some(wait));
    }

    /// Whether the program is about to end.
    pub(super) fn is_asked(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Hears each time it is asked for.
    pub(crate) fn requests(&self) -> Requests {
        let mut receiver = self.0.subscribe();
        receiver.mark_changed();
        Requests(receiver)
    }
}

/// Who hears each time the end is asked for.
pub(crate) struct Requests(watch::Receiver<Option<Wait>>);

impl Requests {
    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> Wait {
        loop {
            if self.0.changed().await.is_err() {
                // Nobody is left who could ask.
                std::future::pending::<()>().await;
            }
            if let Some(wait) = *self.0.borrow_and_update() {
                return wait;
            }
        }
    }
}
