//! PURE: every rule about states. What may happen to a job, and what it becomes.
//!
//! [`decide`] takes what a job is and what happened to it, and says what changes. No clock, no database, no randomness: times are
//! durations from the moment of the event, jitter is given. The stores write the change and know no rule of their own; what they
//! check is only that the job is still as it was when the rule was asked (its claim number, and that no cancel was requested since).

use std::time::Duration;

use crate::job::{Lane, Priority, Reason, State};

mod owes;
mod words;

pub use owes::owes;
pub use words::{keeps_progress, words};

/// After so many interruptions by shutdowns, each further one counts as an attempt.
pub const FREE_INTERRUPTIONS: u32 = 10;

/// What the rules need to know of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// Why it is there.
    pub reason: Option<Reason>,
    /// Whether a cancel was requested while an executor holds it.
    pub cancelling: bool,
    /// Its priority.
    pub priority: Priority,
    /// Whether it is in a lane, and not parked.
    pub ready: bool,
    /// Attempts that counted.
    pub attempts: u32,
    /// Interruptions by shutdowns.
    pub interruptions: u32,
    /// Times it was lost with its executor.
    pub losses: u32,
}

/// What a task says about running its jobs again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// How often a failed job is tried again.
    pub retries: u32,
    /// The delay before the first retry; doubled for each further one.
    pub retry_delay: Duration,
    /// No delay is longer than this.
    pub retry_cap: Duration,
    /// Whether delays vary a little, so that jobs that failed together do not return together.
    pub jitter: bool,
    /// Whether a job may run a second time at all.
    pub restartable: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retries: 5,
            retry_delay: Duration::from_mins(1),
            retry_cap: Duration::from_hours(6),
            jitter: true,
            restartable: true,
        }
    }
}

impl Policy {
    /// How long after attempt `n` failed it is due again: `retry_delay * 2^(n-1)`, capped, and up to a tenth more
    /// where `jitter` (from 0 to 1) says so.
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        let doubled = 1u32
            .checked_shl(attempt.saturating_sub(1))
            .and_then(|factor| self.retry_delay.checked_mul(factor))
            .map_or(self.retry_cap, |delay| delay.min(self.retry_cap));
        if self.jitter {
            let seconds = doubled.as_secs_f64() * (1.0 + jitter.clamp(0.0, 1.0) / 10.0);
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        } else {
            doubled
        }
    }
}

/// What happened to a job, or what someone wants to happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// An executor takes it.
    Claim,
    /// Its handler begins.
    Start,
    /// Its handler returned a result.
    Succeed,
    /// Its handler returned an error or panicked; trying again may help.
    Fail,
    /// As [`Event::Fail`], and the handler says when to try again.
    RetryAfter(Duration),
    /// Its handler returned an error; trying again is useless.
    FailForGood,
    /// Its handler asks to be called again later. Does not count as an attempt.
    Snooze(Duration),
    /// It ran longer than its task allows.
    TimeOut,
    /// A shutdown stopped its handler.
    Interrupt,
    /// Its executor gives it back, not started.
    Release,
    /// The same, because of a rate: it comes back after so long, and then goes first.
    Throttle(Duration),
    /// Its executor fell silent.
    Lose,
    /// Its due time has come.
    Promote,
    /// It has waited past its expiry.
    Expire,
    /// Someone who may wants it cancelled.
    Cancel,
    /// Someone who may wants it to run again from the beginning.
    Restart,
    /// Someone who may wants it to be more or less urgent.
    Reprioritise(Priority),
    /// Someone who may wants it to start so long from now at the earliest.
    Postpone(Duration),
    /// Someone who may wants it forgotten.
    Delete,
}

/// Where the job goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Location {
    /// Into its lane: at the end if it was parked or had ended, else with the `seq` that it has.
    Ready(Lane),
    /// Out of sight until so long from now.
    Parked(Duration),
    /// It stays as it is: parked and not due.
    StillParked,
    /// With the executor that holds it.
    Held,
    /// To the jobs that have ended.
    History,
    /// Nowhere: it is forgotten.
    Gone,
}

/// What becomes of the job: its new standing and place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The new state.
    pub state: State,
    /// Why.
    pub reason: Option<Reason>,
    /// Where the job goes.
    pub place: Location,
    /// Whether a cancel is under way.
    pub cancelling: bool,
    /// The new priority.
    pub priority: Priority,
    /// Attempts that counted.
    pub attempts: u32,
    /// Interruptions by shutdowns.
    pub interruptions: u32,
    /// Times it was lost.
    pub losses: u32,
}

impl Change {
    /// What the job is after the change.
    pub fn standing(&self) -> Standing {
        Standing {
            state: self.state,
            reason: self.reason,
            cancelling: self.cancelling,
            priority: self.priority,
            ready: matches!(self.place, Location::Ready(_)),
            attempts: self.attempts,
            interruptions: self.interruptions,
            losses: self.losses,
        }
    }
}

