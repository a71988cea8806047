//! Looking at jobs.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed};
use super::take::{bucket, cap_of};
use super::{PostgresStore, rows};
use crate::error::Result;
use crate::group::Cap;
use crate::job::{Attempt, Job, JobId, Reason, State};
use crate::store::{Counts, Filter, Standpoint};

/// Counting stops here: enough to say "many".
const COUNT_LIMIT: i32 = 10_000;

impl PostgresStore {
    /// Runs a statement that returns nothing.
    pub(super) async fn run(&self, doing: &'static str, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<()> {
        let failed = failed(doing);
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await.map_err(&failed)?;
        client.execute(&statement, params).await.map_err(&failed)?;
        Ok(())
    }

    /// Jobs by id; in brief: without arguments and results.
    pub(super) async fn read(&self, ids: &[JobId], brief: bool) -> Result<Vec<Job>> {
        let failed = failed("reading jobs");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        let wanted: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let mut found: HashMap<JobId, Job> = HashMap::new();
        // Live ones, then ended ones (one may end in between), then live ones again (one may be restarted).
        for sql in [&self.sql.read, &self.sql.read_ended, &self.sql.read] {
            let missing: Vec<Uuid> = wanted
                .iter()
                .filter(|id| !found.contains_key(&JobId(**id)))
                .copied()
                .collect();
            if missing.is_empty() {
                break;
            }
            for row in tx.query(sql, &[&missing, &brief]).await.map_err(&failed)? {
                let job = rows::job(&row)?;
                found.insert(job.id, job);
            }
        }
        tx.commit().await.map_err(&failed)?;
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }

    pub(super) async fn page(&self, filter: &Filter) -> Result<Vec<Job>> {
        let rows = self
            .matching("listing jobs", &self.sql.list, filter, &[&filter.brief])
            .await?;
        rows.iter().map(rows::job).collect()
    }

    /// Where a list is after so many looks.
    pub(super) async fn depth_of(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>> {
        let failed = failed("listing jobs");
        let (floor, ceiling) = filter.range();
        let (floor, ceiling) = (floor.map(|id| id.0), ceiling.map(|id| id.0));
        let client = self.client().await?;
        let looks = i64::from(looks);
        let (only_failed, live, ended) = (filter.wants_failed(), filter.wants(false), filter.wants(true));
        let params: [&(dyn ToSql + Sync); 7] = [&ceiling, &floor, &filter.group, &looks, &only_failed, &live, &ended];
        let row = client.query_opt(&self.sql.depth, &params).await.map_err(&failed)?;
        Ok(row.map(|row| JobId(row.get(0))))
    }

    /// How many jobs match, up to the filter's limit.
    pub(super) async fn count_matching(&self, filter: &Filter) -> Result<u64> {
        let rows = self.matching("counting jobs", &self.sql.count, filter, &[]).await?;
        let count = rows.first().map_or(0, |row| row.get::<_, i64>(0)) as u64;
        Ok(count.min(u64::from(filter.limit)))
    }

    async fn matching(
        &self,
        doing: &'static str,
        sql: &str,
        filter: &Filter,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let failed = failed(doing);
        let client = self.client().await?;
        let states: Vec<i16> = filter.states.iter().map(|s| State::code(*s)).collect();
        let states = (!states.is_empty()).then_some(states);
        let (floor, ceiling) = filter.range();
        let (floor, ceiling) = (floor.map(|id| id.0), ceiling.map(|id| id.0));
        let limit = i64::from(filter.limit);
        let reason = filter.reason.map(Reason::code);
        let parent = filter.parent.map(|id| id.0);
        let (live, ended) = (filter.wants(false), filter.wants(true));
        let attempts = filter.attempts.map(|least| i32::try_from(least).unwrap_or(i32::MAX));
        // Not kept prepared: planned for what is asked, it walks the index that fits.
        let (meta, not) = filter.as_json();
        let params: [&(dyn ToSql + Sync); 20] = [
            &states,
            &filter.task,
            &filter.group,
            &filter.owner,
            &filter.queue,
            &ceiling,
            &limit,
            &filter.subject,
            &filter.since,
            &filter.until,
            &floor,
            &reason,
            &filter.code,
            &parent,
            &filter.executor,
            &attempts,
            &live,
            &ended,
            &meta,
            &not,
        ];
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().chain(more).copied().collect();
        client.query(sql, &params).await.map_err(&failed)
    }

    /// Attempts that were not the last.
    pub(super) async fn earlier_attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        let failed = failed("reading attempts");
        let client = self.client().await?;
        // Not kept prepared: planned for this job, it looks into one partition only.
        let rows = client.query(&self.sql.attempts, &[&job.0]).await.map_err(&failed)?;
        rows.iter().map(rows::attempt).collect()
    }

    pub(super) async fn count(&self) -> Result<Counts> {
        let failed = failed("counting jobs");
        let client = self.client().await?;
        let row = client.query_one(&self.sql.counts, &[]).await.map_err(&failed)?;
        let count = |i| row.get::<_, i64>(i) as u64;
        Ok(Counts {
            ready: count(0),
            parked: count(1),
            held: count(2),
            ended: count(3),
        })
    }

    pub(super) async fn explain_wait(&self, id: JobId) -> Result<Option<Standpoint>> {
        let failed = failed("looking at why a job waits");
        let Some(job) = self.read(&[id], false).await?.pop() else {
            return Ok(None);
        };
        let settings = self.read_settings().await?;
        let client = self.client().await?;
        let lane = job.lane.map(crate::job::Lane::code);
        let params: [&(dyn ToSql + Sync); 6] = [&job.queue, &job.group, &lane, &job.task, &job.seq, &COUNT_LIMIT];
        let row = client.query_one(&self.sql.standpoint, &params).await.map_err(&failed)?;
        let caps = client
            .query(&self.sql.caps, &[&job.group, &job.task])
            .await
            .map_err(&failed)?;
        let now = self.options.clock.manual();
        let rates = client.query(&self.sql.rates, &[&job.group, &job.task, &now]).await;
        let stand: HashMap<Cap, (i64, i64)> = rates.map_err(&failed)?.iter().map(bucket).collect();
        let rates = settings.rates(&job.group, &job.task).map(|(of, rate)| {
            // No bucket: it is full.
            let wait = stand.get(&of).map(|(full, now)| rate.wait(*full, *now));
            (of, rate, wait.unwrap_or_default())
        });
        let held: HashMap<Cap, i32> = caps.iter().map(|row| (cap_of(row), row.get(2))).collect();
        let running = settings.caps(&job.group, &job.task).filter_map(|cap| {
            let most = settings.limit(&cap)?;
            Some((cap.clone(), held.get(&cap).map_or(0, |held| *held as u32), most))
        });
        Ok(Some(Standpoint {
            rates: rates.collect(),
            ahead: row.get::<_, i64>(0) as u64,
            groups: row.get::<_, i64>(1) as u64,
            heard: row.get(2),
            running: running.collect(),
            settings: (settings.group(&job.group), settings.task(&job.task)),
            queue: settings.queue(&job.queue),
            global: settings.global,
            job,
        }))
    }
}
