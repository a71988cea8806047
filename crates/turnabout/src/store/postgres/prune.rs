//! The days of history: made a week ahead, dropped when nothing in them is kept any longer.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::client::Object;
use super::connect::{Mode, Tx, failed};
use super::past::{BY_DAYS, Step};
use super::sql::in_schema;
use crate::clock;
use crate::error::Result;
use crate::hook::OWED_KEPT;
use crate::job::JobId;
use crate::retention::{self, Rule};
use crate::store::{ID_PAST, NAMES_KEPT, OVERLAP};

/// What is kept in days: history first.
pub(super) const KEPT: [&str; 3] = [HISTORY, "job_log", ATTEMPTS];
const HISTORY: &str = "job_history";
const ATTEMPTS: &str = "job_attempt";
pub(super) const DAY: Duration = Duration::from_hours(24);

impl PostgresStore {
    /// Makes the days from the oldest that a given id may name to a week ahead.
    pub(super) async fn ensure_days(&self) -> Result<()> {
        let now = self.now();
        let first = clock::before(now, ID_PAST + DAY);
        self.make_days((0..=16).map(|n| clock::after(first, DAY * n)).collect())
            .await
    }

    /// Makes the days of these ids, where they are missing, as part of a transaction.
    pub(super) async fn ensure_days_in(&self, tx: &Tx, ids: impl Iterator<Item = JobId>) -> Result<()> {
        self.make_days_on(tx.client(), HISTORY, days_of(ids)).await
    }

    /// The same for attempts that were not the last, as part of a transaction.
    pub(super) async fn ensure_attempt_days_in(&self, tx: &Tx, ids: impl Iterator<Item = JobId>) -> Result<()> {
        self.make_days_on(tx.client(), ATTEMPTS, days_of(ids)).await
    }

    /// The same for any table. Beside history, most days have nothing.
    pub(super) async fn ensure_days_in_table(&self, kept: &str, ids: impl Iterator<Item = JobId>) -> Result<()> {
        self.make_days_on(&self.client().await?, kept, days_of(ids)).await
    }

    async fn make_days(&self, moments: Vec<Timestamp>) -> Result<()> {
        self.make_days_on(&self.client().await?, HISTORY, moments).await
    }

    async fn make_days_on(&self, client: &Object, kept: &str, moments: Vec<Timestamp>) -> Result<()> {
        let failed = failed("making room for ended jobs");
        let statement = client
            .prepare_cached(&in_schema("select turnabout.ensure_day($1, $2)", self.schema()))
            .await
            .map_err(&failed)?;
        for moment in moments {
            client.query(&statement, &[&moment, &kept]).await.map_err(&failed)?;
        }
        Ok(())
    }

    pub(super) async fn prune_history(&self) -> Result<u64> {
        self.ensure_days().await?;
        self.measure_offset().await?;
        let now = self.options.clock.manual();
        self.run("forgetting old accounts", &self.sql.prune_accounts, &[&now])
            .await?;
        self.run("forgetting keys of rates", &self.sql.prune_rate_keys, &[&now])
            .await?;
        self.run("forgetting what is idle", &self.sql.prune_idle, &[&now])
            .await?;
        self.run("forgetting old reports", &self.sql.prune_reports, &[]).await?;
        let left = clock::before(self.now(), NAMES_KEPT);
        self.run("forgetting old names", &self.sql.prune_names, &[&left])
            .await?;
        self.forget_arrivals().await?;
        self.prune_audit().await?;
        let (old, idle) = (clock::before(self.now(), OWED_KEPT), clock::before(self.now(), DAY));
        self.run("forgetting old hooks", &self.sql.forget_owed, &[&old, &idle])
            .await?;
        self.run("giving back places", &self.sql.fold_freed, &[]).await?;
        let settings = self.read_settings().await?;
        let rules = retention::rules(&settings, self.options.retention);
        // Before anything else: days may go as a whole.
        let version = settings.version;
        let mut forgotten = self
            .forget_past(Step::Hooked, version, &rules, Duration::MAX, OVERLAP)
            .await?;
        // A given id may still name a job of the last week.
        let shortest = retention::shortest(&settings, self.options.retention);
        let newest = clock::before(self.now(), shortest.max(ID_PAST + DAY));
        let (dropped, unhindered) = self.drop_days(&rules, newest).await?;
        forgotten += dropped;
        // A day that could not go just now goes as a whole the next time.
        let most = if unhindered { Duration::MAX } else { BY_DAYS };
        forgotten += self.forget_past(Step::Rows, version, &rules, most, OVERLAP).await?;
        if unhindered {
            self.prune_beside_history(newest).await?;
        }
        Ok(forgotten)
    }

