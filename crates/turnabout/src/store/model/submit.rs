//! Submitting: given ids and unique keys are looked up under the lock, so there is no race to lose.

use std::collections::BTreeSet;

use super::{Model, Tables};
use crate::clock::after;
use crate::error::{Error, Result};
use crate::group::{Quota, unknown_tasks};
use crate::job::{Job, JobId, Priority, State};
use crate::store::{ID_AHEAD, ID_PAST, MaxUnfinished, NewJob, Signal, Submitted};
use jiff::Timestamp;

impl Model {
    pub(super) fn insert(&self, jobs: Vec<NewJob>) -> Vec<Result<Submitted>> {
        let now = self.now();
        let tables = &mut *self.tables();
        let outcomes: Vec<_> = jobs.into_iter().map(|job| tables.insert(job, now)).collect();
        if outcomes.iter().flatten().any(|s| s.new) {
            self.signal(Signal::Ready);
            if let Some(next) = tables.next_due(now) {
                self.signal(Signal::Due(next));
            }
        }
        outcomes
    }
}

impl Tables {
    pub(super) fn insert(&mut self, new: NewJob, now: Timestamp) -> Result<Submitted> {
        if let Some(job) = self.job(new.id) {
            // Whose job it is must not be told.
            return if new.id_given && job.group == new.group {
                Ok(Submitted { id: job.id, new: false })
            } else {
                Err(Error::Conflict("job id"))
            };
        }
        if new.id_given {
            check_id(new.id, now)?;
        }
        if let Some(unique) = &new.unique {
            let key = (new.group.clone(), new.task.clone(), unique.clone());
            if let Some(id) = self.unique.get(&key) {
                return Ok(Submitted { id: *id, new: false });
            }
        }
        self.check_room(&new)?;
        self.check_name(&new.group, &new.task, self.live.values())?;
        let task = self.tasks.get(&new.task);
        let queue = new.queue.or_else(|| task.map(|t| t.queue.clone()));
        let priority = new.priority.or_else(|| task.map(|t| t.priority));
        let priority = priority.unwrap_or(Priority::Normal);
        let due = new.when.moment(now);
        let id = new.id;
        let job = Job {
            id,
            task: new.task,
            group: new.group,
            owner: new.owner,
            queue: queue.unwrap_or_else(|| "default".to_owned()),
            priority,
            state: State::Waiting,
            reason: None,
            cancelling: false,
            subject: new.subject,
            args: new.args,
            prepared: new.prepared,
            items: new.items,
            unique: new.unique,
            meta: new.meta,
            parent: new.parent,
            submitted: now,
            due,
            expires: new.expires.expiry(now),
            started: None,
            finished: None,
            attempts: 0,
            interruptions: 0,
            losses: 0,
            progress: 0,
            step: None,
            error: None,
            error_message: None,
            error_code: None,
            result: None,
            claim: None,
            executor: None,
            lane: due.is_none().then(|| priority.into()),
            seq: if due.is_none() { self.next_seq() } else { 0 },
        };
        self.feed.tell(now, &job, false);
        self.put(job);
        Ok(Submitted { id, new: true })
    }
}

impl Tables {
    /// Whether the job's owner and its group may have one more.
    fn check_room(&self, new: &NewJob) -> Result<()> {
        let published = || self.tasks.get(&new.task).and_then(|t| t.max_unfinished);
        let of_owner = match new.max_unfinished {
            MaxUnfinished::AsPublished => published(),
            MaxUnfinished::Any => None,
            MaxUnfinished::AtMost(limit) => Some(limit),
        };
        let in_group = self.settings.group(&new.group).quota();
        let jobs = || self.live.values().filter(|job| job.group == new.group);
        let owned = || jobs().filter(|job| job.task == new.task && job.owner == new.owner);
        // Counted only where there is a limit.
        if let Some(limit) = of_owner
            && owned().count() >= limit as usize
        {
            return Err(Quota::owner(&new.group, &new.task, new.owner.as_deref()).exceeded(limit));
        }
        match in_group {
            Some(limit) if jobs().count() >= limit as usize => Err(Quota::group(&new.group).exceeded(limit)),
            _ => Ok(()),
        }
    }
}

impl Tables {
    /// Whether the group may have an unfinished job of this task beside these.
    pub(super) fn check_name<'a>(
        &self,
        group: &str,
        task: &str,
        unfinished: impl Iterator<Item = &'a Job>,
    ) -> Result<()> {
        let unknown: BTreeSet<&str> = unfinished
            .filter(|job| job.group == group && !self.tasks.contains_key(&job.task))
            .map(|job| job.task.as_str())
            .collect();
        let limit = self.settings.group(group).unknown_tasks();
        if self.tasks.contains_key(task) || unknown.contains(task) || unknown.len() < limit as usize {
            return Ok(());
        }
        Err(unknown_tasks(group, task, limit))
    }
}

fn check_id(id: JobId, now: Timestamp) -> Result<()> {
    let time = id
        .time()
        .ok_or_else(|| Error::invalid("job id", "is not a UUID of version 7"))?;
    if after(time, ID_PAST) < now || time > after(now, ID_AHEAD) {
        return Err(Error::invalid("job id", "its time is too far from now"));
    }
    Ok(())
}
