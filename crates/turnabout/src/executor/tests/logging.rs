//! Handlers that write to the logs of their jobs.

use super::counting::{Counting, Fault};
use super::*;
use crate::error::Error;
use crate::job::State;
use crate::log::{Level, Line, LogLimits};
use crate::store::conformance::cases;
use crate::testing::drain;

cases![
    who_sees_the_end_of_a_job_sees_its_whole_log,
    a_hundred_thousand_lines_in_a_tight_loop_are_bounded_and_what_is_missing_is_counted,
    a_handler_that_writes_much_but_not_at_once_loses_nothing,
    a_log_goes_on_over_attempts_and_restarts,
    a_log_is_read_by_page,
    a_log_is_followed_live,
    lines_that_could_not_be_stored_are_stored_later,
    a_log_has_a_limit_for_each_job,
    a_job_that_writes_nothing_costs_nothing,
    foreign_logs_do_not_exist,
];

async fn all(jobs: &Jobs, id: JobId) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut logs = jobs.logs(id).limit(700);
    loop {
        let page = logs.clone().await.expect("a page");
        lines.extend(page.lines);
        match page.next {
            Some(next) => logs = logs.after(next),
            None => return lines,
        }
    }
}

fn messages(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.message.as_str()).collect()
}

/// Writes as many lines as its argument says.
async fn chatter(cx: Context<impl Send + Sync>, task: Play) -> TaskResult {
    for n in 0..task.0.parse::<u32>()? {
        cx.log().info(n);
        let waiting = cx.log().buffer().len();
        assert!(waiting <= LogLimits::default().buffer, "{waiting} lines take up memory");
    }
    Ok(())
}

async fn who_sees_the_end_of_a_job_sees_its_whole_log(world: &World) {
    async fn speak(cx: Context, _: Play) -> TaskResult {
        let log = cx.log().clone();
        log.trace("a");
        log.debug("b");
        log.info(format_args!("c{}", 1));
        tokio::task::spawn_blocking(move || log.warn("d")).await?;
        cx.log().error(String::from("e"));
        Ok(())
    }
    let jobs = jobs_of(world);
    let executor = Executor::new(&jobs).task(speak).start().await.expect("it starts");
    for _ in 0..20 {
        let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
        assert_eq!(ended(&jobs, id).await.state, State::Success);
        let lines = all(&jobs, id).await;
        assert_eq!(messages(&lines), ["a", "b", "c1", "d", "e"]);
        assert_eq!(lines.iter().map(|l| l.level).collect::<Vec<_>>(), Level::ALL);
        assert_eq!(lines.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert!(lines.iter().all(|l| l.attempt == 1 && l.time == world.clock.now()));
    }
    executor.shutdown(Duration::ZERO).await;
}

async fn a_hundred_thousand_lines_in_a_tight_loop_are_bounded_and_what_is_missing_is_counted(world: &World) {
    let jobs = jobs_of(world);
    let id = jobs.submit(Play("100000".into())).await.expect("submitted").id;
    let limits = LogLimits {
        job: usize::MAX,
        ..LogLimits::default()
    };
    let executor = Executor::new(&jobs).task(chatter).log_limits(limits);
    drain(executor).await.expect("drained");
    let lines = all(&jobs, id).await;
    println!("{} of 100,000 lines were stored", lines.len());
    assert!(lines.is_sorted_by(|a, b| a.number < b.number), "in order");
    let mut next = 1;
    for line in &lines {
        if let Some((dropped, _)) = line.message.split_once(" line") {
            next += dropped.parse::<i64>().expect("a number");
            assert_eq!(
                line.number,
                next - 1,
                "it stands in the place of the last one that was dropped"
            );
        } else {
            assert_eq!(
                line.message,
                (next - 1).to_string(),
                "none is missing that is not counted"
            );
            assert_eq!(line.number, next);
            next += 1;
        }
    }
    assert_eq!(next, 100_001, "the last one is there");
}

async fn a_handler_that_writes_much_but_not_at_once_loses_nothing(world: &World) {
    async fn steady(cx: Context, _: Play) -> TaskResult {
        for n in 0..2000 {
            cx.log().info(n);
            if n % 50 == 49 {
                // The store is given a chance: lines wait for a few looks at the most.
                while cx.log().buffer().len() > 250 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
        Ok(())
    }
    let jobs = jobs_of(world);
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(steady)).await.expect("drained");
    let lines = all(&jobs, id).await;
    let expected: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    assert_eq!(messages(&lines), expected);
}

async fn a_log_goes_on_over_attempts_and_restarts(world: &World) {
    async fn fail(cx: Context, _: Play) -> TaskResult {
        cx.log().info(format_args!("attempt {}", cx.attempt()));
        match cx.attempt() {
            1 => Err("once more".into()),
            _ => Ok(()),
        }
    }
    let jobs = jobs_of(world);
    let executor = || Executor::new(&jobs).task(fail);
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    drain(executor()).await.expect("drained");
    world.clock.advance(Duration::from_mins(1));
    drain(executor()).await.expect("drained");
    jobs.restart(id).await.expect("restarted");
    drain(executor()).await.expect("drained");
    let lines = all(&jobs, id).await;
    assert_eq!(messages(&lines), ["attempt 1", "attempt 2", "attempt 1"]);
    assert_eq!(lines.iter().map(|l| l.attempt).collect::<Vec<_>>(), [1, 2, 1]);
    assert_eq!(lines.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 2, 3]);
}

async fn a_log_is_read_by_page(world: &World) {
    let jobs = jobs_of(world);
    let id = jobs.submit(Play("25".into())).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(chatter)).await.expect("drained");
    let page = jobs.logs(id).limit(10).await.expect("a page");
    assert_eq!((page.lines.len(), page.next), (10, Some(10)));
    let page = jobs.logs(id).after(10).limit(15).await.expect("a page");
    assert_eq!((page.lines.len(), page.next), (15, None));
    assert_eq!(page.lines[0].message, "10");
    assert_eq!(jobs.logs(id).after(25).await.expect("a page").lines, []);
    for limit in [0, 10_001] {
        let refused = jobs.logs(id).limit(limit).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    }
    let missing = JobId::at(world.clock.now());
    assert!(matches!(jobs.logs(missing).await, Err(Error::NotFound(_))));
}

