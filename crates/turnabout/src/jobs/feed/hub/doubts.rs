//! Jobs that the hub keeps an eye on: those that were told and have not ended, lest a hint got lost, and those that are gone
//! and whose end may still be told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Hub, PORTION, Told};
use crate::error::Result;
use crate::job::{Brief, JobId};
use crate::store::Hint;

/// Jobs that have not ended are looked at so long after they were last heard of, lest a hint got lost.
const DOUBT: Duration = Duration::from_secs(5);
/// A job that is gone has so much time for its end to be told.
const GRACE: Duration = Duration::from_secs(2);
/// So many jobs are kept an eye on.
const DOUBTED: usize = 100_000;

impl Hub {
    /// Notes which jobs are open, to be looked at if nothing more is heard of them.
    pub(super) fn heard(&mut self, told: &[Told]) {
        let now = Instant::now();
        for told in told {
            match told {
                Told::Job(job) if !job.state.is_final() => {
                    if self.open.insert(job.id, (now, Arc::clone(job))).is_none() {
                        self.doubts.push_back((now, job.id));
                    }
                }
                Told::Job(job) => {
                    self.open.remove(&job.id);
                    self.missing.remove(&job.id);
                }
                Told::Gone(id) => {
                    self.open.remove(id);
                    self.missing.remove(id);
                }
                Told::Resync | Told::Ready => {}
            }
        }
        while self.open.len() > DOUBTED
            && let Some((_, id)) = self.doubts.pop_front()
        {
            self.open.remove(&id);
        }
    }

    /// Looks at open jobs of which nothing was heard for long.
    pub(super) async fn doubt(&mut self) -> Result<()> {
        let now = Instant::now();
        let mut ids = Vec::new();
        while ids.len() < PORTION
            && let Some((since, id)) = self.doubts.front().copied()
            && now.duration_since(since) >= DOUBT
        {
            self.doubts.pop_front();
            match self.open.get(&id) {
                Some((heard, _)) if now.duration_since(*heard) >= DOUBT => ids.push(id),
                // Heard of since: its turn comes later.
                Some((heard, _)) => self.doubts.push_back((*heard, id)),
                None => {}
            }
        }
        if ids.is_empty() {
            return Ok(());
        }
        let jobs = match self.store.get_brief(&ids).await {
            Ok(jobs) => jobs,
            Err(error) => {
                self.doubts.extend(ids.into_iter().map(|id| (now, id)));
                return Err(error);
            }
        };
        let mut found: HashMap<JobId, Brief> = jobs.iter().map(|job| (job.id, Brief::from(job))).collect();
        let mut told = Vec::new();
        for id in ids {
            let Some((_, known)) = self.open.remove(&id) else {
                continue;
            };
            match found.remove(&id) {
                Some(job) if job == *known => {
                    self.open.insert(id, (now, known));
                    self.doubts.push_back((now, id));
                }
                Some(job) => told.push(Told::Job(Arc::new(job))),
                None => {
                    let hint = Hint {
                        number: self.place.number,
                        job: id,
                        group: known.group.clone(),
                        owner: known.owner.clone(),
                        last: None,
                    };
                    self.missing.entry(id).or_insert((now, hint));
                }
            }
        }
        self.tell(&told, &[]);
        Ok(())
    }

    /// Tells of jobs that are gone, if nothing came that says how they ended.
    pub(super) fn miss(&mut self) {
        let now = Instant::now();
        let over = |since: Instant| now.duration_since(since) >= GRACE;
        let gone: Vec<Hint> = self
            .missing
            .extract_if(|_, (since, _)| over(*since))
            .map(|(_, (_, hint))| hint)
            .collect();
        if !gone.is_empty() {
            let told: Vec<Told> = gone.iter().map(|hint| Told::Gone(hint.job)).collect();
            self.tell(&told, &gone);
        }
    }
}
