//! Limits on unfinished jobs. There is one writer, so what is counted here is still so when the job is stored.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::fault::Fault;
use super::insert::Defaults;
use super::tx::Tx;
use crate::error::Error;
use crate::group::{Quota, unknown_tasks};
use crate::job::Job;
use crate::store::{MaxUnfinished, NewJob};

/// The limits that the jobs of one call come under, and how far each is used up.
#[derive(Default)]
pub(super) struct Quotas {
    used: HashMap<Quota, u32>,
    /// Whether any group has a limit.
    groups: bool,
    /// Of each group, unknown tasks that its unfinished jobs are known to have.
    names: HashMap<String, HashSet<String>>,
    /// Of each group, how many unknown tasks its unfinished jobs have, as far as that was counted.
    named: HashMap<String, u32>,
}

impl Quotas {
    pub(super) fn new(groups: bool) -> Self {
        Self {
            groups,
            ..Self::default()
        }
    }

    /// The limits that a job comes under. `published` is what its task says where the submit does not.
    pub(super) fn of(&self, tx: &mut Tx<'_>, job: &NewJob, published: Option<u32>) -> Result<Vec<(Quota, u32)>, Fault> {
        let of_owner = match job.max_unfinished {
            MaxUnfinished::AsPublished => published,
            MaxUnfinished::Any => None,
            MaxUnfinished::AtMost(limit) => Some(limit),
        };
        let mut quotas = Vec::new();
        if let Some(limit) = of_owner {
            quotas.push((Quota::owner(&job.group, &job.task, job.owner.as_deref()), limit));
        }
        if self.groups
            && let Some(limit) = tx.settings()?.group(&job.group).quota()
        {
            quotas.push((Quota::group(&job.group), limit));
        }
        Ok(quotas)
    }

    /// An error if there is no room for an ended job that is to be unfinished again. `published` is what its task says.
    pub(super) fn restart(&mut self, tx: &mut Tx<'_>, job: &Job, published: &Defaults) -> Result<(), Fault> {
        let owner = Quota::owner(&job.group, &job.task, job.owner.as_deref());
        let group = tx.settings()?.group(&job.group).quota();
        let quotas = [(owner, published.max_unfinished), (Quota::group(&job.group), group)];
        let quotas = quotas.into_iter().filter_map(|(quota, limit)| Some((quota, limit?)));
        let quotas: Vec<(Quota, u32)> = quotas.collect();
        if let Some(full) = self.room(tx, &quotas)? {
            return Err(full.into());
        }
        if !published.known {
            if let Some(full) = self.name(tx, &job.group, &job.task)? {
                return Err(full.into());
            }
            self.use_name(&job.group, &job.task);
        }
        self.use_up(&quotas);
        Ok(())
    }

    /// Whether a group may have an unfinished job of this task, which nobody has published; if not, why. Only a name that is new
    /// to the group makes it count.
    pub(super) fn name(&mut self, tx: &mut Tx<'_>, group: &str, task: &str) -> Result<Option<Error>, Fault> {
        if self.names.get(group).is_some_and(|names| names.contains(task)) {
            return Ok(None);
        }
        let known = tx
            .connection
            .prepare_cached(sql!("task_in_group"))?
            .exists(params![group, task])?;
        if known {
            self.names.entry(group.to_owned()).or_default().insert(task.to_owned());
            return Ok(None);
        }
        let limit = tx.settings()?.group(group).unknown_tasks();
        let used = match self.named.get(group) {
            Some(used) => *used,
            None => tx
                .connection
                .prepare_cached(sql!("unknown_tasks"))?
                .query_row([group], |row| row.get(0))?,
        };
        self.named.insert(group.to_owned(), used);
        Ok((used >= limit).then(|| unknown_tasks(group, task, limit)))
    }

    /// A job of a task that nobody has published was stored.
    pub(super) fn use_name(&mut self, group: &str, task: &str) {
        let new = self.names.entry(group.to_owned()).or_default().insert(task.to_owned());
        if let Some(used) = self.named.get_mut(group).filter(|_| new) {
            *used += 1;
        }
    }

    /// Whether there is room for one more under each of them; if not, why.
    pub(super) fn room(&mut self, tx: &Tx<'_>, quotas: &[(Quota, u32)]) -> Result<Option<Error>, Fault> {
        for (quota, limit) in quotas {
            let used = match self.used.get(quota) {
                Some(used) => *used,
                None => count(tx, quota, *limit)?,
            };
            self.used.insert(quota.clone(), used);
            if used >= *limit {
                return Ok(Some(quota.exceeded(*limit)));
            }
        }
        Ok(None)
    }

    /// A job was stored under these.
    pub(super) fn use_up(&mut self, quotas: &[(Quota, u32)]) {
        for (quota, _) in quotas {
            *self.used.entry(quota.clone()).or_default() += 1;
        }
    }
}

fn count(tx: &Tx<'_>, quota: &Quota, limit: u32) -> Result<u32, Fault> {
    let connection = tx.connection;
    Ok(if quota.task.is_empty() {
        connection
            .prepare_cached(sql!("unfinished_in_group"))?
            .query_row(params![quota.group, limit], |row| row.get(0))?
    } else {
        let owner = Some(&quota.owner).filter(|owner| !owner.is_empty());
        connection
            .prepare_cached(sql!("unfinished_of_owner"))?
            .query_row(params![quota.group, quota.task, owner, limit], |row| row.get(0))?
    })
}
