//! Limits on unfinished jobs: whoever submits under one passes its gate alone, counts, stores, and takes back what was
//! one too many. Jobs that come under no limit never get here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Tx, failed};
use super::names::NewNames;
use crate::error::{Error, Result};
use crate::group::{Admissions, KeyRate, Quota, unknown_tasks};
use crate::job::{Job, JobId};
use crate::store::{MaxUnfinished, NewJob, Submitted};

/// What is being done, for errors.
const LOOKING: &str = "looking at limits on unfinished jobs";

/// The limits that the jobs of one call come under: of each how many there may be, and how many there are.
#[derive(Default)]
pub(super) struct Quotas {
    limits: BTreeMap<Quota, (u32, u32)>,
    names: NewNames,
}

/// Which limit is used up, and how many it allows.
enum Full {
    Jobs(Quota, u32),
    /// Of a group's unknown tasks, by this one.
    Tasks(String, String, u32),
}

impl Full {
    fn error(&self) -> Error {
        match self {
            Self::Jobs(quota, limit) => quota.exceeded(*limit),
            Self::Tasks(group, task, limit) => unknown_tasks(group, task, *limit),
        }
    }
}

impl Quotas {
    /// The limits that a job comes under.
    fn of(&self, (group, task, owner): (&str, &str, Option<&str>)) -> impl Iterator<Item = Quota> {
        let all = [Quota::owner(group, task, owner), Quota::group(group)];
        all.into_iter().filter(|quota| self.limits.contains_key(quota))
    }

    /// Whether a job comes under any limit.
    pub(super) fn concern(&self, job: &NewJob) -> bool {
        self.names.is_unknown(&job.task) || self.of(whose(job)).next().is_some()
    }

    /// One more job under each of its limits, if there is room for it; if not, which of them is used up.
    fn admit(&mut self, whose: (&str, &str, Option<&str>)) -> Result<(), Full> {
        let quotas: Vec<Quota> = self.of(whose).collect();
        for quota in &quotas {
            if let Some((limit, used)) = self.limits.get(quota)
                && used >= limit
            {
                return Err(Full::Jobs(quota.clone(), *limit));
            }
        }
        let (group, task, _) = whose;
        let full = |limit| Full::Tasks(group.to_owned(), task.to_owned(), limit);
        self.names.admit(group, task).map_err(full)?;
        for quota in &quotas {
            if let Some((_, used)) = self.limits.get_mut(quota) {
                *used += 1;
            }
        }
        Ok(())
    }
}

/// The group, the task and the owner of a new job.
fn whose(job: &NewJob) -> (&str, &str, Option<&str>) {
    (&job.group, &job.task, job.owner.as_deref())
}

impl PostgresStore {
    /// Passes the gates of all limits that these jobs come under, and counts what is behind them.
    pub(super) async fn pass_gates(&self, tx: &Tx, jobs: &[NewJob], unknown: &HashSet<String>) -> Result<Quotas> {
        let mut quotas = self.group_quotas(tx, jobs.iter().map(|job| job.group.as_str())).await?;
        for job in jobs {
            if let MaxUnfinished::AtMost(limit) = job.max_unfinished {
                let quota = Quota::owner(&job.group, &job.task, job.owner.as_deref());
                quotas.limits.insert(quota, (limit, 0));
            }
        }
        let named = jobs.iter().map(|job| (job.group.as_str(), job.task.as_str()));
        quotas.names = self.new_names(tx, named, unknown).await?;
        self.count_behind(tx, &mut quotas).await?;
        Ok(quotas)
    }

    /// An error if there is no room for all of these ended jobs, which are to be unfinished again.
    pub(super) async fn pass_gates_again(&self, tx: &Tx, jobs: &[&Job]) -> Result<()> {
        let mut quotas = self.group_quotas(tx, jobs.iter().map(|job| job.group.as_str())).await?;
        let tasks: HashSet<&str> = jobs.iter().map(|job| job.task.as_str()).collect();
        let tasks: Vec<&str> = tasks.into_iter().collect();
        let rows = tx
            .query(&self.sql.task_limits, &[&tasks])
            .await
            .map_err(failed(LOOKING))?;
        let limits: HashMap<String, Option<i32>> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let unknown = tasks.iter().filter(|task| !limits.contains_key(**task));
        let unknown = unknown.map(|task| (*task).to_owned()).collect();
        let named = jobs.iter().map(|job| (job.group.as_str(), job.task.as_str()));
        quotas.names = self.new_names(tx, named, &unknown).await?;
        for job in jobs {
            if let Some(Some(limit)) = limits.get(&job.task) {
                let quota = Quota::owner(&job.group, &job.task, job.owner.as_deref());
                quotas.limits.insert(quota, (*limit as u32, 0));
            }
        }
        self.count_behind(tx, &mut quotas).await?;
        for job in jobs {
            let admitted = quotas.admit((&job.group, &job.task, job.owner.as_deref()));
            admitted.map_err(|full| full.error())?;
        }
        Ok(())
    }

