//! Ended jobs that are past their time, where their day does not go as a whole: row by row, some at a time.

use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connect::failed;
use super::prune::{DAY, bounds, day};
use crate::clock;
use crate::error::Result;
use crate::job::JobId;
use crate::retention::{self, Rule, SOON};
use crate::store::{ID_AHEAD, ID_PAST};

/// So many rows go in one statement; the rest with the next ones. More would make those wait who commit at the same time.
const ROWS: i64 = 5_000;
/// Looks that are made every few seconds begin so long before the end of the last one.
const SHORTLY: Duration = Duration::from_mins(1);
/// What is kept for longer goes by days, where nothing in them is kept.
pub(super) const BY_DAYS: Duration = Duration::from_hours(8 * 24);
const _: () = assert!(
    BY_DAYS.as_secs() == ID_PAST.as_secs() + DAY.as_secs(),
    "days of given ids stay"
);

/// What is done about old jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Tasks that want to know are told, and their jobs go.
    Hooked,
    /// The others go.
    Rows,
}

impl PostgresStore {
    /// Forgets ended jobs that are hardly kept.
    pub(super) async fn forget_soon(&self) -> Result<u64> {
        if !retention::any_soon(&self.known_settings(), self.options.retention) {
            return Ok(0);
        }
        let settings = self.read_settings().await?;
        let rules = retention::rules(&settings, self.options.retention);
        let version = settings.version;
        let hooked = self.forget_past(Step::Hooked, version, &rules, SOON, SHORTLY).await?;
        Ok(hooked + self.forget_past(Step::Rows, version, &rules, SOON, SHORTLY).await?)
    }

    /// Forgets ended jobs that are past their time and are kept no longer than `most`: those that ended since the last look, and
    /// `overlap` before.
    pub(super) async fn forget_past(
        &self,
        step: Step,
        version: i64,
        rules: &[Rule],
        most: Duration,
        overlap: Duration,
    ) -> Result<u64> {
        let mut forgotten = 0;
        for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.kept <= most) {
            let end = clock::before(self.now(), rule.kept);
            // An id may be ahead of its job. Where days go as a whole, jobs wait a day longer for that: there are always some
            // that ended after the midnight that followed their submit, and these must not make a million others go one by one.
            let (below, overlap) = if rule.kept > BY_DAYS {
                (bounds(day(clock::before(end, DAY)))[0], overlap + ID_AHEAD + 2 * DAY)
            } else {
                (JobId::floor(clock::after(end, ID_AHEAD)), overlap)
            };
            let of = number * 2 + usize::from(step == Step::Rows);
            let from = {
                let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
                swept.from(version, of, overlap)
            };
            forgotten += match step {
                Step::Hooked => self.forget_hooked(rule, from, end).await?,
                Step::Rows => self.forget_rows(rule, from, end, below.0).await?,
            };
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            swept.done(version, of, end);
        }
        Ok(forgotten)
    }

    /// Forgets jobs with ids below `below` that a rule covers and that ended up to `end`.
    async fn forget_rows(&self, rule: &Rule, from: Option<Timestamp>, end: Timestamp, below: Uuid) -> Result<u64> {
        let failed = failed("forgetting ended jobs");
        let (groups, tasks) = (&rule.groups, &rule.tasks);
        let (not_groups, not_tasks) = (&rule.except_groups, &rule.except_tasks);
        let states = rule.codes();
        let mut forgotten = 0;
        loop {
            let client = self.client().await?;
            let params: [&(dyn ToSql + Sync); 9] = [
                &states, &from, &end, groups, tasks, not_groups, not_tasks, &below, &ROWS,
            ];
            // Planned for these values: whether a few minutes are looked at or everything is a great difference.
            let row = client.query_one(&self.sql.prune_rows, &params).await.map_err(&failed)?;
            let gone: i64 = row.get(0);
            forgotten += gone as u64;
            if gone < ROWS {
                return Ok(forgotten);
            }
        }
    }
}
