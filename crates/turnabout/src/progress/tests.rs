//! Percentages, case by case.

use std::sync::atomic::{AtomicBool, AtomicU32};

use futures_util::{StreamExt, stream};

use super::*;

/// A job's progress, nobody's job.
fn of_job() -> Progress {
    Progress::of_job(|| false, || {})
}

/// What is shown after each of so many increments.
fn after_each(progress: &Progress, part: &Progress, increments: usize) -> Vec<u8> {
    (0..increments)
        .map(|_| {
            part.increment(1).expect("nobody cancels");
            progress.percent()
        })
        .collect()
}

#[test]
fn thirds_are_rounded_down_and_the_last_one_waits_for_success() {
    let progress = of_job();
    progress.set_total(3);
    assert_eq!(after_each(&progress, &progress, 3), [33, 66, 99]);
    let free = Progress::new(3);
    assert_eq!(
        after_each(&free, &free, 3),
        [33, 66, 100],
        "what is no job's is done when it is done"
    );
}

#[test]
fn a_child_of_half_in_three_steps() {
    let progress = Progress::new(100);
    let child = progress.child(50, 3);
    assert_eq!(
        after_each(&progress, &child, 5),
        [16, 33, 50, 50, 50],
        "past its total nothing counts"
    );
    let rest = progress.child(50, 3);
    assert_eq!(after_each(&progress, &rest, 3), [66, 83, 100]);
}

#[test]
fn tracking_nothing_one_and_a_thousand_items() {
    for (items, share) in [(0, 30), (1, 30), (1000, 30), (1000, 100)] {
        let progress = Progress::new(100);
        let mut seen = 0;
        for item in progress.track(share, 0..items) {
            assert_eq!(item, Ok(seen));
            let expected = u64::from(seen as u32) * share / (items as u64).max(1);
            assert_eq!(
                u64::from(progress.percent()),
                expected,
                "the item at work does not count"
            );
            seen += 1;
        }
        assert_eq!((seen, u64::from(progress.percent())), (items, share));
    }
}

#[test]
fn tracking_that_is_broken_off_keeps_what_was_done() {
    let progress = Progress::new(100);
    for item in progress.track(30, [1, 2, 3]) {
        if item == Ok(2) {
            break;
        }
    }
    assert_eq!(progress.percent(), 10);
}

#[tokio::test]
async fn streams_are_tracked_like_iterators() {
    let progress = Progress::new(100);
    let mut items = progress.track_stream(50, 4, stream::iter(0..4));
    let mut shown = Vec::new();
    while let Some(item) = items.next().await {
        item.expect("nobody cancels");
        shown.push(progress.percent());
    }
    assert_eq!(shown, [0, 12, 25, 37]);
    assert_eq!(progress.percent(), 50);
}

#[test]
fn a_child_with_nothing_to_do_is_done() {
    let progress = Progress::new(100);
    progress.child(40, 0);
    assert_eq!(progress.percent(), 40);
    let nothing = Progress::new(0);
    nothing.increment(1).expect("nobody cancels");
    assert_eq!(nothing.percent(), 100);
    let job = of_job();
    job.set_total(0);
    assert_eq!(job.percent(), 99, "success is still to come");
}

#[test]
fn almost_is_not_all() {
    let progress = Progress::new(1000);
    progress.set(991).expect("nobody cancels");
    assert_eq!(progress.percent(), 99);
    progress.set(999).expect("nobody cancels");
    assert_eq!(progress.percent(), 99);
}

#[test]
fn it_never_goes_back() {
    let progress = Progress::new(100);
    progress.set(50).expect("nobody cancels");
    progress.set(30).expect("nobody cancels");
    assert_eq!(progress.percent(), 50);
    progress.step("something else").expect("nobody cancels");
    progress.set(20).expect("nobody cancels");
    assert_eq!(progress.percent(), 50);
    progress.set_total(1000);
    assert_eq!(progress.percent(), 50, "though there is more to do than was known");
    progress.set(600).expect("nobody cancels");
    assert_eq!(progress.percent(), 60);
}

#[test]
fn what_is_past_the_total_does_not_count() {
    let progress = Progress::new(100);
    progress.child(200, 2).increment(2).expect("nobody cancels");
    progress.increment(u64::MAX).expect("nobody cancels");
    progress.increment(u64::MAX).expect("nobody cancels");
    assert_eq!(progress.percent(), 100);
    let job = of_job();
    job.increment(1000).expect("nobody cancels");
    assert_eq!(job.percent(), 99);
}