    /// The limits of groups.
    async fn group_quotas(&self, tx: &Tx, groups: impl Iterator<Item = &str>) -> Result<Quotas> {
        let groups: HashSet<&str> = groups.collect();
        let groups: Vec<&str> = groups.into_iter().collect();
        let mut quotas = Quotas::default();
        let rows = tx.query(&self.sql.group_limits, &[&groups]).await;
        for row in rows.map_err(failed(LOOKING))? {
            let limit = row.get::<_, i32>(1) as u32;
            quotas.limits.insert(Quota::group(row.get(0)), (limit, 0));
        }
        Ok(quotas)
    }

    /// Passes these gates, and counts what is behind them.
    async fn count_behind(&self, tx: &Tx, quotas: &mut Quotas) -> Result<()> {
        let failed = failed(LOOKING);
        let now = self.options.clock.manual();
        let mut gates: BTreeSet<Quota> = quotas.limits.keys().cloned().collect();
        gates.extend(quotas.names.groups().map(Quota::group));
        if gates.is_empty() {
            return Ok(());
        }
        let behind = |of: fn(&Quota) -> &str| gates.iter().map(of).collect::<Vec<_>>();
        let (groups, tasks, owners) = (behind(|q| &q.group), behind(|q| &q.task), behind(|q| &q.owner));
        tx.execute(&self.sql.gate, &[&now, &groups, &tasks, &owners])
            .await
            .map_err(&failed)?;
        self.count_names(tx, &mut quotas.names).await?;
        if quotas.limits.is_empty() {
            return Ok(());
        }
        let groups: Vec<&str> = quotas.limits.keys().map(|q| q.group.as_str()).collect();
        let tasks: Vec<&str> = quotas.limits.keys().map(|q| q.task.as_str()).collect();
        let owners: Vec<&str> = quotas.limits.keys().map(|q| q.owner.as_str()).collect();
        let allowed: Vec<i32> = quotas
            .limits
            .values()
            .map(|(n, _)| i32::try_from(*n).unwrap_or(i32::MAX))
            .collect();
        let rows = tx
            .query(&self.sql.unfinished, &[&groups, &tasks, &owners, &allowed])
            .await
            .map_err(&failed)?;
        let counts: HashMap<i64, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        for (at, (_, used)) in (1..).zip(quotas.limits.values_mut()) {
            *used = counts.get(&at).map_or(0, |n| *n as u32);
        }
        Ok(())
    }

    /// Takes back those of the jobs just stored for which there was no room. They were stored first, since only then it
    /// is known which of them are new.
    pub(super) async fn take_back_surplus(
        &self,
        tx: &Tx,
        quotas: &mut Quotas,
        jobs: &[NewJob],
        outcomes: &mut [Result<Submitted>],
    ) -> Result<()> {
        let failed = failed("taking back jobs over a limit");
        let mut surplus: HashMap<JobId, Full> = HashMap::new();
        for (job, outcome) in jobs.iter().zip(outcomes.iter_mut()) {
            if matches!(outcome, Ok(Submitted { new: true, .. }))
                && let Err(full) = quotas.admit(whose(job))
            {
                surplus.insert(job.id, full);
            }
        }
        if surplus.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = surplus.keys().map(|id| id.0).collect();
        tx.execute(&self.sql.withdraw, &[&ids]).await.map_err(&failed)?;
        for outcome in outcomes {
            // Also those that were told that they are the same job as one that goes.
            let full = outcome.as_ref().ok().and_then(|s| surplus.get(&s.id));
            if let Some(full) = full {
                *outcome = Err(full.error());
            }
        }
        Ok(())
    }

    /// Whether a job with this key may start now, or for how long it is put off. Nobody waits for a lock: whoever was overtaken
    /// looks again.
    pub(super) async fn admit_by_key(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>> {
        let failed = failed("keeping a rate");
        let client = self.client().await?;
        loop {
            let now = self.options.clock.manual();
            let row = client
                .query_one(&self.sql.rate_key, &[&rate.key, &now])
                .await
                .map_err(&failed)?;
            let read = |at| row.get::<_, Option<i64>>(at).unwrap_or(0);
            let before = Admissions {
                full: read(0),
                next: read(1),
                late: read(2),
            };
            let mut after = before;
            let wait = after.admit(rate.rate, read(3), back);
            let moved = [after, before].map(|line| (line.full, line.next, line.late));
            let [(full, next, late), (full_was, next_was, late_was)] = &moved;
            let written = client
                .execute(
                    &self.sql.move_rate_key,
                    &[&rate.key, full, next, late, full_was, next_was, late_was],
                )
                .await
                .map_err(&failed)?;
            if written > 0 {
                return Ok(wait);
            }
        }
    }

    /// Jobs of these tasks count from now on, where the tasks had no limit so far.
    pub(super) async fn limit_tasks(&self, tasks: &[&str]) -> Result<()> {
        if tasks.is_empty() {
            return Ok(());
        }
        let known = self.read_tasks(Some(tasks)).await?;
        for task in tasks {
            if !known.iter().any(|k| k.name == *task && k.max_unfinished.is_some()) {
                self.run("limiting a task", &self.sql.limit_task, &[task]).await?;
            }
        }
        Ok(())
    }
}
