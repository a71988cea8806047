//! Executors, sums and hints.

use std::time::Duration;

use uuid::Uuid;

use super::{World, cases, in_memory, job};
use crate::job::{JobId, Priority, State, When};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::store::Hint;
use crate::store::NewJob;
use crate::store::Settled;
use crate::store::overview::{Sum, Whose};

const HOLD: Duration = Duration::from_mins(1);

async fn executors_are_listed_with_what_they_hold_and_can_be_drained(world: &World) {
    let mut exec = world.executor().await;
    let other = world.executor().await;
    world.flood("a", 3).await;
    exec.take(2).await;
    let mut members = world.store.executors().await.expect("it works");
    assert_eq!(members.len(), 2);
    members.sort_by_key(|member| std::cmp::Reverse(member.held));
    assert_eq!((members[0].info.incarnation, members[0].held), (exec.incarnation, 2));
    assert_eq!((members[1].info.incarnation, members[1].held), (other.incarnation, 0));
    for member in &members {
        let named = world.store.named(&member.info.name).await.expect("it works");
        assert!(named.contains(&member.info) && named.iter().all(|one| one.name == member.info.name));
    }
    assert_eq!(world.store.named("nobody").await.expect("it works"), []);
    assert!(
        members
            .iter()
            .all(|member| !member.draining && member.seen == world.clock.now())
    );

    assert!(world.store.drain(exec.incarnation, true).await.expect("it works"));
    assert!(!world.store.drain(Uuid::new_v4(), true).await.expect("nobody"));
    world.advance(Duration::from_secs(5));
    assert!(
        world
            .store
            .heartbeat(exec.incarnation, 1)
            .await
            .expect("it works")
            .draining
    );
    assert!(
        !world
            .store
            .heartbeat(other.incarnation, 1)
            .await
            .expect("it works")
            .draining
    );
    let members = world.store.executors().await.expect("it works");
    assert!(members.iter().all(|member| member.seen == world.clock.now()));
    assert_eq!(members.iter().filter(|member| member.draining).count(), 1);
    assert!(world.store.drain(exec.incarnation, false).await.expect("it works"));
    assert!(
        !world
            .store
            .heartbeat(exec.incarnation, 2)
            .await
            .expect("it works")
            .draining
    );
}

async fn jobs_are_added_up_by_task_priority_and_state(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    let begin = world.clock.now();
    let new = |group: &str, owner: &str, task: &str, items: u32| NewJob {
        task: task.to_owned(),
        owner: Some(owner.to_owned()),
        items,
        ..job(group)
    };
    world.add(new("a", "ada", "work", 2)).await;
    world.add(new("a", "ada", "work", 4)).await;
    world.add(new("b", "bob", "mail", 1)).await;
    world
        .add(NewJob {
            priority: Some(Priority::High),
            when: When::After(Duration::from_mins(1)),
            ..new("b", "bob", "work", 1)
        })
        .await;
    world.advance(Duration::from_secs(1));
    let taken = exec.take(3).await;
    for job in &taken {
        let event = if job.task == "work" {
            Event::Fail
        } else {
            Event::Succeed
        };
        exec.run(job, event).await;
    }
    let sums = async |whose: Whose, since| world.store.sums(&whose, since).await.expect("it works");
    let all = sums(Whose::default(), begin).await;
    let brief = |sum: &Sum| {
        (
            sum.task.clone(),
            sum.priority,
            sum.state,
            sum.jobs,
            sum.items,
            sum.failures(),
        )
    };
    let found: Vec<_> = all.iter().map(brief).collect();
    let expected = [
        ("mail".to_owned(), Priority::Normal, State::Success, 1, 1, 0),
        ("work".to_owned(), Priority::High, State::Waiting, 1, 1, 0),
        ("work".to_owned(), Priority::Normal, State::Stuck, 2, 6, 2),
    ];
    assert_eq!(found, expected);
    assert!(all.iter().all(|sum| sum.oldest == Some(begin)));
    assert_eq!(all[0].first_started, Some(world.clock.now()));

    let later = world.clock.now() + Duration::from_secs(1);
    assert_eq!(
        sums(Whose::default(), later).await.len(),
        2,
        "what ended before is not counted"
    );
    let hers = Whose {
        group: Some("a".to_owned()),
        owner: Some("ada".to_owned()),
    };
    assert_eq!(
        sums(hers.clone(), begin).await.iter().map(|sum| sum.jobs).sum::<u64>(),
        2
    );
    let nobodys = Whose {
        owner: Some("bob".to_owned()),
        ..hers
    };
    assert!(sums(nobodys, begin).await.is_empty());

    let tally = async |whose: Whose, since| {
        let tally = world.store.tally(&whose, since).await.expect("it works");
        (tally.submitted, tally.success, tally.failed, tally.cancelled)
    };
    assert_eq!(tally(Whose::default(), begin).await, (4, 1, 0, 0));
    assert_eq!(tally(Whose::default(), later).await, (0, 0, 0, 0));
    let group = Whose {
        group: Some("b".to_owned()),
        owner: None,
    };
    assert_eq!(tally(group, begin).await, (2, 1, 0, 0));
}

