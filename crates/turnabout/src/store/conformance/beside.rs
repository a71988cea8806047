//! How long submits take while something else goes on: for measurements, which `scripts/measure-retention` runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::job;
use crate::store::Store;

/// Between a submit and the next.
const APART: Duration = Duration::from_millis(2);

/// How long each submit took, the shortest first.
pub(crate) struct Waits(Vec<Duration>);

impl Waits {
    fn millis(&self, share: f64) -> f64 {
        let at = ((self.0.len() - 1) as f64 * share) as usize;
        self.0[at].as_secs_f64() * 1000.0
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| self.millis(share));
        let submits = self.0.len();
        write!(
            f,
            "{submits} submits: p50 {p50:.1} ms, p99 {p99:.1} ms, max {max:.1} ms"
        )
    }
}

/// Single submits, one after the other, until something else is done: what that says, how long it took, and how long they took.
pub(crate) async fn submits_beside<T>(
    store: &Arc<impl Store + 'static>,
    work: impl Future<Output = T>,
) -> (T, Duration, Waits) {
    let over = Arc::new(AtomicBool::new(false));
    let submits = {
        let (store, over) = (Arc::clone(store), Arc::clone(&over));
        async move {
            let mut waits = Vec::new();
            while !over.load(SeqCst) || waits.is_empty() {
                let begin = Instant::now();
                store.submit(vec![job("beside")]).await.expect("submit works");
                waits.push(begin.elapsed());
                tokio::time::sleep(APART).await;
            }
            waits.sort_unstable();
            waits
        }
    };
    let submits = tokio::spawn(submits);
    let begin = Instant::now();
    let done = work.await;
    let took = begin.elapsed();
    over.store(true, SeqCst);
    (done, took, Waits(submits.await.expect("they come to their end")))
}
