//! A large submit goes to the store in portions. A store may work on several of them at a time, but what they store is
//! seen in their order: who reads a job finds those before it as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use tokio::sync::watch;

/// Makes the legs of one large submit.
#[derive(Debug, Default)]
pub struct Relay {
    last: Option<watch::Receiver<bool>>,
    recalled: Arc<AtomicBool>,
}

impl Relay {
    /// The next portion's part.
    pub fn leg(&mut self) -> Leg {
        let (me, next) = watch::channel(false);
        Leg {
            before: self.last.replace(next),
            me: Some(me),
            recalled: Arc::clone(&self.recalled),
        }
    }

    /// The caller has given up, and drops the portions that are on their way, in whatever order: none goes on because the one
    /// before is over.
    pub fn recall(&self) {
        self.recalled.store(true, SeqCst);
    }
}

/// One portion's part in a large submit. When it is dropped, whatever the reason, the portion is over.
#[derive(Debug)]
pub struct Leg {
    /// Whether the portion before has begun; closed when that is over.
    before: Option<watch::Receiver<bool>>,
    me: Option<watch::Sender<bool>>,
    recalled: Arc<AtomicBool>,
}

impl Leg {
    /// The whole of a submit.
    pub fn whole() -> Self {
        Self {
            before: None,
            me: None,
            recalled: Arc::default(),
        }
    }

    /// Whether there is a portion before that is not over yet.
    pub fn follows(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.has_changed().is_ok())
    }

    /// Waits until the portion before has begun: its jobs have their places in their lanes, or never will.
    pub async fn until_begun(&mut self) {
        if let Some(before) = &mut self.before {
            let _ = before.wait_for(|begun| *begun).await;
        }
        self.unless_recalled().await;
    }

    /// Waits until the portion before is stored, or never will be.
    pub async fn until_over(&mut self) {
        if let Some(before) = &mut self.before {
            while before.changed().await.is_ok() {}
        }
        self.before = None;
        self.unless_recalled().await;
    }

    /// For ever, if the caller has given up: whoever asks is about to be dropped.
    async fn unless_recalled(&self) {
        if self.recalled.load(SeqCst) {
            std::future::pending::<()>().await;
        }
    }

    /// The jobs of this portion have their places.
    pub fn begin(&self) {
        if let Some(me) = &self.me {
            me.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_portion_begins_after_the_one_before_and_is_seen_after_it() {
        let mut relay = Relay::default();
        let (mut first, mut second, mut third) = (relay.leg(), relay.leg(), relay.leg());
        assert!(!first.follows());
        assert!(first.until_begun().now_or_never().is_some());
        assert!(first.until_over().now_or_never().is_some());
        assert!(second.follows());
        assert!(second.until_begun().now_or_never().is_none());
        first.begin();
        assert!(second.until_begun().now_or_never().is_some());
        assert!(third.until_begun().now_or_never().is_none());
        assert!(second.until_over().now_or_never().is_none());
        drop(first);
        assert!(!second.follows());
        assert!(second.until_over().now_or_never().is_some());
        drop(second);
        assert!(third.until_begun().now_or_never().is_some(), "it will never begin");
    }

    #[tokio::test]
    async fn what_is_recalled_does_not_go_on_because_the_one_before_is_over() {
        let mut relay = Relay::default();
        let (first, mut second) = (relay.leg(), relay.leg());
        first.begin();
        assert!(second.until_begun().now_or_never().is_some());
        relay.recall();
        drop(first);
        assert!(second.until_over().now_or_never().is_none());
    }
}
