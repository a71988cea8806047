//! Schedules: fired once, by one of those who ask; edited, listed and remembered the same on every store.

use std::collections::HashSet;
use std::time::Duration;

use super::{World, cases};
use crate::error::Error;
use crate::job::{Job, JobId, State};
use crate::lifecycle::Event;
use crate::schedule::{Definition, Edit, Edited, Overlap, RUNS_KEPT, Run, RunKind, RunNow, Schedule, ScheduleKey};
use crate::store::schedules::Fired;
use crate::store::{Setting, Signal};

mod edits;

cases![
    a_due_schedule_is_fired_once_and_its_job_is_there,
    nothing_is_fired_before_it_is_due,
    promote_says_when_the_next_schedule_is_due,
    a_time_is_skipped_while_the_previous_job_is_unfinished,
    two_who_fire_at_once_share_what_is_due,
    many_are_fired_in_batches,
    a_job_over_a_limit_is_refused_and_the_schedule_goes_on,
    only_the_last_runs_are_kept,
    a_time_is_made_up_for_once,
    run_now_is_refused_beside_an_unfinished_job,
    a_job_that_was_fired_is_taken_and_ends,
];

const MINUTE: Duration = Duration::from_mins(1);

fn minutely() -> Definition {
    Definition::new("work", "every 1 minute")
}

impl World {
    async fn edit(&self, key: &ScheduleKey, edit: Edit) -> Result<Edited, Error> {
        let mut outcomes = self
            .store
            .schedules()
            .edit(vec![(key.clone(), edit)])
            .await
            .expect("edit works");
        outcomes.pop().expect("an outcome")
    }

    async fn schedule(&self, key: &ScheduleKey, definition: Definition) -> Schedule {
        let edited = self.edit(key, Edit::Set(definition)).await.expect("it is stored");
        edited.schedule.expect("it is there")
    }

    async fn fire(&self) -> Fired {
        self.store.schedules().fire(1000).await.expect("fire works")
    }

    async fn runs(&self, schedule: &Schedule) -> Vec<Run> {
        let runs = self.store.schedules().runs(schedule.id, None, 1000).await;
        runs.expect("runs work")
    }

    async fn jobs_of(&self, schedule: &Schedule) -> Vec<Job> {
        let mut jobs = self.all().await;
        jobs.retain(|job| job.meta.get("schedule.id") == Some(&schedule.id.to_string()));
        jobs
    }
}

fn key(name: &str) -> ScheduleKey {
    ScheduleKey::new(name).group("acme")
}

async fn a_due_schedule_is_fired_once_and_its_job_is_there(world: &World) {
    let definition = Definition {
        args: "{\"n\":1}".to_owned(),
        subject: Some("the report".to_owned()),
        ..minutely()
    };
    let key = key("nightly").owner("ada");
    let made = world.schedule(&key, definition).await;
    world.advance(MINUTE);
    let fired = world.fire().await;
    assert_eq!((fired.schedules, fired.runs.len(), fired.next), (1, 1, Some(MINUTE)));
    let jobs = world.jobs_of(&made).await;
    assert_eq!(jobs.len(), 1);
    let job = &jobs[0];
    assert_eq!((Some(job.id), job.state), (fired.runs[0].job, State::Waiting));
    assert_eq!((job.group.as_str(), job.owner.as_deref()), ("acme", Some("ada")));
    assert_eq!(
        (job.args.as_str(), job.subject.as_deref()),
        ("{\"n\":1}", Some("the report"))
    );
    assert_eq!(job.scheduled_for(), Some(world.clock.now()));
    let again = world.fire().await;
    assert_eq!((again.schedules, again.runs.len()), (0, 0));
    assert_eq!(world.jobs_of(&made).await.len(), 1);
    let found = world
        .store
        .schedules()
        .get(&key)
        .await
        .expect("get works")
        .expect("it is there");
    assert_eq!(found.standing.last, Some((world.clock.now(), job.id)));
    assert_eq!(found.standing.unfinished, [job.id]);
}

async fn nothing_is_fired_before_it_is_due(world: &World) {
    world.schedule(&key("a"), minutely()).await;
    world.advance(MINUTE.saturating_sub(Duration::from_millis(1)));
    let fired = world.fire().await;
    assert_eq!((fired.schedules, fired.next), (0, Some(Duration::from_millis(1))));
    assert_eq!(world.store.schedules().overdue().await.expect("it works"), None);
    world.advance(Duration::from_millis(501));
    let late = world.store.schedules().overdue().await.expect("it works");
    assert_eq!(late, Some(Duration::from_millis(500)));
    assert_eq!(world.fire().await.runs[0].late, Duration::from_millis(500));
}

