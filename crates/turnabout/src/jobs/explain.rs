//! Why a job waits, in plain words.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::predict::Predicted;
use crate::clock::until;
use crate::group::{Cap, Rate, share};
use crate::job::{Job, Lane, Reason, State};
use crate::store::Standpoint;
use crate::store::insight::{Held, HeldBy};
use crate::store::overview::Member;

/// Why a job waits. Printed, it is a few plain sentences.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of something else whether it is paused"
)]
#[non_exhaustive]
pub struct Explanation {
    /// The job.
    pub job: Job,
    /// How long until the job is due, if it is parked.
    pub parked: Option<Duration>,
    /// Its place in its group, beginning with 1, if it is ready.
    pub place: Option<u64>,
    /// How many groups take turns in its queue (counted up to a limit).
    pub groups: u64,
    /// Whether everything is paused.
    pub all_paused: bool,
    /// Whether its queue is paused.
    pub queue_paused: bool,
    /// Whether its group is paused.
    pub group_paused: bool,
    /// Whether its task is paused.
    pub task_paused: bool,
    /// Caps under which no place is free, and how many jobs they allow.
    pub full: Vec<(Cap, u32)>,
    /// Rates that let no further job start for now, and how long until they do.
    pub rates: Vec<(Cap, Rate, Duration)>,
    /// How many jobs of its task run on each executor that would take it, if no further one may there.
    pub each_full: Option<u32>,
    /// The share of the slots of each executor, in percent, that jobs of its group have at the most, if they have it on all that
    /// would take it.
    pub share_full: Option<u32>,
    /// Whether some executor serves its queue, knows its task and was not told to take no more.
    pub known: bool,
    /// For how long none of those was heard of, if it is so long that they may be gone.
    pub silent: Option<Duration>,
    /// Slots of the executors that would take it, ..
    pub slots: u64,
    /// .. and how many jobs these executors hold.
    pub held: u64,
    /// If all these slots are taken: by which groups, the most first.
    pub taken_by: Vec<Holder>,
    /// When it will start, if things go on as they have. None: nobody can say.
    pub predicted: Option<Predicted>,
}

/// Who holds slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The group. None: others, whose names are nobody's business.
    pub group: Option<String>,
    /// How many jobs of it executors hold.
    pub jobs: u64,
}

/// So many holders of slots are named.
const HOLDERS: usize = 5;

impl Explanation {
    pub(super) fn new(standpoint: Standpoint, now: Timestamp) -> Self {
        let job = standpoint.job;
        let (group, task) = standpoint.settings;
        Self {
            parked: job.due.filter(|_| job.lane.is_none()).map(|due| until(now, due)),
            place: job.lane.map(|_| standpoint.ahead + 1),
            groups: standpoint.groups,
            all_paused: standpoint.global.paused,
            queue_paused: standpoint.queue.paused,
            group_paused: group.paused,
            task_paused: task.paused,
            full: standpoint
                .running
                .into_iter()
                .filter(|(_, running, max)| running >= max)
                .map(|(cap, _, max)| (cap, max))
                .collect(),
            rates: standpoint
                .rates
                .into_iter()
                .filter(|(_, _, wait)| !wait.is_zero())
                .collect(),
            each_full: task.max_running_each,
            share_full: group.max_share,
            known: standpoint.heard.is_some(),
            silent: standpoint
                .heard
                .map(|heard| until(heard, now))
                .filter(|silent| *silent >= Member::SILENT),
            slots: 0,
            held: 0,
            taken_by: Vec::new(),
            predicted: None,
            job,
        }
    }

    /// Whether all slots are taken in which it could run, and by whom.
    pub(super) fn look_at_slots(&mut self, executors: &[Member], held: &[Held], now: Timestamp) {
        let (queue, task) = (&self.job.queue, &self.job.task);
        let able: Vec<&Member> = executors
            .iter()
            .filter(|member| member.takes(queue, task, now))
            .collect();
        self.slots = able.iter().map(|member| u64::from(member.info.slots)).sum();
        self.held = able.iter().map(|member| member.held).sum();
        let here = |held: &&Held| able.iter().any(|member| member.info.queues.contains(&held.queue));
        if let Some(percent) = self.share_full {
            let share = |member: &&Member| u64::from(share(percent, member.info.slots));
            let own = held.iter().filter(here).filter(|held| held.group == self.job.group);
            let own: u64 = own.map(|held| held.jobs).sum();
            if own < able.iter().map(share).sum() {
                self.share_full = None;
            }
        }
        if self.slots == 0 || self.held < self.slots {
            return;
        }
        let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
        for held in held.iter().filter(here) {
            *groups.entry(&held.group).or_default() += held.jobs;
        }
        let holder = |(group, jobs): (&str, u64)| Holder {
            group: Some(group.to_owned()),
            jobs,
        };
        let mut holders: Vec<Holder> = groups.into_iter().map(holder).collect();
        holders.sort_by(|a, b| b.jobs.cmp(&a.jobs).then_with(|| a.group.cmp(&b.group)));
        let rest: u64 = holders.iter().skip(HOLDERS).map(|holder| holder.jobs).sum();
        holders.truncate(HOLDERS);
        if rest > 0 {
            holders.push(Holder {
                group: None,
                jobs: rest,
            });
        }
        self.taken_by = holders;
    }

    /// Whether all executors that would take it run as many jobs of its task as each may.
    pub(super) fn look_at_each(&mut self, executors: &[Member], held: &[HeldBy], now: Timestamp) {
        let Some(most) = self.each_full else { return };
        let (queue, task) = (&self.job.queue, &self.job.task);
        let full = |member: &Member| {
            let here = held
                .iter()
                .filter(|one| one.executor == member.info.incarnation && one.task == *task);
            here.map(|one| one.jobs).sum::<u64>() >= u64::from(most)
        };
        let mut able = executors.iter().filter(|member| member.takes(queue, task, now));
        if !able.all(full) {
            self.each_full = None;
        }
    }

