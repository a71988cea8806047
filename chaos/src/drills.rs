//! Each kind of fault by itself, under load: how soon every worker says that all is well again.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;

use crate::fleet::Fleet;
use crate::load::Load;
use crate::nemesis::Nemesis;
use crate::record::{Moment, Record, now};

/// Nobody waits longer for a worker that does not get well; the checker says so then.
const PATIENCE: Duration = Duration::from_secs(30);
/// The load is made in portions of this length.
const PORTION: Duration = Duration::from_secs(2);

/// Does each kind of harm once, to one worker after the other, and writes down how long it took until all were well.
pub async fn drill(nemesis: &Nemesis, fleet: &Fleet, load: &Load, seed: u64) -> Result<()> {
    let over = AtomicBool::new(false);
    let harm = async {
        let harmed = harm(nemesis, fleet, seed).await;
        over.store(true, Relaxed);
        harmed
    };
    let press = async {
        let mut portion = seed ^ 6;
        while !over.load(Relaxed) {
            portion = portion.wrapping_add(1);
            load.press(portion, Instant::now() + PORTION, nemesis.cluster.is_some(), false)
                .await?;
        }
        Ok(())
    };
    let (harmed, pressed): (Result<()>, Result<()>) = tokio::join!(harm, press);
    harmed.and(pressed)
}

async fn harm(nemesis: &Nemesis, fleet: &Fleet, seed: u64) -> Result<()> {
    let mut rng = Rng::with_seed(seed ^ 7);
    for (n, deed) in nemesis.deeds().into_iter().enumerate() {
        // One that is not well to begin with has been told of.
        let _ = all_well(fleet, now()).await;
        let seat = &fleet.seats[n % fleet.seats.len()];
        let before = seat.process();
        nemesis.commit(deed, seat, &mut rng).await?;
        let begun = Instant::now();
        while deed.replaces() && seat.process() == before && begun.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let over = now();
        let ill = all_well(fleet, over).await;
        nemesis.side.write(&Record::Recovered {
            at: now(),
            deed: format!("{deed:?}"),
            took: now() - over,
            ill: ill.err(),
        });
    }
    Ok(())
}

/// Waits until every worker has said that all is well, at `since` or later; else says who has not, and why.
async fn all_well(fleet: &Fleet, since: Moment) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let mut ill = String::new();
        for seat in &fleet.seats {
            match seat.health().filter(|health| health.at >= since) {
                Some(health) if health.good => {}
                health => {
                    ill = format!(
                        "{} (process {}): {}",
                        seat.name(),
                        seat.process(),
                        health.map_or_else(|| "it says nothing".to_owned(), |health| health.why)
                    );
                }
            }
        }
        if ill.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(ill);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
