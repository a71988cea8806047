//! What handlers have to tell (progress, lines), and the loop that looks whether there is any.
//!
//! Flags and not wake-ups: whoever is woken by a handler that keeps its thread to itself waits for that thread, and would
//! not see what it tells. So the loop looks, while jobs are in hand.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::life::Life;
use super::logger::Logger;
use super::reporter::Reporter;
use crate::clock::Clock;
use crate::log::LogLimits;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Whether there is something to write.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Somebody has reported progress.
    pub(crate) progress: AtomicBool,
    /// Somebody has written a line.
    pub(crate) lines: AtomicBool,
    /// Somebody has written many lines.
    pub(crate) lines_soon: AtomicBool,
    pub(crate) limits: LogLimits,
    /// What lines are dated by.
    pub(crate) clock: Clock,
}

/// Looks for ever.
pub(super) async fn tell(life: Arc<Life>) {
    let mut size = life.hand.size.subscribe();
    let (mut reporter, mut logger) = (Reporter::new(), Logger::new());
    loop {
        if *size.borrow() == 0 {
            // Nobody is left who has something to tell.
            life.fine("reporting progress");
            life.fine("storing logs");
        }
        // The sender lives in `life`, so waiting cannot fail.
        let _ = size.wait_for(|held| *held > 0).await;
        tokio::join!(reporter.look(&life), logger.look(&life));
        tokio::time::sleep(LOOK).await;
    }
}
