//! A few jobs that are ready at once, in one statement. If an executor of this process stands by, they are its own from the
//! beginning.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::client::Object;
use super::super::connect::{failed, is_transient};
use super::super::standby::IdleTake;
use super::super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::group::Settings;
use crate::job::{Claimed, Lane, Priority, State, When};
use crate::store::{NewJob, Signal, Stood, Taken};

/// The statement takes a millisecond. One that hangs (somebody has locked the table) is given up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Whether nothing but an insert is needed, and nobody can have the job already.
pub(super) fn is_plain(job: &NewJob) -> bool {
    !job.id_given && job.unique.is_none() && !super::limited::is_limited(job)
}

/// Whether it is also ready at once, and for ever.
pub(super) fn is_ready(job: &NewJob) -> bool {
    job.when == When::Now && job.expires == When::Now
}

fn unanswered() -> Error {
    Error::Store {
        doing: "submitting",
        cause: "the database did not answer in time; the job may have been stored nevertheless".into(),
        transient: true,
    }
}

/// Whether no cap and no pause stands before these jobs.
fn is_free(settings: &Settings, jobs: &[&NewJob]) -> bool {
    // What runs here already, and how rates stand, is looked at by takes.
    let limited = |job: &&NewJob| {
        let task = settings.task(&job.task);
        let group = settings.group(&job.group);
        task.max_running_each.is_some() || task.rate.is_some() || group.max_share.is_some() || group.rate.is_some()
    };
    // The queue of a job may be known to the store only.
    let open = !settings.global.paused && settings.queues.values().all(|queue| !queue.paused);
    let paused = |job: &&NewJob| settings.group(&job.group).paused || settings.task(&job.task).paused;
    !settings.any_cap() && open && !jobs.iter().any(|job| paused(job) || limited(job))
}

impl PostgresStore {
    /// Stores jobs that are plain and ready, each slice as it was submitted: one statement, one round trip, one commit. All
    /// or none, but for the slices in which a job comes under a limit: if there are any (`Some`), it says which jobs of the
    /// others were stored. Executors of this process are told, or have got them already.
    pub(super) async fn insert_plain(&self, calls: &[&[NewJob]]) -> Result<Option<HashSet<Uuid>>> {
        let jobs: Vec<&NewJob> = calls.iter().copied().flatten().collect();
        let settings = self.known_settings();
        let idle = if is_free(&settings, &jobs) {
            self.standby.someone_for(&jobs)
        } else {
            None
        };
        if let Some(idle) = &idle {
            self.holds.asked(idle.take.executor, idle.take.number);
        }
        let mut stored = self.run_plain(calls, &jobs, idle.as_ref(), settings.version).await;
        if idle.is_some() && stored.as_ref().is_err_and(|error| !error.is_transient()) {
            // Something about taking, perhaps: those who submit must not suffer for it.
            stored = self.run_plain(calls, &jobs, None, settings.version).await;
        }
        let handed = stored.as_ref().is_ok_and(|row| row.get(1));
        if let Some(IdleTake { take, answer }) = idle {
            // Should nobody wait for it any longer, or the jobs be taken in spite of an error, the next heartbeat gives them back.
            let _ = answer.send(Ok(match &stored {
                Ok(row) if handed => {
                    self.holds.took(take.executor, take.number, jobs.len());
                    Stood::Taken(Taken {
                        jobs: taken(row, &jobs, take.number),
                        turns: take.turns,
                        found: true,
                        again: None,
                        settings,
                    })
                }
                _ => Stood::Recalled(take.turns),
            }));
        }
        let row = stored?;
        if !handed {
            self.signal(Signal::Ready);
            self.waker.ready();
        }
        let stored: Option<Vec<Uuid>> = row.get(0);
        Ok(stored.filter(|_| !handed).map(|stored| stored.into_iter().collect()))
    }

