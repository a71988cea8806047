//! Jobs' logs, written by all jobs of an executor together and read by page; how far jobs are is in `report.rs`.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed, missing_day};
use super::timeouts::TIMEOUT;
use super::{PostgresStore, rows};
use crate::error::Result;
use crate::job::JobId;
use crate::log::{Level, Line};
use crate::store::{LogEnd, LogLines, Report, Reporting, Signal};

#[async_trait]
impl Reporting for PostgresStore {
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()> {
        self.within(TIMEOUT, "writing progress", self.write_reports(executor, reports))
            .await
    }

    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        self.within(TIMEOUT, "storing logs", self.write_logs(executor, logs))
            .await
    }

    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        self.within(TIMEOUT, "looking at logs", self.ends_of_logs(jobs)).await
    }

    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        self.within(TIMEOUT, "reading a log", self.read_lines(job, after, limit))
            .await
    }
}

impl PostgresStore {
    pub(super) async fn write_logs(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        let failed = failed("storing logs");
        match self.insert_lines(executor, &logs).await? {
            Err(error) if missing_day(&error).is_some() => {
                self.ensure_days_in_table("job_log", logs.iter().map(|log| log.id))
                    .await?;
                self.insert_lines(executor, &logs).await?
            }
            outcome => outcome,
        }
        .map_err(&failed)?;
        for log in &logs {
            self.signal(Signal::Logged(log.id));
        }
        Ok(())
    }

    async fn insert_lines(&self, executor: Uuid, logs: &[LogLines]) -> Result<Result<(), tokio_postgres::Error>> {
        let tx = Tx::on(self.client().await?);
        Ok(self.insert_lines_in(tx, executor, logs).await)
    }

    async fn insert_lines_in(&self, tx: Tx, executor: Uuid, logs: &[LogLines]) -> Result<(), tokio_postgres::Error> {
        let ids: Vec<Uuid> = logs.iter().map(|log| log.id.0).collect();
        let numbers: Vec<i64> = logs.iter().map(|log| log.number).collect();
        let places: Vec<i32> = (1..)
            .zip(logs)
            .flat_map(|(place, log)| vec![place; log.lines.len()])
            .collect();
        let lines: Vec<&Line> = logs.iter().flat_map(|log| &log.lines).collect();
        let number: Vec<i64> = lines.iter().map(|line| line.number).collect();
        let attempt: Vec<i32> = lines.iter().map(|line| line.attempt as i32).collect();
        let level: Vec<i16> = lines.iter().map(|line| line.level.code()).collect();
        let time: Vec<Timestamp> = lines.iter().map(|line| line.time).collect();
        let message: Vec<&str> = lines.iter().map(|line| line.message.as_str()).collect();
        let statement = tx.prepare(&self.sql.log).await?;
        // A crash of the server may cost the last lines. The end of a job, which comes later, is durable and takes with it
        // what was written before.
        let (begun, written, committed) = futures_util::join!(
            tx.open(Mode::Forgettable),
            async {
                let client = tx.client();
                client
                    .execute(
                        &statement,
                        &[
                            &executor, &ids, &numbers, &places, &number, &attempt, &level, &time, &message,
                        ],
                    )
                    .await
            },
            tx.client().batch_execute("commit"),
        );
        begun?;
        written?;
        committed?;
        drop(tx.finish());
        Ok(())
    }

    pub(super) async fn ends_of_logs(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        let failed = failed("looking at logs");
        let ids: Vec<Uuid> = jobs.iter().map(|id| id.0).collect();
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        let rows = tx.query(&self.sql.log_ends, &[&ids]).await.map_err(&failed)?;
        tx.commit().await.map_err(&failed)?;
        let ends: HashMap<Uuid, LogEnd> = rows
            .iter()
            .map(|row| {
                let end = LogEnd {
                    number: row.get(1),
                    lines: row.get::<_, i64>(2) as u64,
                };
                (row.get(0), end)
            })
            .collect();
        Ok(ids.iter().map(|id| ends.get(id).copied().unwrap_or_default()).collect())
    }

    pub(super) async fn read_lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        let failed = failed("reading a log");
        let client = self.client().await?;
        // Not kept prepared: planned for this job, it looks into one partition only.
        let rows = client
            .query(&self.sql.lines, &[&job.0, &after, &i64::from(limit)])
            .await
            .map_err(&failed)?;
        rows.iter()
            .map(|row| {
                Ok(Line {
                    number: row.get(0),
                    attempt: row.get::<_, i32>(1) as u32,
                    time: row.get(2),
                    level: rows::coded("level", row.get(3), Level::from_code)?,
                    message: row.get(4),
                })
            })
            .collect()
    }
}
