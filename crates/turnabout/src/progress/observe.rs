//! Those who are told whenever what is shown of a progress changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use super::Shown;

type Observer = Arc<dyn Fn(&Shown) + Send + Sync>;

/// Nobody, most of the time: then telling costs one look.
#[derive(Default)]
pub(super) struct Observers {
    any: AtomicBool,
    /// Something was reported that they have not been told.
    stale: AtomicBool,
    all: Mutex<Vec<Observer>>,
    /// What they were told last. Held while they are told, so that they hear of one thing after the other.
    told: Mutex<Shown>,
}

impl Observers {
    pub(super) fn add(&self, observer: impl Fn(&Shown) + Send + Sync + 'static) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(observer));
        self.any.store(true, Ordering::Release);
    }

    /// Tells them, if there is news. Where somebody is telling them already (an observer that reports, for one), that
    /// somebody will tell this, too.
    pub(super) fn tell(&self, shown: impl Fn() -> Shown) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        self.stale.store(true, Ordering::SeqCst);
        while self.stale.load(Ordering::SeqCst) {
            let mut told = match self.told.try_lock() {
                Ok(told) => told,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while self.stale.swap(false, Ordering::SeqCst) {
                let news = shown();
                if *told != news {
                    *told = news;
                    let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    for observer in all {
                        observer(&told);
                    }
                }
            }
        }
    }
}
