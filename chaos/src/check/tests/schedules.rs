//! That the checker finds what schedules must not do.

use super::*;

fn fired(number: i64, time: i64, became: &str, count: u32, job: Option<JobId>) -> Record {
    Record::Fired {
        schedule: "nightly".into(),
        number,
        time,
        count,
        became: became.into(),
        job,
    }
}

fn scheduled(time: i64, job: JobId) -> Record {
    Record::Scheduled {
        schedule: "nightly".into(),
        time,
        job,
    }
}

fn whole(first: i64, last: i64) -> Record {
    Record::Schedule {
        schedule: "nightly".into(),
        first,
        last,
        every: 1,
    }
}

/// The rules about schedules that were broken.
fn broken(records: Vec<Record>) -> Vec<&'static str> {
    let mut story = Story::new();
    story.records.extend(records);
    let found = check(&History::new(story.records));
    let about = |rule: &str| rule.contains("time") || rule.contains("schedule") || rule.contains("beside");
    found.into_iter().map(|v| v.rule).filter(|rule| about(rule)).collect()
}

#[test]
fn a_schedule_without_fault_passes() {
    let (one, two) = (JobId::new(), JobId::new());
    let records = vec![
        fired(1, 10, "fired", 1, Some(one)),
        fired(2, 11, "missed", 3, None),
        fired(3, 14, "fired", 1, Some(two)),
        scheduled(10, one),
        scheduled(14, two),
        whole(10, 14),
    ];
    assert_eq!(broken(records), [""; 0]);
}

#[test]
fn two_jobs_for_one_time_are_found() {
    let (one, two) = (JobId::new(), JobId::new());
    let records = vec![
        fired(1, 10, "fired", 1, Some(one)),
        fired(2, 11, "fired", 1, Some(two)),
        scheduled(10, one),
        scheduled(10, two),
        whole(10, 11),
    ];
    assert_eq!(broken(records), ["no time has two jobs"]);
}

#[test]
fn a_lost_time_and_a_lost_run_are_found() {
    let one = JobId::new();
    let records = vec![fired(1, 10, "fired", 1, Some(one)), scheduled(10, one), whole(10, 11)];
    assert_eq!(broken(records), ["no time is lost"]);
    let records = vec![
        fired(1, 10, "fired", 1, Some(one)),
        fired(3, 12, "skipped", 1, None),
        scheduled(10, one),
        whole(10, 11),
    ];
    assert_eq!(broken(records), ["no time is lost"]);
}

#[test]
fn a_job_that_no_run_names_and_a_run_without_its_job_are_found() {
    let (one, two) = (JobId::new(), JobId::new());
    let records = vec![fired(1, 10, "fired", 1, Some(one)), scheduled(11, two), whole(10, 10)];
    let rule = "every job of a schedule is known";
    assert_eq!(broken(records), [rule, rule]);
}

#[test]
fn a_run_beside_the_previous_one_is_found() {
    let (one, two) = (JobId::new(), JobId::new());
    let run = |process: u32, job: JobId, from: u64, to: u64| {
        [
            Record::Renewed {
                process,
                incarnation: lease(process),
                at: millis(from),
            },
            Record::Began {
                at: millis(from),
                process,
                incarnation: lease(process),
                run: 0,
                job,
                attempt: 1,
            },
            Record::Ended {
                at: millis(to),
                process,
                run: 0,
                how: How::Done,
            },
        ]
    };
    let story = |second: u64| {
        let mut records = vec![
            fired(1, 10, "fired", 1, Some(one)),
            fired(2, 11, "fired", 1, Some(two)),
            scheduled(10, one),
            scheduled(11, two),
            whole(10, 11),
        ];
        records.extend(run(1, one, 100, 500));
        records.extend(run(2, two, second, 900));
        broken(records)
    };
    assert_eq!(story(600), [""; 0]);
    assert_eq!(story(400), ["no run beside the previous one"]);
}
