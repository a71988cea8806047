//! Schedules, as applications and operators see them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Jobs;
use crate::error::{Error, Result};
use crate::job::{JobId, State};
use crate::schedule::{
    Definition, Edit, Edited, MAX_BACKFILL, Run, RunNow, Schedule, ScheduleChange, ScheduleKey, Times,
};
use crate::store::overview::Whose;
use crate::store::schedules::{ScheduleEvent, ScheduleFilter};
use crate::submit::{Submission, subject};
use crate::task::Task;

mod follow;
mod set;

pub use follow::FollowSchedules;
pub use set::SetSchedule;

/// So many schedules are written by one call of the store.
const PORTION: usize = 1000;

impl Jobs {
    /// Declares a schedule: jobs of this task, again and again. Say when, then await it.
    ///
    /// Declaring it again, at the next start of the program, changes nothing, or what has changed in the code; what an
    /// operator has set by hand stays.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Report { kind: String }
    /// # impl turnabout::Task for Report { const NAME: &'static str = "report"; }
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// let report = Report { kind: "daily".into() };
    /// let nightly = jobs.schedule("nightly", report).cron("0 2 * * *").zone("Europe/Berlin").group("acme").await?;
    /// println!("next at {:?}", nightly.standing.next);
    /// # Ok(()) }
    /// ```
    pub fn schedule<T: Task>(&self, name: impl Into<String>, task: T) -> SetSchedule {
        SetSchedule::new(self.clone(), name.into(), Submission::new(task))
    }

    /// The same, of a task known only by its name.
    pub fn schedule_named(
        &self,
        name: impl Into<String>,
        task: impl Into<String>,
        args: impl Serialize,
    ) -> SetSchedule {
        SetSchedule::new(self.clone(), name.into(), Submission::named(task, args))
    }

    /// All schedules: look at them, change them, run them.
    pub fn schedules(&self) -> Schedules {
        Schedules { jobs: self.clone() }
    }
}

/// What became of a declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciled {
    /// How many schedules are new, or other than before.
    pub changed: usize,
    /// How many are gone, since they are no longer declared.
    pub removed: usize,
    /// How many are as they were.
    pub same: usize,
}

/// A time of a schedule, what became of it, and of its job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PastRun {
    /// What became of the time.
    pub run: Run,
    /// The state of the job, if there is one and it is still known.
    pub state: Option<State>,
    /// When the job ended.
    pub finished: Option<Timestamp>,
}

/// All schedules of a store. See [`Jobs::schedules`].
#[derive(Clone, Debug)]
pub struct Schedules {
    jobs: Jobs,
}

impl Schedules {
    /// A schedule.
    pub async fn get(&self, key: &ScheduleKey) -> Result<Schedule> {
        let found = self.jobs.store().schedules().get(key).await?;
        found.ok_or_else(|| Error::NoSchedule(key.to_string()))
    }

    /// Schedules in the order of group, owner and name; those of the system come first.
    pub async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>> {
        if !(1..=1000).contains(&filter.limit) {
            return Err(Error::invalid("limit", "from 1 to 1000 schedules fit on a page"));
        }
        self.jobs.store().schedules().list(filter).await
    }

    /// Declares all schedules of a deployment: those that are new are added, those that have changed are changed, except
    /// for what operators have set, and those that it declared earlier and does not any longer are removed. `by` names the
    /// deployment.
    ///
    /// ```
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// let declared = ["acme", "umbrella"].map(|group| {
    ///     jobs.schedule_named("cleanup", "cleanup", ()).every("1 hour").group(group)
    /// });
    /// let reconciled = jobs.schedules().declare("my-app", declared).await?;
    /// println!("{} changed, {} removed", reconciled.changed, reconciled.removed);
    /// # Ok(()) }
    /// ```
    pub async fn declare(&self, by: &str, all: impl IntoIterator<Item = SetSchedule>) -> Result<Reconciled> {
        let wanted = all.into_iter().map(SetSchedule::checked);
        self.reconcile(by, wanted.collect::<Result<_>>()?).await
    }