/// Why nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is as the caller wants it already (a second cancel): not an error.
    AlreadySo,
    /// It has succeeded or failed.
    NotCancellable,
    /// It has not ended yet.
    NotFinal,
    /// It is not waiting or stuck.
    Taken,
    /// Such a thing cannot happen to a job in this state: it was decided on something out of date.
    Illegal,
}

/// What becomes of a job to which this happens. `jitter` is a random number from 0 to 1.
pub fn decide(job: &Standing, event: &Event, policy: &Policy, jitter: f64) -> Result<Change, Refusal> {
    use Event as E;
    use State as S;

    match (job.state, event) {
        // An executor takes what is ready.
        (S::Waiting | S::Stuck, E::Claim) if job.ready => Ok(Change {
            reason: None,
            ..held(job, S::Scheduled)
        }),
        (S::Scheduled, E::Start) => Ok(Change {
            attempts: next_attempt(job.attempts),
            ..held(job, S::Running)
        }),

        // Whatever comes next for a job that is being cancelled, it ends cancelled.
        (S::Scheduled, E::Release | E::Throttle(_) | E::Lose) | (S::Running, _)
            if job.cancelling && ends_attempt(event) =>
        {
            Ok(ended(job, S::Cancelled, Reason::CancelRequested))
        }

        (S::Scheduled, E::Release) => Ok(ready(job, S::Waiting, Reason::Released)),
        (S::Scheduled, E::Throttle(delay)) => Ok(parked(job, S::Waiting, Reason::RateLimited, *delay)),
        // Not started as far as the store knows, so no attempt counts. But it may have been: the loss is remembered, and
        // the next start will be recorded first. (A job that kills its executor at once would circle for ever.)
        (S::Scheduled, E::Lose) => Ok(Change {
            losses: job.losses + 1,
            ..ready(job, S::Waiting, Reason::Lost)
        }),

        (S::Running, E::Succeed) => Ok(Change {
            reason: None,
            ..ended(job, S::Success, Reason::Error)
        }),
        (S::Running, E::FailForGood) => Ok(ended(job, S::Failed, Reason::Permanent)),
        (S::Running, E::Fail) => Ok(failed(job, Reason::Error, policy, policy.delay(job.attempts, jitter))),
        (S::Running, E::RetryAfter(delay)) => Ok(failed(job, Reason::Error, policy, *delay)),
        (S::Running, E::TimeOut) => Ok(failed(
            job,
            Reason::TimedOut,
            policy,
            policy.delay(job.attempts, jitter),
        )),
        // A snooze would run the handler again, which a job that is not restartable never allows.
        (S::Running, E::Snooze(_)) if !policy.restartable => Ok(ended(job, S::Failed, Reason::Permanent)),
        (S::Running, E::Snooze(delay)) => Ok(Change {
            attempts: job.attempts.saturating_sub(1),
            ..parked(job, S::Waiting, Reason::Snoozed, *delay)
        }),
        (S::Running, E::Interrupt) => Ok(interrupted(job, policy)),
        (S::Running, E::Lose) => Ok(lost(job, policy)),

        (S::Waiting | S::Stuck, E::Promote) if !job.ready => Ok(Change {
            place: Location::Ready(lane(job)),
            ..held(job, job.state)
        }),
        (S::Waiting, E::Expire) => Ok(ended(job, S::Failed, Reason::Expired)),

        (S::Waiting | S::Stuck, E::Cancel) => Ok(ended(job, S::Cancelled, Reason::CancelRequested)),
        (S::Scheduled | S::Running, E::Cancel) if !job.cancelling => Ok(Change {
            cancelling: true,
            ..held(job, job.state)
        }),
        (S::Scheduled | S::Running | S::Cancelled, E::Cancel) => Err(Refusal::AlreadySo),
        (S::Success | S::Failed, E::Cancel) => Err(Refusal::NotCancellable),

        (S::Success | S::Failed | S::Cancelled, E::Restart) => {
            let fresh = Standing {
                attempts: 0,
                interruptions: 0,
                losses: 0,
                cancelling: false,
                ..*job
            };
            Ok(ready(&fresh, S::Waiting, Reason::Restarted))
        }

        (S::Waiting | S::Stuck, E::Reprioritise(priority)) if *priority == job.priority => Err(Refusal::AlreadySo),
        (S::Waiting | S::Stuck, E::Reprioritise(priority)) => {
            let changed = Standing {
                priority: *priority,
                ..*job
            };
            Ok(Change {
                place: if job.ready {
                    Location::Ready(lane(&changed))
                } else {
                    Location::StillParked
                },
                ..held(&changed, job.state)
            })
        }
        (S::Waiting | S::Stuck, E::Postpone(delay)) => Ok(Change {
            place: Location::Parked(*delay),
            ..held(job, job.state)
        }),
        (_, E::Reprioritise(_) | E::Postpone(_)) => Err(Refusal::Taken),

        // One that nobody holds is thrown away in one step; nobody is told that it was cancelled.
        (S::Waiting | S::Stuck | S::Success | S::Failed | S::Cancelled, E::Delete) => Ok(Change {
            place: Location::Gone,
            ..held(job, job.state)
        }),
        (_, E::Restart | E::Delete) => Err(Refusal::NotFinal),

        _ => Err(Refusal::Illegal),
    }
}

