//! How far jobs are: seen by whoever looks, kept only while they are held.

use super::world::settings;
use super::{World, cases, job};
use crate::job::{Claimed, Job, Reason, State};
use crate::lifecycle::{Event, Policy};
use crate::progress::Shown;
use crate::store::{Filter, Report, Settle, Settled, Signal};
use crate::task::TaskSettings;

fn report(job: &Claimed, percent: u8, step: Option<&str>) -> Report {
    Report {
        id: job.id,
        number: job.number,
        percent,
        step: step.map(str::to_owned),
    }
}

fn shown(job: &Job) -> (u8, Option<&str>) {
    (job.progress, job.step.as_deref())
}

async fn what_is_reported_is_seen_by_everyone(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 3).await;
    let taken = exec.take(3).await;
    exec.start(&taken[0]).await;
    let reports = vec![
        report(&taken[1], 7, None),
        report(&taken[0], 42, Some("importing table 3")),
    ];
    exec.store
        .report(exec.incarnation, reports)
        .await
        .expect("report works");
    let elsewhere = world.elsewhere().await;
    for world in [world, &elsewhere] {
        assert_eq!(shown(&world.get(taken[0].id).await), (42, Some("importing table 3")));
        assert_eq!(shown(&world.get(taken[1].id).await), (7, None));
        assert_eq!(shown(&world.get(taken[2].id).await), (0, None), "it has said nothing");
        let listed = world.all().await;
        let listed = listed.iter().find(|j| j.id == taken[0].id).expect("it is listed");
        assert_eq!(shown(listed), (42, Some("importing table 3")));
        let running = Filter {
            states: vec![State::Running],
            group: Some("a".to_owned()),
            limit: 10,
            ..Filter::default()
        };
        let listed = world.store.list(&running).await.expect("list works");
        assert_eq!(
            listed.iter().map(shown).collect::<Vec<_>>(),
            [(42, Some("importing table 3"))]
        );
    }
    let later = vec![report(&taken[0], 43, None)];
    exec.store.report(exec.incarnation, later).await.expect("report works");
    assert_eq!(shown(&elsewhere.get(taken[0].id).await), (43, None));
}

async fn a_report_is_a_change(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 1).await;
    let taken = exec.take_one().await;
    let mut signals = world.store.signals();
    exec.store
        .report(exec.incarnation, vec![report(&taken, 1, None)])
        .await
        .expect("report works");
    loop {
        let signal = signals.recv().await.expect("a signal");
        if signal == Signal::Changed(taken.id) {
            break;
        }
    }
}

async fn what_was_reported_ends_with_the_attempt(world: &World) {
    let mut exec = world.executor().await;
    for (event, state, progress) in [
        (Event::Succeed, State::Success, 100),
        (Event::FailForGood, State::Failed, 0),
        (Event::Fail, State::Stuck, 0),
        (Event::Release, State::Waiting, 0),
    ] {
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        assert_eq!(taken.id, id);
        let reports = vec![report(&taken, 50, Some("half"))];
        exec.store
            .report(exec.incarnation, reports)
            .await
            .expect("report works");
        assert_eq!(exec.end(&taken, event).await, Settled::Done);
        let job = world.get(id).await;
        assert_eq!((job.state, shown(&job)), (state, (progress, None)), "after {event:?}");
        // Not even by the next attempt is it shown again.
        if state == State::Waiting {
            let again = exec.take_one().await;
            assert_eq!(again.id, id);
            assert_eq!(shown(&world.get(id).await), (0, None));
            exec.run(&again, Event::Succeed).await;
        }
    }
}

async fn a_job_that_succeeds_without_a_report_shows_all(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    let quiet = Settle {
        reported: false,
        ..exec.outcome(&taken, Event::Succeed, false)
    };
    assert_eq!(exec.settle(quiet).await, Settled::Done);
    assert_eq!(shown(&world.get(id).await), (100, None));
    world.happen(id, Event::Restart).await.expect("it may");
    assert_eq!(shown(&world.get(id).await), (0, None));
}

