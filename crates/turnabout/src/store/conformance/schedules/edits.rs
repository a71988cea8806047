//! Schedules are made, changed, listed and deleted the same on every store.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::{MINUTE, key, minutely};
use crate::error::Error;
use crate::schedule::{Definition, Edit, Missed, Overlap, ScheduleChange, ScheduleKey};
use crate::store::conformance::{World, cases};
use crate::store::overview::Whose;
use crate::store::schedules::{ScheduleEventKind as K, ScheduleFilter};

cases![
    a_name_is_unique_for_the_system_a_group_and_an_owner,
    lists_come_in_pages_and_show_only_whose_they_are,
    a_schedule_comes_back_as_it_was_said,
    who_follows_schedules_is_told_what_happened,
    a_deployment_knows_what_it_declared,
    a_deleted_schedule_leaves_its_jobs,
];

async fn a_name_is_unique_for_the_system_a_group_and_an_owner(world: &World) {
    let keys = [
        ScheduleKey::new("x"),
        ScheduleKey::new("x").group("a"),
        ScheduleKey::new("x").group("b"),
        ScheduleKey::new("x").group("a").owner("ada"),
    ];
    let mut ids = HashSet::new();
    for key in &keys {
        ids.insert(world.schedule(key, minutely()).await.id);
    }
    assert_eq!(ids.len(), 4);
    let again = world.schedule(&keys[1], Definition::new("other", "every 1 hour")).await;
    assert!(ids.contains(&again.id), "the same schedule, changed");
    let found = world.store.schedules().get(&keys[0]).await.expect("get works");
    assert_eq!(found.expect("it is there").definition.task, "work");
}

async fn lists_come_in_pages_and_show_only_whose_they_are(world: &World) {
    let mut edits = Vec::new();
    for group in ["a", "b", "c"] {
        for n in 0..5 {
            edits.push((ScheduleKey::new(format!("s{n}")).group(group), Edit::Set(minutely())));
        }
        edits.push((ScheduleKey::new("own").group(group).owner("ada"), Edit::Set(minutely())));
    }
    edits.push((
        ScheduleKey::new("system"),
        Edit::Set(Definition::new("clean", "every 1 day")),
    ));
    world.store.schedules().edit(edits).await.expect("stored");
    let all = async |filter: ScheduleFilter| {
        let mut found: Vec<ScheduleKey> = Vec::new();
        loop {
            let after = found.last().cloned();
            let page = ScheduleFilter {
                after,
                limit: 4,
                ..filter.clone()
            };
            let page = world.store.schedules().list(&page).await.expect("list works");
            if page.is_empty() {
                return found;
            }
            found.extend(page.into_iter().map(|schedule| schedule.key));
        }
    };
    let everything = all(ScheduleFilter::default()).await;
    assert_eq!(everything.len(), 19);
    assert_eq!(everything[0], ScheduleKey::new("system"));
    assert_eq!(everything.iter().collect::<BTreeSet<_>>().len(), 19);
    let of = |group: &str, owner: Option<&str>| ScheduleFilter {
        whose: Whose {
            group: Some(group.to_owned()),
            owner: owner.map(ToOwned::to_owned),
        },
        ..ScheduleFilter::default()
    };
    let of_b = all(of("b", None)).await;
    assert!(
        of_b.len() == 6 && of_b.iter().all(|key| key.group.as_deref() == Some("b")),
        "{of_b:?}"
    );
    assert_eq!(
        all(of("b", Some("ada"))).await,
        [ScheduleKey::new("own").group("b").owner("ada")]
    );
    assert_eq!(all(of("d", None)).await, []);
    let task = Some("clean".to_owned());
    let filter = ScheduleFilter {
        task,
        ..ScheduleFilter::default()
    };
    assert_eq!(all(filter).await, [ScheduleKey::new("system")]);
}

