//! That the checker finds each kind of violation in a history made up for it, and nothing in one without fault.

mod schedules;

use turnabout::job::Reason;
use turnabout::{JobId, State};
use uuid::Uuid;

use super::{check, lags};
use crate::history::History;
use crate::kind::Kind;
use crate::record::{Answer, How, Moment, Record, millis};

const LEASE: Moment = millis(1000);

/// A history in the making: one job unless said otherwise, two processes with a lease each.
struct Story {
    records: Vec<Record>,
    job: JobId,
    runs: u32,
}

fn lease(process: u32) -> Uuid {
    Uuid::from_u128(process.into())
}

impl Story {
    fn new() -> Self {
        let mut story = Self {
            records: vec![Record::Run {
                seed: 1,
                store: "none".into(),
                lease: LEASE,
                group_caps: vec![("capped".into(), 1)],
                task_caps: vec![("narrow".into(), 1)],
            }],
            job: JobId::new(),
            runs: 0,
        };
        for process in [1, 2] {
            story.records.push(Record::Process {
                at: 1,
                process,
                name: format!("worker-{process}"),
                slots: 2,
            });
        }
        story
    }

    fn with(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    fn submit(self, kind: Kind) -> Self {
        self.submit_to(kind, "acme")
    }

    fn submit_to(self, kind: Kind, group: &str) -> Self {
        let job = self.job;
        self.with(Record::Submitted {
            from: millis(10),
            at: millis(11),
            wanted: job,
            job,
            new: true,
            kind,
            group: group.into(),
            unique: None,
            delay: 0,
        })
    }

    /// Another job from here on.
    fn another(mut self) -> Self {
        self.job = JobId::new();
        self
    }

    fn renew(self, process: u32, at: u64) -> Self {
        self.with(Record::Renewed {
            process,
            incarnation: lease(process),
            at: millis(at),
        })
    }

    fn run(mut self, process: u32, from: u64, to: Option<u64>, how: How) -> Self {
        self.runs += 1;
        let run = self.runs;
        self.records.push(Record::Began {
            at: millis(from),
            process,
            incarnation: lease(process),
            run,
            job: self.job,
            attempt: 1,
        });
        if let Some(to) = to {
            self.records.push(Record::Ended {
                at: millis(to),
                process,
                run,
                how,
            });
        }
        self
    }

    fn cancel(self, answer: Answer) -> Self {
        let job = self.job;
        self.with(Record::Cancel {
            from: millis(20),
            at: millis(21),
            job,
            answer,
        })
    }

    fn seen(self, at: u64, state: State) -> Self {
        let job = self.job;
        self.with(Record::Seen {
            at: millis(at),
            job,
            state,
        })
    }

    fn ends(self, state: State) -> Self {
        let job = self.job;
        self.with(Record::Final {
            job,
            state,
            reason: (state == State::Failed).then_some(Reason::Lost),
            attempts: 1,
            losses: 0,
            result: (state == State::Success).then(|| job.to_string()),
            note: None,
        })
    }

    /// The rules that are broken.
    fn broken(self) -> Vec<&'static str> {
        let found = check(&History::new(self.records));
        found.into_iter().map(|violation| violation.rule).collect()
    }
}

/// A job that ran once, as it should.
fn good() -> Story {
    Story::new()
        .submit(Kind::Quick)
        .renew(1, 5)
        .run(1, 20, Some(30), How::Done)
        .seen(50, State::Success)
        .ends(State::Success)
}

#[test]
fn a_history_without_fault_is_good() {
    let none: [&str; 0] = [];
    assert_eq!(good().broken(), none);
    let left = Record::Left { held: 0, unfinished: 0 };
    assert_eq!(good().with(left).broken(), none);
}

#[test]
fn a_job_that_is_gone_or_does_not_end_is_found() {
    assert_eq!(Story::new().submit(Kind::Quick).broken(), ["every job ends"]);
    let waiting = Story::new().submit(Kind::Quick).ends(State::Waiting);
    assert_eq!(waiting.broken(), ["every job ends"]);
    assert_eq!(
        good().ends(State::Success).broken(),
        ["every job ends"],
        "it is there twice"
    );
}

