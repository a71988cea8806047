//! Changing what is set for a group, a task, a queue or everything. It acts at once on jobs already waiting.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Jobs;
use crate::error::{Error, Result};
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, Rate, TaskLimits};
use crate::job::State;
use crate::retention::Retention;
use crate::store::Setting;
use crate::submit::{group_name, name};

/// So many jobs at the most can be said as a limit: stores count in four bytes with a sign.
const MAX_LIMIT: u32 = i32::MAX as u32;

/// New settings of a group; what is not said stays as it is. Await it to make them so: it returns all that holds for the
/// group then.
#[derive(Clone, Debug)]
#[must_use = "nothing is set until it is awaited"]
pub struct SetGroup {
    jobs: Jobs,
    /// None: the defaults of all groups.
    group: Option<String>,
    weight: New<u32>,
    max_running: New<u32>,
    max_share: New<u32>,
    max_unfinished: New<u32>,
    max_unknown_tasks: New<u32>,
    paused: Option<bool>,
    rate: New<Rate>,
    retention: NewRetention,
}

impl SetGroup {
    pub(super) fn new(jobs: Jobs, group: Option<String>) -> Self {
        Self {
            jobs,
            group,
            weight: New::AsItIs,
            max_running: New::AsItIs,
            max_share: New::AsItIs,
            max_unfinished: New::AsItIs,
            max_unknown_tasks: New::AsItIs,
            paused: None,
            rate: New::AsItIs,
            retention: NewRetention::default(),
        }
    }

    /// How many jobs the group gets for each one of a group of weight 1: from 1 to 1000.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = New::Set(Some(weight));
        self
    }

    /// The weight of all groups that have none of their own.
    pub fn usual_weight(mut self) -> Self {
        self.weight = New::Set(None);
        self
    }

    /// At most so many of its jobs run at a time, over all executors. `None`: as the defaults of all groups say.
    pub fn max_running(mut self, jobs: Option<u32>) -> Self {
        self.max_running = New::Set(jobs);
        self
    }

    /// At most such a share of the slots of each executor, in percent, may its jobs have: one slot at least. `None`: as the
    /// defaults of all groups say.
    pub fn max_share(mut self, percent: Option<u32>) -> Self {
        self.max_share = New::Set(percent);
        self
    }

    /// At most so many of its jobs may be unfinished: a submit past that is [`Error::TooMany`]. Those that there are
    /// count. `None`: as the defaults of all groups say.
    pub fn max_unfinished(mut self, jobs: Option<u32>) -> Self {
        self.max_unfinished = New::Set(jobs);
        self
    }

    /// So many different tasks that no executor has ever published may its unfinished jobs have: a submit of one more such task is
    /// [`Error::TooManyUnknownTasks`]. `None`: as the defaults of all groups say, or else 1000.
    pub fn max_unknown_tasks(mut self, tasks: Option<u32>) -> Self {
        self.max_unknown_tasks = New::Set(tasks);
        self
    }

    /// How often its jobs may start, over all executors. `None`: as the defaults of all groups say.
    pub fn rate(mut self, rate: Option<Rate>) -> Self {
        self.rate = New::Set(rate);
        self
    }

    /// No further job of the group is taken.
    pub fn pause(mut self) -> Self {
        self.paused = Some(true);
        self
    }

    /// Jobs of the group are taken again.
    pub fn resume(mut self) -> Self {
        self.paused = Some(false);
        self
    }

    /// How long its jobs are kept that have ended in this state, which is a final one. Zero: they go within seconds. `None`: as
    /// their task says, or as is set for all jobs.
    pub fn keep(mut self, state: State, time: Option<Duration>) -> Self {
        self.retention.0.push((state, time));
        self
    }

    async fn set(self) -> Result<GroupSettings> {
        if let Some(group) = &self.group {
            group_name(group)?;
        } else if self.paused.is_some() || !self.retention.0.is_empty() {
            return Err(Error::invalid(
                "group defaults",
                "pauses and retention have none; `Jobs::global` sets them for everything",
            ));
        }
        self.retention.check()?;
        if let New::Set(Some(weight)) = self.weight
            && !(1..=GroupSettings::MAX_WEIGHT).contains(&weight)
        {
            return Err(Error::invalid(
                "weight",
                format!(
                    "{weight} is not from 1 to {}; pause a group to give it nothing",
                    GroupSettings::MAX_WEIGHT
                ),
            ));
        }
        self.max_running
            .check("max_running", "0 would never let a job run; use pause for that")?;
        if let New::Set(Some(percent)) = self.max_share
            && !(1..=100).contains(&percent)
        {
            let why = format!("{percent} is not from 1 to 100; it is a share of the slots in percent");
            return Err(Error::invalid("max_share", why));
        }
        self.max_unfinished
            .check("max_unfinished", "0 would never let a job in; allow at least 1")?;
        self.max_unknown_tasks.check(
            "max_unknown_tasks",
            "0 would let nobody submit before an executor has run; allow at least 1",
        )?;
        // Again, if someone else was quicker: what they have changed is not ours to undo.
        loop {
            let known = self.jobs.settings().await?;
            let name = self.group.clone().unwrap_or_default();
            let mut settings = known.own(&name);
            settings.weight = self.weight.over(settings.weight);
            settings.max_running = self.max_running.over(settings.max_running);
            settings.max_share = self.max_share.over(settings.max_share);
            settings.max_unfinished = self.max_unfinished.over(settings.max_unfinished);
            settings.max_unknown_tasks = self.max_unknown_tasks.over(settings.max_unknown_tasks);
            settings.paused = self.paused.unwrap_or(settings.paused);
            settings.rate = self.rate.over(settings.rate);
            self.retention.over(&mut settings.retention);
            if (self.jobs.store())
                .set_since(known.version, Setting::Group(name, settings))
                .await?
            {
                let is_default = self.group.is_none();
                return Ok(if is_default {
                    settings
                } else {
                    settings.or(&known.defaults)
                });
            }
        }
    }
}

