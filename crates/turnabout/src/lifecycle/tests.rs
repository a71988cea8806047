//! Every (state, event) pair, legal and illegal, in one table; then the rules that the table cannot show.

use super::*;
use crate::hook::{Hook, Hooks};
use Event as E;
use State as S;

const JOB: Standing = Standing {
    state: S::Waiting,
    reason: None,
    cancelling: false,
    priority: Priority::Normal,
    ready: true,
    attempts: 0,
    interruptions: 0,
    losses: 0,
};

fn job(state: State) -> Standing {
    let held = matches!(state, S::Scheduled | S::Running);
    Standing {
        state,
        ready: matches!(state, S::Waiting | S::Stuck),
        attempts: u32::from(state != S::Waiting && !(held && state == S::Scheduled)),
        ..JOB
    }
}

fn policy() -> Policy {
    Policy {
        jitter: false,
        ..Policy::default()
    }
}

fn on(job: &Standing, event: Event) -> Result<Change, Refusal> {
    decide(job, &event, &policy(), 0.0)
}

const MINUTE: Duration = Duration::from_mins(1);

const EVENTS: [Event; 19] = [
    E::Claim,
    E::Start,
    E::Succeed,
    E::Fail,
    E::RetryAfter(MINUTE),
    E::FailForGood,
    E::Snooze(MINUTE),
    E::TimeOut,
    E::Interrupt,
    E::Release,
    E::Throttle(MINUTE),
    E::Lose,
    E::Promote,
    E::Expire,
    E::Cancel,
    E::Restart,
    E::Reprioritise(Priority::High),
    E::Postpone(Duration::from_mins(5)),
    E::Delete,
];

/// What an event does to a job in a state, in one word: the new state, or why not. A job being cancelled is shown
/// by a `*`.
fn word(job: &Standing, event: Event) -> String {
    match on(job, event) {
        Ok(change) if change.place == Location::Gone => "gone".into(),
        Ok(change) => format!("{}{}", change.state, if change.cancelling { "*" } else { "" }),
        Err(Refusal::AlreadySo) => "same".into(),
        Err(Refusal::NotCancellable) => "no-cancel".into(),
        Err(Refusal::NotFinal) => "not-final".into(),
        Err(Refusal::Taken) => "taken".into(),
        Err(Refusal::Illegal) => "-".into(),
    }
}

#[test]
fn every_event_in_every_state() {
    // Columns: waiting, parked, scheduled, scheduled*, running, running*, stuck, success, failed, cancelled.
    let columns = [
        job(S::Waiting),
        Standing {
            ready: false,
            ..job(S::Waiting)
        },
        job(S::Scheduled),
        Standing {
            cancelling: true,
            ..job(S::Scheduled)
        },
        job(S::Running),
        Standing {
            cancelling: true,
            ..job(S::Running)
        },
        Standing {
            ready: false,
            ..job(S::Stuck)
        },
        job(S::Success),
        job(S::Failed),
        job(S::Cancelled),
    ];
    let table = "
        claim        scheduled -         -         -          -         -         -         -         -         -
        start        -         -         running   running*   -         -         -         -         -         -
        succeed      -         -         -         -          success   cancelled -         -         -         -
        fail         -         -         -         -          stuck     cancelled -         -         -         -
        retry-after  -         -         -         -          stuck     cancelled -         -         -         -
        for-good     -         -         -         -          failed    cancelled -         -         -         -
        snooze       -         -         -         -          waiting   cancelled -         -         -         -
        time-out     -         -         -         -          stuck     cancelled -         -         -         -
        interrupt    -         -         -         -          waiting   cancelled -         -         -         -
        release      -         -         waiting   cancelled  -         cancelled -         -         -         -
        throttle     -         -         waiting   cancelled  -         cancelled -         -         -         -
        lose         -         -         waiting   cancelled  waiting   cancelled -         -         -         -
        promote      -         waiting   -         -          -         -         stuck     -         -         -
        expire       failed    failed    -         -          -         -         -         -         -         -
        cancel       cancelled cancelled scheduled* same      running*  same      cancelled no-cancel no-cancel same
        restart      not-final not-final not-final not-final  not-final not-final not-final waiting   waiting   waiting
        reprioritise waiting   waiting   taken     taken      taken     taken     stuck     taken     taken     taken
        postpone     waiting   waiting   taken     taken      taken     taken     stuck     taken     taken     taken
        delete       gone      gone      not-final not-final  not-final not-final gone      gone      gone      gone
    ";
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|row: &Vec<&str>| !row.is_empty())
        .collect();
    assert_eq!(rows.len(), EVENTS.len());
    for (row, event) in rows.iter().zip(EVENTS) {
        assert_eq!(row.len(), columns.len() + 1, "{row:?}");
        for (column, expected) in columns.iter().zip(&row[1..]) {
            assert_eq!(&word(column, event), expected, "{event:?} on {column:?}");
        }
    }
}