#[test]
fn jobs_left_in_hand_are_found() {
    let left = Record::Left { held: 1, unfinished: 0 };
    assert_eq!(good().with(left).broken(), ["nothing is left claimed"]);
}

#[test]
fn a_final_state_that_changes_is_found() {
    assert!(good().seen(60, State::Failed).broken().contains(&"a final state stays"));
    assert!(
        good()
            .seen(60, State::Running)
            .broken()
            .contains(&"a final state stays")
    );
}

#[test]
fn a_success_without_a_completed_run_is_found() {
    let story = Story::new().submit(Kind::Quick).renew(1, 5);
    let failed = story.run(1, 20, Some(30), How::Failed).ends(State::Success);
    assert_eq!(failed.broken(), ["success means a completed run"]);
}

#[test]
fn a_job_that_ends_as_it_should_not_is_found() {
    let failed = Story::new().submit(Kind::Quick).ends(State::Failed);
    assert_eq!(failed.broken(), ["jobs end as they should"]);
    let cancelled = Story::new().submit(Kind::Quick).ends(State::Cancelled);
    assert_eq!(cancelled.broken(), ["jobs end as they should"], "nobody wanted that");
    let poison = Story::new().submit(Kind::Poison).renew(1, 5);
    let poison = poison.run(1, 20, Some(30), How::Done).ends(State::Success);
    assert_eq!(poison.broken(), ["jobs end as they should"]);
}

#[test]
fn a_cancel_that_was_accepted_and_did_not_happen_is_found() {
    assert_eq!(
        good().cancel(Answer::Accepted).broken(),
        ["accepted cancels end cancelled"]
    );
    assert!(good().cancel(Answer::Unknown).broken().is_empty());
    let story = Story::new().submit(Kind::Quick).cancel(Answer::NotCancellable);
    assert_eq!(
        story.ends(State::Cancelled).broken(),
        ["accepted cancels end cancelled"]
    );
}

#[test]
fn an_effect_that_is_there_twice_or_without_success_is_found() {
    let story = good();
    let effect = |job, times| Record::Effect { job, times };
    let job = story.job;
    assert!(story.with(effect(job, 1)).broken().is_empty());
    for times in [0, 2] {
        let story = good();
        let job = story.job;
        assert_eq!(story.with(effect(job, times)).broken(), ["effects happen once"]);
    }
}

#[test]
fn a_second_executor_with_the_id_of_a_living_one_is_found() {
    let impostor = |story: Story| {
        story.with(Record::Impostor {
            at: millis(500),
            name: "worker-1".into(),
            process: 2,
            first: 1,
        })
    };
    assert!(impostor(good()).broken().is_empty(), "it never had a lease");
    let both = impostor(good().renew(2, 100)).broken();
    assert_eq!(both, ["a second executor with one id is refused"]);
    assert!(
        impostor(good().renew(2, 2000)).broken().is_empty(),
        "the first one's lease had ended"
    );
}

#[test]
fn a_unique_key_of_a_job_that_has_ended_is_found() {
    let story = good();
    let (job, from) = (story.job, millis(100));
    let second = Record::Submitted {
        from,
        at: from,
        wanted: JobId::new(),
        job,
        new: false,
        kind: Kind::Quick,
        group: "acme".into(),
        unique: None,
        delay: 0,
    };
    assert_eq!(
        story.with(second).broken(),
        ["a unique key belongs to an unfinished job"]
    );
}

#[test]
fn a_second_run_of_a_job_that_must_run_once_is_found() {
    let story = Story::new().submit(Kind::Once).renew(1, 5).renew(2, 1500);
    let story = story
        .run(1, 20, Some(30), How::Failed)
        .run(2, 1600, Some(1700), How::Done);
    assert_eq!(story.ends(State::Success).broken(), ["once means once"]);
}

#[test]
fn a_run_after_the_end_is_found_if_its_lease_is_valid() {
    let late = |renewed| good().renew(2, renewed).run(2, 400, Some(500), How::Done).broken();
    assert_eq!(late(300), ["nothing runs after its end"]);
    assert!(late(3000).is_empty(), "it had no lease");
}