/// New limits of a task; what is not said stays as it is. Await it to make them so: it returns all that is set for the task
/// then.
#[derive(Clone, Debug)]
#[must_use = "nothing is set until it is awaited"]
pub struct SetTask {
    jobs: Jobs,
    task: String,
    max_running: New<u32>,
    max_running_each: New<u32>,
    rate: New<Rate>,
    paused: Option<bool>,
    retention: NewRetention,
}

impl SetTask {
    pub(super) fn new(jobs: Jobs, task: String) -> Self {
        Self {
            jobs,
            task,
            max_running: New::AsItIs,
            max_running_each: New::AsItIs,
            rate: New::AsItIs,
            paused: None,
            retention: NewRetention::default(),
        }
    }

    /// At most so many of its jobs run at a time, over all executors and groups. `None`: as many as there are slots.
    pub fn max_running(mut self, jobs: Option<u32>) -> Self {
        self.max_running = New::Set(jobs);
        self
    }

    /// At most so many of its jobs run at a time on one executor. `None`: as many as it has slots.
    pub fn max_running_each(mut self, jobs: Option<u32>) -> Self {
        self.max_running_each = New::Set(jobs);
        self
    }

    /// How often its jobs may start, over all executors and groups. `None`: as often as there are slots.
    pub fn rate(mut self, rate: Option<Rate>) -> Self {
        self.rate = New::Set(rate);
        self
    }

    /// No further job of the task is taken.
    pub fn pause(mut self) -> Self {
        self.paused = Some(true);
        self
    }

    /// Jobs of the task are taken again.
    pub fn resume(mut self) -> Self {
        self.paused = Some(false);
        self
    }

    /// How long its jobs are kept that have ended in this state, which is a final one, unless their group says otherwise. Zero:
    /// they go within seconds. `None`: as is set for all jobs.
    pub fn keep(mut self, state: State, time: Option<Duration>) -> Self {
        self.retention.0.push((state, time));
        self
    }

    async fn set(self) -> Result<TaskLimits> {
        name("task", &self.task)?;
        self.retention.check()?;
        self.max_running
            .check("max_running", "0 would never let a job run; use pause for that")?;
        self.max_running_each
            .check("max_running_each", "0 would never let a job run; use pause for that")?;
        loop {
            let known = self.jobs.settings().await?;
            let mut limits = known.task(&self.task);
            limits.max_running = self.max_running.over(limits.max_running);
            limits.max_running_each = self.max_running_each.over(limits.max_running_each);
            limits.rate = self.rate.over(limits.rate);
            limits.paused = self.paused.unwrap_or(limits.paused);
            self.retention.over(&mut limits.retention);
            let setting = Setting::Task(self.task.clone(), limits);
            if self.jobs.store().set_since(known.version, setting).await? {
                return Ok(limits);
            }
        }
    }
}

/// New settings of a queue. Await it to make them so: it returns all that is set for the queue then.
#[derive(Clone, Debug)]
#[must_use = "nothing is set until it is awaited"]
pub struct SetQueue {
    jobs: Jobs,
    queue: String,
    paused: Option<bool>,
}

