//! What happens to jobs from outside: cancel, restart, expiry, promotion, the loss of an executor.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Model, Tables};
use crate::clock::until;
use crate::error::{Error, Result};
use crate::group::{QueueSettings, Quota, TaskLimits};
use crate::job::{Attempt, Claim, Job, JobId, State};
use crate::lifecycle::{Event, Location, decide, words};
use crate::store::{Beat, Changed, Promoted, Rewrite, Setting, Signal, Which};
use crate::turn::Charge;

impl Model {
    pub(super) fn change_jobs(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        let now = self.now();
        let tables = &mut *self.tables();
        let ids = match which {
            Which::Ids(ids) => ids,
            Which::Expired(limit) => tables.expired(now, limit),
        };
        if event == Event::Restart {
            tables.check_places(&ids)?;
            tables.check_keys(&ids)?;
        }
        let mut changed = Vec::new();
        for id in ids {
            let Some(job) = tables.job(id).cloned() else { continue };
            changed.push(self.happen_to(tables, job, event));
        }
        Ok(changed)
    }

    fn happen_to(&self, tables: &mut Tables, job: Job, event: Event) -> Changed {
        let policy = job.policy(tables.policy(&job.task));
        let outcome = decide(&job.standing(), &event, &policy, 0.0);
        if let Ok(change) = &outcome {
            let mut next = job.clone();
            if event == Event::Restart {
                if let Some(attempt) = Attempt::last(&job) {
                    tables.keep(job.id, attempt);
                }
                next = fresh(next);
            } else {
                let words = words(job.state, change);
                let (error, described) = words.map(|(error, words)| (error.to_owned(), words)).unzip();
                if job.claim.is_some() {
                    let error = (error.clone(), described.clone().unwrap_or_default());
                    tables.keep_attempt(&job, change, self.now(), error);
                }
                if let Some(described) = described {
                    next.error = error;
                    next.error_message = described.message;
                    next.error_code = described.code;
                }
            }
            let hooks = tables.hooks(&next.task);
            self.apply(tables, next, change, hooks);
        }
        Changed { job, outcome }
    }

    pub(super) fn rewrite_jobs(&self, ids: &[JobId], to: &Rewrite) -> Vec<Changed> {
        let tables = &mut *self.tables();
        let mut changed = Vec::new();
        for id in ids {
            let Some(job) = tables.job(*id).cloned() else { continue };
            let outcome = to.decide(&job);
            if let Ok(change) = &outcome {
                let moves = matches!(change.place, Location::Parked(_));
                if moves {
                    self.happen_to(tables, job.clone(), Event::Postpone(Duration::ZERO));
                }
                if let Some(live) = tables.live.get_mut(id) {
                    live.queue = to.queue.clone().unwrap_or_else(|| live.queue.clone());
                    live.args = to.args.clone().unwrap_or_else(|| live.args.clone());
                }
                if moves && let Some(aside) = tables.live.get(id).cloned() {
                    self.happen_to(tables, aside, Event::Promote);
                }
            }
            changed.push(Changed { job, outcome });
        }
        changed
    }

    pub(super) fn promote_due(&self, limit: u32) -> Promoted {
        let now = self.now();
        let tables = &mut *self.tables();
        let mut due: Vec<(Timestamp, JobId)> = tables.live.values().filter_map(|j| Some((j.due?, j.id))).collect();
        due.retain(|(moment, _)| *moment <= now);
        due.sort_unstable();
        due.truncate(limit as usize);
        let mut jobs = 0;
        for (_, id) in due {
            let Some(job) = tables.live.get(&id).cloned() else {
                continue;
            };
            jobs += u32::from(self.happen_to(tables, job, Event::Promote).outcome.is_ok());
        }
        if jobs > 0 {
            self.signal(Signal::Ready);
        }
        Promoted {
            jobs,
            next: tables.next_due(now),
            schedules: tables.calendar.next(now),
        }
    }

    pub(super) fn beat(&self, executor: Uuid, beat: i64) -> Beat {
        let tables = &mut *self.tables();
        let alive = tables.executors.get_mut(&executor).is_some_and(|known| {
            known.beat = beat;
            true
        });
        tables.seen.insert(executor, self.now());
        let held = tables.held().filter_map(|job| {
            let claim = job.claim.filter(|c| c.executor == executor)?;
            Some((job.id, claim.number, job.cancelling))
        });
        Beat {
            alive,
            held: held.collect(),
            peers: tables.executors.values().map(|e| (e.incarnation, e.beat)).collect(),
            draining: tables.draining.contains(&executor),
            dismissed: tables.dismissed.contains(&executor),
        }
    }

