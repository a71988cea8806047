//! What is to be done about a schedule that is due: which jobs to submit, which times are skipped or missed, when it is due
//! again. Every rule about that is here, and stores only write what it says.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use super::definition::{Missed, Overlap};
use super::{LOOK_AGAIN, META_ID, META_NAME, META_TIME, Run, RunKind, Schedule, Standing, Times};
use crate::clock::{after, until};
use crate::error::{Error, Result};
use crate::job::{JobId, Meta, When};
use crate::store::{MaxUnfinished, NewJob, Submitted};

/// A time that is later than this counts as missed, where missed times are skipped.
const ON_TIME: Duration = Duration::from_mins(1);
/// So many unfinished jobs are remembered, where any number may be.
const REMEMBERED: usize = 1000;

/// What firing makes of a schedule, to be written in one transaction with its jobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Firing {
    /// What the schedule becomes, once [`Firing::conclude`] was told of the jobs.
    pub(crate) standing: Standing,
    /// What became of which time.
    pub(crate) runs: Vec<Run>,
    /// The jobs to be stored: one for each run that fired, in their order.
    pub(crate) jobs: Vec<NewJob>,
    /// Jobs to be cancelled, once this is written.
    pub(crate) cancel: Vec<JobId>,
}

/// What somebody wants to run outside of the calendar.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunNow {
    /// Once, at once; also while a job of the schedule is unfinished, if `force`.
    Once {
        /// Whether an unfinished job is no reason not to.
        force: bool,
    },
    /// For each of these times, except those that have had their job.
    For(Vec<Timestamp>),
}

/// What is to be done about a schedule that is due by now. `live` are those of its jobs that have not ended.
pub(crate) fn fire(schedule: &Schedule, now: Timestamp, live: &HashSet<JobId>) -> Firing {
    let now = whole_micros(now);
    let mut firing = Firing::new(schedule, live);
    let times = match schedule.times() {
        Ok(times) => times,
        // Stored by a program that knows more: nothing else suffers for it.
        Err(error) => {
            firing.stop(error.to_string());
            return firing;
        }
    };
    let candidates = firing.come(schedule, &times, now);
    firing.submit_or_wait(schedule, &times, candidates, now);
    firing.arm(&times, now);
    firing
}

/// What running a schedule outside of the calendar makes of it. `taken` are times that have had their job.
pub(crate) fn run_now(
    schedule: &Schedule,
    wanted: &RunNow,
    taken: &HashSet<Timestamp>,
    now: Timestamp,
    live: &HashSet<JobId>,
) -> Result<Firing> {
    let now = whole_micros(now);
    let mut firing = Firing::new(schedule, live);
    match wanted {
        RunNow::Once { force } => {
            if let Some(job) = firing.standing.unfinished.first()
                && !force
                && schedule.definition.overlap != Overlap::Allow
            {
                return Err(Error::StillRuns {
                    schedule: schedule.key.name.clone(),
                    job: *job,
                });
            }
            let mut time = now;
            while taken.contains(&time) {
                time = after(time, Duration::from_micros(1));
            }
            firing.submit(schedule, time, now, Duration::ZERO, Some("run by hand"));
        }
        RunNow::For(times) => {
            for time in times.iter().filter(|time| !taken.contains(time)) {
                firing.submit(schedule, *time, now, Duration::ZERO, Some("backfill"));
            }
        }
    }
    Ok(firing)
}

impl Firing {
    fn new(schedule: &Schedule, live: &HashSet<JobId>) -> Self {
        let mut standing = schedule.standing.clone();
        standing.unfinished.retain(|job| live.contains(job));
        Self {
            standing,
            runs: Vec::new(),
            jobs: Vec::new(),
            cancel: Vec::new(),
        }
    }

    /// There is no next time.
    fn stop(&mut self, why: String) {
        self.standing.next = None;
        self.standing.due = None;
        self.standing.stopped = Some(why);
    }

    /// Moves on past the times that have come. Returns those that should have a job; the others are noted as missed.
    fn come(&mut self, schedule: &Schedule, times: &Times, now: Timestamp) -> Vec<Timestamp> {
        let Some(first) = self.standing.next.filter(|next| times.due(*next) <= now) else {
            return Vec::new();
        };
        let keep = match schedule.definition.missed {
            Missed::Each(limit) => limit as usize,
            _ => 1,
        };
        let mut come = times.come(first, now, keep);
        let Some(last) = come.times.last().copied() else {
            return Vec::new();
        };
        self.standing.next = times.next_after(last);
        let late = until(times.due(last), now);
        if schedule.definition.missed == Missed::Skip && late > ON_TIME {
            come.before += 1;
            come.times.clear();
        }
        if come.before > 0 {
            let late = until(times.due(first), now);
            let run = self.run(first, RunKind::Missed, now, late);
            run.count = come.before;
            run.why = Some("no executor was there in time".to_owned());
        }
        come.times
    }