    /// The names of all schedules that a deployment has declared.
    pub async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>> {
        self.jobs.store().schedules().declared(by).await
    }

    /// As [`Schedules::declare`], for those who have definitions.
    pub async fn reconcile(&self, by: &str, wanted: Vec<(ScheduleKey, Definition)>) -> Result<Reconciled> {
        crate::submit::name("who declares", by)?;
        let now = self.jobs.store().clock().now();
        for (key, definition) in &wanted {
            definition.check(key, self.jobs.inner.max_args, now)?;
        }
        let mut keys = HashSet::new();
        if let Some((twice, _)) = wanted.iter().find(|(key, _)| !keys.insert(key.clone())) {
            return Err(Error::invalid("schedule", format!("{twice} is declared twice")));
        }
        let by = by.to_owned();
        let former = self.declared(&by).await?;
        let gone = former.into_iter().filter(|key| !keys.contains(key));
        let mut edits: Vec<(ScheduleKey, Edit)> = gone.map(|key| (key, Edit::Retire { by: by.clone() })).collect();
        edits.extend(wanted.into_iter().map(|(key, definition)| {
            let by = by.clone();
            (key, Edit::Declare { by, definition })
        }));
        let mut reconciled = Reconciled::default();
        for portion in edits.chunks(PORTION) {
            for outcome in self.jobs.store().schedules().edit(portion.to_vec()).await? {
                match outcome? {
                    Edited { changed: false, .. } => reconciled.same += 1,
                    Edited { schedule: None, .. } => reconciled.removed += 1,
                    Edited { .. } => reconciled.changed += 1,
                }
            }
        }
        Ok(reconciled)
    }

    /// Makes a schedule, or makes another one of it: as an operator would.
    pub async fn set(&self, key: ScheduleKey, definition: Definition) -> Result<Schedule> {
        let now = self.jobs.store().clock().now();
        definition.check(&key, self.jobs.inner.max_args, now)?;
        self.edit_to(key, Edit::Set(definition)).await
    }

    /// Changes some of a schedule: as an operator would.
    pub async fn change(&self, key: ScheduleKey, change: ScheduleChange) -> Result<Schedule> {
        if let Some(args) = &change.args {
            crate::submit::args_length(args, self.jobs.inner.max_args)?;
        }
        self.edit_to(key, Edit::Change(change)).await
    }

    /// Forgets what operators have set: a declared schedule is again as it was declared, and not paused.
    pub async fn reset(&self, key: ScheduleKey) -> Result<Schedule> {
        self.edit_to(key, Edit::Reset).await
    }

    /// Pauses a schedule. Times that come meanwhile have no job, also later.
    pub async fn pause(&self, key: ScheduleKey, note: Option<&str>, by: Option<&str>) -> Result<Schedule> {
        let note = note.and_then(subject);
        let by = by.map(ToOwned::to_owned);
        self.edit_to(key, Edit::Pause { note, by }).await
    }

    /// Goes on with a schedule, from its next time on.
    pub async fn resume(&self, key: ScheduleKey) -> Result<Schedule> {
        self.edit_to(key, Edit::Resume).await
    }

    /// Forgets a schedule and its history. Its jobs stay as they are.
    pub async fn delete(&self, key: ScheduleKey) -> Result<()> {
        self.edit(key, Edit::Delete).await.map(drop)
    }

    /// Submits a job of a schedule now, beside its times. An error while one of its jobs is unfinished, unless overlap is
    /// allowed or this is forced.
    pub async fn run(&self, key: &ScheduleKey, force: bool) -> Result<Run> {
        let runs = self.jobs.store().schedules().run(key, RunNow::Once { force }).await?;
        runs.into_iter()
            .next()
            .ok_or_else(|| Error::NoSchedule(key.to_string()))
    }