    pub(super) fn lose(&self, executor: Uuid, beat: i64) -> u32 {
        let tables = &mut *self.tables();
        let lost = match tables.executors.get(&executor) {
            Some(known) if known.beat != beat => return 0,
            Some(_) => Some(executor),
            None => None,
        };
        tables.executors.remove(&executor);
        let is_lost = |claim: Claim| match lost {
            Some(executor) => claim.executor == executor,
            None => !tables.executors.contains_key(&claim.executor),
        };
        let held = tables.held().filter(|job| job.claim.is_some_and(is_lost));
        let orphans: Vec<Job> = held.cloned().collect();
        let count = orphans.len() as u32;
        for job in orphans {
            self.happen_to(tables, job, Event::Lose);
        }
        count
    }
}

impl Tables {
    fn expired(&self, now: Timestamp, limit: u32) -> Vec<JobId> {
        let mut expired: Vec<(Timestamp, JobId)> = self
            .live
            .values()
            .filter(|job| job.state == State::Waiting)
            .filter_map(|job| Some((job.expires?, job.id)))
            .filter(|(moment, _)| *moment <= now)
            .collect();
        expired.sort_unstable();
        expired.into_iter().take(limit as usize).map(|(_, id)| id).collect()
    }

    /// A restarted job wants its unique key back.
    fn check_keys(&self, ids: &[JobId]) -> Result<()> {
        let wanted = ids.iter().filter_map(|id| self.ended.get(id)).filter_map(super::key);
        let mut seen = std::collections::HashSet::new();
        for key in wanted {
            if self.unique.contains_key(&key) || !seen.insert(key) {
                return Err(Error::Conflict("unique key"));
            }
        }
        Ok(())
    }

    /// Restarted jobs are unfinished again: there must be room for all of them.
    fn check_places(&self, ids: &[JobId]) -> Result<()> {
        let again: Vec<&Job> = ids.iter().filter_map(|id| self.ended.get(id)).collect();
        for (at, job) in again.iter().enumerate() {
            let quotas = [
                (
                    Quota::owner(&job.group, &job.task, job.owner.as_deref()),
                    self.tasks.get(&job.task).and_then(|task| task.max_unfinished),
                ),
                (Quota::group(&job.group), self.settings.group(&job.group).quota()),
            ];
            for (quota, limit) in quotas {
                let others = self.live.values().chain(again[..at].iter().copied());
                let used = others.filter(|other| counts(&quota, other)).count();
                if let Some(limit) = limit.filter(|limit| used >= *limit as usize) {
                    return Err(quota.exceeded(limit));
                }
            }
            let others = self.live.values().chain(again[..at].iter().copied());
            self.check_name(&job.group, &job.task, others)?;
        }
        Ok(())
    }

    /// How long until the next parked job is due.
    pub(super) fn next_due(&self, now: Timestamp) -> Option<Duration> {
        let next = self.live.values().filter_map(|job| job.due).min()?;
        Some(until(now, next))
    }

    /// Adds to the shared accounts of a kind of executors, and reads them.
    pub(super) fn share(&mut self, kind: &str, charges: Vec<Charge>) -> Vec<(String, f64)> {
        let accounts = charges.into_iter().map(|charge| {
            let key = (kind.to_owned(), charge.group.clone());
            let account = self.accounts.entry(key).or_insert(charge.floor);
            *account = account.max(charge.floor) + charge.add;
            (charge.group, *account)
        });
        accounts.collect()
    }

    pub(super) fn set_since(&mut self, version: i64, setting: Setting) -> bool {
        let unchanged = self.settings.version == version;
        if unchanged {
            self.set(setting);
        }
        unchanged
    }

    pub(super) fn set(&mut self, setting: Setting) {
        let mut settings = (*self.settings).clone();
        settings.version += 1;
        match setting {
            Setting::Group(name, set) => settings.keep(name, set),
            Setting::Task(name, set) if set == TaskLimits::default() => {
                settings.tasks.remove(&name);
            }
            Setting::Task(name, set) => {
                settings.tasks.insert(name, set);
            }
            Setting::Queue(name, set) if set == QueueSettings::default() => {
                settings.queues.remove(&name);
            }
            Setting::Queue(name, set) => {
                settings.queues.insert(name, set);
            }
            Setting::Global(set) => settings.global = set,
        }
        // A rate that is set anew begins with a full bucket.
        self.rates.retain(|of, _| settings.rate(of).is_some());
        self.settings = std::sync::Arc::new(settings);
    }
}

/// Whether a limit counts this job.
fn counts(quota: &Quota, job: &Job) -> bool {
    let owner = job.owner.as_deref().unwrap_or_default();
    job.group == quota.group && (quota.task.is_empty() || (job.task == quota.task && owner == quota.owner))
}

/// A restarted job has no past but what was submitted. An expiry that has come would end it again at once.
fn fresh(job: Job) -> Job {
    Job {
        expires: None,
        started: None,
        error: None,
        error_message: None,
        error_code: None,
        result: None,
        claim: None,
        ..job
    }
}
