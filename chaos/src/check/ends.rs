//! How jobs end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use turnabout::{JobId, State};
use uuid::Uuid;

use super::{Violation, jobs, violation};
use crate::history::History;
use crate::record::{Answer, How, Moment, Record};

/// How the store has a job in the end.
struct End<'a> {
    state: State,
    attempts: u32,
    result: Option<&'a str>,
    note: Option<&'a str>,
}

fn ends(history: &History) -> BTreeMap<JobId, Vec<End<'_>>> {
    let mut ends: BTreeMap<JobId, Vec<End<'_>>> = BTreeMap::new();
    for record in &history.records {
        if let Record::Final {
            job,
            state,
            attempts,
            result,
            note,
            ..
        } = record
        {
            ends.entry(*job).or_default().push(End {
                state: *state,
                attempts: *attempts,
                result: result.as_deref(),
                note: note.as_deref(),
            });
        }
    }
    ends
}

/// Every submitted job is there in the end, once, in a final state.
pub(super) fn every_job_ends(history: &History) -> Vec<Violation> {
    const RULE: &str = "every job ends";
    let ends = ends(history);
    jobs(history)
        .keys()
        .filter_map(|job| {
            let found = ends.get(job).map_or(&[][..], Vec::as_slice);
            match found {
                [] => Some(violation(RULE, *job, "it was submitted, and is gone")),
                [end] if end.state.is_final() => None,
                [end] => {
                    let note = end.note.unwrap_or("nobody knows why");
                    Some(violation(RULE, *job, format!("it is still {}: {note}", end.state)))
                }
                _ => Some(violation(RULE, *job, format!("it is there {} times", found.len()))),
            }
        })
        .collect()
}

/// No job is left in the hands of an executor that is gone.
pub(super) fn nothing_is_left(history: &History) -> Vec<Violation> {
    let left = |record: &Record| match record {
        Record::Left { held, unfinished } if held + unfinished > 0 => Some(violation(
            "nothing is left claimed",
            None,
            format!("{held} jobs are left in hand, and {unfinished} unfinished"),
        )),
        _ => None,
    };
    history.records.iter().filter_map(left).collect()
}

/// A job that was seen in a final state is never seen in another one.
pub(super) fn a_final_state_stays(history: &History) -> Vec<Violation> {
    let mut seen: HashMap<JobId, State> = HashMap::new();
    let mut found = Vec::new();
    for record in &history.records {
        let (Record::Seen { job, state, .. } | Record::Final { job, state, .. }) = record else {
            continue;
        };
        let first = *seen.entry(*job).or_insert(*state);
        if first != *state && first.is_final() {
            let what = format!("it was seen as {first}, and later as {state}");
            found.push(violation("a final state stays", *job, what));
        }
    }
    found
}

/// Success means that a handler ran to its end, and the result is its own.
pub(super) fn success_means_a_completed_run(history: &History) -> Vec<Violation> {
    const RULE: &str = "success means a completed run";
    let done: BTreeSet<JobId> = history
        .runs
        .iter()
        .filter(|run| run.how == Some(How::Done))
        .map(|run| run.job)
        .collect();
    let mut found = Vec::new();
    for (job, ends) in ends(history) {
        for end in ends.iter().filter(|end| end.state == State::Success) {
            if !done.contains(&job) {
                found.push(violation(RULE, job, "no handler ran to its end"));
            }
            if end.result != Some(job.to_string().as_str()) {
                found.push(violation(RULE, job, format!("its result is {:?}", end.result)));
            }
            if end.attempts == 0 {
                found.push(violation(RULE, job, "it has no attempts"));
            }
        }
    }
    found
}

/// Jobs of each kind end as their kind demands; only those that someone wanted cancelled are.
pub(super) fn jobs_end_as_they_should(history: &History) -> Vec<Violation> {
    let wanted: BTreeSet<JobId> = history
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Cancel { job, .. } => Some(*job),
            _ => None,
        })
        .collect();
    let jobs = jobs(history);
    let mut found = Vec::new();
    for (job, ends) in ends(history) {
        let Some(submitted) = jobs.get(&job) else {
            continue;
        };
        for end in ends.iter().filter(|end| end.state.is_final()) {
            let cancelled = end.state == State::Cancelled && wanted.contains(&job);
            if !cancelled && !submitted.kind.may_end(end.state) {
                let what = format!("a {} job ended as {}", submitted.kind.task(), end.state);
                found.push(violation("jobs end as they should", job, what));
            }
        }
    }
    found
}