async fn a_schedule_comes_back_as_it_was_said(world: &World) {
    let definition = Definition {
        args: "{\"n\": 1.234567890123456789}".to_owned(),
        queue: Some("ocr".to_owned()),
        priority: Some(crate::job::Priority::Low),
        subject: Some("Übersicht".to_owned()),
        expression: "Mon..Fri *-*-* 15:00:00".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        enabled: true,
        overlap: Overlap::Wait,
        missed: Missed::Each(7),
        jitter: Duration::from_millis(90_500),
        start: Some(world.clock.now()),
        end: Some(crate::clock::after(world.clock.now(), Duration::from_hours(24 * 365))),
        exclude: vec!["2030-12-24..2030-12-31".to_owned()],
        ..Definition::new("work", "")
    };
    let key = key("whole");
    let by = "app".to_owned();
    let declared = definition.clone();
    world
        .edit(
            &key,
            Edit::Declare {
                by,
                definition: declared,
            },
        )
        .await
        .expect("declared");
    let change = ScheduleChange {
        subject: Some(None),
        ..ScheduleChange::default()
    };
    let changed = world.edit(&key, Edit::Change(change)).await.expect("changed");
    let note = Some("why not".to_owned());
    let paused = world.edit(&key, Edit::Pause { note, by: None }).await.expect("paused");
    let found = world.store.schedules().get(&key).await.expect("get works");
    assert_eq!(found, paused.schedule);
    let resumed = world.edit(&key, Edit::Resume).await.expect("resumed");
    assert_eq!(resumed.schedule, changed.schedule);
    let found = world
        .store
        .schedules()
        .get(&key)
        .await
        .expect("get works")
        .expect("it is there");
    assert_eq!(found.declared.map(|declared| declared.definition), Some(definition));
    assert_eq!(found.set_by_operator, BTreeSet::from(["subject".to_owned()]));
}

async fn who_follows_schedules_is_told_what_happened(world: &World) {
    let begin = world.store.schedules().last_change().await.expect("it works");
    let mut end = minutely();
    end.end = Some(crate::clock::after(world.clock.now(), MINUTE));
    world.schedule(&key("a"), end).await;
    world
        .edit(&key("a"), Edit::Pause { note: None, by: None })
        .await
        .expect("paused");
    world.edit(&key("a"), Edit::Resume).await.expect("resumed");
    let same = world.edit(&key("a"), Edit::Resume).await.expect("nothing happens");
    assert!(!same.changed);
    let change = ScheduleChange {
        subject: Some(Some("x".to_owned())),
        ..ScheduleChange::default()
    };
    world.edit(&key("a"), Edit::Change(change)).await.expect("changed");
    world.advance(MINUTE);
    world.fire().await;
    world.edit(&key("a"), Edit::Delete).await.expect("deleted");
    let changes = world.store.schedules().changes(begin, 100).await.expect("it works");
    let kinds: Vec<K> = changes.iter().map(|change| change.kind).collect();
    assert_eq!(
        kinds,
        [K::Added, K::Paused, K::Resumed, K::Changed, K::Stopped, K::Deleted]
    );
    assert!(changes.iter().all(|change| change.key == key("a")));
    assert!(changes.is_sorted_by(|a, b| a.number < b.number));
    let last = world.store.schedules().last_change().await.expect("it works");
    assert_eq!(changes.last().map(|change| change.number), Some(last));
    let rest = world
        .store
        .schedules()
        .changes(changes[1].number, 2)
        .await
        .expect("it works");
    assert_eq!(rest, changes[2..4]);
}

async fn a_deployment_knows_what_it_declared(world: &World) {
    let declare = |by: &str| Edit::Declare {
        by: by.to_owned(),
        definition: minutely(),
    };
    world.edit(&key("a"), declare("app")).await.expect("declared");
    world.edit(&key("b"), declare("app")).await.expect("declared");
    world.edit(&key("c"), declare("file")).await.expect("declared");
    world.schedule(&key("d"), minutely()).await;
    let declared = async |by: &str| {
        let mut keys = world.store.schedules().declared(by).await.expect("it works");
        keys.sort();
        keys
    };
    assert_eq!(declared("app").await, [key("a"), key("b")]);
    let retire = Edit::Retire { by: "app".to_owned() };
    world.edit(&key("a"), retire.clone()).await.expect("it goes");
    world.edit(&key("c"), retire).await.expect("it stays");
    assert_eq!(declared("app").await, [key("b")]);
    assert_eq!(declared("file").await, [key("c")]);
}

async fn a_deleted_schedule_leaves_its_jobs(world: &World) {
    let made = world.schedule(&key("a"), minutely()).await;
    world.advance(MINUTE);
    world.fire().await;
    world.edit(&key("a"), Edit::Delete).await.expect("it goes");
    assert_eq!(world.store.schedules().get(&key("a")).await.expect("get works"), None);
    assert_eq!(world.runs(&made).await, []);
    assert_eq!(world.jobs_of(&made).await.len(), 1);
    let error = world.edit(&key("a"), Edit::Delete).await.expect_err("it is gone");
    assert!(matches!(error, Error::NoSchedule(_)), "{error}");
    // Another one of that name is another one, also in one call.
    let edits = vec![
        (key("a"), Edit::Set(minutely())),
        (key("a"), Edit::Delete),
        (key("a"), Edit::Set(minutely())),
    ];
    let outcomes = world.store.schedules().edit(edits).await.expect("edit works");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let again = world
        .store
        .schedules()
        .get(&key("a"))
        .await
        .expect("get works")
        .expect("it is there");
    assert_ne!(again.id, made.id);
}