#[test]
fn a_due_retry_can_be_claimed_and_a_parked_job_cannot() {
    assert_eq!(on(&job(S::Stuck), E::Claim).map(|c| c.state), Ok(S::Scheduled));
    let parked = Standing {
        ready: false,
        ..job(S::Stuck)
    };
    assert_eq!(on(&parked, E::Claim), Err(Refusal::Illegal));
}

#[test]
fn only_final_states_go_to_history_and_held_ones_stay_held() {
    for state in S::ALL {
        for cancelling in [false, true] {
            for ready in [false, true] {
                for event in EVENTS {
                    let held = matches!(state, S::Scheduled | S::Running);
                    let job = Standing {
                        cancelling: cancelling && held,
                        ready: ready && !held,
                        ..job(*state)
                    };
                    let Ok(change) = on(&job, event) else { continue };
                    match change.place {
                        Location::History => assert!(change.state.is_final() && !change.cancelling),
                        Location::Gone => assert!(!held),
                        Location::Held => assert!(matches!(change.state, S::Scheduled | S::Running)),
                        Location::Ready(_) | Location::Parked(_) | Location::StillParked => {
                            assert!(matches!(change.state, S::Waiting | S::Stuck));
                            assert!(
                                !change.cancelling,
                                "a cancelling job never goes back: {event:?} on {job:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn retries_come_after_one_two_four_eight_delays_from_the_failure() {
    let mut job = job(S::Running);
    for (attempt, minutes) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)] {
        job.attempts = attempt;
        let change = on(&job, E::Fail).expect("a failure is legal");
        assert_eq!(
            (change.state, change.place),
            (S::Stuck, Location::Parked(MINUTE * minutes))
        );
    }
    job.attempts = 6;
    let last = on(&job, E::Fail).expect("a failure is legal");
    assert_eq!((last.state, last.reason), (S::Failed, Some(Reason::Error)));
}

#[test]
fn a_delay_is_capped_and_jitter_adds_at_most_a_tenth() {
    let policy = Policy {
        retries: 1000,
        ..Policy::default()
    };
    assert_eq!(policy.delay(1, 0.0), MINUTE);
    assert_eq!(policy.delay(1, 1.0), MINUTE.mul_f64(1.1));
    assert_eq!(policy.delay(900, 0.0), policy.retry_cap);
    assert_eq!(policy.delay(0, 0.0), MINUTE);
    let endless = Policy {
        retry_delay: Duration::MAX,
        retry_cap: Duration::MAX,
        ..policy
    };
    assert_eq!(endless.delay(3, 1.0), Duration::MAX, "no delay is too long to be told");
}

#[test]
fn a_snooze_is_not_an_attempt_and_a_retry_after_is() {
    let running = job(S::Running);
    let snoozed = on(&running, E::Snooze(MINUTE)).expect("legal");
    assert_eq!((snoozed.attempts, snoozed.place), (0, Location::Parked(MINUTE)));
    let later = on(&running, E::RetryAfter(MINUTE * 3)).expect("legal");
    assert_eq!((later.attempts, later.place), (1, Location::Parked(MINUTE * 3)));
}

#[test]
fn ten_interruptions_are_free_and_then_each_counts() {
    let mut job = job(S::Scheduled);
    for round in 1..=16 {
        job.state = S::Scheduled;
        let started = on(&job, E::Start).expect("legal").standing();
        let change = on(&started, E::Interrupt).expect("legal");
        assert_eq!(change.interruptions, round);
        assert_eq!(change.attempts, round.saturating_sub(FREE_INTERRUPTIONS));
        assert_eq!(change.state == S::Failed, round == 16, "round {round}");
        job = change.standing();
    }
}

#[test]
fn a_job_that_kills_its_executor_ends_failed() {
    let mut job = job(S::Scheduled);
    let mut rounds = 0;
    loop {
        rounds += 1;
        job.state = S::Scheduled;
        let started = on(&job, E::Start).expect("legal").standing();
        let change = on(&started, E::Lose).expect("legal");
        job = change.standing();
        if change.state == S::Failed {
            assert_eq!(change.reason, Some(Reason::Lost));
            break;
        }
    }
    assert_eq!(rounds, 6, "the first attempt and five retries");
}

#[test]
fn a_job_that_kills_its_executor_before_its_start_is_stored_does_so_once() {
    let scheduled = job(S::Scheduled);
    assert!(!must_record_start(&scheduled, &policy(), false));
    let change = on(&scheduled, E::Lose).expect("legal");
    assert_eq!((change.state, change.attempts, change.losses), (S::Waiting, 0, 1));
    assert!(
        must_record_start(&change.standing(), &policy(), false),
        "from now on, starts count"
    );
}

#[test]
fn a_job_that_is_not_restartable_never_runs_twice() {
    let policy = Policy {
        restartable: false,
        ..policy()
    };
    let running = job(S::Running);
    for (event, reason) in [
        (E::Fail, Reason::Error),
        (E::RetryAfter(MINUTE), Reason::Error),
        (E::TimeOut, Reason::TimedOut),
        (E::Interrupt, Reason::Interrupted),
        (E::Lose, Reason::Lost),
        (E::Snooze(MINUTE), Reason::Permanent),
    ] {
        let change = decide(&running, &event, &policy, 0.0).expect("legal");
        assert_eq!((change.state, change.reason), (S::Failed, Some(reason)), "{event:?}");
    }
    assert!(must_record_start(&job(S::Scheduled), &policy, false));
    // Not started, so it has not run once.
    let given_back = decide(&job(S::Scheduled), &E::Lose, &policy, 0.0).expect("legal");
    assert_eq!(given_back.state, S::Waiting);
}

#[test]
fn a_restart_resets_the_counters() {
    let failed = Standing {
        attempts: 6,
        interruptions: 3,
        losses: 2,
        ..job(S::Failed)
    };
    let change = on(&failed, E::Restart).expect("legal");
    assert_eq!((change.attempts, change.interruptions, change.losses), (0, 0, 0));
    assert_eq!(change.place, Location::Ready(Lane::Normal));
}

#[test]
fn a_priority_change_moves_a_ready_job_but_never_a_retry_out_of_its_lane() {
    let change = on(&job(S::Waiting), E::Reprioritise(Priority::Low)).expect("legal");
    assert_eq!(
        (change.place, change.priority),
        (Location::Ready(Lane::Low), Priority::Low)
    );
    let hour = Duration::from_hours(1);
    for state in [S::Waiting, S::Stuck] {
        let change = on(&job(state), E::Postpone(hour)).expect("legal");
        assert_eq!((change.state, change.place), (state, Location::Parked(hour)));
        assert_eq!(change.attempts, job(state).attempts, "it is no attempt");
    }
    assert_eq!(on(&job(S::Running), E::Postpone(hour)), Err(Refusal::Taken));

    let change = on(&job(S::Stuck), E::Reprioritise(Priority::Low)).expect("legal");
    assert_eq!(change.place, Location::Ready(Lane::Retry));
    assert_eq!(
        on(&job(S::Waiting), E::Reprioritise(Priority::Normal)),
        Err(Refusal::AlreadySo)
    );
}

#[test]
fn a_start_is_recorded_first_where_it_must_be_known() {
    let plain = policy();
    assert!(!must_record_start(&job(S::Scheduled), &plain, false));
    assert!(
        must_record_start(&job(S::Scheduled), &plain, true),
        "a handler with a transaction"
    );
    let lost = Standing {
        losses: 1,
        ..job(S::Scheduled)
    };
    assert!(must_record_start(&lost, &plain, false), "lost once before");
}

#[test]
fn hooks_are_owed_for_failures_cancels_and_deletions_only() {
    let policy = policy();
    let owed = |state, event: E| {
        let change = decide(&job(state), &event, &policy, 0.0).expect("legal");
        (owes(&change, true), owes(&change, false))
    };
    let (none, error, cancelled, delete) = (
        Hooks::NONE,
        Hooks::NONE.with(Hook::Error),
        Hooks::NONE.with(Hook::Cancelled),
        Hooks::NONE.with(Hook::Delete),
    );
    assert_eq!(owed(S::Running, E::Fail), (error, error), "stuck, and so not forgotten");
    assert_eq!(owed(S::Running, E::FailForGood), (error, error.with(Hook::Delete)));
    assert_eq!(owed(S::Running, E::Succeed), (none, delete));
    assert_eq!(owed(S::Running, E::Snooze(Duration::from_secs(1))), (none, none));
    assert_eq!(owed(S::Running, E::Interrupt), (none, none));
    assert_eq!(owed(S::Running, E::Cancel), (none, none), "not yet");
    assert_eq!(owed(S::Waiting, E::Cancel), (cancelled, cancelled.with(Hook::Delete)));
    assert_eq!(owed(S::Waiting, E::Expire), (error, error.with(Hook::Delete)));
    assert_eq!(owed(S::Success, E::Delete), (delete, delete));
    assert_eq!(
        owed(S::Waiting, E::Delete),
        (delete, delete),
        "and not that it was cancelled"
    );
    assert_eq!(owed(S::Failed, E::Restart), (none, none));
}
