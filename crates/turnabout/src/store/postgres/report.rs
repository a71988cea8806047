//! How far jobs are: written often, by all jobs of an executor together, and to nobody's cost but their own.

use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use crate::error::Result;
use crate::job::JobId;
use crate::store::Report;

impl PostgresStore {
    pub(super) async fn write_reports(&self, executor: Uuid, mut reports: Vec<Report>) -> Result<()> {
        let failed = failed("writing progress");
        // The order in which everybody locks.
        reports.sort_unstable_by_key(|report| report.id);
        let ids: Vec<Uuid> = reports.iter().map(|r| r.id.0).collect();
        let numbers: Vec<i64> = reports.iter().map(|r| r.number).collect();
        let percents: Vec<i16> = reports.iter().map(|r| i16::from(r.percent)).collect();
        let steps: Vec<Option<&str>> = reports.iter().map(|r| r.step.as_deref()).collect();
        let tx = Tx::on(self.client().await?);
        let statement = tx.prepare(&self.sql.report).await.map_err(&failed)?;
        let (begun, written, committed) = futures_util::join!(
            tx.open(Mode::Forgettable),
            async {
                let client = tx.client();
                client
                    .execute(&statement, &[&executor, &ids, &numbers, &percents, &steps])
                    .await
            },
            tx.client().batch_execute("commit"),
        );
        begun.map_err(&failed)?;
        written.map_err(&failed)?;
        committed.map_err(&failed)?;
        drop(tx.finish());
        self.signal_changed(ids.into_iter().map(JobId));
        Ok(())
    }
}
