//! What handlers write: kept in order, with the job, for as long as the job.

use std::time::Duration;

use super::{World, cases, job};
use crate::job::{Claimed, JobId};
use crate::lifecycle::Event;
use crate::log::{Level, Line};
use crate::store::{LogEnd, LogLines, Signal};

const DAY: Duration = Duration::from_hours(24);

fn line(world: &World, number: i64, message: &str) -> Line {
    Line {
        number,
        attempt: 1,
        time: world.clock.now(),
        level: Level::Info,
        message: message.to_owned(),
    }
}

fn lines(world: &World, job: &Claimed, numbers: std::ops::RangeInclusive<i64>) -> LogLines {
    LogLines {
        id: job.id,
        number: job.number,
        lines: numbers.map(|n| line(world, n, &format!("line {n}"))).collect(),
    }
}

async fn numbers(world: &World, id: JobId) -> Vec<i64> {
    let lines = world.store.lines(id, 0, 1000).await.expect("reading works");
    lines.iter().map(|line| line.number).collect()
}

async fn lines_are_kept_as_they_were_written(world: &World) {
    let mut exec = world.executor().await;
    let ids = world.flood("a", 2).await;
    let taken = exec.take(2).await;
    let mut one = lines(world, &taken[0], 1..=3);
    one.lines[1] = Line {
        attempt: 4,
        level: Level::Error,
        ..line(world, 2, "Grüße, 世界\nzwei Zeilen")
    };
    let two = lines(world, &taken[1], 7..=9);
    exec.store
        .log(exec.incarnation, vec![one.clone(), two.clone()])
        .await
        .expect("log works");
    let elsewhere = world.elsewhere().await;
    for store in [&world.store, &elsewhere.store] {
        assert_eq!(store.lines(ids[0], 0, 100).await.expect("reading works"), one.lines);
        assert_eq!(store.lines(ids[1], 0, 100).await.expect("reading works"), two.lines);
        assert_eq!(store.lines(ids[1], 7, 1).await.expect("reading works"), two.lines[1..2]);
        assert_eq!(store.lines(ids[1], 9, 100).await.expect("reading works"), []);
        let missing = JobId::at(world.clock.now());
        assert_eq!(store.lines(missing, 0, 100).await.expect("reading works"), []);
        let ends = store.log_ends(&[ids[1], missing, ids[0]]).await.expect("it works");
        let end = |number, lines| LogEnd { number, lines };
        assert_eq!(ends, [end(9, 3), end(0, 0), end(3, 3)]);
    }
}

async fn new_lines_are_signalled(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 1).await;
    let taken = exec.take_one().await;
    let mut signals = world.store.signals();
    exec.store
        .log(exec.incarnation, vec![lines(world, &taken, 1..=1)])
        .await
        .expect("log works");
    while signals.recv().await.expect("a signal") != Signal::Logged(taken.id) {}
}

async fn a_line_that_comes_twice_is_kept_once(world: &World) {
    let mut exec = world.executor().await;
    let id = world.flood("a", 1).await[0];
    let taken = exec.take_one().await;
    for last in [3, 3, 5] {
        let again = lines(world, &taken, 1..=last);
        exec.store.log(exec.incarnation, vec![again]).await.expect("log works");
    }
    assert_eq!(numbers(world, id).await, [1, 2, 3, 4, 5]);
}

async fn only_the_holder_writes_and_may_do_so_after_the_end(world: &World) {
    let mut exec = world.executor().await;
    let mut other = world.executor().await;
    let id = world.flood("a", 1).await[0];
    let taken = exec.take_one().await;
    let log = async |executor, lines| world.store.log(executor, vec![lines]).await.expect("log works");
    log(other.incarnation, lines(world, &taken, 1..=1)).await;
    assert_eq!(numbers(world, id).await, [0; 0]);
    // Taken over: what the first one writes late is not kept.
    exec.die().await;
    let again = other.take_one().await;
    log(exec.incarnation, lines(world, &taken, 1..=1)).await;
    assert_eq!(numbers(world, id).await, [0; 0]);
    log(other.incarnation, lines(world, &again, 1..=1)).await;
    other.run(&again, Event::Succeed).await;
    log(other.incarnation, lines(world, &again, 2..=2)).await;
    assert_eq!(
        numbers(world, id).await,
        [1, 2],
        "the last words of the attempt that ended it"
    );
    log(exec.incarnation, lines(world, &taken, 3..=3)).await;
    assert_eq!(numbers(world, id).await, [1, 2]);
}

async fn a_log_lives_as_long_as_its_job(world: &World) {
    let mut exec = world.executor().await;
    let ids = world.flood("a", 3).await;
    for taken in exec.take(3).await {
        let two = lines(world, &taken, 1..=2);
        exec.store.log(exec.incarnation, vec![two]).await.expect("log works");
        exec.run(&taken, Event::Succeed).await;
    }
    world.happen(ids[0], Event::Delete).await.expect("it may");
    assert_eq!(numbers(world, ids[0]).await, [0; 0]);
    world.happen(ids[1], Event::Restart).await.expect("it may");
    assert_eq!(numbers(world, ids[1]).await, [1, 2], "a restart keeps it");
    world.store.prune().await.expect("prune works");
    assert_eq!(numbers(world, ids[2]).await, [1, 2]);
    let again = exec.take_one().await;
    world.advance(40 * DAY);
    world.store.prune().await.expect("prune works");
    assert_eq!(numbers(world, ids[2]).await, [0; 0], "gone with its job");
    assert_eq!(numbers(world, ids[1]).await, [1, 2], "its job lives");
    let third = lines(world, &again, 3..=3);
    exec.store.log(exec.incarnation, vec![third]).await.expect("log works");
    exec.run(&again, Event::Succeed).await;
    world.store.prune().await.expect("prune works");
    assert_eq!(numbers(world, ids[1]).await, [1, 2, 3]);
    world.advance(40 * DAY);
    for _ in 0..2 {
        world.store.prune().await.expect("prune works");
    }
    assert_eq!(numbers(world, ids[1]).await, [0; 0]);
}

async fn without_retention_a_log_goes_when_the_store_is_tidied(world: &World) {
    let world = &world.reopened(Duration::ZERO).await;
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    world.add(job("a")).await;
    let taken = exec.take(2).await;
    for taken in &taken {
        let two = lines(world, taken, 1..=2);
        exec.store.log(exec.incarnation, vec![two]).await.expect("log works");
    }
    exec.run(&taken[0], Event::Succeed).await;
    world.store.prune().await.expect("prune works");
    assert_eq!(numbers(world, id).await, [0; 0]);
    assert_eq!(numbers(world, taken[1].id).await, [1, 2]);
}

cases!(
    lines_are_kept_as_they_were_written,
    new_lines_are_signalled,
    a_line_that_comes_twice_is_kept_once,
    only_the_holder_writes_and_may_do_so_after_the_end,
    a_log_lives_as_long_as_its_job,
    without_retention_a_log_goes_when_the_store_is_tidied,
);
