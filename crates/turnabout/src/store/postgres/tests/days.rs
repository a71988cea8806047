//! The days of history: made where they are missing, dropped when they are over, in nobody's way.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::*;
use crate::clock::ManualClock;
use crate::job::{Reason, State, When};
use crate::lifecycle::Policy;

cases![
    a_job_whose_day_is_missing_still_ends,
    prune_makes_days_ahead_and_drops_old_ones,
    a_day_with_an_unfinished_job_stays,
    c33_a_day_whose_last_jobs_ended_after_midnight_goes_as_a_whole,
    c33_a_day_goes_as_a_whole_when_each_of_its_jobs_is_past_its_own_time,
    a_finish_and_a_detach_do_not_hinder_each_other,
    a_day_that_could_not_be_dropped_goes_the_next_time,
];

const DAY: Duration = Duration::from_hours(24);

/// A store whose clock is moved by hand, and which keeps ended jobs for ten days.
async fn open(place: &Place, clock: &ManualClock) -> Arc<PostgresStore> {
    let options = StoreOptions {
        retention: 10 * DAY,
        ..place.options(Clock::Manual(clock.clone()))
    };
    PostgresStore::open(&place.url, options).await.expect("the store opens")
}

/// A job whose id is of this moment.
fn dated(clock: &ManualClock) -> NewJob {
    NewJob {
        id: JobId::at(clock.now()),
        ..job("a")
    }
}

/// The days that are part of history, oldest first; detached ones that were left behind are marked.
async fn days(place: &Place) -> Vec<String> {
    let sql = "select substr(relname::text, 13) || case when relispartition then '' else ' left behind' end
        || case when (select inhdetachpending from pg_inherits where inhrelid = c.oid) then ' half gone' else '' end
        from pg_class c where relnamespace = 'turnabout'::regnamespace and relkind = 'r'
            and relname like 'job\\_history\\_%' order by relname";
    place.texts(&place.client().await, sql).await
}

/// The clock begins with 2030.
async fn a_job_whose_day_is_missing_still_ends(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let once = TaskSettings {
        policy: Policy {
            restartable: false,
            ..Policy::default()
        },
        ..TaskSettings::named("once")
    };
    let exec = |tasks| Exec::new(store.clone(), Uuid::new_v4(), &["default"], tasks);
    let mut worker = exec(vec![settings("work")]);
    let mut mortal = exec(vec![once]);
    worker.register().await;
    mortal.register().await;
    // Each way to end, on a day that nobody has prepared.
    let next_day = || {
        clock.advance(40 * DAY);
        dated(&clock)
    };

    let id = add(&store, vec![next_day()]).await[0];
    let taken = worker.take_one().await;
    worker.run(&taken, Event::Succeed).await;
    assert_eq!(get(&store, id).await.state, State::Success);

    let id = add(&store, vec![next_day()]).await[0];
    let changed = store.change(Which::Ids(vec![id]), Event::Cancel).await;
    assert!(changed.expect("change works")[0].outcome.is_ok());
    assert_eq!(get(&store, id).await.state, State::Cancelled);

    let expiring = NewJob {
        expires: When::After(Duration::from_mins(1)),
        ..next_day()
    };
    let id = add(&store, vec![expiring]).await[0];
    clock.advance(Duration::from_secs(61));
    let changed = store.change(Which::Expired(10), Event::Expire).await;
    assert_eq!(changed.expect("change works").len(), 1);
    assert_eq!(get(&store, id).await.reason, Some(Reason::Expired));

    let id = add(
        &store,
        vec![NewJob {
            task: "once".to_owned(),
            ..next_day()
        }],
    )
    .await[0];
    let taken = mortal.take_one().await;
    mortal.start(&taken).await;
    assert_eq!(mortal.die().await, 1);
    assert_eq!(get(&store, id).await.state, State::Failed);
}

async fn prune_makes_days_ahead_and_drops_old_ones(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let mut exec = executor(&store, &["work"]).await;
    let mut ended = Vec::new();
    for _ in 0..2 {
        ended.push(add(&store, vec![dated(&clock)]).await[0]);
        exec.drain(1).await;
        clock.advance(35 * DAY);
        store.prune().await.expect("prune works");
    }
    // 2030-03-12. Ids may be given that are 7 days old; a week ahead is ready.
    let days = days(place).await;
    assert_eq!(days.first().map(String::as_str), Some("20300304"), "{days:?}");
    assert_eq!(days.last().map(String::as_str), Some("20300320"), "{days:?}");
    assert_eq!(days.len(), 17, "{days:?}");
    assert_eq!(
        store.get(&ended).await.expect("get works"),
        [],
        "both were forgotten with their days"
    );
}