    /// Submits a job for each time of a schedule in the past, from one moment to another, both included, all at once;
    /// except for times whose job is still in the history.
    pub async fn backfill(&self, key: &ScheduleKey, from: Timestamp, to: Timestamp) -> Result<Vec<Run>> {
        if to > self.jobs.store().clock().now() {
            return Err(Error::invalid("to", "only times in the past can be made up for"));
        }
        if from < Timestamp::UNIX_EPOCH {
            return Err(Error::invalid("from", "nothing was scheduled before 1970"));
        }
        let times = self.get(key).await?.times()?;
        let mut before = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
        let mut wanted = Vec::new();
        while let Some(time) = times.next_after(before).filter(|time| *time <= to) {
            if wanted.len() == MAX_BACKFILL {
                let why = format!("there are more than {MAX_BACKFILL} times from {from} to {to}; do it in parts");
                return Err(Error::invalid("to", why));
            }
            wanted.push(time);
            before = time;
        }
        self.jobs.store().schedules().run(key, RunNow::For(wanted)).await
    }

    /// The next times of a schedule, whether it is paused or not.
    pub async fn next(&self, key: &ScheduleKey, count: usize) -> Result<Vec<Timestamp>> {
        let schedule = self.get(key).await?;
        let now = self.jobs.store().clock().now();
        Ok(schedule.times()?.next(now, count.min(1000)))
    }

    /// What became of the last times of a schedule, newest first, and of their jobs; those before a run's number.
    pub async fn history(&self, key: &ScheduleKey, before: Option<i64>, limit: u32) -> Result<Vec<PastRun>> {
        let schedule = self.get(key).await?;
        let runs = self.jobs.store().schedules().runs(schedule.id, before, limit).await?;
        let ids: Vec<JobId> = runs.iter().filter_map(|run| run.job).collect();
        let jobs = self.jobs.get_many(&ids).await?;
        let jobs: HashMap<JobId, _> = jobs.into_iter().map(|job| (job.id, job)).collect();
        let past = runs.into_iter().map(|run| {
            let job = run.job.and_then(|job| jobs.get(&job));
            PastRun {
                state: job.map(|job| job.state),
                finished: job.and_then(|job| job.finished),
                run,
            }
        });
        Ok(past.collect())
    }

    /// What happened to schedules after this number, in order.
    pub async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>> {
        self.jobs.store().schedules().changes(after, limit).await
    }

    /// The number of the last thing that happened to any schedule.
    pub async fn last_change(&self) -> Result<i64> {
        self.jobs.store().schedules().last_change().await
    }

    /// How long the schedule has been due that has been so for longest: more than a moment means that nobody fires.
    pub async fn overdue(&self) -> Result<Option<Duration>> {
        self.jobs.store().schedules().overdue().await
    }

    /// The times of an expression, from now on, for people who want to know what they have written.
    pub fn explain(&self, expression: &str, zone: &str) -> Result<Times> {
        let definition = Definition {
            zone: zone.to_owned(),
            ..Definition::new("none", expression)
        };
        Times::new(&definition, &ScheduleKey::new("none"), self.jobs.store().clock().now())
    }

    /// Follows what happens to schedules: after this number, or from now on.
    pub async fn follow(&self, whose: Whose, after: Option<i64>) -> Result<FollowSchedules> {
        // First, so that nothing is missed in between.
        let signals = self.jobs.store().signals();
        let after = match after {
            Some(after) => after,
            None => self.last_change().await?,
        };
        let jobs = self.jobs.clone();
        Ok(FollowSchedules {
            jobs,
            whose,
            signals,
            after,
        })
    }

    async fn edit(&self, key: ScheduleKey, edit: Edit) -> Result<Edited> {
        key.check()?;
        let outcomes = self.jobs.store().schedules().edit(vec![(key.clone(), edit)]).await?;
        let outcome = outcomes.into_iter().next();
        outcome.unwrap_or_else(|| Err(Error::NoSchedule(key.to_string())))
    }

    async fn edit_to(&self, key: ScheduleKey, edit: Edit) -> Result<Schedule> {
        let edited = self.edit(key.clone(), edit).await?;
        edited.schedule.ok_or_else(|| Error::NoSchedule(key.to_string()))
    }
}
