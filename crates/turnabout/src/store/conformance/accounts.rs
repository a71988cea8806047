//! Accounts that executors share, and fairness by items through them.

use std::collections::HashMap;

use super::{Exec, World, cases, job};
use crate::lifecycle::Event;
use crate::store::NewJob;
use crate::turn::{Charge, Fairness};

fn charge(group: &str, floor: f64, add: f64) -> Charge {
    Charge {
        group: group.to_owned(),
        floor,
        add,
    }
}

/// What the accounts hold after the charges, by group.
async fn share(world: &World, kind: &str, charges: Vec<Charge>) -> Vec<(String, f64)> {
    let mut accounts = world.store.share(kind, charges).await.expect("share works");
    accounts.sort_by(|a, b| a.0.cmp(&b.0));
    accounts
}

fn account(group: &str, spent: f64) -> (String, f64) {
    (group.to_owned(), spent)
}

async fn what_executors_share_adds_up(world: &World) {
    let first = share(world, "k", vec![charge("a", 0.0, 2.5), charge("b", 0.0, 1.0)]).await;
    assert_eq!(first, [account("a", 2.5), account("b", 1.0)]);
    let second = share(world, "k", vec![charge("a", 0.0, 4.0)]).await;
    assert_eq!(second, [account("a", 6.5)]);
    let third = share(world, "k", vec![charge("b", 0.0, 0.0), charge("a", 0.0, -0.5)]).await;
    assert_eq!(
        third,
        [account("a", 6.0), account("b", 1.0)],
        "a correction takes something back"
    );
}

async fn a_group_that_comes_back_begins_at_the_floor(world: &World) {
    share(world, "k", vec![charge("a", 0.0, 3.0)]).await;
    let raised = share(world, "k", vec![charge("a", 10.0, 1.0), charge("new", 10.0, 2.0)]).await;
    assert_eq!(raised, [account("a", 11.0), account("new", 12.0)]);
    let above = share(world, "k", vec![charge("a", 5.0, 1.0)]).await;
    assert_eq!(above, [account("a", 12.0)], "nobody is lowered to it");
}

async fn each_kind_of_executors_has_accounts_of_its_own(world: &World) {
    share(world, "k", vec![charge("a", 0.0, 3.0)]).await;
    assert_eq!(
        share(world, "other", vec![charge("a", 0.0, 1.0)]).await,
        [account("a", 1.0)]
    );
}

async fn nothing_is_lost_when_all_share_at_once(world: &World) {
    let sharers: Vec<_> = (0..8)
        .map(|i| {
            let store = world.store.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut charges = vec![charge("a", 0.0, 1.0), charge("b", 0.0, 2.0), charge("c", 0.0, 0.5)];
                    charges.rotate_left(i % 3);
                    store.share("k", charges).await.expect("share works");
                }
            })
        })
        .collect();
    for sharer in sharers {
        sharer.await.expect("no panic");
    }
    let all = share(
        world,
        "k",
        vec![charge("a", 0.0, 0.0), charge("b", 0.0, 0.0), charge("c", 0.0, 0.0)],
    )
    .await;
    assert_eq!(all, [account("a", 80.0), account("b", 160.0), account("c", 40.0)]);
}

/// Two executors that share their accounts now and then; one group's jobs hold 10 items, the other's one.
async fn groups_get_the_same_number_of_items(world: &World) {
    let mut execs: Vec<Exec> = Vec::new();
    for exec in world.executors(2).await {
        execs.push(exec.counting(Fairness::Items, "4,2,1", 1));
    }
    for (group, items, n) in [("big", 10, 60), ("small", 1, 600)] {
        let jobs = (0..n).map(|_| NewJob { items, ..job(group) });
        world.submit(jobs.collect()).await;
    }
    let mut items: HashMap<String, u32> = HashMap::new();
    for step in 0..220 {
        let exec = &mut execs[step % 2];
        for job in exec.take(1).await {
            let cost = f64::from(job.items);
            exec.turns.accounts.take(&job.group, 1, Some(cost));
            exec.run(&job, Event::Succeed).await;
            exec.turns.accounts.ended(&job.group, cost);
            *items.entry(job.group).or_default() += job.items;
        }
        if step % 4 < 2 {
            let charges = exec.turns.accounts.charges();
            let kind = exec.kind.clone();
            exec.turns.accounts.absorb(share(world, &kind, charges).await);
        }
    }
    let (big, small) = (items["big"], items["small"]);
    // Slots times the dearest job, and what was not shared yet.
    assert!(big.abs_diff(small) <= 40, "{big} and {small} items");
    assert!(big + small > 300, "{big} and {small} items");
}

async fn under_items_no_slot_idles_while_a_job_is_ready(world: &World) {
    let exec = world.executor().await;
    let mut exec = exec.counting(Fairness::Items, "4,2,1", 1);
    let jobs = (0..5).map(|_| NewJob {
        items: 1000,
        ..job("a")
    });
    world.submit(jobs.collect()).await;
    assert_eq!(exec.take(3).await.len(), 3);
    world.flood("b", 1).await;
    // A batch may come back short, where a group has fewer jobs than turns; the next take makes up for it.
    let taken = exec.take(3).await.len();
    assert!(taken > 0);
    assert_eq!(taken + exec.take(3).await.len(), 3);
}

cases!(
    what_executors_share_adds_up,
    a_group_that_comes_back_begins_at_the_floor,
    each_kind_of_executors_has_accounts_of_its_own,
    nothing_is_lost_when_all_share_at_once,
    groups_get_the_same_number_of_items,
    under_items_no_slot_idles_while_a_job_is_ready,
);
