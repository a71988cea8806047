//! Taking jobs while others come and go: callers who give up, transactions that commit late.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Bound;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::*;
use crate::group::TaskLimits;

cases![
    a_take_that_is_dropped_keeps_nothing_locked,
    a_job_that_commits_late_is_taken_soon,
    promoted_jobs_queue_up_as_they_became_due_whatever_the_server_knows_of_the_table,
    a_cap_that_is_made_between_look_and_claim_is_kept,
    a_place_under_a_cap_is_given_once_though_another_job_of_the_take_was_gone,
    many_groups_with_few_jobs_take_turns,
    a_large_group_among_many_small_ones_is_got_past,
];

/// A future that is given up after it was polled so often.
pub(super) async fn polled<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = times;
    futures_util::future::poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

async fn a_take_that_is_dropped_keeps_nothing_locked(place: &Place) {
    let store = place.open().await;
    let flood: Vec<NewJob> = (0..500).map(|i| job(&format!("g{}", i % 7))).collect();
    let all: HashSet<JobId> = add(&store, flood).await.into_iter().collect();
    let mut fickle = executor(&store, &["work"]).await;
    let mut steady = executor(&store, &["work"]).await;
    let mut taken: HashSet<JobId> = HashSet::new();
    let mut finished = 0;
    for times in 1..=40 {
        // A place that stayed locked would be freed by the server, but not before two seconds. A busy machine is slow too, but not
        // each time.
        let mut waited = Vec::new();
        while waited.last().is_none_or(|waited| *waited > Duration::from_millis(1500)) {
            assert!(waited.len() < 3, "after {times} polls: {waited:?}");
            if let Some(jobs) = polled(times, fickle.try_take(2)).await {
                finished += 1;
                taken.extend(jobs.expect("take works").0.iter().map(|job| job.id));
            }
            let began = Instant::now();
            let jobs = steady.take(1).await;
            assert_eq!(jobs.len(), 1, "after {times} polls");
            assert!(taken.insert(jobs[0].id), "no job twice");
            waited.push(began.elapsed());
        }
    }
    assert!(finished > 0, "so that all parts of a take were given up in");
    // What it claimed without hearing of it comes back with its heartbeat; nothing else is missing.
    let held = fickle.heartbeat().await.held;
    taken.extend(held.iter().map(|(id, ..)| *id));
    taken.extend(steady.drain(100).await.iter().map(|job| job.id));
    assert_eq!(taken, all);
}