/// Whoever is told that a job is (being) cancelled ends up with a cancelled one; whoever is told that it cannot be, with
/// one that succeeded or failed.
pub(super) fn accepted_cancels_end_cancelled(history: &History) -> Vec<Violation> {
    let ends = ends(history);
    let mut found = Vec::new();
    for record in &history.records {
        let Record::Cancel { job, answer, .. } = record else {
            continue;
        };
        let Some(state) = ends.get(job).and_then(|ends| ends.first()).map(|end| end.state) else {
            continue;
        };
        let wrong = match answer {
            Answer::Accepted => state != State::Cancelled,
            Answer::NotCancellable => state == State::Cancelled,
            Answer::Unknown => false,
        };
        if wrong {
            let what = format!("a cancel was answered with {answer:?}, and the job is {state}");
            found.push(violation("accepted cancels end cancelled", *job, what));
        }
    }
    found
}

/// What a handler writes in its job's transaction is there once if the job succeeded, and else not at all.
pub(super) fn effects_happen_once(history: &History) -> Vec<Violation> {
    let ends = ends(history);
    let mut found = Vec::new();
    for record in &history.records {
        let Record::Effect { job, times } = record else {
            continue;
        };
        let success = ends
            .get(job)
            .is_some_and(|ends| ends.iter().any(|end| end.state == State::Success));
        if *times != u64::from(success) {
            let what = format!("its effect is there {times} times, and its success is {success}");
            found.push(violation("effects happen once", *job, what));
        }
    }
    found
}

/// A second executor with the id of a living one, whose lease is valid, is refused.
pub(super) fn impostors_are_refused(history: &History) -> Vec<Violation> {
    let mut renewals: HashMap<u32, Vec<(Uuid, Moment)>> = HashMap::new();
    let mut gone: HashMap<u32, Moment> = HashMap::new();
    for record in &history.records {
        match record {
            Record::Renewed {
                process,
                incarnation,
                at,
            } => renewals.entry(*process).or_default().push((*incarnation, *at)),
            Record::Gone { at, process, .. } => drop(gone.insert(*process, *at)),
            _ => {}
        }
    }
    let accepted = |record: &Record| {
        let Record::Impostor {
            name, process, first, ..
        } = record
        else {
            return None;
        };
        let (_, let_in) = *renewals.get(process)?.first()?;
        let lived = gone.get(first).is_none_or(|at| *at > let_in);
        let valid = |(lease, _): &(Uuid, Moment)| history.is_valid(*lease, let_in);
        (lived && renewals.get(first)?.iter().any(valid)).then(|| {
            let what = format!("a second {name} was let in while the lease of the first one was valid");
            violation("a second executor with one id is refused", None, what)
        })
    };
    history.records.iter().filter_map(accepted).collect()
}

/// A submit that is answered with another job, because of a unique key, names one that had not ended when it was sent.
pub(super) fn a_unique_job_is_unfinished(history: &History) -> Vec<Violation> {
    const RULE: &str = "a unique key belongs to an unfinished job";
    let mut seen: HashMap<JobId, Moment> = HashMap::new();
    for record in &history.records {
        if let Record::Seen { at, job, state } = record
            && state.is_final()
        {
            seen.entry(*job).or_insert(*at);
        }
    }
    let jobs = jobs(history);
    let mut found = Vec::new();
    for record in &history.records {
        let Record::Submitted {
            from,
            wanted,
            job,
            unique,
            ..
        } = record
        else {
            continue;
        };
        if wanted == job {
            continue;
        }
        if seen.get(job).is_some_and(|at| at < from) {
            found.push(violation(
                RULE,
                *job,
                format!("it had ended when {wanted} was asked for"),
            ));
        }
        // Submitted by us, under the same key.
        if jobs.get(job).is_none_or(|first| first.unique != unique.as_deref()) {
            let what = format!("{wanted} was answered with it, and they have no key in common");
            found.push(violation(RULE, *job, what));
        }
    }
    found
}