    /// Drops the days in which everything is past its time. Says how many jobs were forgotten, and whether nobody stood in the
    /// way.
    async fn drop_days(&self, rules: &[Rule], newest: Timestamp) -> Result<(u64, bool)> {
        let mut forgotten = 0;
        if !self.drop_detached().await? {
            return Ok((forgotten, false));
        }
        for (name, day) in self.days(HISTORY).await? {
            let Some(end) = day.tomorrow().ok().and_then(|d| d.to_zoned(TimeZone::UTC).ok()) else {
                continue;
            };
            if end.timestamp() > newest {
                break;
            }
            match self.drop_day(&name, day, rules).await? {
                Some(jobs) => forgotten += jobs,
                None => return Ok((forgotten, false)),
            }
        }
        Ok((forgotten, true))
    }

    /// Forgets arrivals that all kinds of executors have filed.
    async fn forget_arrivals(&self) -> Result<()> {
        let failed = failed("forgetting arrivals");
        let from = self.pruned.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Forgettable).await.map_err(&failed)?;
        let lock = "set local lock_timeout = '1s'; lock table turnabout.kind in share mode";
        let lock = in_schema(lock, self.schema());
        if let Err(error) = tx.client().batch_execute(&lock).await {
            // Somebody comes or goes just now. The next call will do.
            tracing::debug!(error = %crate::error::chain(&error), "arrivals are forgotten later");
            return Ok(());
        }
        let rows = tx.query(&self.sql.prune_arrivals, &[&from]).await.map_err(&failed)?;
        tx.commit().await.map_err(&failed)?;
        if let Some(row) = rows.first() {
            *self.pruned.lock().unwrap_or_else(PoisonError::into_inner) = row.get(0);
        }
        Ok(())
    }

    /// Drops the days of logs and the like whose jobs are all gone: history has no such day, and no job of it lives.
    async fn prune_beside_history(&self, newest: Timestamp) -> Result<()> {
        if self.keeps_nothing() {
            self.run("forgetting old logs", &self.sql.prune_logs, &[]).await?;
            self.run("forgetting old attempts", &self.sql.prune_attempts, &[])
                .await?;
        }
        let known: BTreeSet<Date> = self.days(HISTORY).await?.into_iter().map(|(_, day)| day).collect();
        for kept in KEPT.into_iter().skip(1) {
            for (name, date) in self.days(kept).await? {
                let old = bounds(date)[1] <= JobId::floor(newest);
                if !old || known.contains(&date) || self.has_live(date).await? {
                    continue;
                }
                if !self.drop_partition(kept, &name).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether a job made that day is still unfinished.
    async fn has_live(&self, day: Date) -> Result<bool> {
        let failed = failed("looking for unfinished jobs");
        let [first, end] = bounds(day);
        let sql = in_schema(
            "select exists (select from turnabout.job where id >= $1 and id < $2)",
            self.schema(),
        );
        let client = self.client().await?;
        let row = client.query_one(&sql, &[&first.0, &end.0]).await.map_err(&failed)?;
        Ok(row.get(0))
    }

    /// Drops a partition that nobody needs any longer; says whether nobody stood in the way.
    async fn drop_partition(&self, kept: &str, name: &str) -> Result<bool> {
        let commands = [
            format!("alter table turnabout.{kept} detach partition turnabout.{name} concurrently"),
            format!("drop table turnabout.{name}"),
        ];
        self.patiently(&commands).await
    }

    /// The partitions that there are, oldest first.
    async fn days(&self, kept: &str) -> Result<Vec<(String, Date)>> {
        let failed = failed("looking at history");
        let client = self.client().await?;
        let rows = client.query(&self.sql.days, &[&kept]).await.map_err(&failed)?;
        Ok(rows
            .iter()
            .filter_map(|row| {
                let name: String = row.get(0);
                let day = Date::strptime("%Y%m%d", name.strip_prefix(kept)?.strip_prefix('_')?).ok()?;
                Some((name, day))
            })
            .collect())
    }

    /// Ends what an earlier call could not: a day that is half detached stands in the way of all others.
    async fn drop_detached(&self) -> Result<bool> {
        let failed = failed("looking at history");
        let client = self.client().await?;
        let rows = client.query(&self.sql.detached, &[]).await.map_err(&failed)?;
        drop(client);
        for row in &rows {
            let (name, kept, half): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
            let mut commands = vec![format!("drop table if exists turnabout.{name}")];
            if half {
                let finalize = format!("alter table turnabout.{kept} detach partition turnabout.{name} finalize");
                commands.insert(0, finalize);
            }
            if !self.patiently(&commands).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs commands that wait for those who read history (but stand in nobody's way meanwhile), for a while. Says
    /// whether all went through.
    async fn patiently(&self, commands: &[String]) -> Result<bool> {
        if self.pooled() {
            return self.at_once(commands).await;
        }
        // A connection that is not used again: should we be dropped in between, nobody inherits the setting.
        let client = Object::take(self.client().await?);
        let mut outcome = client.batch_execute("set lock_timeout = '2s'").await;
        for command in commands {
            if outcome.is_ok() {
                outcome = client.batch_execute(&in_schema(command, self.schema())).await;
            }
        }
        if let Err(error) = &outcome {
            tracing::warn!(error = %crate::error::chain(error), "history is in use; its oldest day goes later");
        }
        Ok(outcome.is_ok())
    }

    /// The same behind a pooler, where a setting lasts for a transaction, in which nothing can be detached concurrently: those
    /// who come meanwhile wait, but only for a moment.
    async fn at_once(&self, commands: &[String]) -> Result<bool> {
        let tx = Tx::on(self.client().await?);
        let commands = commands.join("; ").replace(" concurrently", "");
        let commands = format!("begin; set local lock_timeout = '100ms'; {commands}; commit");
        let outcome = tx.client().batch_execute(&in_schema(&commands, self.schema())).await;
        match &outcome {
            Ok(()) => drop(tx.finish()),
            Err(error) => {
                tracing::warn!(error = %crate::error::chain(error), "history is in use; its oldest day goes later");
            }
        }
        Ok(outcome.is_ok())
    }

    /// Drops a day, unless a job in it is to be kept, or one made that day is still unfinished. Says how many jobs
    /// were forgotten; `None`: history is in use, and the rest must wait.
    async fn drop_day(&self, name: &str, day: Date, rules: &[Rule]) -> Result<Option<u64>> {
        // One job that is kept must not keep all the others of its day: those go row by row.
        if self.has_live(day).await? || self.keeps_any(name, rules).await? {
            return Ok(Some(0));
        }
        let failed = failed("dropping a day of history");
        // Of a great day about as many as the server knows of: nobody wants to read it all once more, only to drop it.
        let count = format!(
            "select coalesce((select reltuples::bigint from pg_class where oid = 'turnabout.{name}'::regclass and reltuples > 10000),
                (select count(*) from turnabout.{name}))"
        );
        let count = in_schema(&count, self.schema());
        let row = self.client().await?.query_one(&count, &[]).await.map_err(&failed)?;
        if !self.drop_partition(HISTORY, name).await? {
            return Ok(None);
        }
        tracing::info!(day = %day, "dropped a day of history");
        Ok(Some(row.get::<_, i64>(0) as u64))
    }

    /// Whether a job of this day is not yet past its time. What is kept longest is looked for first.
    async fn keeps_any(&self, name: &str, rules: &[Rule]) -> Result<bool> {
        let failed = failed("looking at a day of history");
        let kept = format!(
            "select exists (select from turnabout.{name}
                where state >= 0 and state = any ($1) and finished > $2
                    and ($3::text[] is null or \"group\" = any ($3)) and ($4::text[] is null or task = any ($4))
                    and not \"group\" = any ($5) and not task = any ($6))"
        );
        let kept = in_schema(&kept, self.schema());
        let client = self.client().await?;
        let mut longest: Vec<&Rule> = rules.iter().collect();
        longest.sort_by_key(|rule| std::cmp::Reverse(rule.kept));
        for rule in longest {
            let from = clock::before(self.now(), rule.kept);
            let (not_groups, not_tasks) = (&rule.except_groups, &rule.except_tasks);
            let params: [&(dyn ToSql + Sync); 6] =
                [&rule.codes(), &from, &rule.groups, &rule.tasks, not_groups, not_tasks];
            if client.query_one(&kept, &params).await.map_err(&failed)?.get(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The days of ids, each by its first moment.
fn days_of(ids: impl Iterator<Item = JobId>) -> Vec<Timestamp> {
    let days: BTreeSet<Date> = ids.filter_map(|id| id.time()).map(day).collect();
    days.into_iter()
        .filter_map(|d| d.to_zoned(TimeZone::UTC).ok())
        .map(|z| z.timestamp())
        .collect()
}

/// The first id of a day, and the first of the next one.
pub(super) fn bounds(day: Date) -> [JobId; 2] {
    [Some(day), day.tomorrow().ok()].map(|d| {
        d.and_then(|d| d.to_zoned(TimeZone::UTC).ok())
            .map_or(JobId::floor(Timestamp::MAX), |z| JobId::floor(z.timestamp()))
    })
}

pub(super) fn day(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}