async fn a_day_with_an_unfinished_job_stays(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let mut exec = executor(&store, &["work"]).await;
    let old = add(&store, vec![dated(&clock), dated(&clock)]).await;
    let (done, slow) = (exec.take_one().await, exec.take_one().await);
    exec.run(&done, Event::Succeed).await;
    clock.advance(40 * DAY);
    assert_eq!(store.prune().await.expect("prune works"), 1, "the ended one goes");
    assert_eq!(days(place).await.iter().filter(|day| *day == "20300101").count(), 1);
    exec.run(&slow, Event::Succeed).await;
    assert_eq!(store.prune().await.expect("prune works"), 0);
    assert_eq!(
        get(&store, old[1]).await.finished,
        Some(clock.now()),
        "kept for ten days from its end"
    );
    clock.advance(11 * DAY);
    assert_eq!(store.prune().await.expect("prune works"), 1);
    assert!(!days(place).await.contains(&"20300101".to_owned()));
}

async fn c33_a_day_whose_last_jobs_ended_after_midnight_goes_as_a_whole(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, (0..5).map(|_| dated(&clock)).collect()).await;
    exec.drain(5).await;
    clock.advance(Duration::from_mins(24 * 60 - 1));
    let late = add(&store, vec![dated(&clock)]).await[0];
    let taken = exec.take_one().await;
    clock.advance(Duration::from_mins(11));
    exec.run(&taken, Event::Succeed).await;
    // Ten days later, when all but one are past their time.
    clock.advance(9 * DAY + Duration::from_mins(24 * 60 - 5));
    assert_eq!(
        store.prune().await.expect("prune works"),
        0,
        "they wait for the last one"
    );
    assert_eq!(get(&store, late).await.id, late);
    clock.advance(Duration::from_mins(5));
    assert_eq!(store.prune().await.expect("prune works"), 6);
    assert!(!days(place).await.contains(&"20300101".to_owned()));
}

async fn c33_a_day_goes_as_a_whole_when_each_of_its_jobs_is_past_its_own_time(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let global = crate::group::GlobalSettings {
        retention: crate::retention::Retention {
            failed: Some(20 * DAY),
            ..crate::retention::Retention::default()
        },
        ..crate::group::GlobalSettings::default()
    };
    let setting = crate::store::Setting::Global(global);
    store.set(setting).await.expect("it is set");
    let mut exec = executor(&store, &["work"]).await;
    let jobs = add(&store, (0..3).map(|_| dated(&clock)).collect()).await;
    let taken = exec.take(3).await;
    exec.run(&taken[0], Event::FailForGood).await;
    for job in &taken[1..] {
        exec.run(job, Event::Succeed).await;
    }
    clock.advance(12 * DAY);
    assert_eq!(store.prune().await.expect("prune works"), 2, "one by one: one stays");
    assert_eq!(store.get(&jobs).await.expect("get works").len(), 1);
    assert!(days(place).await.contains(&"20300101".to_owned()));
    clock.advance(9 * DAY);
    assert_eq!(store.prune().await.expect("prune works"), 1);
    assert!(!days(place).await.contains(&"20300101".to_owned()), "gone as a whole");
}

async fn a_finish_and_a_detach_do_not_hinder_each_other(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let mut exec = executor(&store, &["work"]).await;
    for _ in 0..3 {
        // Prepared statements have seen the days that are about to go.
        add(&store, vec![dated(&clock)]).await;
        exec.drain(1).await;
        clock.advance(40 * DAY);
        let gone: HashSet<String> = days(place).await.into_iter().collect();
        let jobs = add(&store, (0..30).map(|_| dated(&clock)).collect()).await;
        let other = open(place, &clock).await;
        let (pruned, ended) = tokio::join!(other.prune(), exec.drain(1));
        pruned.expect("prune works");
        assert_eq!(ended.len(), jobs.len());
        assert!(
            store
                .get(&jobs)
                .await
                .expect("get works")
                .iter()
                .all(|job| job.state == State::Success)
        );
        let left = days(place).await;
        assert!(left.iter().all(|day| !gone.contains(day)), "{left:?}");
    }
}

/// Someone reads history in a long transaction.
async fn a_day_that_could_not_be_dropped_goes_the_next_time(place: &Place) {
    let clock = ManualClock::new();
    let store = open(place, &clock).await;
    let reader = place.client().await;
    place
        .run(&reader, "begin; select count(*) from turnabout.job_history")
        .await;
    clock.advance(40 * DAY);
    let began = Instant::now();
    store.prune().await.expect("prune gives up without an error");
    assert!(began.elapsed() < Duration::from_secs(20), "and soon");
    // Meanwhile everything else goes on.
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![dated(&clock)]).await;
    assert_eq!(exec.drain(1).await.len(), 1);
    place.run(&reader, "commit").await;
    for _ in 0..2 {
        store.prune().await.expect("prune works");
    }
    let days = days(place).await;
    assert_eq!(days.len(), 17, "{days:?}");
    assert_eq!(days.first().map(String::as_str), Some("20300202"), "{days:?}");
}
