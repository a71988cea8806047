//! What the two stores said, in words that can be compared.

use crate::error::Error;
use crate::job::Claimed;
use crate::store::{Changed, Submitted};

/// Errors as far as callers can tell them apart.
pub(super) fn kind(error: &Error) -> String {
    match error {
        Error::Invalid { what, .. } => format!("{what} is invalid"),
        Error::Conflict(_) => "a conflict".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn said(outcomes: Vec<Result<Submitted, Error>>) -> Vec<Result<Submitted, String>> {
    outcomes.into_iter().map(|o| o.map_err(|e| kind(&e))).collect()
}

pub(super) fn changed(outcome: Result<Vec<Changed>, Error>) -> Result<Vec<Changed>, String> {
    let mut changed = outcome.map_err(|e| kind(&e))?;
    for changed in &mut changed {
        changed.job.seq = 0;
    }
    Ok(changed)
}

pub(super) fn without_seq(jobs: &[Claimed]) -> Vec<Claimed> {
    jobs.iter().map(|job| Claimed { seq: 0, ..job.clone() }).collect()
}

pub(super) fn brief(taken: &Result<(Vec<Claimed>, bool), Error>) -> String {
    match taken {
        Ok((jobs, found)) => {
            let jobs: Vec<String> = jobs
                .iter()
                .map(|j| format!("{} of {} ({})", j.id, j.group, j.lane))
                .collect();
            format!("[{}], found {found}", jobs.join(", "))
        }
        Err(error) => kind(error),
    }
}