async fn promote_says_when_the_next_schedule_is_due(world: &World) {
    assert_eq!(world.store.promote(10).await.expect("it works").schedules, None);
    let mut signals = world.store.signals();
    world.schedule(&key("a"), minutely()).await;
    let told = tokio::time::timeout(Duration::from_secs(10), async {
        while signals.recv().await.is_ok_and(|signal| signal != Signal::Schedules) {}
    });
    told.await.expect("everyone is told that schedules have changed");
    assert_eq!(world.store.promote(10).await.expect("it works").schedules, Some(MINUTE));
    world.advance(MINUTE);
    let promoted = world.store.promote(10).await.expect("it works");
    assert_eq!(
        (promoted.jobs, promoted.next, promoted.schedules),
        (0, None, Some(Duration::ZERO))
    );
    world
        .edit(&key("a"), Edit::Pause { note: None, by: None })
        .await
        .expect("paused");
    assert_eq!(world.store.promote(10).await.expect("it works").schedules, None);
}

async fn a_time_is_skipped_while_the_previous_job_is_unfinished(world: &World) {
    let mut exec = world.executor().await;
    let made = world.schedule(&key("a"), minutely()).await;
    world.advance(MINUTE);
    world.fire().await;
    let taken = exec.take(1).await;
    assert_eq!(taken.len(), 1);
    world.advance(MINUTE);
    assert_eq!(world.fire().await.runs[0].kind, RunKind::Skipped);
    exec.run(&taken[0], Event::Succeed).await;
    world.advance(MINUTE);
    assert_eq!(world.fire().await.runs[0].kind, RunKind::Fired);
    let kinds: Vec<RunKind> = world.runs(&made).await.iter().map(|run| run.kind).collect();
    assert_eq!(kinds, [RunKind::Fired, RunKind::Skipped, RunKind::Fired]);
    assert_eq!(world.jobs_of(&made).await.len(), 2);
}

async fn two_who_fire_at_once_share_what_is_due(world: &World) {
    let there = world.elsewhere().await;
    let edits = (0..60)
        .map(|n| (key(&format!("s{n}")), Edit::Set(minutely())))
        .collect();
    world.store.schedules().edit(edits).await.expect("stored");
    for _ in 0..5 {
        world.advance(MINUTE);
        // Each in portions, so that they meet.
        let drain = async |world: &World| {
            let mut runs = 0;
            loop {
                let fired = world.store.schedules().fire(7).await.expect("fire works");
                runs += fired.runs.iter().filter(|run| run.kind == RunKind::Fired).count();
                if fired.next != Some(Duration::ZERO) {
                    return runs;
                }
            }
        };
        let (a, b, c) = tokio::join!(drain(world), drain(&there), drain(world));
        assert_eq!(a + b + c, 60);
        for job in world.all().await.into_iter().filter(|job| job.state == State::Waiting) {
            world.happen(job.id, Event::Cancel).await.expect("it may");
        }
    }
    assert_eq!(world.all().await.len(), 300);
}

async fn many_are_fired_in_batches(world: &World) {
    let edits = (0..25)
        .map(|n| (key(&format!("s{n:02}")), Edit::Set(minutely())))
        .collect();
    world.store.schedules().edit(edits).await.expect("stored");
    world.advance(MINUTE);
    for (due, next) in [(10, Duration::ZERO), (10, Duration::ZERO), (5, MINUTE)] {
        let fired = world.store.schedules().fire(10).await.expect("fire works");
        assert_eq!((fired.schedules, fired.next), (due, Some(next)));
    }
}