async fn groups_are_added_up_a_page_at_a_time(world: &World) {
    let mut exec = world.executor().await;
    for group in ["c", "a", "b/x"] {
        world.flood(group, 2).await;
    }
    world
        .add(NewJob {
            when: When::After(Duration::from_mins(1)),
            items: 7,
            ..job("a")
        })
        .await;
    let first = exec.take_one().await.group;
    let groups = async |after: &str, limit| {
        let whose = Whose::default();
        world.store.groups(&whose, after, limit).await.expect("it works")
    };
    let all = groups("", 10).await;
    let names: Vec<&str> = all.iter().map(|sum| sum.group.as_str()).collect();
    assert_eq!(names, ["a", "b/x", "c"]);
    for sum in &all {
        let held = u64::from(sum.group == first);
        let parked = u64::from(sum.group == "a");
        assert_eq!((sum.ready, sum.parked, sum.held), (2 - held, parked, held), "{sum:?}");
        assert_eq!(sum.items, 2 + 7 * parked);
        assert_eq!(sum.oldest, Some(world.clock.now()));
    }
    assert_eq!(groups("a", 1).await, all[1..2]);
    assert!(groups("c", 10).await.is_empty());
    let one = Whose {
        group: Some("c".to_owned()),
        owner: None,
    };
    assert_eq!(world.store.groups(&one, "", 10).await.expect("it works"), all[2..]);
    let jobs = Jobs::on(world.store.clone());
    assert_eq!(jobs.group_sum("b/x", None).await.expect("it works"), all[1]);
    let unused = jobs.group_sum("b", None).await.expect("it works");
    assert_eq!((unused.group.as_str(), unused.ready, unused.oldest), ("b", 0, None));
    assert_eq!(jobs.group_sum("c", Some("ada")).await.expect("it works").ready, 0);
    jobs.group_sum("b//x", None).await.expect_err("no name of a group");
}

