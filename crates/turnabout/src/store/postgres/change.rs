//! What happens to jobs from outside: cancel, restart, delete, priority, expiry, promotion, and the loss of an
//! executor. Each is read under a lock, decided on by `lifecycle.rs`, and written, in one transaction.

use std::collections::HashMap;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::hook::Hooks;
use crate::job::{Job, JobId, State};
use crate::lifecycle::{self, Change, Event, Location, Policy, Refusal, attempt_number, attempt_to_keep};
use crate::progress::Shown;
use crate::store::{ATTEMPTS_KEPT, Changed, Promoted, Rewrite, Settle, Signal, Which};

impl PostgresStore {
    pub(super) async fn change_jobs(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        if matches!(which, Which::Expired(_)) && !self.has_expired().await? {
            return Ok(Vec::new());
        }
        if self.options.retention.is_zero() {
            // Whether any ended job is kept has perhaps just been set.
            self.read_settings().await?;
        }
        let failed = failed("changing jobs");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let jobs = self.lock(&tx, &which).await?;
        let changed: Vec<Changed> = jobs
            .into_iter()
            .map(|job| Changed {
                outcome: lifecycle::decide(&job.standing(), &event, &Policy::default(), 0.0),
                job,
            })
            .collect();
        // A job that ends by this change goes to the partition of its day.
        let ending = changed
            .iter()
            .filter(|c| c.outcome.is_ok_and(|change| change.place == Location::History));
        self.ensure_days_in(&tx, ending.map(|c| c.job.id)).await?;
        self.write_changes(&tx, &changed).await?;
        let done: Vec<(&Job, &Change)> = changed
            .iter()
            .filter_map(|c| Some((&c.job, c.outcome.as_ref().ok()?)))
            .collect();
        let owed = self.note_changes(&tx, &done).await?;
        tx.commit().await.map_err(&failed)?;
        self.announce_changes(&changed);
        self.hint_ended(&changed);
        if owed {
            self.signal(Signal::Owed);
        }
        Ok(changed)
    }

    /// Another queue, or other arguments, for jobs that nobody holds.
    pub(super) async fn rewrite_jobs(&self, ids: &[JobId], to: &Rewrite) -> Result<Vec<Changed>> {
        let failed = failed("rewriting jobs");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let jobs = self.lock(&tx, &Which::Ids(ids.to_vec())).await?;
        let decided = jobs.into_iter().map(|job| Changed {
            outcome: to.decide(&job),
            job,
        });
        let changed: Vec<Changed> = decided.collect();
        let done: Vec<(&Job, &Change)> = changed.iter().filter_map(Changed::done).collect();
        let moving = done
            .iter()
            .filter(|(_, change)| matches!(change.place, Location::Parked(_)));
        let (mut aside, mut back) = (Vec::new(), Vec::new());
        for (job, change) in moving {
            aside.push(settle(job, **change));
            if let Ok(ready) = lifecycle::decide(&change.standing(), &Event::Promote, &Policy::default(), 0.0) {
                back.push(settle(job, ready));
            }
        }
        // Aside, so that they leave the streams that they are in; then into the others.
        if !aside.is_empty() {
            self.write_in(&tx, None, None, &aside).await.map_err(&failed)?;
        }
        let rewritten: Vec<Uuid> = done.iter().map(|(job, _)| job.id.0).collect();
        tx.execute(&self.sql.rewrite, &[&rewritten, &to.queue, &to.args])
            .await
            .map_err(&failed)?;
        if !back.is_empty() {
            let statement = tx.prepare(&self.sql.give_back).await.map_err(&failed)?;
            let all: Vec<&Settle> = back.iter().collect();
            self.give_back(&tx, &statement, None, &all, true)
                .await
                .map_err(&failed)?;
        }
        tx.commit().await.map_err(&failed)?;
        if !back.is_empty() {
            self.made_ready();
        }
        self.signal_changed(rewritten.iter().map(|id| JobId(*id)));
        Ok(changed)
    }

    /// One statement, which is all that an idle executor costs here.
    async fn has_expired(&self) -> Result<bool> {
        let failed = failed("looking for expired jobs");
        let now = self.options.clock.manual();
        let client = self.client().await?;
        // Not kept prepared: it runs seldom.
        let row = client
            .query_one(&self.sql.expired, &[&now, &State::Waiting.code()])
            .await
            .map_err(&failed)?;
        Ok(row.get(0))
    }

    /// How long until the next parked job is due, and until the next schedule is. One statement, as above.
    async fn next_due(&self) -> Result<(Option<Duration>, Option<Duration>)> {
        let failed = failed("looking for parked jobs");
        let now = self.options.clock.manual();
        let client = self.client().await?;
        let row = client.query_one(&self.sql.next_due, &[&now]).await.map_err(&failed)?;
        let wait = |at: usize| {
            let seconds: Option<f64> = row.get(at);
            seconds.map(|s| Duration::try_from_secs_f64(s.max(0.0)).unwrap_or(Duration::MAX))
        };
        Ok((wait(0), wait(1)))
    }

