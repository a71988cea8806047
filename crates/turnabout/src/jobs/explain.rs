//! Why a job waits, in plain words.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock::until;
use crate::group::Cap;
use crate::job::{Job, Lane, State};
use crate::store::Standpoint;

/// Why a job waits. Printed, it is a few plain sentences.
#[derive(Clone, Debug, PartialEq)]
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
    /// Whether its group is paused.
    pub group_paused: bool,
    /// Whether its task is paused.
    pub task_paused: bool,
    /// Caps under which no place is free, and how many jobs they allow.
    pub full: Vec<(Cap, u32)>,
    /// Whether some executor serves its queue, knows its task and was not told to take no more.
    pub known: bool,
    /// For how long none of those was heard of, if it is so long that they may be gone.
    pub silent: Option<Duration>,
}

/// Executors are heard of every few seconds. After so long, unless they were set up to be slower, they are gone.
const SILENT: Duration = Duration::from_secs(30);

impl Explanation {
    pub(super) fn new(standpoint: Standpoint, now: Timestamp) -> Self {
        let job = standpoint.job;
        let (group, task) = standpoint.settings;
        Self {
            parked: job.due.filter(|_| job.lane.is_none()).map(|due| until(now, due)),
            place: job.lane.map(|_| standpoint.ahead + 1),
            groups: standpoint.groups,
            group_paused: group.paused,
            task_paused: task.paused,
            full: standpoint
                .running
                .into_iter()
                .filter(|(_, running, max)| running >= max)
                .map(|(cap, _, max)| (cap, max))
                .collect(),
            known: standpoint.heard.is_some(),
            silent: standpoint
                .heard
                .map(|heard| until(heard, now))
                .filter(|silent| *silent >= SILENT),
            job,
        }
    }

    /// What keeps the job from being taken, whoever's turn it is.
    fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
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
        Ok(())
    }
}