/// Whether the start must be in the store *before* the handler runs: a crash right after must not let the job look
/// as if it had never begun. Otherwise start marks are gathered with other writes.
/// A job whose handler has a transaction (`transaction`) is recorded too: between its start and its end nobody but a
/// cancel or the loss of its executor may write it, or the transaction could fail at the stricter isolation levels.
pub fn must_record_start(job: &Standing, policy: &Policy, transaction: bool) -> bool {
    transaction || !policy.restartable || job.losses > 0
}

/// The number of the attempt that begins next, of a job with so many counted ones.
pub fn next_attempt(attempts: u32) -> u32 {
    attempts + 1
}

/// Whether the attempt that begins next is the last, however it fails.
pub fn is_last_attempt(job: &Standing, policy: &Policy) -> bool {
    !policy.restartable || next_attempt(job.attempts) > policy.retries
}

/// Which attempt it was that made the job what it is. One that did not count has given its number back.
pub fn attempt_number(job: &Standing) -> u32 {
    let given_back = match job.reason {
        Some(Reason::Snoozed) => true,
        Some(Reason::Interrupted) => job.interruptions <= FREE_INTERRUPTIONS,
        _ => false,
    };
    job.attempts + u32::from(given_back)
}

/// Which attempt ends by this change of a held job that will be tried again, for the history. A snooze is none.
pub fn attempt_to_keep(change: &Change) -> Option<u32> {
    use Reason as R;
    let again = matches!(change.place, Location::Ready(_) | Location::Parked(_));
    let attempted = !matches!(change.reason, None | Some(R::Released | R::RateLimited | R::Snoozed));
    (again && attempted).then(|| attempt_number(&change.standing()))
}

fn ends_attempt(event: &Event) -> bool {
    use Event as E;
    matches!(
        event,
        E::Succeed
            | E::Fail
            | E::RetryAfter(_)
            | E::FailForGood
            | E::Snooze(_)
            | E::TimeOut
            | E::Interrupt
            | E::Release
            | E::Throttle(_)
            | E::Lose
    )
}

/// The lane of a job that becomes ready: one that has been tried before goes first, and so does one whose turn a rate put off.
fn lane(job: &Standing) -> Lane {
    if job.attempts > 0 || job.reason == Some(Reason::RateLimited) {
        Lane::Retry
    } else {
        job.priority.into()
    }
}

/// The job as it is, in this state, with the executor that holds it.
fn held(job: &Standing, state: State) -> Change {
    Change {
        state,
        reason: job.reason,
        place: Location::Held,
        cancelling: job.cancelling,
        priority: job.priority,
        attempts: job.attempts,
        interruptions: job.interruptions,
        losses: job.losses,
    }
}

fn ready(job: &Standing, state: State, reason: Reason) -> Change {
    Change {
        reason: Some(reason),
        place: Location::Ready(lane(job)),
        ..held(job, state)
    }
}

fn parked(job: &Standing, state: State, reason: Reason, delay: Duration) -> Change {
    Change {
        reason: Some(reason),
        place: Location::Parked(delay),
        ..held(job, state)
    }
}

fn ended(job: &Standing, state: State, reason: Reason) -> Change {
    Change {
        reason: Some(reason),
        place: Location::History,
        cancelling: false,
        ..held(job, state)
    }
}

/// After a counted attempt that did not end well: once more, unless that is not allowed.
fn failed(job: &Standing, reason: Reason, policy: &Policy, delay: Duration) -> Change {
    if policy.restartable && job.attempts <= policy.retries {
        parked(job, State::Stuck, reason, delay)
    } else {
        ended(job, State::Failed, reason)
    }
}

fn interrupted(job: &Standing, policy: &Policy) -> Change {
    let counts = job.interruptions >= FREE_INTERRUPTIONS;
    let after = Standing {
        attempts: if counts {
            job.attempts
        } else {
            job.attempts.saturating_sub(1)
        },
        interruptions: job.interruptions + 1,
        ..*job
    };
    if !policy.restartable || after.attempts > policy.retries {
        ended(&after, State::Failed, Reason::Interrupted)
    } else {
        ready(&after, State::Waiting, Reason::Interrupted)
    }
}

fn lost(job: &Standing, policy: &Policy) -> Change {
    let after = Standing {
        losses: job.losses + 1,
        ..*job
    };
    if policy.restartable && job.attempts <= policy.retries {
        ready(&after, State::Waiting, Reason::Lost)
    } else {
        ended(&after, State::Failed, Reason::Lost)
    }
}

#[cfg(test)]
mod tests;
