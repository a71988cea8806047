//! The audit log.

use std::time::Duration;

use super::{World, cases};
use crate::store::StoreOptions;
use crate::store::audit::{Deed, Entries};

fn deed(by: &str, action: &str, target: &str) -> Deed {
    Deed {
        by: by.to_owned(),
        role: "admin".to_owned(),
        action: action.to_owned(),
        target: Some(target.to_owned()),
        ..Deed::default()
    }
}

async fn numbers(world: &World, which: Entries) -> Vec<i64> {
    let entries = world.store.audit().entries(&which).await.expect("it works");
    entries.iter().map(|entry| entry.number).collect()
}

fn all() -> Entries {
    Entries {
        limit: 100,
        ..Entries::default()
    }
}

async fn what_was_done_is_listed_newest_first_with_everything_that_was_said(world: &World) {
    let audit = world.store.audit();
    let whole = Deed {
        by: "ops \u{e9}".to_owned(),
        role: "group".to_owned(),
        address: Some("::1".to_owned()),
        action: "cancel".to_owned(),
        target: None,
        group: Some("acme".to_owned()),
        filter: Some("{\"group\":\"acme\"}".to_owned()),
        count: Some(3),
        before: Some("{}".to_owned()),
        after: Some("[1]".to_owned()),
        note: Some("why not".to_owned()),
    };
    audit.add(whole.clone()).await.expect("it works");
    let first = world.clock.now();
    world.advance(Duration::from_secs(5));
    audit.add(deed("eve", "set-group", "group:a")).await.expect("it works");
    audit.add(deed("eve", "set-group", "group:b")).await.expect("it works");
    audit.add(deed("ops", "set-group", "group:a")).await.expect("it works");

    let entries = audit.entries(&all()).await.expect("it works");
    assert_eq!(entries.len(), 4);
    assert!(entries.windows(2).all(|pair| pair[0].number > pair[1].number));
    assert_eq!((entries[3].at, &entries[3].deed), (first, &whole));
    let found: Vec<i64> = entries.iter().map(|entry| entry.number).collect();

    let page = Entries { limit: 2, ..all() };
    assert_eq!(numbers(world, page.clone()).await, found[..2]);
    let next = Entries {
        before: Some(found[1]),
        ..page
    };
    assert_eq!(numbers(world, next).await, found[2..]);
    for (which, expected) in [
        (
            Entries {
                by: Some("eve".to_owned()),
                ..all()
            },
            &found[1..3],
        ),
        (
            Entries {
                action: Some("cancel".to_owned()),
                ..all()
            },
            &found[3..],
        ),
        (
            Entries {
                target: Some("group:b".to_owned()),
                ..all()
            },
            &found[1..2],
        ),
        (
            Entries {
                group: Some("acme".to_owned()),
                ..all()
            },
            &found[3..],
        ),
        (
            Entries {
                since: Some(world.clock.now()),
                ..all()
            },
            &found[..3],
        ),
    ] {
        assert_eq!(numbers(world, which.clone()).await, expected, "{which:?}");
    }

    let targets = ["group:a", "group:c", "group:b"].map(ToOwned::to_owned);
    let newest = audit.newest(&targets).await.expect("it works");
    let found: Vec<_> = newest
        .iter()
        .map(|entry| (entry.deed.target.as_deref(), entry.deed.by.as_str()))
        .collect();
    assert_eq!(found, [(Some("group:a"), "ops"), (Some("group:b"), "eve")]);
}

async fn the_audit_log_is_forgotten_after_a_time_of_its_own_but_not_who_set_what_holds(world: &World) {
    let audit = world.store.audit();
    for deed in [
        deed("a", "cancel", "job:1"),
        deed("a", "set-group", "group:x"),
        deed("b", "set-group", "group:x"),
        deed("b", "set-task", "task:y"),
    ] {
        audit.add(deed).await.expect("it works");
    }
    world.advance(StoreOptions::default().audit_retention);
    audit.add(deed("c", "cancel", "job:2")).await.expect("it works");
    world.store.prune().await.expect("it works");
    assert_eq!(numbers(world, all()).await.len(), 5, "a year has just passed");
    world.advance(Duration::from_secs(1));
    world.store.prune().await.expect("it works");
    let left = audit.entries(&all()).await.expect("it works");
    let left: Vec<_> = left
        .iter()
        .map(|entry| (entry.deed.by.as_str(), entry.deed.target.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(left, [("c", "job:2"), ("b", "task:y"), ("b", "group:x")]);
}

cases![
    what_was_done_is_listed_newest_first_with_everything_that_was_said,
    the_audit_log_is_forgotten_after_a_time_of_its_own_but_not_who_set_what_holds,
];
