//! Under which id an executor lives. A second live one with the same id is refused; one that comes after a dead one takes
//! its jobs back at once, without waiting for the lease.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::plan::Plan;
use crate::error::{Error, Result};
use crate::store::{ExecutorInfo, IdLock, Occupied, Store};

/// Whoever has lost its connection, but lives, says so within this time: its first act when it is connected again.
const OBJECTION: Duration = Duration::from_millis(800);
/// Meanwhile the store is asked so often.
const LOOK: Duration = Duration::from_millis(50);
/// Executors of one host that were given no id count up to this.
const MOST: u32 = 1000;

/// Finds an id to live under: the one that was given, or the host's name, with a number if that is taken. What its former
/// owner left behind is given back.
pub(super) async fn settle_in(plan: &mut Plan) -> Result<Option<Box<dyn IdLock>>> {
    let store = plan.jobs.store().clone();
    if plan.name_given {
        return persist(&*store, &plan.name, plan.lease).await;
    }
    let host = plan.name.clone();
    for number in 1..=MOST {
        if number > 1 {
            plan.name = format!("{host}-{number}");
        }
        match store.occupy(&plan.name).await? {
            Occupied::Ours { lock, certain } => {
                if take_back(&*store, &plan.name, certain).await? {
                    return Ok(Some(lock));
                }
            }
            // Whoever is registered may be alive.
            Occupied::Untold if store.named(&plan.name).await?.is_empty() => return Ok(None),
            Occupied::Taken { .. } | Occupied::Untold => {}
        }
    }
    Err(Error::IdTaken { id: host })
}

/// Tries to have this very id. Where only a lease can tell whether its owner lives, that long.
async fn persist(store: &dyn Store, id: &str, lease: Duration) -> Result<Option<Box<dyn IdLock>>> {
    let taken = || Error::IdTaken { id: id.to_owned() };
    let begun = Instant::now();
    let mut watch = Watch::default();
    loop {
        let untold = match store.occupy(id).await? {
            Occupied::Ours { lock, certain } => {
                return if take_back(store, id, certain).await? {
                    Ok(Some(lock))
                } else {
                    Err(taken())
                };
            }
            Occupied::Taken { certain: true } => return Err(taken()),
            Occupied::Taken { certain: false } => false,
            Occupied::Untold => true,
        };
        let registered = store.named(id).await?;
        let Some(silent) = watch.look(&registered, Instant::now()) else {
            return Err(taken());
        };
        if untold && registered.is_empty() {
            return Ok(None);
        }
        if untold && silent >= lease {
            for one in &registered {
                store.reap(one.incarnation, one.beat).await?;
                crate::meter::executor_lost();
            }
            return Ok(None);
        }
        if !untold && begun.elapsed() >= lease {
            return Err(taken());
        }
        tokio::time::sleep(LOOK * 2).await;
    }
}

/// What was seen of those who are registered under an id: their heartbeats, and since when.
#[derive(Default)]
struct Watch(HashMap<Uuid, (i64, Instant)>);

impl Watch {
    /// How long all of them were seen to be silent; nothing if one of them lives. One look, however long it took, tells
    /// nothing: the store may have been out of reach for them as well.
    fn look(&mut self, registered: &[ExecutorInfo], now: Instant) -> Option<Duration> {
        let mut silent = Duration::MAX;
        for one in registered {
            let (beat, since) = *self.0.entry(one.incarnation).or_insert((one.beat, now));
            if beat != one.beat {
                return None;
            }
            silent = silent.min(now.duration_since(since));
        }
        Some(silent)
    }
}

/// Gives back what former owners of our id left in hand. `false`: one of them lives after all.
async fn take_back(store: &dyn Store, id: &str, certain: bool) -> Result<bool> {
    let former = store.named(id).await?;
    if former.is_empty() {
        return Ok(true);
    }
    let begun = Instant::now();
    while !certain && begun.elapsed() < OBJECTION {
        tokio::time::sleep(LOOK).await;
        let now = store.named(id).await?;
        // Its heartbeat has moved on, or it has registered anew.
        let lives = |one: &ExecutorInfo| {
            former
                .iter()
                .all(|f| (f.incarnation, f.beat) != (one.incarnation, one.beat))
        };
        if now.iter().any(lives) {
            return Ok(false);
        }
    }
    for one in &former {
        let jobs = store.reap(one.incarnation, one.beat).await?;
        crate::meter::executor_lost();
        tracing::info!(executor = id, incarnation = %one.incarnation, jobs, "took back what a former executor held");
    }
    Ok(true)
}

/// Whether someone else is registered under our id. `former` are our own registrations.
pub(super) async fn is_taken_over(plan: &Plan, former: &[Uuid]) -> Result<bool> {
    let living = plan.jobs.store().named(&plan.name).await?;
    Ok(living.iter().any(|one| !former.contains(&one.incarnation)))
}

/// Ends former registrations of ours, of which nothing runs any longer: their jobs come back at once.
pub(super) async fn reap_former(plan: &Plan, former: &[Uuid]) -> Result<()> {
    let store = plan.jobs.store();
    for one in store.named(&plan.name).await? {
        if former.contains(&one.incarnation) {
            store.reap(one.incarnation, one.beat).await?;
            crate::meter::executor_lost();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(incarnation: Uuid, beat: i64) -> ExecutorInfo {
        ExecutorInfo {
            incarnation,
            name: "worker".to_owned(),
            slots: 1,
            queues: Vec::new(),
            tasks: Vec::new(),
            version: String::new(),
            beat,
        }
    }

    #[test]
    fn silence_counts_from_the_first_look() {
        let (mut watch, begun, second) = (Watch::default(), Instant::now(), Duration::from_secs(1));
        let one = registered(Uuid::new_v4(), 3);
        assert_eq!(watch.look(std::slice::from_ref(&one), begun), Some(Duration::ZERO));
        assert_eq!(watch.look(std::slice::from_ref(&one), begun + second), Some(second));
        // Registered anew, it is watched anew.
        let other = registered(Uuid::new_v4(), 0);
        let both = [one, other];
        assert_eq!(watch.look(&both, begun + 2 * second), Some(Duration::ZERO));
        assert_eq!(watch.look(&both, begun + 3 * second), Some(second));
    }

    #[test]
    fn a_heartbeat_that_has_moved_on_is_a_sign_of_life() {
        let (mut watch, now, id) = (Watch::default(), Instant::now(), Uuid::new_v4());
        assert!(watch.look(&[registered(id, 3)], now).is_some());
        assert!(watch.look(&[registered(id, 4)], now).is_none());
    }
}
