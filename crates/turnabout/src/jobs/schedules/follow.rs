//! Someone who follows what happens to schedules.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::jobs::Jobs;
use crate::store::Signal;
use crate::store::overview::Whose;
use crate::store::schedules::ScheduleEvent;

/// So many events are read at once.
const EVENTS: u32 = 100;
/// What happened to schedules is looked for so often, even if nobody says that something did.
const LOOK: Duration = Duration::from_secs(10);

/// Someone who follows what happens to schedules.
#[derive(Debug)]
pub struct FollowSchedules {
    pub(super) jobs: Jobs,
    pub(super) whose: Whose,
    pub(super) signals: broadcast::Receiver<Signal>,
    pub(super) after: i64,
}

impl FollowSchedules {
    /// What happens next: at least one event. None: the store is gone. What cannot be read at present is read later.
    pub async fn next(&mut self) -> Option<Vec<ScheduleEvent>> {
        loop {
            match self.jobs.schedules().changes(self.after, EVENTS).await {
                Ok(events) => {
                    if let Some(last) = events.last() {
                        self.after = last.number;
                    }
                    let full = events.len() == EVENTS as usize;
                    let mut seen = events;
                    seen.retain(|event| self.sees(event));
                    if !seen.is_empty() {
                        return Some(seen);
                    }
                    if full {
                        continue;
                    }
                }
                Err(error) => tracing::warn!(error = %error.chain(), "what happened to schedules is read later"),
            }
            let told = async {
                loop {
                    match self.signals.recv().await {
                        Ok(Signal::Schedules) | Err(RecvError::Lagged(_)) => return true,
                        Ok(_) => {}
                        Err(RecvError::Closed) => return false,
                    }
                }
            };
            // Where signals do not get through, it is looked for now and then.
            if tokio::time::timeout(LOOK, told).await == Ok(false) {
                return None;
            }
        }
    }

    fn sees(&self, event: &ScheduleEvent) -> bool {
        let (group, owner) = (&event.key.group, &event.key.owner);
        (self.whose.group.is_none() || self.whose.group == *group)
            && (self.whose.owner.is_none() || self.whose.owner == *owner)
    }
}