async fn a_log_is_followed_live(world: &World) {
    async fn slow(cx: Context<Stage>, task: Play) -> TaskResult {
        cx.log().info("begun");
        let _ = cx.state().began.send((task.0, cx.job()));
        cx.state().curtain.cancelled().await;
        cx.log().info("done");
        Ok(())
    }
    let jobs = jobs_of(world);
    let elsewhere = world.elsewhere().await;
    let there = jobs_of(&elsewhere);
    let (stage, mut seats) = stage();
    let executor = Executor::with_state(&jobs, stage).task(slow);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit(Play("x".into())).await.expect("submitted").id;
    let mut followers = [jobs.follow_logs(id), there.follow_logs(id)];
    for follower in &mut followers {
        let line = within(follower.next()).await.expect("a line").expect("no error");
        assert_eq!(line.message, "begun", "while it runs");
    }
    seats.next().await;
    seats.curtain.cancel();
    for follower in &mut followers {
        let line = within(follower.next()).await.expect("a line").expect("no error");
        assert_eq!(line.message, "done");
        assert!(within(follower.next()).await.is_none(), "it ends with the job");
    }
    let mut missing = jobs.follow_logs(JobId::at(world.clock.now()));
    assert!(matches!(missing.next().await, Some(Err(Error::NotFound(_)))));
    assert!(missing.next().await.is_none());
    executor.shutdown(Duration::ZERO).await;
}

async fn lines_that_could_not_be_stored_are_stored_later(world: &World) {
    for (verb, fault) in [
        ("log", Fault::Outage),
        ("log", Fault::LostReply),
        ("log_ends", Fault::Outage),
    ] {
        let store = Counting::new(&world.store);
        let jobs = Jobs::on(store.clone());
        store.fail(verb, fault, 2);
        let id = jobs.submit(Play("3".into())).await.expect("submitted").id;
        drain(Executor::new(&jobs).task(chatter)).await.expect("drained");
        assert_eq!(messages(&all(&jobs, id).await), ["0", "1", "2"], "{verb} {fault:?}");
    }
    // What can never be stored does not hold up the job.
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    store.fail("log", Fault::Refusal, u32::MAX);
    let id = jobs.submit(Play("3".into())).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(chatter)).await.expect("drained");
    assert_eq!(jobs.get(id).await.expect("the job").state, State::Success);
}

async fn a_log_has_a_limit_for_each_job(world: &World) {
    let jobs = jobs_of(world);
    let limits = LogLimits {
        line: 30,
        job: 10,
        ..LogLimits::default()
    };
    let executor = || Executor::new(&jobs).task(chatter).log_limits(limits);
    let id = jobs.submit(Play("8".into())).await.expect("submitted").id;
    drain(executor()).await.expect("drained");
    jobs.restart(id).await.expect("restarted");
    drain(executor()).await.expect("drained");
    let lines = all(&jobs, id).await;
    assert_eq!(messages(&lines[..9]), ["0", "1", "2", "3", "4", "5", "6", "7", "0"]);
    assert_eq!(lines[9].message, "the log of this job is full: it keeps 10 lines");
    assert_eq!(lines.len(), 10);
}

async fn a_job_that_writes_nothing_costs_nothing(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    jobs.submit(Echo("x".into())).await.expect("submitted");
    drain(Executor::new(&jobs).task(echo)).await.expect("drained");
    let calls = store.calls();
    assert_eq!((calls.get("log"), calls.get("log_ends")), (None, None));
}

async fn foreign_logs_do_not_exist(world: &World) {
    let jobs = jobs_of(world);
    let id = jobs.submit(Play("1".into())).group("acme").owner("ada").await;
    let id = id.expect("submitted").id;
    drain(Executor::new(&jobs).task(chatter)).await.expect("drained");
    assert_eq!(
        jobs.of_owner("acme", "ada").logs(id).await.expect("hers").lines.len(),
        1
    );
    let mut hers = jobs.of_group("acme").follow_logs(id);
    assert_eq!(hers.next().await.expect("a line").expect("hers").message, "0");
    for stranger in [jobs.of_owner("acme", "bob"), jobs.of_group("bell")] {
        assert!(matches!(stranger.logs(id).await, Err(Error::NotFound(_))));
        let followed = stranger.follow_logs(id).next().await;
        assert!(matches!(followed, Some(Err(Error::NotFound(_)))), "{followed:?}");
    }
}
