//! Writing what became of held jobs: start marks and outcomes.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::HashSet;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::client::Statement;
use super::connect::{Mode, Tx, failed, missing_day};
use crate::error::Result;
use crate::job::{Described, JobId, State};
use crate::lifecycle::{Location, attempt_to_keep};
use crate::store::{ATTEMPTS_KEPT, LONGEST, Settle, Settled, Signal, Start};

/// Parked jobs that are due sooner than the next heartbeats are announced to the other executors.
const SOON: Duration = Duration::from_secs(10);

impl PostgresStore {
    pub(super) async fn mark_started(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>> {
        let failed = failed("marking jobs as started");
        // Rows are locked in the order of ids by everyone, so that two writes of the same jobs never wait for each other.
        let mut jobs = jobs;
        jobs.sort_unstable_by_key(|job| job.id);
        let ids: Vec<Uuid> = jobs.iter().map(|job| job.id.0).collect();
        let numbers: Vec<i64> = jobs.iter().map(|job| job.number).collect();
        let attempts: Vec<i32> = jobs.iter().map(|job| job.attempts as i32).collect();
        let starts: Vec<Timestamp> = jobs.iter().map(|job| job.at).collect();
        let tx = Tx::on(self.client().await?);
        let now = self.options.clock.manual();
        let statement = tx.prepare(&self.sql.start).await.map_err(&failed)?;
        let running = State::Running.code();
        let (begun, rows, committed) = futures_util::join!(
            tx.open(Mode::Durable),
            async {
                let params: [&(dyn ToSql + Sync); 7] = [&executor, &now, &running, &ids, &numbers, &attempts, &starts];
                tx.client().query(&statement, &params).await
            },
            tx.client().batch_execute("commit"),
        );
        begun.map_err(&failed)?;
        let written: HashSet<Uuid> = rows.map_err(&failed)?.iter().map(|row| row.get(0)).collect();
        committed.map_err(&failed)?;
        drop(tx.finish());
        self.signal_changed(written.iter().copied().map(JobId));
        let missing: Vec<(JobId, i64)> = jobs
            .iter()
            .filter(|job| !written.contains(&job.id.0))
            .map(|job| (job.id, job.number))
            .collect();
        let mut refused = self.why_refused(executor, &missing).await?;
        // A job that has ended by this very claim needs no start mark any longer.
        refused.retain(|(_, why)| *why != Settled::Done);
        Ok(refused)
    }

    pub(super) async fn write_outcomes(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        let failed = failed("writing outcomes");
        let written = if jobs.iter().all(|job| job.hooks.is_empty()) {
            let mut missing = None;
            loop {
                let tx = Tx::on(self.client().await?);
                match (self.write(tx, executor, &jobs).await, missing) {
                    (Err(error), before) if missing_day(&error).is_some_and(|table| before != Some(table)) => {
                        missing = missing_day(&error);
                        let ids = jobs.iter().map(|job| job.id);
                        self.ensure_days_in_table(missing.unwrap_or_default(), ids).await?;
                    }
                    (written, _) => break written,
                }
            }
            .map_err(&failed)?
        } else {
            self.write_with_hooks(executor, &jobs).await?
        };
        self.let_go(executor, &jobs, &written).await;
        let missing: Vec<(JobId, i64)> = jobs
            .iter()
            .filter(|job| !written.contains(&job.id))
            .map(|job| (job.id, job.number))
            .collect();
        let refused: HashMap<JobId, Settled> = self.why_refused(executor, &missing).await?.into_iter().collect();
        // Finished in transactions of their handlers': nobody was told, and places that those gave back are not counted.
        let elsewhere = refused.iter().filter(|(_, settled)| **settled == Settled::Done);
        let elsewhere: Vec<JobId> = elsewhere.map(|(id, _)| *id).collect();
        if !elsewhere.is_empty() {
            self.signal_changed(elsewhere);
            if self.has_caps() {
                self.run("giving back places", &self.sql.fold_freed, &[]).await?;
                self.made_ready();
            }
        }
        Ok(jobs
            .iter()
            .map(|job| refused.get(&job.id).copied().unwrap_or(Settled::Done))
            .collect())
    }

    /// Writes changes of jobs that this executor holds; says which were written. One transaction.
    async fn write(&self, tx: Tx, executor: Uuid, jobs: &[Settle]) -> Result<HashSet<JobId>, tokio_postgres::Error> {
        let last = self.last_of(jobs).await;
        let (written, freed) = match self.forget_all(&tx, executor, jobs).await? {
            Some(all) => (all, false),
            None => self.write_in(&tx, Some(Mode::Durable), Some(executor), jobs).await?,
        };
        drop(tx.finish());
        self.announce(jobs, &written, freed);
        self.hint_last(last, &written);
        Ok(written)
    }

    /// As [`Self::write_outcomes`], where tasks may want to know: what is owed to them is noted with it.
    async fn write_with_hooks(&self, executor: Uuid, jobs: &[Settle]) -> Result<HashSet<JobId>> {
        let failed = failed("writing outcomes");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        self.ensure_days_in(&tx, jobs.iter().map(|job| job.id)).await?;
        let tried = jobs.iter().filter(|job| attempt_to_keep(&job.change).is_some());
        self.ensure_attempt_days_in(&tx, tried.map(|job| job.id)).await?;
        let before = self.look_before(&tx, jobs).await?;
        let last = self.last_of(jobs).await;
        let (written, freed) = self.write_in(&tx, None, Some(executor), jobs).await.map_err(&failed)?;
        let owed = self.note_settled(&tx, &before, jobs, &written).await?;
        tx.commit().await.map_err(&failed)?;
        self.announce(jobs, &written, freed);
        self.hint_last(last, &written);
        if owed {
            self.signal(Signal::Owed);
        }
        Ok(written)
    }

    /// Writes changes of jobs that this executor (or nobody) holds, in a transaction that is open (`mode` is `None`) or
    /// is begun and committed here.
    pub(super) async fn write_in(
        &self,
        tx: &Tx,
        mode: Option<Mode>,
        executor: Option<Uuid>,
        jobs: &[Settle],
    ) -> Result<(HashSet<JobId>, bool), tokio_postgres::Error> {
        let (mut ending, mut returning): (Vec<&Settle>, Vec<&Settle>) =
            jobs.iter().partition(|job| job.change.place == Location::History);
        // Rows are locked in the order of ids by everyone, so that two writes of the same jobs never wait for each other.
        ending.sort_unstable_by_key(|job| job.id);
        returning.sort_unstable_by_key(|job| job.id);
        let both = !ending.is_empty() && !returning.is_empty();
        let forgets = self.keeps_nothing();
        let sql = if forgets { &self.sql.forget } else { &self.sql.finish };
        let finish = tx.prepare(sql).await?;
        let give_back = tx.prepare(&self.sql.give_back).await?;
        let reported: Vec<Uuid> = jobs.iter().filter(|job| job.reported).map(|job| job.id.0).collect();
        // Prepared only if it is needed, but before anything is sent.
        let forget_reports = if reported.is_empty() {
            None
        } else {
            Some(tx.prepare(&self.sql.forget_reports).await?)
        };
        let caps = tx.prepare(&self.sql.lock_all_caps).await?;
        let (begun, locked, ended, returned, forgotten, committed) = futures_util::join!(
            async {
                match mode {
                    Some(mode) => tx.open(mode).await,
                    None => Ok(()),
                }
            },
            async {
                if both {
                    tx.client().query(&caps, &[]).await.map(drop)
                } else {
                    Ok(())
                }
            },
            Box::pin(self.finish(tx, &finish, executor, &ending, forgets)),
            Box::pin(self.give_back(tx, &give_back, executor, &returning, false)),
            async {
                match &forget_reports {
                    Some(forget) => tx.client().execute(forget, &[&executor, &reported]).await.map(drop),
                    None => Ok(()),
                }
            },
            async {
                match mode {
                    Some(_) => tx.client().batch_execute("commit").await,
                    None => Ok(()),
                }
            },
        );
        begun?;
        locked?;
        let (ended, mut freed) = ended?;
        let mut written: HashSet<JobId> = match ended {
            None => ending.iter().map(|job| job.id).collect(),
            Some(ids) => ids.into_iter().map(JobId).collect(),
        };
        for row in returned? {
            written.insert(JobId(row.get(0)));
            freed |= row.get::<_, bool>(1);
        }
        forgotten?;
        committed?;
        Ok((written, freed))
    }

    /// Says which jobs have ended, unless all of them have, and whether places under caps were given back.
    async fn finish(
        &self,
        tx: &Tx,
        statement: &Statement,
        executor: Option<Uuid>,
        jobs: &[&Settle],
        forgets: bool,
    ) -> Result<(Option<Vec<Uuid>>, bool), tokio_postgres::Error> {
        if jobs.is_empty() {
            return Ok((None, false));
        }
        let told = |row: Row| (row.get(0), row.get(1));
        let ids: Vec<Uuid> = jobs.iter().map(|j| j.id.0).collect();
        let numbers = numbers(executor, jobs);
        let cancelling: Vec<bool> = jobs.iter().map(|j| j.cancelling).collect();
        if forgets {
            let params: [&(dyn ToSql + Sync); 4] = [&executor, &ids, &numbers, &cancelling];
            return tx.client().query_one(statement, &params).await.map(told);
        }
        let now = self.options.clock.manual();
        let state: Vec<i16> = jobs.iter().map(|j| j.change.state.code()).collect();
        let reason: Vec<Option<i16>> = jobs
            .iter()
            .map(|j| j.change.reason.map(crate::job::Reason::code))
            .collect();
        let attempts: Vec<i32> = jobs.iter().map(|j| j.change.attempts as i32).collect();
        let interruptions: Vec<i32> = jobs.iter().map(|j| j.change.interruptions as i32).collect();
        let losses: Vec<i32> = jobs.iter().map(|j| j.change.losses as i32).collect();
        let result: Vec<Option<&str>> = jobs.iter().map(|j| j.result.as_deref()).collect();
        let error: Vec<Option<&str>> = jobs.iter().map(|j| j.error.as_deref()).collect();
        let (message, code) = described(jobs);
        let started: Vec<Option<Timestamp>> = jobs.iter().map(|j| j.started).collect();
        let (percent, step) = came(jobs);
        tx.client()
            .query_one(
                statement,
                &[
                    &executor,
                    &now,
                    &ids,
                    &numbers,
                    &cancelling,
                    &state,
                    &reason,
                    &attempts,
                    &interruptions,
                    &losses,
                    &result,
                    &error,
                    &started,
                    &message,
                    &code,
                    &percent,
                    &step,
                ],
            )
            .await
            .map(told)
    }

    /// `fresh`: at the end of the lane, and not at the place that they had.
    pub(super) async fn give_back(
        &self,
        tx: &Tx,
        statement: &Statement,
        executor: Option<Uuid>,
        jobs: &[&Settle],
        fresh: bool,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.options.clock.manual();
        let ids: Vec<Uuid> = jobs.iter().map(|j| j.id.0).collect();
        let numbers = numbers(executor, jobs);
        let cancelling: Vec<bool> = jobs.iter().map(|j| j.cancelling).collect();
        let state: Vec<i16> = jobs.iter().map(|j| j.change.state.code()).collect();
        let reason: Vec<Option<i16>> = jobs
            .iter()
            .map(|j| j.change.reason.map(crate::job::Reason::code))
            .collect();
        let lane: Vec<Option<i16>> = jobs
            .iter()
            .map(|j| match j.change.place {
                Location::Ready(lane) => Some(lane.code()),
                _ => None,
            })
            .collect();
        let delay: Vec<Option<f64>> = jobs
            .iter()
            .map(|j| match j.change.place {
                Location::Parked(delay) => Some(delay.as_secs_f64().min(LONGEST)),
                _ => None,
            })
            .collect();
        let attempts: Vec<i32> = jobs.iter().map(|j| j.change.attempts as i32).collect();
        let interruptions: Vec<i32> = jobs.iter().map(|j| j.change.interruptions as i32).collect();
        let losses: Vec<i32> = jobs.iter().map(|j| j.change.losses as i32).collect();
        let priority: Vec<i16> = jobs.iter().map(|j| j.change.priority.code()).collect();
        let error: Vec<Option<&str>> = jobs.iter().map(|j| j.error.as_deref()).collect();
        let (message, code) = described(jobs);
        let kept = attempts_to_keep(executor, jobs);
        let kept_most = ATTEMPTS_KEPT as i32;
        let started: Vec<Option<Timestamp>> = jobs.iter().map(|j| j.started).collect();
        let fresh = vec![fresh; jobs.len()];
        tx.client()
            .query(
                statement,
                &[
                    &executor,
                    &now,
                    &ids,
                    &numbers,
                    &cancelling,
                    &state,
                    &reason,
                    &lane,
                    &attempts,
                    &interruptions,
                    &losses,
                    &priority,
                    &error,
                    &delay,
                    &started,
                    &fresh,
                    &message,
                    &code,
                    &kept,
                    &kept_most,
                ],
            )
            .await
    }

    /// Signals what was written: this process at once, others where they may sleep past it.
    pub(super) fn announce(&self, jobs: &[Settle], written: &HashSet<JobId>, freed: bool) {
        let done = jobs.iter().filter(|job| written.contains(&job.id));
        let mut ready = freed;
        let mut due: Option<Duration> = None;
        for job in done {
            match job.change.place {
                Location::Ready(_) => ready = true,
                Location::Parked(delay) => due = Some(due.map_or(delay, |d| d.min(delay))),
                _ => {}
            }
        }
        if ready {
            self.made_ready();
        }
        if let Some(due) = due {
            self.signal(Signal::Due(due));
            if Self::is_soon(due) {
                self.waker.due();
            }
        }
        self.signal_changed(written.iter().copied());
    }

    /// Why changes of held jobs were not written.
    pub(super) async fn why_refused(&self, executor: Uuid, jobs: &[(JobId, i64)]) -> Result<Vec<(JobId, Settled)>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let failed = failed("looking after refused outcomes");
        let ids: Vec<Uuid> = jobs.iter().map(|(id, _)| id.0).collect();
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        let live = tx.query(&self.sql.check, &[&executor, &ids]).await.map_err(&failed)?;
        // After the live ones, so that a job that ends in between is found.
        let ended = tx.query(&self.sql.ended, &[&ids]).await.map_err(&failed)?;
        tx.commit().await.map_err(&failed)?;
        let live: HashMap<Uuid, i64> = live.iter().map(|row| (row.get(0), row.get(1))).collect();
        let ended: HashMap<Uuid, (Option<Uuid>, Option<i64>)> =
            ended.iter().map(|row| (row.get(0), (row.get(2), row.get(3)))).collect();
        Ok(jobs
            .iter()
            .map(|(id, number)| {
                let why = if live.get(&id.0) == Some(number) {
                    Settled::Cancelling
                } else if ended.get(&id.0) == Some(&(Some(executor), Some(*number))) {
                    Settled::Done
                } else {
                    Settled::Lost
                };
                (*id, why)
            })
            .collect())
    }

