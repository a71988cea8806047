//! A large submit goes to the store in portions. A store may work on several of them at a time, but what they store is
//! seen in their order: who reads a job finds those before it as well.

use tokio::sync::watch;

/// Makes the legs of one large submit.
#[derive(Debug, Default)]
pub struct Relay {
    last: Option<watch::Receiver<bool>>,
}

impl Relay {
    /// The next portion's part.
    pub fn leg(&mut self) -> Leg {
        let (me, next) = watch::channel(false);
        Leg {
            before: self.last.replace(next),
            me: Some(me),
        }
    }
}

/// One portion's part in a large submit. When it is dropped, whatever the reason, the portion is over.
#[derive(Debug)]
pub struct Leg {
    /// Whether the portion before has begun; closed when that is over.
    before: Option<watch::Receiver<bool>>,
    me: Option<watch::Sender<bool>>,
}

impl Leg {
    /// The whole of a submit.
    pub fn whole() -> Self {
        Self { before: None, me: None }
    }

    /// Whether it is a part, and not the whole.
    pub fn is_portion(&self) -> bool {
        self.me.is_some()
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
    }

    /// Waits until the portion before is stored, or never will be.
    pub async fn until_over(&mut self) {
        if let Some(before) = &mut self.before {
            while before.changed().await.is_ok() {}
        }
        self.before = None;
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
}
