//! Large submits go to the store in portions, several at a time; nobody may notice that but by the clock.

use std::collections::HashMap;

use super::{Exec, World, cases};
use crate::jobs::Jobs;
use crate::store::Counts;
use crate::submit::Submission;
use crate::submit::many::FIRST_PORTION;

/// Three portions and a bit.
const MANY: usize = 4 * FIRST_PORTION + 200;

fn numbered(n: usize) -> Submission {
    Submission::named("work", n)
}

/// Takes until somebody says that there will be no more, and nothing is left. Returns the jobs' arguments.
async fn take_until(exec: &mut Exec, ended: impl Fn() -> bool) -> Vec<usize> {
    let mut taken = Vec::new();
    loop {
        let last = ended();
        let jobs = exec.take(1000).await;
        if jobs.is_empty() && last {
            return taken;
        }
        taken.extend(jobs.iter().map(|job| job.args.parse::<usize>().expect("a number")));
        // Where nothing waits for a database, whoever submits has to have a chance.
        tokio::task::yield_now().await;
    }
}

/// Portions are taken in their order by someone who takes all the while.
async fn a_large_submit_is_seen_in_its_order(world: &World) {
    let mut exec = world.executor().await;
    let jobs = Jobs::on(world.store.clone());
    let (many, second) = (MANY, FIRST_PORTION + 500);
    let submitting = tokio::spawn(async move {
        // One portion is stored in another way than those before and behind it.
        let special = |n| match n {
            n if n == second => numbered(n).unique("special"),
            _ => numbered(n),
        };
        jobs.submit_all((0..many).map(special)).await
    });
    let taken = take_until(&mut exec, || submitting.is_finished()).await;
    assert_eq!(taken, (0..many).collect::<Vec<_>>());
    let outcomes = submitting.await.expect("no panic");
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|s| s.new)));
    let ids: Vec<_> = outcomes.iter().flatten().map(|s| s.id).collect();
    let stored = world.store.get(&ids[..1000]).await.expect("get works");
    assert!(stored.iter().enumerate().all(|(n, job)| job.args == n.to_string()));
}

/// Whoever gives up in the middle leaves a beginning of what it submitted, without a hole.
async fn a_large_submit_that_is_given_up_leaves_no_hole(world: &World) {
    let mut exec = world.executor().await;
    let jobs = Jobs::on(world.store.clone());
    let many = 2 * MANY;
    let submitting = tokio::spawn(async move { jobs.submit_all((0..many).map(numbered)).await });
    while world.store.counts().await.expect("counts work") == Counts::default() {
        tokio::task::yield_now().await;
    }
    submitting.abort();
    let taken = take_until(&mut exec, || submitting.is_finished()).await;
    assert_eq!(taken, (0..taken.len()).collect::<Vec<_>>());
}

/// A key that comes in several portions is one job; and what a group may not have more of is counted over all of them.
async fn portions_know_of_each_others_keys_and_limits(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    jobs.group("narrow").max_unfinished(Some(700)).await.expect("it is set");
    let submissions = (0..MANY).map(|n| match n % 3 {
        0 => numbered(n).unique(format!("key {}", n % 900)),
        1 => numbered(n).group("narrow"),
        _ => numbered(n),
    });
    let outcomes = jobs.submit_all(submissions).await;
    let mut keys = HashMap::new();
    let mut narrow = 0;
    for (n, outcome) in outcomes.iter().enumerate() {
        match (n % 3, outcome) {
            (0, Ok(submitted)) => {
                let first = keys.entry(n % 900).or_insert(submitted.id);
                assert_eq!((submitted.id, submitted.new), (*first, n < 900), "job {n}");
            }
            (1, outcome) => narrow += usize::from(outcome.is_ok()),
            (_, outcome) => assert!(outcome.as_ref().is_ok_and(|s| s.new), "job {n}: {outcome:?}"),
        }
    }
    assert_eq!(narrow, 700);
}

cases!(
    a_large_submit_is_seen_in_its_order,
    a_large_submit_that_is_given_up_leaves_no_hole,
    portions_know_of_each_others_keys_and_limits,
);