    async fn run_plain(
        &self,
        calls: &[&[NewJob]],
        jobs: &[&NewJob],
        idle: Option<&IdleTake>,
        version: i64,
    ) -> Result<Row> {
        let client = self.client().await?;
        let running = self.send_plain(&client, calls, jobs, idle, version);
        let (error, transient) = match tokio::time::timeout(TIMEOUT, running).await {
            Ok(Ok(row)) => return Ok(row),
            Ok(Err(error)) => {
                let transient = is_transient(&error);
                (failed("submitting")(error), transient)
            }
            Err(_) => (unanswered(), true),
        };
        if transient {
            // Whatever is wrong with it (it hangs, it leads to a server that only reads), nobody else should have it.
            drop(Object::take(client));
            self.close_idle();
        }
        Err(error)
    }

    async fn send_plain(
        &self,
        client: &Object,
        calls: &[&[NewJob]],
        jobs: &[&NewJob],
        idle: Option<&IdleTake>,
        version: i64,
    ) -> Result<Row, tokio_postgres::Error> {
        let numbers: Vec<i32> = (0..)
            .zip(calls)
            .flat_map(|(number, call)| std::iter::repeat_n(number, call.len()))
            .collect();
        let statement = client.prepare_cached(&self.sql.insert_plain).await?;
        let now = self.options.clock.manual();
        let ids: Vec<Uuid> = jobs.iter().map(|j| j.id.0).collect();
        let parents: Vec<Option<Uuid>> = jobs.iter().map(|j| j.parent.map(|p| p.0)).collect();
        let items: Vec<i32> = jobs.iter().map(|j| rows::items(j)).collect();
        let priorities: Vec<Option<i16>> = jobs.iter().map(|j| j.priority.map(Priority::code)).collect();
        let queues: Vec<Option<&str>> = jobs.iter().map(|j| j.queue.as_deref()).collect();
        let groups: Vec<&str> = jobs.iter().map(|j| j.group.as_str()).collect();
        let tasks: Vec<&str> = jobs.iter().map(|j| j.task.as_str()).collect();
        let owners: Vec<Option<&str>> = jobs.iter().map(|j| j.owner.as_deref()).collect();
        let args: Vec<&str> = jobs.iter().map(|j| j.args.as_str()).collect();
        let meta: Vec<Option<String>> = jobs.iter().map(|j| rows::meta_text(&j.meta)).collect();
        // Nothing at all where no job has any.
        let mut subjects: Vec<Option<&str>> = Vec::new();
        if jobs.iter().any(|j| j.subject.is_some()) {
            subjects.extend(jobs.iter().map(|j| j.subject.as_deref()));
        }
        let prepared: Vec<bool> = jobs.iter().map(|j| j.prepared).collect();
        let (executor, number) = idle.map(|idle| (idle.take.executor, idle.take.number)).unzip();
        let served = idle.map(|idle| &idle.take.queues);
        let scheduled = State::Scheduled.code();
        let params: [&(dyn ToSql + Sync); 19] = [
            &now,
            &ids,
            &parents,
            &items,
            &priorities,
            &queues,
            &groups,
            &tasks,
            &owners,
            &args,
            &meta,
            &subjects,
            &prepared,
            &numbers,
            &executor,
            &number,
            &scheduled,
            &served,
            &version,
        ];
        // A transaction of its own, with settings of its own.
        client.query_one(&statement, &params).await
    }
}

/// Jobs that were handed over, as a claim would tell them.
fn taken(row: &Row, jobs: &[&NewJob], number: i64) -> Vec<Claimed> {
    let ids: Vec<Uuid> = row.get(0);
    let submitted: Timestamp = row.get(2);
    let (seqs, lanes): (Vec<i64>, Vec<i16>) = (row.get(3), row.get(4));
    let places: HashMap<Uuid, (i64, i16)> = ids.into_iter().zip(seqs.into_iter().zip(lanes)).collect();
    let claimed = |job: &&NewJob| {
        let (seq, code) = places.get(&job.id.0).copied()?;
        let lane = Lane::from_code(code)?;
        Some(Claimed {
            id: job.id,
            number,
            task: job.task.clone(),
            group: job.group.clone(),
            owner: job.owner.clone(),
            priority: Priority::from_code(code)?,
            lane,
            seq,
            args: job.args.clone(),
            items: job.items,
            meta: job.meta.clone(),
            parent: job.parent,
            submitted,
            attempts: 0,
            interruptions: 0,
            losses: 0,
            prepared: job.prepared,
        })
    };
    jobs.iter().filter_map(claimed).collect()
}