async fn only_the_holder_reports(world: &World) {
    let mut exec = world.executor().await;
    let other = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    let nobody = Report {
        id: crate::job::JobId::at(world.clock.now()),
        ..report(&taken, 9, None)
    };
    let reports = vec![nobody, report(&taken, 9, None)];
    world
        .store
        .report(other.incarnation, reports)
        .await
        .expect("it is passed over");
    assert_eq!(shown(&world.get(id).await), (0, None));
    exec.store
        .report(exec.incarnation, vec![report(&taken, 9, None)])
        .await
        .expect("report works");
    // Lost with its executor, and taken by another: what the first one reports late is not shown.
    assert_eq!(exec.die().await, 1);
    assert_eq!(shown(&world.get(id).await), (0, None));
    let mut other = other;
    let again = other.take_one().await;
    assert_eq!(shown(&world.get(id).await), (0, None));
    exec.store
        .report(exec.incarnation, vec![report(&taken, 90, None)])
        .await
        .expect("it is passed over");
    assert_eq!(shown(&world.get(id).await), (0, None));
    world
        .store
        .report(other.incarnation, vec![report(&again, 10, None)])
        .await
        .expect("report works");
    assert_eq!(shown(&world.get(id).await), (10, None));
    world.store.prune().await.expect("prune works");
    assert_eq!(shown(&world.get(id).await), (10, None), "what is in use is kept");
}

async fn a_cancelling_job_still_reports(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.start(&taken).await;
    world.happen(id, Event::Cancel).await.expect("it may");
    exec.store
        .report(exec.incarnation, vec![report(&taken, 80, Some("cleaning up"))])
        .await
        .expect("report works");
    let job = world.get(id).await;
    assert!(job.cancelling);
    assert_eq!(shown(&job), (80, Some("cleaning up")));
}

async fn d57_how_far_it_came_is_kept_of_a_job_that_failed_or_was_cancelled(world: &World) {
    let mut exec = world.executor().await;
    let half = Some(Shown {
        percent: 50,
        step: Some("half".to_owned()),
    });
    for (event, cancelled, state, kept) in [
        (Event::Succeed, false, State::Success, (100, None)),
        (Event::FailForGood, false, State::Failed, (50, Some("half"))),
        (Event::Fail, true, State::Cancelled, (50, Some("half"))),
        (Event::Fail, false, State::Stuck, (0, None)),
    ] {
        let id = world.add(job("a")).await;
        let taken = exec.take_one().await;
        exec.start(&taken).await;
        let reports = vec![report(&taken, 50, Some("half"))];
        exec.store.report(exec.incarnation, reports).await.expect("reported");
        if cancelled {
            world.happen(id, Event::Cancel).await.expect("it may");
        }
        let settle = Settle {
            came: half.clone(),
            ..exec.outcome(&taken, event, cancelled)
        };
        assert_eq!(exec.settle(settle).await, Settled::Done);
        let job = world.get(id).await;
        assert_eq!((job.state, shown(&job)), (state, kept), "after {event:?}");
        let listed = world.all().await;
        let listed = listed.iter().find(|j| j.id == id).expect("it is listed");
        assert_eq!(shown(listed), kept);
        if job.state.is_final() {
            world.happen(id, Event::Restart).await.expect("it may");
            assert_eq!(shown(&world.get(id).await), (0, None), "restarted, it begins anew");
            let again = exec.take_one().await;
            exec.run(&again, Event::Succeed).await;
        }
    }
}

async fn d57_d51_a_job_that_is_lost_for_good_tells_how_far_it_came_and_why(world: &World) {
    let once = TaskSettings {
        policy: Policy {
            restartable: false,
            ..Policy::default()
        },
        ..settings("work")
    };
    let mut exec = world.executor_with(&["default"], vec![once]).await;
    let id = world.add(job("a")).await;
    let taken = exec.take_one().await;
    exec.start(&taken).await;
    let reports = vec![report(&taken, 30, Some("page 3"))];
    exec.store.report(exec.incarnation, reports).await.expect("reported");
    assert_eq!(exec.die().await, 1);
    let job = world.get(id).await;
    assert_eq!((job.state, job.reason), (State::Failed, Some(Reason::Lost)));
    assert_eq!(shown(&job), (30, Some("page 3")));
    assert_eq!(job.error.as_deref(), Some("its executor fell silent while it ran"));
    assert_eq!(job.error_code.as_deref(), Some("lost"));
    assert_eq!(job.error_message.as_deref(), Some("It was interrupted."));
}

cases!(
    d57_how_far_it_came_is_kept_of_a_job_that_failed_or_was_cancelled,
    d57_d51_a_job_that_is_lost_for_good_tells_how_far_it_came_and_why,
    what_is_reported_is_seen_by_everyone,
    a_report_is_a_change,
    what_was_reported_ends_with_the_attempt,
    a_job_that_succeeds_without_a_report_shows_all,
    only_the_holder_reports,
    a_cancelling_job_still_reports,
);