    async fn lock(&self, tx: &Tx, which: &Which) -> Result<Vec<Job>> {
        let failed = failed("reading jobs to change");
        match which {
            Which::Expired(limit) => {
                let now = self.options.clock.manual();
                let waiting = State::Waiting.code();
                let rows = tx
                    .query(&self.sql.lock_expired, &[&now, &i64::from(*limit), &waiting])
                    .await;
                rows.map_err(&failed)?.iter().map(rows::job).collect()
            }
            Which::Ids(ids) => {
                let wanted: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
                let mut found: HashMap<JobId, Job> = HashMap::new();
                // Live ones, then ended ones (one may end in between), then live ones again (one may be restarted).
                for sql in [&self.sql.lock, &self.sql.lock_ended, &self.sql.lock] {
                    let missing: Vec<Uuid> = wanted
                        .iter()
                        .filter(|id| !found.contains_key(&JobId(**id)))
                        .copied()
                        .collect();
                    if missing.is_empty() {
                        break;
                    }
                    for row in tx.query(sql, &[&missing]).await.map_err(&failed)? {
                        let job = rows::job(&row)?;
                        found.insert(job.id, job);
                    }
                }
                Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
            }
        }
    }

    async fn write_changes(&self, tx: &Tx, changed: &[Changed]) -> Result<()> {
        let failed = failed("writing changed jobs");
        let (mut unheld, mut promoted) = (Vec::new(), Vec::new());
        let (mut cancelling, mut restarted, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lanes, mut numbers, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for Changed { job, outcome } in changed {
            let Ok(change) = outcome else { continue };
            match change.place {
                Location::Gone if job.state.is_final() => gone.push(job.id.0),
                Location::Gone => dropped.push(job.id.0),
                Location::Held => cancelling.push(job.id.0),
                Location::Ready(lane) if job.state.is_final() => {
                    restarted.push((job.id.0, change));
                    lanes.push(lane.code());
                    numbers.push(attempt_number(&job.standing()) as i32);
                }
                // Tried at once, or need not wait any longer: behind those who are ready already, as when it is due.
                Location::Ready(_) if job.due.is_some() => promoted.push(settle(job, *change)),
                _ => unheld.push(settle(job, *change)),
            }
        }
        if !promoted.is_empty() {
            let statement = tx.prepare(&self.sql.give_back).await.map_err(&failed)?;
            let all: Vec<&Settle> = promoted.iter().collect();
            self.give_back(tx, &statement, None, &all, true)
                .await
                .map_err(&failed)?;
        }
        if !unheld.is_empty() {
            self.write_in(tx, None, None, &unheld).await.map_err(&failed)?;
        }
        if !cancelling.is_empty() {
            tx.execute(&self.sql.request_cancel, &[&cancelling])
                .await
                .map_err(&failed)?;
            for id in &cancelling {
                tx.execute(&self.sql.notify, &[&format!("cancel {id}")])
                    .await
                    .map_err(&failed)?;
            }
        }
        if !dropped.is_empty() {
            tx.execute(&self.sql.delete_live, &[&dropped]).await.map_err(&failed)?;
        }
        if !gone.is_empty() {
            tx.execute(&self.sql.delete, &[&gone]).await.map_err(&failed)?;
        }
        if let Some((_, change)) = restarted.first() {
            let again = changed.iter().filter(|c| c.outcome.is_ok() && c.job.state.is_final());
            let again: Vec<&Job> = again.map(|c| &c.job).collect();
            self.pass_gates_again(tx, &again).await?;
            let tried = changed.iter().filter(|c| c.outcome.is_ok() && c.job.started.is_some());
            self.ensure_attempt_days_in(tx, tried.map(|c| c.job.id)).await?;
            let kept = ATTEMPTS_KEPT as i32;
            let ids: Vec<Uuid> = restarted.iter().map(|(id, _)| *id).collect();
            let (state, reason) = (change.state.code(), change.reason.map(crate::job::Reason::code));
            tx.execute(&self.sql.restart, &[&ids, &state, &reason, &lanes, &numbers, &kept])
                .await
                .map_err(|error| {
                    if error.code() == Some(&SqlState::UNIQUE_VIOLATION) {
                        Error::Conflict("unique key")
                    } else {
                        failed(error)
                    }
                })?;
        }
        Ok(())
    }

    fn announce_changes(&self, changed: &[Changed]) {
        let done = changed
            .iter()
            .filter_map(|c| c.outcome.ok().map(|change| (c.job.id, change)));
        let mut ready = false;
        for (id, change) in done.clone() {
            match change.place {
                Location::Held => self.signal(Signal::Cancel(id)),
                Location::Ready(_) => ready = true,
                Location::Parked(delay) => self.signal(Signal::Due(delay)),
                _ => {}
            }
        }
        if ready {
            self.made_ready();
        }
        self.signal_changed(done.map(|(id, _)| id));
    }

    pub(super) async fn promote_due(&self, limit: u32) -> Result<Promoted> {
        let failed = failed("promoting parked jobs");
        let (next, schedules) = self.next_due().await?;
        if next != Some(Duration::ZERO) {
            return Ok(Promoted {
                jobs: 0,
                next,
                schedules,
            });
        }
        let now = self.options.clock.manual();
        let tx = Tx::on(self.client().await?);
        let due = tx.prepare(&self.sql.lock_due).await.map_err(&failed)?;
        let limit_rows = i64::from(limit);
        let (begun, rows) = futures_util::join!(tx.open(Mode::Durable), async {
            tx.client().query(&due, &[&now, &limit_rows]).await
        });
        begun.map_err(&failed)?;
        let mut promoted = Vec::new();
        for row in rows.map_err(&failed)? {
            let job = rows::job(&row)?;
            if let Ok(change) = lifecycle::decide(&job.standing(), &Event::Promote, &Policy::default(), 0.0) {
                promoted.push(settle(&job, change));
            }
        }
        if !promoted.is_empty() {
            let statement = tx.prepare(&self.sql.give_back).await.map_err(&failed)?;
            let all: Vec<&Settle> = promoted.iter().collect();
            self.give_back(&tx, &statement, None, &all, true)
                .await
                .map_err(&failed)?;
        }
        tx.commit().await.map_err(&failed)?;
        if !promoted.is_empty() {
            self.made_ready();
            self.signal_changed(promoted.iter().map(|job| job.id));
        }
        let (next, schedules) = self.next_due().await?;
        Ok(Promoted {
            jobs: promoted.len() as u32,
            next,
            schedules,
        })
    }

    /// What an executor held is given back or ended. The caller has made sure that it takes nothing more.
    pub(super) async fn lose_jobs(
        &self,
        tx: &Tx,
        executor: Uuid,
        policies: &HashMap<String, Policy>,
    ) -> Result<(Vec<Settle>, Vec<(Job, Change)>)> {
        let failed = failed("taking over jobs");
        let rows = tx.query(&self.sql.lock_held, &[&executor]).await.map_err(&failed)?;
        let mut lost = Vec::new();
        let mut changes = Vec::new();
        let ids: Vec<Uuid> = rows.iter().map(|row| row.get("id")).collect();
        let mut came: HashMap<JobId, Job> = HashMap::new();
        if !ids.is_empty() {
            for row in tx.query(&self.sql.read, &[&ids, &true]).await.map_err(&failed)? {
                let job = rows::job(&row)?;
                came.insert(job.id, job);
            }
        }
        for row in &rows {
            let mut job = rows::job(row)?;
            if let Some(job_then) = came.remove(&job.id) {
                (job.progress, job.step) = (job_then.progress, job_then.step);
            }
            let policy = job.policy(policies.get(&job.task).copied().unwrap_or_default());
            match lifecycle::decide(&job.standing(), &Event::Lose, &policy, 0.0) {
                Ok(change) => {
                    lost.push(Settle {
                        started: job.started,
                        reported: true,
                        ..settle(&job, change)
                    });
                    changes.push((job, change));
                }
                Err(Refusal::Illegal) => tracing::warn!(id = %job.id, state = %job.state, "held in a wrong state"),
                Err(_) => {}
            }
        }
        self.ensure_days_in(tx, lost.iter().map(|job| job.id)).await?;
        let tried = lost.iter().filter(|job| attempt_to_keep(&job.change).is_some());
        self.ensure_attempt_days_in(tx, tried.map(|job| job.id)).await?;
        self.write_in(tx, None, Some(executor), &lost).await.map_err(&failed)?;
        let noted: Vec<(&Job, &Change)> = changes.iter().map(|(job, change)| (job, change)).collect();
        if self.note_changes(tx, &noted).await? {
            self.signal(Signal::Owed);
        }
        Ok((lost, changes))
    }
}

/// A change of a job as it was read.
fn settle(job: &Job, change: Change) -> Settle {
    let words = lifecycle::words(job.state, &change);
    Settle {
        id: job.id,
        number: job.claim.map_or(0, |claim| claim.number),
        change,
        cancelling: job.cancelling,
        result: None,
        error: words.as_ref().map(|(error, _)| (*error).to_owned()),
        described: words.map(|(_, described)| described).unwrap_or_default(),
        started: None,
        hooks: Hooks::NONE,
        reported: false,
        came: Some(Shown {
            percent: job.progress,
            step: job.step.clone(),
        }),
    }
}