impl SetQueue {
    pub(super) fn new(jobs: Jobs, queue: String) -> Self {
        Self {
            jobs,
            queue,
            paused: None,
        }
    }

    /// No further job of the queue is taken.
    pub fn pause(mut self) -> Self {
        self.paused = Some(true);
        self
    }

    /// Jobs of the queue are taken again.
    pub fn resume(mut self) -> Self {
        self.paused = Some(false);
        self
    }

    async fn set(self) -> Result<QueueSettings> {
        name("queue", &self.queue)?;
        loop {
            let known = self.jobs.settings().await?;
            let mut settings = known.queue(&self.queue);
            settings.paused = self.paused.unwrap_or(settings.paused);
            let setting = Setting::Queue(self.queue.clone(), settings);
            if self.jobs.store().set_since(known.version, setting).await? {
                return Ok(settings);
            }
        }
    }
}

/// New settings for everything; what is not said stays as it is. Await it to make them so: it returns all that is set then.
#[derive(Clone, Debug)]
#[must_use = "nothing is set until it is awaited"]
pub struct SetGlobal {
    jobs: Jobs,
    paused: Option<bool>,
    retention: NewRetention,
}

impl SetGlobal {
    pub(super) fn new(jobs: Jobs) -> Self {
        Self {
            jobs,
            paused: None,
            retention: NewRetention::default(),
        }
    }

    /// No further job is taken at all; those that run go on.
    pub fn pause(mut self) -> Self {
        self.paused = Some(true);
        self
    }

    /// Jobs are taken again, but for what is paused by itself.
    pub fn resume(mut self) -> Self {
        self.paused = Some(false);
        self
    }

    /// How long jobs are kept that have ended in this state, which is a final one, unless their group or task says otherwise.
    /// Zero: they go within seconds. `None`: as the store was opened ([`Open::retention`](super::Open::retention)).
    pub fn keep(mut self, state: State, time: Option<Duration>) -> Self {
        self.retention.0.push((state, time));
        self
    }

    async fn set(self) -> Result<GlobalSettings> {
        self.retention.check()?;
        loop {
            let known = self.jobs.settings().await?;
            let mut settings = known.global;
            settings.paused = self.paused.unwrap_or(settings.paused);
            self.retention.over(&mut settings.retention);
            let setting = Setting::Global(settings);
            if self.jobs.store().set_since(known.version, setting).await? {
                return Ok(settings);
            }
        }
    }
}

/// What becomes of a retention, state by state.
#[derive(Clone, Debug, Default)]
struct NewRetention(Vec<(State, Option<Duration>)>);

impl NewRetention {
    fn check(&self) -> Result<()> {
        for (state, time) in &self.0 {
            if !state.is_final() {
                let why = format!("a job that is {state} has not ended, and is kept; say success, failed or cancelled");
                return Err(Error::invalid("retention", why));
            }
            if time.is_some_and(|time| time > Retention::LONGEST) {
                return Err(Error::invalid(
                    "retention",
                    "it is more than 100 years; that is too long",
                ));
            }
        }
        Ok(())
    }

    fn over(&self, present: &mut Retention) {
        for (state, time) in &self.0 {
            if let Some(place) = present.of_mut(*state) {
                *place = *time;
            }
        }
    }
}

/// What a limit becomes.
#[derive(Clone, Copy, Debug)]
enum New<T> {
    AsItIs,
    Set(Option<T>),
}

impl New<u32> {
    fn check(self, what: &'static str, nothing: &'static str) -> Result<()> {
        match self {
            Self::Set(Some(0)) => Err(Error::invalid(what, nothing)),
            Self::Set(Some(limit)) if limit > MAX_LIMIT => Err(Error::invalid(
                what,
                format!("{limit} is more than {MAX_LIMIT}; take the limit away instead"),
            )),
            _ => Ok(()),
        }
    }
}

impl<T> New<T> {
    fn over(self, present: Option<T>) -> Option<T> {
        match self {
            Self::AsItIs => present,
            Self::Set(limit) => limit,
        }
    }
}

/// Each is awaited to make it so.
macro_rules! awaited {
    ($($set:ident gives $settings:ident),+) => {
        $(impl IntoFuture for $set {
            type Output = Result<$settings>;
            type IntoFuture = BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.set())
            }
        })+
    };
}

awaited!(SetGroup gives GroupSettings, SetTask gives TaskLimits, SetQueue gives QueueSettings, SetGlobal gives GlobalSettings);
