//! A parked job into an executor's hands, before it is due.

use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use crate::error::{Error, Result};
use crate::job::{Claimed, JobId, Lane};
use crate::store::grabbed;

impl PostgresStore {
    pub(super) async fn grab_parked(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        let failed = failed("taking a parked job");
        let Some(job) = self.read(&[id]).await?.pop() else {
            return Ok(None);
        };
        let Some(change) = grabbed(&job.standing()) else {
            return Ok(None);
        };
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let settings = self.read_settings_on(tx.client()).await?;
        if settings.is_paused(&job.queue, &job.group, &job.task) {
            tx.commit().await.map_err(&failed)?;
            return Ok(None);
        }
        // In the order of all claims: the executor, the caps, the job.
        let alive = tx.query(&self.sql.alive, &[&executor]).await.map_err(&failed)?;
        if alive.is_empty() {
            return Err(Error::LeaseLost);
        }
        tx.execute(&self.sql.enter, &[]).await.map_err(&failed)?;
        let (kinds, names) = ([0i16, 1], [job.group.as_str(), job.task.as_str()]);
        let caps = tx
            .query(&self.sql.lock_caps, &[&kinds.as_slice(), &names.as_slice()])
            .await
            .map_err(&failed)?;
        let full = caps.iter().any(|cap| cap.get::<_, i32>(2) == 0);
        let taken = if full {
            0
        } else {
            tx.execute(&self.sql.grab, &[&executor, &number, &change.state.code(), &id.0])
                .await
                .map_err(&failed)?
        };
        if taken > 0 && !caps.is_empty() {
            tx.execute(&self.sql.fill_caps, &[&kinds.as_slice(), &names.as_slice()])
                .await
                .map_err(&failed)?;
        }
        tx.commit().await.map_err(&failed)?;
        self.holds.took(executor, number, taken as usize);
        self.signal_changed([id].into_iter().filter(|_| taken > 0));
        Ok((taken > 0).then(|| Claimed::of(&job, Lane::from(job.priority), number)))
    }
}