async fn a_job_that_commits_late_is_taken_soon(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    let client = place.client().await;
    client.batch_execute("begin").await.expect("it begins");
    let late = place
        .submit(&client, "'work', \"group\" => 'a'")
        .await
        .expect("submitted");
    let early = add(&store, vec![job("a"), job("a"), job("a")]).await;
    let jobs = exec.take(10).await;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), early);
    client.batch_execute("commit").await.expect("it commits");
    let began = Instant::now();
    loop {
        if let [job] = &exec.take(1).await[..] {
            assert_eq!(job.id, late);
            assert!(job.seq < jobs[0].seq, "it came before the mark");
            break;
        }
        // About a second, and the machine may be busy.
        assert!(began.elapsed() < Duration::from_secs(10), "it is never taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Of a small table that it knows, the server reads the rows in an order of its own.
async fn promoted_jobs_queue_up_as_they_became_due_whatever_the_server_knows_of_the_table(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let later = NewJob {
        when: crate::job::When::After(Duration::from_hours(1)),
        ..job("a")
    };
    let jobs: Vec<NewJob> = (0..8)
        .map(|_| NewJob {
            id: JobId::new(),
            ..later.clone()
        })
        .collect();
    let mut ids = add(&store, jobs).await;
    ids.sort_unstable();
    let due = "update turnabout.job j set due = now() - r.rank * interval '1 second'
        from (select id, rank() over (order by id) from turnabout.job) r where r.id = j.id;
        analyze turnabout.job";
    place.run(&client, due).await;
    assert_eq!(store.promote(100).await.expect("promote works").jobs, 8);
    let mut exec = executor(&store, &["work"]).await;
    let mut taken: Vec<JobId> = exec.take(8).await.iter().map(|job| job.id).collect();
    taken.reverse();
    assert_eq!(taken, ids, "the last one was due first");
}

/// The look has seen no cap, and the claim waits for whoever makes one: then it takes nothing, and the next look sees the cap.
async fn a_cap_that_is_made_between_look_and_claim_is_kept(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a"), job("b")]).await;
    let client = place.client().await;
    place.run(&client, CAP_IN_THE_MAKING).await;
    let take = tokio::spawn(async move {
        let jobs = exec.take(9).await;
        (exec, jobs.len())
    });
    place.until_blocked(&client).await;
    place.run(&client, "commit").await;
    let (mut exec, taken) = take.await.expect("no panic");
    assert_eq!(taken, 0);
    let mut groups: Vec<String> = exec.take(9).await.into_iter().map(|job| job.group).collect();
    groups.sort_unstable();
    assert_eq!(groups, ["a", "b"]);
    assert_eq!(
        place.number(&client, "select running::bigint from turnabout.cap").await,
        1
    );
}

/// Someone else has his hands on a job that was to be taken together with one under a cap: what makes up for it must not come
/// from under that cap, whose only place is given away already.
async fn a_place_under_a_cap_is_given_once_though_another_job_of_the_take_was_gone(place: &Place) {
    let store = place.open().await;
    let narrow = TaskLimits {
        max_running: Some(1),
        ..TaskLimits::default()
    };
    store
        .set(Setting::Task("narrow".to_owned(), narrow))
        .await
        .expect("it is set");
    let of = |task: &str| NewJob {
        task: task.to_owned(),
        ..job("a")
    };
    let ids = add(&store, ["narrow", "work", "narrow", "work"].map(of).to_vec()).await;
    let client = place.client().await;
    let lock = format!("begin; select from turnabout.job where id = '{}' for update", ids[1]);
    place.run(&client, &lock).await;
    let mut exec = executor(&store, &["work", "narrow"]).await;
    let taken: Vec<JobId> = exec.take(2).await.iter().map(|job| job.id).collect();
    assert_eq!(taken, [ids[0], ids[3]]);
    assert_eq!(
        place.number(&client, "select running::bigint from turnabout.cap").await,
        1
    );
}

/// Takes so many jobs at a time until there are none, and checks that groups took turns: one job each, in the order of their
/// names, over and over, whoever has none left is passed over; and each gave its jobs in the order submitted.
async fn drain_in_turn(place: &Place, jobs: Vec<NewJob>, mut want: impl FnMut() -> u32) {
    let store = place.open().await;
    let mut waiting: BTreeMap<String, VecDeque<JobId>> = BTreeMap::new();
    for job in &jobs {
        waiting.entry(job.group.clone()).or_default().push_back(job.id);
    }
    add(&store, jobs).await;
    let mut exec = executor(&store, &["work", "mail"]).await;
    let mut last = String::new();
    loop {
        let (taken, found) = exec.try_take(want()).await.expect("take works");
        for job in &taken {
            let behind = (Bound::Excluded(last.as_str()), Bound::Unbounded);
            let next = waiting.range::<str, _>(behind).next().or(waiting.iter().next());
            last = next.expect("nothing is taken twice").0.clone();
            assert_eq!(job.group, last, "it is the turn of {last}");
            let group = waiting.get_mut(&last).expect("it is there");
            assert_eq!(Some(job.id), group.pop_front());
            if group.is_empty() {
                waiting.remove(&last);
            }
        }
        if taken.is_empty() && !found {
            assert!(waiting.is_empty(), "{} groups were left out", waiting.len());
            return;
        }
    }
}

/// Whose turn it is does not depend on how the store looks for jobs.
async fn many_groups_with_few_jobs_take_turns(place: &Place) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut jobs = Vec::new();
    for group in 0..600 {
        for _ in 0..random.usize(1..8) {
            jobs.push(NewJob {
                task: if random.bool() { "work" } else { "mail" }.to_owned(),
                ..job(&format!("g{group:03}"))
            });
        }
    }
    random.shuffle(&mut jobs);
    drain_in_turn(place, jobs, || random.u32(60..120)).await;
}

/// Where a single group has more jobs than are read, nothing is known of it; others must not wait for that.
async fn a_large_group_among_many_small_ones_is_got_past(place: &Place) {
    let group = |n: usize| job(&format!("g{n:03}"));
    let mut jobs: Vec<NewJob> = (0..600).flat_map(|n| [group(n), group(n), group(n)]).collect();
    jobs.extend((0..1500).map(|_| group(400)));
    drain_in_turn(place, jobs, || 100).await;
}