    /// For those who may know about the job's own group only: others have no names.
    pub fn without_others(mut self) -> Self {
        let (own, others): (Vec<Holder>, Vec<Holder>) = self
            .taken_by
            .into_iter()
            .partition(|holder| holder.group.as_ref() == Some(&self.job.group));
        self.taken_by = own;
        let jobs: u64 = others.iter().map(|holder| holder.jobs).sum();
        if jobs > 0 {
            self.taken_by.push(Holder { group: None, jobs });
        }
        self
    }

    /// Whether something has to change before it can start at all.
    pub(super) fn is_kept(&self) -> bool {
        self.is_paused() || !self.known || self.silent.is_some()
    }

    /// Whether someone has paused it: everything, or its queue, group or task.
    fn is_paused(&self) -> bool {
        self.all_paused || self.queue_paused || self.group_paused || self.task_paused
    }

    /// What keeps the job from being taken, whoever's turn it is.
    fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        if self.all_paused {
            obstacles.push("everything is paused: no job is taken".to_owned());
        }
        if self.queue_paused {
            obstacles.push(format!("the queue `{}` is paused", self.job.queue));
        }
        if self.group_paused {
            obstacles.push(format!("the group `{}` is paused", self.job.group));
        }
        if self.task_paused {
            obstacles.push(format!("the task `{}` is paused", self.job.task));
        }
        for (cap, max) in &self.full {
            let (what, name) = match cap {
                Cap::Group(name) => ("group", name),
                Cap::Task(name) => ("task", name),
            };
            let (jobs, are) = if *max == 1 { ("job", "is") } else { ("jobs", "are") };
            obstacles.push(format!(
                "{max} {jobs} of the {what} `{name}` {are} running, which is its limit"
            ));
        }
        if let Some(most) = self.each_full.filter(|_| self.known) {
            let (jobs, task) = (if most == 1 { "job" } else { "jobs" }, &self.job.task);
            obstacles.push(format!(
                "each executor that would take it runs {most} {jobs} of the task `{task}`, which is the limit on one executor"
            ));
        }
        if let Some(percent) = self.share_full.filter(|_| self.known) {
            obstacles.push(format!(
                "jobs of the group `{}` have {percent} % of the slots of each executor, which is its limit",
                self.job.group
            ));
        }
        for (of, rate, wait) in &self.rates {
            let (what, name) = match of {
                Cap::Group(name) => ("group", name),
                Cap::Task(name) => ("task", name),
            };
            let wait = SignedDuration::from_millis(wait.as_millis().max(1).try_into().unwrap_or(i64::MAX));
            obstacles.push(format!(
                "jobs of the {what} `{name}` start at most {rate}, and the next one may in {wait:#}"
            ));
        }
        if let Some(rate) = self.job.rate().filter(|_| self.job.reason == Some(Reason::RateLimited)) {
            obstacles.push(format!("jobs with the key `{}` start at most {}", rate.key, rate.rate));
        }
        if !self.known {
            obstacles.push(format!(
                "no live executor takes jobs of the queue `{}` and knows the task `{}`",
                self.job.queue, self.job.task
            ));
        }
        if let Some(silent) = self.silent {
            let silent = SignedDuration::from_secs(silent.as_secs() as i64);
            obstacles.push(format!(
                "the executors that would take it were not heard of for {silent:#}"
            ));
        }
        if !self.taken_by.is_empty() && obstacles.is_empty() && self.place.is_some() {
            let by = self.taken_by.iter().map(|holder| match &holder.group {
                Some(group) => format!("{} by `{group}`", holder.jobs),
                None => format!("{} by other groups", holder.jobs),
            });
            let (slots, are) = if self.slots == 1 {
                ("slot", "is")
            } else {
                ("slots", "are")
            };
            obstacles.push(format!(
                "all {} {slots} that it could run in {are} taken: {}",
                self.slots,
                by.collect::<Vec<_>>().join(", ")
            ));
        }
        obstacles
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = &self.job;
        write!(f, "Job {} is {}", job.id, job.state)?;
        if let Some(reason) = job.reason {
            write!(f, " ({reason})")?;
        }
        f.write_str(".")?;
        match job.state {
            State::Waiting | State::Stuck => {}
            State::Scheduled | State::Running if job.cancelling => return f.write_str(" It was told to stop."),
            State::Scheduled => return f.write_str(" An executor has it and will start it shortly."),
            State::Running => return f.write_str(" It is not waiting."),
            State::Success | State::Failed | State::Cancelled => return f.write_str(" It has ended."),
        }
        if let Some(parked) = self.parked {
            let rounded = SignedDuration::from_secs(parked.as_secs_f64().ceil() as i64);
            write!(f, " It is parked and due in {rounded:#}.")?;
        }
        if let (Some(place), Some(lane)) = (self.place, job.lane) {
            let groups = self.groups.max(1);
            let lane = if lane == Lane::Retry {
                "due retries"
            } else {
                lane.as_str()
            };
            write!(
                f,
                " It is number {place} among the `{}` jobs ({lane}) of its group; {groups} {} turns.",
                job.task,
                if groups == 1 { "group takes" } else { "groups take" }
            )?;
        }
        for obstacle in self.obstacles() {
            let mut letters = obstacle.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            write!(f, " {first}{}.", letters.as_str())?;
        }
        if let Some(Predicted {
            earliest,
            latest,
            basis,
        }) = &self.predicted
        {
            write!(
                f,
                " It will start between {earliest:.0} and {latest:.0}, if things go on as they have: {basis}."
            )?;
        }
        Ok(())
    }
}