async fn a_job_over_a_limit_is_refused_and_the_schedule_goes_on(world: &World) {
    let limited = crate::group::GroupSettings {
        max_unfinished: Some(1),
        ..crate::group::GroupSettings::default()
    };
    world
        .store
        .set(Setting::Group("acme".to_owned(), limited))
        .await
        .expect("set");
    let [one, two] = [
        world.schedule(&key("a"), minutely()).await,
        world.schedule(&key("b"), minutely()).await,
    ];
    world.advance(MINUTE);
    let mut kinds: Vec<RunKind> = world.fire().await.runs.iter().map(|run| run.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [RunKind::Fired, RunKind::Refused]);
    assert_eq!(world.all().await.len(), 1);
    let runs = [world.runs(&one).await, world.runs(&two).await].concat();
    let refused = runs.iter().find(|run| run.kind == RunKind::Refused).expect("noted");
    assert!(
        refused.job.is_none() && refused.why.as_deref().is_some_and(|why| why.contains("limit")),
        "{refused:?}"
    );
    assert_eq!(world.store.promote(1).await.expect("it works").schedules, Some(MINUTE));
}

async fn only_the_last_runs_are_kept(world: &World) {
    let definition = Definition {
        overlap: Overlap::Allow,
        ..minutely()
    };
    let made = world.schedule(&key("a"), definition).await;
    let runs = RUNS_KEPT + 20;
    for _ in 0..runs {
        world.advance(MINUTE);
        assert_eq!(world.fire().await.runs.len(), 1);
    }
    let kept = world.runs(&made).await;
    let numbers: Vec<i64> = kept.iter().map(|run| run.number).collect();
    assert_eq!(numbers, (21..=runs).rev().collect::<Vec<_>>());
    let page = world
        .store
        .schedules()
        .runs(made.id, Some(50), 3)
        .await
        .expect("runs work");
    assert_eq!(page, kept[numbers.iter().position(|n| *n == 49).expect("49")..][..3]);
}

async fn a_time_is_made_up_for_once(world: &World) {
    let made = world.schedule(&key("a"), minutely()).await;
    let start = world.clock.now();
    let times: Vec<_> = (1..=5).map(|n| crate::clock::after(start, n * MINUTE)).collect();
    world.advance(5 * MINUTE);
    // Four are missed, the last one is fired.
    let fired = world.fire().await;
    assert_eq!((fired.runs[0].kind, fired.runs[0].count), (RunKind::Missed, 4));
    let run = async || {
        let runs = world.store.schedules().run(&key("a"), RunNow::For(times.clone())).await;
        runs.expect("it runs").iter().map(|run| run.time).collect::<Vec<_>>()
    };
    assert_eq!(run().await, times[..4]);
    assert_eq!(run().await, []);
    assert_eq!(world.jobs_of(&made).await.len(), 5);
    let ids: HashSet<JobId> = world.jobs_of(&made).await.iter().map(|job| job.id).collect();
    assert_eq!(ids.len(), 5);
}

async fn run_now_is_refused_beside_an_unfinished_job(world: &World) {
    let made = world.schedule(&key("a"), minutely()).await;
    let run = async |force: bool| world.store.schedules().run(&key("a"), RunNow::Once { force }).await;
    let first = run(false).await.expect("it runs")[0].job.expect("a job");
    let error = run(false).await.expect_err("it is unfinished");
    assert!(matches!(error, Error::StillRuns { job, .. } if job == first), "{error}");
    run(true).await.expect("it is forced");
    assert_eq!(world.jobs_of(&made).await.len(), 2);
    world.advance(MINUTE);
    assert_eq!(world.fire().await.runs[0].kind, RunKind::Skipped, "both count");
    for job in world.jobs_of(&made).await {
        world.happen(job.id, Event::Cancel).await.expect("it may");
    }
    run(false).await.expect("they have ended");
    let error = world
        .store
        .schedules()
        .run(&key("b"), RunNow::Once { force: true })
        .await;
    assert!(matches!(error, Err(Error::NoSchedule(_))));
}

async fn a_job_that_was_fired_is_taken_and_ends(world: &World) {
    let mut exec = world.executor().await;
    let made = world.schedule(&ScheduleKey::new("system"), minutely()).await;
    world.advance(MINUTE);
    let fired = world.fire().await;
    let taken = exec.take(5).await;
    assert_eq!(
        taken.iter().map(|job| Some(job.id)).collect::<Vec<_>>(),
        [fired.runs[0].job]
    );
    assert_eq!(taken[0].group, "default");
    exec.run(&taken[0], Event::Succeed).await;
    assert_eq!(world.get(taken[0].id).await.state, State::Success);
    world.advance(MINUTE);
    assert_eq!(world.fire().await.runs[0].kind, RunKind::Fired);
    assert_eq!(world.runs(&made).await.len(), 2);
}
