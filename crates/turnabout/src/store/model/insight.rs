//! What operators ask on a bad day, answered from plain collections.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::Model;
use crate::clock::until;
use crate::error::Result;
use crate::job::{Job, State};
use crate::store::insight::{
    Backlog, Checkup, ERROR_READ, Ended, FAILURES_READ, Failure, Head, Held, HeldBy, Insight, ReadyPlace,
};
use crate::store::overview::Whose;

#[async_trait]
impl Insight for Model {
    fn moment(&self) -> Timestamp {
        self.now()
    }

    async fn held(&self) -> Result<Vec<Held>> {
        let tables = self.tables();
        let mut sums: BTreeMap<(&str, &str, &str), Held> = BTreeMap::new();
        for job in tables.held() {
            let held = sums.entry((&job.group, &job.task, &job.queue)).or_insert_with(|| Held {
                group: job.group.clone(),
                task: job.task.clone(),
                queue: job.queue.clone(),
                jobs: 0,
                started: 0,
                since: None,
            });
            held.jobs += 1;
            if job.state == State::Running {
                held.started += 1;
                held.since = held.since.into_iter().chain(job.started).min();
            }
        }
        let mut held: Vec<Held> = sums.into_values().collect();
        held.sort_by_key(|held| std::cmp::Reverse(held.jobs));
        Ok(held)
    }

    async fn held_by(&self) -> Result<Vec<HeldBy>> {
        let tables = self.tables();
        let mut sums: BTreeMap<(&str, Uuid), u64> = BTreeMap::new();
        for job in tables.held() {
            if let Some(claim) = job.claim {
                *sums.entry((&job.task, claim.executor)).or_default() += 1;
            }
        }
        let held = |((task, executor), jobs): ((&str, Uuid), u64)| HeldBy {
            task: task.to_owned(),
            executor,
            jobs,
        };
        Ok(sums.into_iter().map(held).collect())
    }

    async fn heads(&self, limit: u32) -> Result<Vec<Head>> {
        let tables = self.tables();
        let mut heads: Vec<Head> = Vec::new();
        for ((queue, group, lane, task, seq), id) in &tables.ready {
            let same = |head: &Head| (&head.queue, &head.group, head.lane, &head.task) == (queue, group, *lane, task);
            if heads.last().is_some_and(same) {
                continue;
            }
            if let Some(job) = tables.live.get(id) {
                heads.push(Head {
                    queue: queue.clone(),
                    group: group.clone(),
                    lane: *lane,
                    task: task.clone(),
                    seq: *seq,
                    submitted: job.submitted,
                });
            }
        }
        heads.truncate(limit as usize);
        Ok(heads)
    }

    async fn ready(&self, places: &[ReadyPlace], limit: u32) -> Result<Vec<u64>> {
        let tables = self.tables();
        let count = |place: &ReadyPlace| {
            let here = tables.ready.keys().filter(|(queue, group, _, task, _)| {
                *queue == place.queue
                    && *group == place.group
                    && place.task.as_ref().is_none_or(|wanted| wanted == task)
            });
            (here.count() as u64).min(limit.into())
        };
        Ok(places.iter().map(count).collect())
    }

    async fn backlog(&self, _limit: u32) -> Result<Backlog> {
        Ok(Backlog {
            ready: self.tables().ready.len() as u64,
            exact: true,
        })
    }

    async fn ended(&self, from: Timestamp, until_then: Timestamp, limit: u32) -> Result<Vec<Ended>> {
        let tables = self.tables();
        let within = |job: &&Job| job.finished.is_some_and(|end| end >= from && end < until_then);
        let ended = |job: &Job| Ended {
            group: job.group.clone(),
            task: job.task.clone(),
            state: job.state,
            reason: job.reason,
            waited: job.started.map(|started| until(job.submitted, started)),
            ran: job.started.zip(job.finished).map(|(from, to)| until(from, to)),
            attempts: job.attempts,
            at: job.finished.unwrap_or(job.submitted),
        };
        Ok(tables
            .ended
            .values()
            .filter(within)
            .take(limit as usize)
            .map(ended)
            .collect())
    }

    async fn failures(&self, whose: &Whose, since: Timestamp, until: Option<Timestamp>) -> Result<Vec<Failure>> {
        let tables = self.tables();
        let failure = |job: &Job, at: Timestamp| Failure {
            id: job.id,
            task: job.task.clone(),
            state: job.state,
            reason: job.reason,
            code: job.error_code.clone(),
            message: job.error_message.clone().or_else(|| {
                let error = job.error.as_ref()?;
                Some(error.chars().take(ERROR_READ).collect())
            }),
            at,
        };
        let theirs = |job: &&Job| whose.holds(&job.group, job.owner.as_deref());
        let mut found: Vec<Failure> = tables
            .ended
            .values()
            .filter(|job| job.state == State::Failed)
            .filter(theirs)
            .filter_map(|job| Some(failure(job, job.finished?)))
            .filter(|failure| failure.at >= since && until.is_none_or(|until| failure.at < until))
            .collect();
        found.sort_by_key(|failure| std::cmp::Reverse(failure.at));
        found.truncate(FAILURES_READ as usize);
        if until.is_none() {
            let stuck = tables
                .live
                .values()
                .filter(|job| job.state == State::Stuck && job.due.is_some());
            found.extend(
                stuck
                    .filter(theirs)
                    .map(|job| failure(job, job.started.unwrap_or(job.submitted))),
            );
        }
        Ok(found)
    }

    async fn checkup(&self) -> Result<Checkup> {
        Ok(Checkup::default())
    }
}