#[test]
fn five_levels_of_thirds_are_exact() {
    let progress = Progress::new(3);
    let mut leaves = vec![progress.clone()];
    for _ in 0..4 {
        leaves = leaves
            .iter()
            .flat_map(|part| (0..3).map(|_| part.child(1, 3)))
            .collect();
    }
    let leaf_count = leaves.len() as u64 * 3;
    assert_eq!(leaf_count, 243);
    let mut done = 0;
    for leaf in leaves {
        for _ in 0..3 {
            leaf.increment(1).expect("nobody cancels");
            done += 1;
            assert_eq!(u64::from(progress.percent()), done * 100 / leaf_count);
        }
        // Dropped here: what it was worth stays.
    }
    assert_eq!(progress.percent(), 100);
}

#[test]
fn a_child_that_is_dropped_keeps_its_worth_and_takes_no_room() {
    let progress = Progress::new(10_000);
    for _ in 0..10_000 {
        let child = progress.child(1, 7);
        child.increment(3).expect("nobody cancels");
    }
    assert_eq!(progress.percent(), 42);
    assert!(progress.node.below().live.is_empty());
}

#[test]
fn many_threads_report_to_one_progress() {
    let progress = Progress::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let part = progress.child(1, 10_000);
            scope.spawn(move || {
                for _ in 0..10_000 {
                    part.increment(1).expect("nobody cancels");
                }
            });
        }
        let mut last = 0;
        for _ in 0..1000 {
            let now = progress.percent();
            assert!(now >= last, "it goes back from {last} to {now}");
            last = now;
        }
    });
    assert_eq!(progress.percent(), 100);
}

#[test]
fn every_observer_is_told_of_every_change_in_order() {
    let progress = Progress::new(100);
    let told: [Arc<Mutex<Vec<Shown>>>; 2] = Default::default();
    for heard in &told {
        let heard = Arc::clone(heard);
        progress.observe(move |shown| heard.lock().expect("a lock").push(shown.clone()));
    }
    let child = progress.child(10, 1000);
    for _ in 0..300 {
        child.increment(1).expect("nobody cancels");
    }
    child.step("half-time").expect("nobody cancels");
    child.step("half-time").expect("nobody cancels");
    progress.set(20).expect("nobody cancels");
    let step = Some("half-time");
    for heard in &told {
        let heard = heard.lock().expect("a lock");
        let heard: Vec<_> = heard
            .iter()
            .map(|shown| (shown.percent, shown.step.as_deref()))
            .collect();
        assert_eq!(heard, [(1, None), (2, None), (3, None), (3, step), (23, step)]);
    }
}

#[test]
fn an_observer_may_report_itself() {
    let progress = Progress::new(100);
    let again = progress.clone();
    progress.observe(move |shown| {
        if shown.percent < 5 {
            again.increment(1).expect("nobody cancels");
        }
    });
    progress.increment(1).expect("nobody cancels");
    assert_eq!(progress.percent(), 5);
}

#[test]
fn a_job_that_should_stop_hears_it_wherever_it_reports() {
    let halted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&halted);
    let progress = Progress::of_job(move || seen.load(Relaxed), || {});
    let child = progress.child(50, 10);
    let mut items = child.track(5, 0..3);
    assert_eq!(items.next(), Some(Ok(0)));
    halted.store(true, Relaxed);
    for answer in [
        progress.increment(1),
        progress.set(5),
        progress.step("x"),
        progress.step("x"),
        child.increment(1),
        progress.check(),
    ] {
        assert_eq!(answer, Err(Cancelled));
    }
    assert_eq!(items.next(), Some(Err(Cancelled)));
    assert_eq!(items.next(), None, "once is enough");
}

#[test]
fn the_executor_is_told_once_until_it_looks() {
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    let progress = Progress::of_job(
        || false,
        move || {
            count.fetch_add(1, Relaxed);
        },
    );
    assert_eq!(progress.news(), None);
    for _ in 0..100 {
        progress.increment(1).expect("nobody cancels");
    }
    assert_eq!(told.load(Relaxed), 1);
    assert_eq!(progress.news().map(|shown| shown.percent), Some(99));
    assert_eq!(progress.news(), None);
    progress.step("once more").expect("nobody cancels");
    assert_eq!(told.load(Relaxed), 2);
}

#[test]
fn a_step_is_short_and_storable() {
    let progress = Progress::new(1);
    progress.step("é".repeat(200)).expect("nobody cancels");
    assert_eq!(progress.shown().step.map(|s| s.len()), Some(MAX_STEP));
    progress.step("a\0b").expect("nobody cancels");
    assert_eq!(progress.shown().step.as_deref(), Some("a\u{fffd}b"));
}
