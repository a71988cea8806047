//! A parked job into an executor's hands, before it is due.

use uuid::Uuid;

use super::PostgresStore;
use super::connect::{Mode, Tx, failed};
use super::take::cap_key;
use crate::error::{Error, Result};
use crate::group::{Cap, Rate};
use crate::job::{Claimed, JobId, Lane};
use crate::store::grabbed;

impl PostgresStore {
    pub(super) async fn grab_parked(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        let failed = failed("taking a parked job");
        let Some(job) = self.read(&[id], false).await?.pop() else {
            return Ok(None);
        };
        let Some(change) = grabbed(&job.standing()) else {
            return Ok(None);
        };
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        // In the order of all claims: the executor, the caps, the job.
        let alive = tx.query(&self.sql.alive, &[&executor]).await.map_err(&failed)?;
        if alive.is_empty() {
            return Err(Error::LeaseLost);
        }
        tx.execute(&self.sql.enter, &[]).await.map_err(&failed)?;
        // Only now: nobody makes a cap from here on.
        let settings = self.read_settings_on(tx.client()).await?;
        if settings.is_paused(&job.queue, &job.group, &job.task) {
            tx.commit().await.map_err(&failed)?;
            return Ok(None);
        }
        let caps: Vec<Cap> = settings.caps(&job.group, &job.task).collect();
        let held = self.running_under(&tx, caps.iter()).await?;
        let rates: Vec<(Cap, Rate)> = settings.rates(&job.group, &job.task).collect();
        let stand = self.buckets(&tx, rates.iter().map(|(of, _)| of)).await?;
        let rates: Vec<(Cap, Rate, (i64, i64))> = rates
            .into_iter()
            .filter_map(|(of, rate)| stand.get(&of).copied().map(|stands| (of, rate, stands)))
            .collect();
        let full = held
            .iter()
            .any(|(cap, held)| settings.limit(cap).is_some_and(|most| *held >= most))
            || rates.iter().any(|(_, rate, (full, now))| rate.tokens(*full, *now) == 0);
        let taken = if full {
            0
        } else {
            tx.execute(&self.sql.grab, &[&executor, &number, &change.state.code(), &id.0])
                .await
                .map_err(&failed)?
        };
        if taken > 0 && !caps.is_empty() {
            let (kinds, names): (Vec<i16>, Vec<&str>) = caps.iter().map(cap_key).unzip();
            tx.execute(&self.sql.fill_caps, &[&kinds, &names])
                .await
                .map_err(&failed)?;
        }
        if taken > 0 {
            let moved = rates
                .iter()
                .map(|(of, rate, (full, now))| (of, rate.after(*full, *now, 1)));
            self.move_rates(&tx, &moved.collect::<Vec<_>>()).await?;
        }
        tx.commit().await.map_err(&failed)?;
        self.holds.took(executor, number, taken as usize);
        self.signal_changed([id].into_iter().filter(|_| taken > 0));
        Ok((taken > 0).then(|| Claimed::of(&job, Lane::from(job.priority), number)))
    }
}
