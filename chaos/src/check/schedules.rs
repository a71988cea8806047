//! What schedules promise: no time twice, none lost, and no run beside the previous one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use turnabout::JobId;

use super::{Violation, violation};
use crate::history::History;
use crate::record::{Moment, Record};

/// No time of a schedule has two jobs.
pub(super) fn no_time_has_two_jobs(history: &History) -> Vec<Violation> {
    let mut jobs: BTreeMap<(&str, i64), BTreeSet<JobId>> = BTreeMap::new();
    for record in &history.records {
        let (Record::Scheduled { schedule, time, job }
        | Record::Fired {
            schedule,
            time,
            job: Some(job),
            ..
        }) = record
        else {
            continue;
        };
        jobs.entry((schedule, *time)).or_default().insert(*job);
    }
    let twice = jobs.into_iter().filter(|(_, jobs)| jobs.len() > 1);
    twice
        .map(|((schedule, time), jobs)| {
            let what = format!("{schedule} has {} jobs for the time {time}", jobs.len());
            violation("no time has two jobs", jobs.first().copied(), what)
        })
        .collect()
}

/// Each time of a schedule was fired, skipped, missed or refused; and each run was noted.
pub(super) fn no_time_is_lost(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for record in &history.records {
        let Record::Schedule {
            schedule,
            first,
            last,
            every,
        } = record
        else {
            continue;
        };
        let mut numbers = BTreeSet::new();
        let mut accounted = 0;
        for record in &history.records {
            if let Record::Fired {
                schedule: of,
                number,
                count,
                ..
            } = record
                && of == schedule
                && numbers.insert(*number)
            {
                accounted += i64::from(*count);
            }
        }
        let runs = numbers.last().copied().unwrap_or(0);
        if numbers.len() as i64 != runs {
            let what = format!("of {runs} runs of {schedule}, {} were noted", numbers.len());
            found.push(violation("no time is lost", None, what));
        }
        let wanted = (last - first) / every + 1;
        if accounted != wanted {
            let what = format!("{schedule} had {wanted} times, of which {accounted} are accounted for");
            found.push(violation("no time is lost", None, what));
        }
    }
    found
}

/// Each job that a schedule submitted is among its runs, and each run has its job.
pub(super) fn every_job_of_a_schedule_is_known(history: &History) -> Vec<Violation> {
    let (mut fired, mut there) = (BTreeSet::new(), BTreeSet::new());
    for record in &history.records {
        match record {
            Record::Fired { job: Some(job), .. } => drop(fired.insert(*job)),
            Record::Scheduled { job, .. } => drop(there.insert(*job)),
            _ => {}
        }
    }
    let rule = "every job of a schedule is known";
    let unknown = there
        .difference(&fired)
        .map(|job| violation(rule, *job, "no run of its schedule names it"));
    let missing = fired
        .difference(&there)
        .map(|job| violation(rule, *job, "a run of its schedule names it, but there is no such job"));
    unknown.chain(missing).collect()
}

/// Whoever has the next job of a schedule, the previous one has ended: nobody runs it by a valid lease any longer.
pub(super) fn no_run_beside_the_previous_one(history: &History) -> Vec<Violation> {
    // By number: the order in which they were fired.
    let mut jobs: BTreeMap<&str, BTreeMap<i64, JobId>> = BTreeMap::new();
    for record in &history.records {
        if let Record::Fired {
            schedule,
            number,
            job: Some(job),
            ..
        } = record
        {
            jobs.entry(schedule).or_default().insert(*number, *job);
        }
    }
    let runs = history.by_job();
    // When each job first began, and until when it ran by a valid lease.
    let first: HashMap<JobId, Moment> = runs
        .iter()
        .filter_map(|(job, runs)| Some((*job, runs.iter().map(|run| run.from).min()?)))
        .collect();
    let last: HashMap<JobId, Moment> = runs
        .iter()
        .filter_map(|(job, runs)| {
            let pieces = runs.iter().flat_map(|run| history.valid(run));
            Some((*job, pieces.map(|(_, to)| to).max()?))
        })
        .collect();
    let mut found = Vec::new();
    for (schedule, jobs) in jobs {
        let jobs: Vec<JobId> = jobs.into_values().collect();
        for pair in jobs.windows(2) {
            if let (Some(until), Some(begun)) = (last.get(&pair[0]), first.get(&pair[1]))
                && until > begun
            {
                let beside = (until - begun) as f64 / 1e9;
                let what = format!(
                    "{schedule}: the job before it, {}, still ran for {beside:.3} s",
                    pair[0]
                );
                found.push(violation("no run beside the previous one", pair[1], what));
            }
        }
    }
    found
}