#[test]
fn two_runs_at_a_time_are_found_if_both_leases_are_valid() {
    let story = |first_to, second_from| {
        let story = Story::new().submit(Kind::Slow).renew(1, 5).renew(2, second_from);
        let story = story.run(1, 20, Some(first_to), How::Dropped);
        let story = story.run(2, second_from, Some(5000), How::Done);
        story.ends(State::Success).broken()
    };
    assert_eq!(story(600, 500), ["never two at a time"]);
    assert!(story(600, 700).is_empty(), "one after the other");
    assert!(story(3000, 1100).is_empty(), "the first lease had ended");
}

#[test]
fn a_run_ends_with_its_process() {
    let story = Story::new().submit(Kind::Slow).renew(1, 5).renew(2, 200);
    let gone = Record::Gone {
        at: millis(100),
        process: 1,
        how: "killed".into(),
    };
    let story = story.run(1, 20, None, How::Dropped).with(gone);
    let story = story.run(2, 200, Some(300), How::Done).ends(State::Success);
    assert!(story.broken().is_empty());
    let story = Story::new().submit(Kind::Slow).renew(1, 5).renew(2, 200);
    let story = story.run(1, 20, None, How::Dropped).run(2, 200, Some(300), How::Done);
    assert_eq!(story.ends(State::Success).broken(), ["never two at a time"]);
}

#[test]
fn more_runs_than_slots_are_found() {
    let mut story = Story::new().renew(1, 5);
    for _ in 0..3 {
        story = story
            .another()
            .submit(Kind::Quick)
            .run(1, 20, Some(30), How::Done)
            .ends(State::Success);
    }
    assert_eq!(story.broken(), ["never more than slots"]);
}

#[test]
fn more_runs_than_a_cap_are_found() {
    for (kind, group) in [(Kind::Quick, "capped"), (Kind::Narrow, "acme")] {
        let mut story = Story::new().renew(1, 5).renew(2, 5);
        for process in [1, 2] {
            story = story.another().submit_to(kind, group);
            story = story.run(process, 20, Some(30), How::Done).ends(State::Success);
        }
        assert_eq!(story.broken(), ["never more than a cap"]);
    }
}

#[test]
fn a_run_before_its_time_is_found() {
    let story = Story::new().renew(1, 5);
    let job = story.job;
    let delayed = Record::Submitted {
        from: millis(10),
        at: millis(11),
        wanted: job,
        job,
        new: true,
        kind: Kind::Quick,
        group: "acme".into(),
        unique: None,
        delay: millis(100),
    };
    let story = story.with(delayed).run(1, 100, Some(130), How::Done);
    assert_eq!(story.ends(State::Success).broken(), ["never too early"]);
}

#[test]
fn a_group_that_falls_behind_is_found_in_a_calm_phase_only() {
    let story = |calm| {
        let mut story = Story::new().renew(1, 5).with(Record::Phase {
            at: 1,
            name: "test".into(),
            calm,
        });
        let backlog = ["backlog-0", "backlog-1"].map(|group| [group; 20]);
        for (n, group) in backlog.concat().into_iter().enumerate() {
            // All of the first group's before all of the second's.
            let at = 20 + 10 * n as u64;
            story = story.another().submit_to(Kind::Quick, group);
            story = story.run(1, at, Some(at + 5), How::Done).ends(State::Success);
        }
        story
    };
    assert_eq!(story(true).broken(), ["the lag between groups is bounded"]);
    assert!(story(false).broken().is_empty());
    let lags = lags(&History::new(story(false).records));
    assert_eq!((lags[0].most, lags[0].begun), (20, 20));
}

#[test]
fn health_that_stays_red_is_a_violation() {
    let recovered = |took, ill: Option<&str>| Record::Recovered {
        at: 1,
        deed: "Cut".into(),
        took,
        ill: ill.map(Into::into),
    };
    let soon = Story::new().with(recovered(millis(9_000), None));
    assert!(soon.broken().is_empty());
    for late in [
        recovered(millis(11_000), None),
        recovered(millis(30_000), Some("worker-1: reaping")),
    ] {
        assert_eq!(Story::new().with(late).broken(), ["health is green again soon"]);
    }
}
