//! The streams agree with the jobs, whatever happens to those.

use super::life::{Hand, advance};
use super::standby::{stand, taken};
use super::*;
use crate::store::{Setting, Start};

/// How many things are wrong with the streams: each is counted by a query that should find nothing.
const FAULTS: [(&str, &str); 8] = [
    (
        "streams whose counts are wrong",
        "SELECT count(*) FROM stream s
         WHERE jobs < 1
            OR jobs <> (SELECT count(*) FROM ready r WHERE r.stream = s.id AND r.seq > s.cursor)
            OR dead <> (SELECT count(*) FROM ready r WHERE r.stream = s.id AND r.seq <= s.cursor)",
    ),
    (
        "streams that are paused though their group is not, or the other way round",
        "SELECT count(*) FROM stream s
         WHERE paused <> EXISTS (SELECT 1 FROM group_setting g WHERE g.\"group\" = s.\"group\" AND g.paused)",
    ),
    (
        "entries of no stream",
        "SELECT count(*) FROM ready WHERE stream NOT IN (SELECT id FROM stream)",
    ),
    (
        "entries whose job is elsewhere",
        "SELECT count(*) FROM stream s JOIN ready r ON r.stream = s.id AND r.seq > s.cursor LEFT JOIN job j ON j.id = r.id
         WHERE (j.queue, j.\"group\", j.lane, j.task, j.seq) IS NOT (s.queue, s.\"group\", s.lane, s.task, r.seq)",
    ),
    (
        "ready jobs that no stream has",
        "SELECT (SELECT count(*) FROM live WHERE lane IS NOT NULL) - (SELECT coalesce(sum(jobs), 0) FROM stream)",
    ),
    (
        "claims of no job",
        "SELECT count(*) FROM claim WHERE id NOT IN (SELECT id FROM job)",
    ),
    (
        "claims beside jobs that say that they are held, or parked",
        "SELECT count(*) FROM claim c JOIN job j ON j.id = c.id WHERE j.lane IS NULL",
    ),
    (
        "dead entries that should have been swept",
        "SELECT count(*) FROM stream WHERE dead >= 64",
    ),
];

async fn faults(store: &SqliteStore) -> Vec<(&'static str, i64)> {
    let count = |tx: &mut Tx<'_>| {
        let mut faults = Vec::new();
        for (what, sql) in FAULTS {
            let found: i64 = tx.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            if found != 0 {
                faults.push((what, found));
            }
        }
        Ok(faults)
    };
    store.write("looking for faults", count).await.expect("looked")
}

#[tokio::test]
async fn streams_agree_with_jobs_whatever_happens() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let (mut ids, mut held) = (Vec::new(), Vec::new());
    for step in 0..600 {
        let any = |random: &mut fastrand::Rng, ids: &[JobId]| random.choice(ids.iter().copied()).unwrap_or_default();
        let priority = random.choice([Priority::High, Priority::Normal, Priority::Low]);
        let what = random.u8(..12);
        match what {
            0 | 1 => {
                let jobs = (0..random.usize(1..30)).map(|_| {
                    let group = format!("g{}", random.u8(..3));
                    let mut new = job(&group, random.choice(["mail", "pdf"]).unwrap_or("mail"));
                    new.priority = priority.filter(|_| random.bool());
                    if random.u8(..5) == 0 {
                        new.when = When::After(Duration::from_secs(random.u64(1..90)));
                    }
                    new
                });
                ids.extend(submit(&store, jobs.collect()).await);
            }
            2..=4 => held.extend(hand.take(random.u32(1..40)).await),
            5 | 6 => {
                for _ in 0..random.usize(..30) {
                    if held.is_empty() {
                        break;
                    }
                    let job = held.swap_remove(random.usize(..held.len()));
                    let events = [Event::Succeed, Event::Succeed, Event::Interrupt, Event::Fail];
                    let event = random.choice(events).unwrap_or(Event::Succeed);
                    if random.bool() {
                        // Refused, if it is being cancelled.
                        let marks = vec![Start::of(&job, store.clock().now())];
                        store.start(hand.executor, marks).await.expect("told");
                    }
                    hand.settle(&job, event, false).await;
                }
            }
            7 => {
                let events = [
                    Event::Cancel,
                    Event::Restart,
                    Event::Reprioritise(priority.unwrap_or(Priority::Low)),
                ];
                let event = random.choice(events).unwrap_or(Event::Cancel);
                let some = (0..3).map(|_| any(&mut random, &ids)).collect();
                store.change(Which::Ids(some), event).await.expect("changed");
            }
            8 => {
                advance(&store, Duration::from_secs(random.u64(1..60)));
                store.promote(100).await.expect("promoted");
            }
            9 => {
                // A job that comes alone, and goes to whoever stands by.
                loop {
                    let more = hand.take(1000).await;
                    if more.is_empty() {
                        break;
                    }
                    held.extend(more);
                }
                let standing = stand(&store, &mut hand, 4, &["mail", "pdf"]).await;
                let mut alone = job("g1", "pdf");
                alone.priority = priority;
                ids.extend(submit(&store, vec![alone]).await);
                held.extend(taken(standing).await.jobs);
            }
            10 => {
                let paused = GroupSettings {
                    paused: random.bool(),
                    ..GroupSettings::default()
                };
                let group = random.choice(["g0", "g2"]).unwrap_or("g0").to_owned();
                store.set(Setting::Group(group, paused)).await.expect("set");
            }
            _ => {
                if random.u8(..10) == 0 {
                    store.reap(hand.executor, 0).await.expect("reaped");
                    held.clear();
                    hand = Hand::of(&store).await;
                }
            }
        }
        assert_eq!(faults(&store).await, [], "seed {seed}, step {step}: {what}");
    }
}

#[tokio::test]
async fn a_stream_that_should_not_be_there_is_buried_by_who_finds_it() {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    submit(&store, vec![job("a", "mail")]).await;
    store
        .write("damaging", |tx| Ok(tx.connection.execute_batch("DELETE FROM ready")?))
        .await
        .expect("damaged");
    assert!(hand.try_take(1).await.expect("a look").found);
    assert!(!hand.try_take(1).await.expect("another").found);
}