    /// Whether jobs parked for so long are announced to other executors, who look only at each heartbeat.
    pub(super) fn is_soon(delay: Duration) -> bool {
        delay < SOON
    }
}

/// The claim numbers that must still stand; none for jobs that nobody holds.
fn numbers(executor: Option<Uuid>, jobs: &[&Settle]) -> Vec<Option<i64>> {
    jobs.iter().map(|j| executor.map(|_| j.number)).collect()
}

/// The numbers of the attempts that are kept. Nothing at all where there are none.
fn attempts_to_keep(executor: Option<Uuid>, jobs: &[&Settle]) -> Vec<Option<i32>> {
    let kept = |job: &&Settle| attempt_to_keep(&job.change).filter(|_| executor.is_some());
    if jobs.iter().all(|job| kept(job).is_none()) {
        return Vec::new();
    }
    jobs.iter().map(|job| kept(job).map(|n| n as i32)).collect()
}

/// How far jobs came that end without success. Nothing at all where nobody has said.
fn came<'a>(jobs: &[&'a Settle]) -> (Vec<Option<i16>>, Vec<Option<&'a str>>) {
    if jobs.iter().all(|j| j.kept_progress().is_none()) {
        return (Vec::new(), Vec::new());
    }
    let percent = jobs.iter().map(|j| j.kept_progress().map(|came| came.percent.into()));
    let step = jobs.iter().map(|j| j.kept_progress()?.step.as_deref());
    (percent.collect(), step.collect())
}

/// Words and codes of errors. Nothing at all where there are none, which is most of the time.
fn described<'a>(jobs: &[&'a Settle]) -> (Vec<Option<&'a str>>, Vec<Option<&'a str>>) {
    if jobs.iter().all(|j| j.described == Described::default()) {
        return (Vec::new(), Vec::new());
    }
    let message = jobs.iter().map(|j| j.described.message.as_deref()).collect();
    (message, jobs.iter().map(|j| j.described.code.as_deref()).collect())
}