/// Hints after a number, once this job is among them: some stores write them a moment later.
async fn hints_with(world: &World, after: i64, id: JobId) -> Vec<Hint> {
    let looking = async {
        loop {
            let hints = world.store.hints(after, 1000).await.expect("it works");
            if hints.iter().any(|hint| hint.job == id) {
                return hints;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(10), looking).await;
    found.expect("the hint comes")
}

async fn changes_are_hinted_at_while_someone_watches(world: &World) {
    let mut exec = world.executor().await;
    let before = world.add(job("a")).await;
    let watched = world.store.watch(HOLD).await.expect("it works");
    let id = world
        .add(NewJob {
            owner: Some("ada".to_owned()),
            ..job("b")
        })
        .await;
    let hints = hints_with(world, watched.newest, id).await;
    assert!(hints.iter().all(|hint| hint.job != before), "nobody watched then");
    let hint = hints.last().expect("one");
    assert_eq!((hint.group.as_str(), hint.owner.as_deref()), ("b", Some("ada")));
    assert_eq!(hint.last, None, "it can be looked up");

    let mut seen = hint.number;
    let taken = exec.take(2).await;
    for job in &taken {
        exec.run(job, Event::Succeed).await;
        let hints = hints_with(world, seen, job.id).await;
        assert!(hints.windows(2).all(|pair| pair[0].number < pair[1].number));
        seen = hints.last().expect("one").number;
    }
    world.happen(id, Event::Restart).await.expect("it may");
    let hints = hints_with(world, seen, id).await;
    seen = hints.last().expect("one").number;
    world.happen(id, Event::Cancel).await.expect("it may");
    hints_with(world, seen, id).await;
}

async fn an_epoch_lasts_as_long_as_someone_watches(world: &World) {
    let first = world.store.watch(HOLD).await.expect("it works");
    world.advance(HOLD / 2);
    assert_eq!(world.store.watch(HOLD).await.expect("it works").epoch, first.epoch);
    world.advance(HOLD / 2);
    let there = world.elsewhere().await;
    let id = world.add(job("a")).await;
    let hints = hints_with(&there, first.newest, id).await;
    let second = there.store.watch(HOLD).await.expect("it works");
    assert_eq!(second.epoch, first.epoch, "wherever they are");
    assert_eq!(Some(second.newest), hints.last().map(|hint| hint.number));
    world.advance(HOLD * 2);
    world.add(job("a")).await;
    let third = world.store.watch(HOLD).await.expect("it works");
    assert!(third.epoch > second.epoch);
    assert_eq!(third.newest, second.newest, "nobody watched");
    world.advance(Duration::from_mins(10));
    let id = world.add(job("a")).await;
    let fourth = world.store.watch(HOLD).await.expect("it works");
    assert_eq!(fourth.forgotten, second.newest, "what is old is forgotten");
    assert!(world.store.hints(0, 10).await.expect("it works").is_empty());
    world.happen(id, Event::Cancel).await.expect("it may");
    let hints = hints_with(world, fourth.newest, id).await;
    assert!(hints[0].number > fourth.forgotten, "numbers are not used again");
}

async fn a_job_that_is_not_kept_is_told_in_full_at_its_end(world: &World) {
    let world = world.reopened(Duration::ZERO).await;
    let mut exec = world.executor().await;
    let watched = world.store.watch(HOLD).await.expect("it works");
    let ids = world.flood("a", 3).await;
    let taken = exec.take(2).await;
    exec.run(&taken[0], Event::Succeed).await;
    exec.run(&taken[1], Event::FailForGood).await;
    world.happen(ids[2], Event::Cancel).await.expect("it may");
    let states = [State::Success, State::Failed, State::Cancelled];
    for (id, state) in taken.iter().map(|job| job.id).chain([ids[2]]).zip(states) {
        let looking = async {
            loop {
                let hints = world.store.hints(watched.newest, 1000).await.expect("it works");
                if let Some(last) = hints
                    .into_iter()
                    .filter(|hint| hint.job == id)
                    .find_map(|hint| hint.last)
                {
                    return last;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let last = tokio::time::timeout(Duration::from_secs(10), looking)
            .await
            .expect("it is told");
        assert_eq!((last.state, last.group.as_str()), (state, "a"));
        assert_eq!(last.finished, Some(world.clock.now()));
        assert_eq!(last.progress, if state == State::Success { 100 } else { 0 });
        assert!(world.store.get(&[id]).await.expect("it works").is_empty());
    }
}

async fn c47_failures_are_all_that_are_kept_and_no_cancels(world: &World) {
    let mut exec = world.executor().await;
    world.flood("a", 3).await;
    let held = exec.take(3).await;
    exec.run(&held[0], Event::FailForGood).await;
    // Cancelled in its first attempt, which has not failed.
    exec.start(&held[1]).await;
    world.happen(held[1].id, Event::Cancel).await.expect("it may");
    let cancelled = exec.outcome(&held[1], Event::Succeed, true);
    assert_eq!(exec.settle(cancelled).await, Settled::Done);
    // Cancelled after its first attempt has failed.
    exec.run(&held[2], Event::Fail).await;
    world.happen(held[2].id, Event::Cancel).await.expect("it may");
    let begin = world.clock.now();
    let sums = world.store.sums(&Whose::default(), begin).await.expect("it works");
    let brief = |sum: &Sum| (sum.state, sum.jobs, sum.failures());
    let found: Vec<_> = sums.iter().map(brief).collect();
    assert_eq!(found, [(State::Failed, 1, 1), (State::Cancelled, 2, 1)]);

    world.advance(Duration::from_hours(24 * 20));
    let now = world.clock.now();
    assert_eq!(world.store.sums(&Whose::default(), now).await.expect("it works"), []);
    let failed = async |whose: Whose| world.store.failed_sums(&whose).await.expect("it works");
    let found: Vec<_> = failed(Whose::default()).await.iter().map(brief).collect();
    assert_eq!(found, [(State::Failed, 1, 1)], "however long ago");
    let whose = |group: &str| Whose {
        group: Some(group.to_owned()),
        owner: None,
    };
    assert_eq!(failed(whose("a")).await.len(), 1);
    assert_eq!(failed(whose("b")).await, []);
    world.advance(Duration::from_hours(24 * 12));
    world.store.prune().await.expect("it works");
    assert_eq!(failed(Whose::default()).await, [], "none is kept any longer");
}

async fn signing_keys_are_renewed_in_time_and_forgotten_when_old(world: &World) {
    let (day, two) = (Duration::from_hours(24), Duration::from_hours(48));
    let overview = &world.store;
    assert!(overview.keys().await.expect("it works").is_empty());
    let first = overview.renew_keys(b"first", day, two).await.expect("it works");
    assert_eq!(first[0].secret, b"first");
    world.advance(Duration::from_hours(23));
    assert_eq!(
        overview.renew_keys(b"too soon", day, two).await.expect("it works"),
        first
    );
    world.advance(Duration::from_hours(2));
    let both = overview.renew_keys(b"second", day, two).await.expect("it works");
    assert_eq!((both.len(), both[0].secret.as_slice()), (2, &b"second"[..]));
    assert_eq!(both[1], first[0]);
    assert_eq!(overview.keys().await.expect("it works"), both);
    world.advance(Duration::from_hours(24));
    let next = overview.renew_keys(b"third", day, two).await.expect("it works");
    let secrets: Vec<&[u8]> = next.iter().map(|key| key.secret.as_slice()).collect();
    assert_eq!(secrets, [&b"third"[..], b"second"], "the first is too old");
    let new = overview
        .renew_keys(b"alone", Duration::ZERO, Duration::ZERO)
        .await
        .expect("it works");
    assert_eq!((new.len(), new[0].secret.as_slice()), (1, &b"alone"[..]));
    assert!(new[0].number > next[0].number, "no number is used again");
    assert!(!format!("{new:?}").contains("97, 108"), "a key is not shown");
}

cases!(
    executors_are_listed_with_what_they_hold_and_can_be_drained,
    jobs_are_added_up_by_task_priority_and_state,
    c47_failures_are_all_that_are_kept_and_no_cancels,
    groups_are_added_up_a_page_at_a_time,
    changes_are_hinted_at_while_someone_watches,
    an_epoch_lasts_as_long_as_someone_watches,
    a_job_that_is_not_kept_is_told_in_full_at_its_end,
    signing_keys_are_renewed_in_time_and_forgotten_when_old,
);

in_memory!(changes_are_hinted_at_while_someone_watches);
