//! A few jobs that are ready at once, in one statement.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::connect::{failed, is_transient};
use super::super::peek::Look;
use super::super::standby::Order;
use super::super::take::Asked;
use super::super::{PostgresStore, rows};
use crate::error::{Error, Result};
use crate::job::{Priority, When};
use crate::store::{NewJob, Signal, Stood};

/// The statement takes a millisecond. One that hangs (somebody has locked the table) is given up.
const PATIENCE: Duration = Duration::from_secs(30);

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

impl PostgresStore {
    /// Stores jobs that are plain and ready, each slice as it was submitted: one statement, one round trip, one commit. All
    /// or none, but for the slices in which a job comes under a limit: if there are any (`Some`), it says which jobs of the
    /// others were stored. Executors of this process are told, or have taken them already.
    pub(super) async fn insert_plain(&self, calls: &[&[NewJob]]) -> Result<Option<HashSet<Uuid>>> {
        if let Some(order) = self.standby.someone_for(calls)
            && let Some(stored) = self.insert_for(order, calls).await?
        {
            return Ok(stored);
        }
        let rows = self.run_patiently(calls, None).await?;
        self.signal(Signal::came(calls.iter().copied().flatten()));
        Ok(stored(&rows, 0))
    }

    /// The same, and takes what is ready for someone who stands by. `None`: that cannot be, and nothing was stored.
    async fn insert_for(&self, order: Order, calls: &[&[NewJob]]) -> Result<Option<Option<HashSet<Uuid>>>> {
        let Order { take, answer } = order;
        let Some(asked) = self.ask_for_all(&Look::of(&take), take.number) else {
            let _ = answer.send(Ok(Stood::Recalled(take.turns)));
            return Ok(None);
        };
        let rows = match self.run_patiently(calls, Some(&asked)).await {
            Ok(rows) => rows,
            Err(error) => {
                // Should something have been taken nevertheless, the next heartbeat gives it back.
                let _ = answer.send(Ok(Stood::Recalled(take.turns)));
                // Something about taking, perhaps: those who submit must not suffer for it.
                return if error.is_transient() { Err(error) } else { Ok(None) };
            }
        };
        let settings = Arc::clone(&asked.settings);
        let taken: Vec<Uuid> = rows.iter().filter_map(|row| row.get(0)).collect();
        // Should nobody wait for it any longer: as above.
        let _ = answer.send(self.served(take, settings, &rows));
        if !calls.iter().copied().flatten().all(|job| taken.contains(&job.id.0)) {
            self.signal(Signal::came(calls.iter().copied().flatten()));
        }
        Ok(Some(stored(&rows, 22)))
    }

    async fn run_patiently(&self, calls: &[&[NewJob]], asked: Option<&Asked<'_>>) -> Result<Vec<Row>> {
        // A caller who gives up must not leave an answer behind that the next user of the connection would wait for.
        let tx = self.sit(&self.seats.submitting).await?;
        let running = self.run_plain(tx.client(), calls, asked);
        let (error, transient) = match tokio::time::timeout(PATIENCE, running).await {
            Ok(Ok(rows)) => {
                drop(tx.finish());
                return Ok(rows);
            }
            Ok(Err(error)) => {
                let transient = is_transient(&error);
                (failed("submitting")(error), transient)
            }
            Err(_) => (unanswered(), true),
        };
        if transient {
            // Whatever is wrong with it (it hangs, it leads to a server that only reads), nobody else should have it.
            drop(tx);
            self.close_idle();
        } else {
            drop(tx.finish());
        }
        Err(error)
    }

    async fn run_plain(
        &self,
        client: &Object,
        calls: &[&[NewJob]],
        asked: Option<&Asked<'_>>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let jobs: Vec<&NewJob> = calls.iter().copied().flatten().collect();
        let numbers: Vec<i32> = (0..)
            .zip(calls)
            .flat_map(|(number, call)| std::iter::repeat_n(number, call.len()))
            .collect();
        let sql = if asked.is_some() {
            &self.sql.insert_and_take
        } else {
            &self.sql.insert_plain
        };
        let statement = client.prepare_cached(sql).await?;
        let now = self.options.clock.manual();
        let here = self.local_executors();
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
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &now,
            &here,
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
        ];
        params.extend(asked.iter().flat_map(|asked| asked.params()));
        // A transaction of its own, with settings of its own.
        client.query(&statement, &params).await
    }

    /// Executors of this process: what is stored here is told them by a signal, without the detour by the server.
    pub(super) fn local_executors(&self) -> Vec<Uuid> {
        self.all_marks().keys().copied().collect()
    }
}

/// Which jobs were stored, if some were left out.
fn stored(rows: &[Row], column: usize) -> Option<HashSet<Uuid>> {
    let stored: Option<Vec<Uuid>> = rows.first().and_then(|row| row.get(column));
    stored.map(|stored| stored.into_iter().collect())
}