    /// Submits what has come, or lets it wait, or skips it, as the overlap policy says.
    fn submit_or_wait(&mut self, schedule: &Schedule, times: &Times, come: Vec<Timestamp>, now: Timestamp) {
        let overlap = schedule.definition.overlap;
        if overlap == Overlap::Allow {
            let waited = std::mem::take(&mut self.standing.waiting);
            for time in waited.into_iter().chain(come) {
                self.submit(schedule, time, now, until(times.due(time), now), None);
            }
            return;
        }
        let mut busy = !self.standing.unfinished.is_empty();
        if !busy && !self.standing.waiting.is_empty() {
            let time = self.standing.waiting.remove(0);
            let late = until(times.due(time), now);
            self.submit(schedule, time, now, late, Some("waited for the previous job"));
            busy = true;
        }
        // No more wait than are made up for.
        let most = match schedule.definition.missed {
            Missed::Each(limit) if come.len() > 1 => limit as usize,
            _ => 1,
        };
        for time in come {
            let late = until(times.due(time), now);
            let waits = &mut self.standing.waiting;
            if !busy && waits.is_empty() {
                self.submit(schedule, time, now, late, None);
                busy = true;
            } else if waits.len() < most && (most > 1 || overlap != Overlap::Skip) {
                waits.push(time);
            } else {
                let unfinished = self.standing.unfinished.first().copied();
                let run = self.run(time, RunKind::Skipped, now, late);
                run.why = Some(match unfinished {
                    Some(job) => format!("job {job} is unfinished"),
                    None => "an earlier time waits for its turn".to_owned(),
                });
            }
        }
        if overlap == Overlap::Cancel && !self.standing.waiting.is_empty() {
            self.cancel.clone_from(&self.standing.unfinished);
        }
    }

    /// When it is due again.
    fn arm(&mut self, times: &Times, now: Timestamp) {
        let next = self.standing.next.map(|next| times.due(next));
        self.standing.stopped = next.is_none().then(|| times.why_none(now));
        let again = (!self.standing.waiting.is_empty()).then(|| after(now, LOOK_AGAIN));
        self.standing.due = next.into_iter().chain(again).min();
    }

    fn submit(&mut self, schedule: &Schedule, time: Timestamp, now: Timestamp, late: Duration, why: Option<&str>) {
        let job = job_for(schedule, time, now);
        let id = job.id;
        self.jobs.push(job);
        let run = self.run(time, RunKind::Fired, now, late);
        run.job = Some(id);
        run.why = why.map(ToOwned::to_owned);
    }

    fn run(&mut self, time: Timestamp, kind: RunKind, at: Timestamp, late: Duration) -> &mut Run {
        self.standing.runs += 1;
        let at_end = self.runs.len();
        self.runs.push(Run {
            number: self.standing.runs,
            time,
            count: 1,
            kind,
            at,
            late,
            job: None,
            why: None,
        });
        &mut self.runs[at_end]
    }

    /// Notes what became of the jobs, in their order. One that was not accepted does not stop its schedule.
    pub(crate) fn conclude(&mut self, outcomes: impl IntoIterator<Item = Result<Submitted>>) {
        let fired = self.runs.iter_mut().filter(|run| run.kind == RunKind::Fired);
        for (run, outcome) in fired.zip(outcomes) {
            match outcome {
                Ok(submitted) => {
                    run.job = Some(submitted.id);
                    self.standing.unfinished.push(submitted.id);
                    self.standing.last = Some((run.time, submitted.id));
                }
                Err(error) => {
                    run.kind = RunKind::Refused;
                    run.job = None;
                    run.why = Some(error.to_string());
                }
            }
        }
        let unfinished = &mut self.standing.unfinished;
        if unfinished.len() > REMEMBERED {
            unfinished.drain(..unfinished.len() - REMEMBERED);
        }
    }
}

/// As exact as stores are.
fn whole_micros(moment: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(moment.as_microsecond()).unwrap_or(moment)
}

/// The job for a time of a schedule.
fn job_for(schedule: &Schedule, time: Timestamp, now: Timestamp) -> NewJob {
    let (id, id_given) = schedule.job_id(time, now);
    let definition = &schedule.definition;
    let meta = [
        (META_NAME, schedule.key.name.clone()),
        (META_TIME, time.to_string()),
        (META_ID, schedule.id.to_string()),
    ];
    NewJob {
        id,
        id_given,
        task: definition.task.clone(),
        group: schedule.job_group().to_owned(),
        owner: schedule.key.owner.clone(),
        queue: definition.queue.clone(),
        priority: definition.priority,
        when: When::Now,
        expires: When::Now,
        unique: None,
        args: definition.args.clone(),
        prepared: false,
        items: 1,
        subject: definition.subject.clone(),
        max_unfinished: MaxUnfinished::AsPublished,
        meta: meta
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect::<Meta>(),
        parent: None,
    }
}
