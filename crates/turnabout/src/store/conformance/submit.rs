//! Submitting: what is stored, unique keys, given ids, and an outcome for each job.

use std::time::Duration;

use jiff::SignedDuration;
use uuid::Uuid;

use super::world::settings;
use super::{World, cases, job};
use crate::error::{Error, Result};
use crate::job::{JobId, Lane, Meta, Priority, State, When};
use crate::lifecycle::Event;
use crate::store::{NewJob, Submitted};
use crate::task::TaskSettings;

fn keyed(group: &str, key: &str) -> NewJob {
    NewJob {
        unique: Some(key.to_owned()),
        ..job(group)
    }
}

fn given(world: &World, group: &str) -> NewJob {
    NewJob {
        id: JobId::at(world.clock.now()),
        id_given: true,
        ..job(group)
    }
}

async fn outcome(world: &World, job: NewJob) -> Result<Submitted> {
    world.store.submit(vec![job]).await.expect("submit works").remove(0)
}

async fn everything_that_was_submitted_is_stored(world: &World) {
    let now = world.clock.now();
    let parent = world.add(job("a")).await;
    let id = world
        .add(NewJob {
            task: "mail".to_owned(),
            owner: Some("ada".to_owned()),
            queue: Some("ocr".to_owned()),
            priority: Some(Priority::High),
            expires: When::After(Duration::from_hours(1)),
            unique: Some("clé ☃ '\"".to_owned()),
            args: "{\"text\":\"line\\nbreak ☃\"}".to_owned(),
            items: 50,
            meta: Meta::from([("locale".to_owned(), "fr".to_owned()), ("é".to_owned(), String::new())]),
            parent: Some(parent),
            ..job("acme/alice")
        })
        .await;
    let stored = world.get(id).await;
    assert_eq!(
        (stored.id, stored.task.as_str(), stored.group.as_str()),
        (id, "mail", "acme/alice")
    );
    assert_eq!((stored.owner.as_deref(), stored.queue.as_str()), (Some("ada"), "ocr"));
    assert_eq!((stored.priority, stored.lane), (Priority::High, Some(Lane::High)));
    assert_eq!(
        (stored.state, stored.reason, stored.cancelling),
        (State::Waiting, None, false)
    );
    assert_eq!(stored.args, "{\"text\":\"line\\nbreak ☃\"}");
    assert_eq!((stored.items, stored.unique.as_deref()), (50, Some("clé ☃ '\"")));
    assert_eq!(stored.meta.get("locale").map(String::as_str), Some("fr"));
    assert_eq!(stored.meta.len(), 2);
    assert_eq!((stored.parent, stored.submitted), (Some(parent), now));
    assert_eq!(stored.expires, Some(crate::clock::after(now, Duration::from_hours(1))));
    assert_eq!((stored.due, stored.started, stored.finished), (None, None, None));
    assert_eq!((stored.attempts, stored.interruptions, stored.losses), (0, 0, 0));
    assert_eq!((stored.error, stored.result, stored.claim), (None, None, None));

    let mut exec = world.executor_of(&["ocr"], &["mail"]).await;
    let taken = exec.take_one().await;
    assert_eq!(
        (taken.id, taken.task.as_str(), taken.group.as_str()),
        (id, "mail", "acme/alice")
    );
    assert_eq!(
        (taken.owner.as_deref(), taken.items, taken.parent),
        (Some("ada"), 50, Some(parent))
    );
    assert_eq!(
        (taken.priority, taken.lane, taken.submitted),
        (Priority::High, Lane::High, now)
    );
    assert_eq!((&taken.args, &taken.meta), (&stored.args, &stored.meta));
    exec.end(&taken, Event::Succeed).await;
    let ended = world.get(id).await;
    assert_eq!(
        (ended.owner.as_deref(), ended.items, ended.parent),
        (Some("ada"), 50, Some(parent))
    );
    assert_eq!((ended.meta.len(), ended.unique.as_deref()), (2, Some("clé ☃ '\"")));
}

async fn a_delayed_job_is_parked_until_it_is_due(world: &World) {
    let mut exec = world.executor().await;
    let now = world.clock.now();
    let after = world
        .add(NewJob {
            when: When::After(Duration::from_secs(90)),
            ..job("a")
        })
        .await;
    let moment = now + SignedDuration::from_secs(60);
    let at = world
        .add(NewJob {
            when: When::At(moment),
            ..job("a")
        })
        .await;
    let past = world
        .add(NewJob {
            when: When::At(now - SignedDuration::from_secs(60)),
            ..job("a")
        })
        .await;
    let parked = world.get(at).await;
    assert_eq!(
        (parked.state, parked.due, parked.lane),
        (State::Waiting, Some(moment), None)
    );
    assert_eq!(world.get(past).await.due, None, "a moment that has passed is now");
    assert_eq!(exec.drain(10).await.len(), 1);
    let promoted = world.store.promote(10).await.expect("it works");
    assert_eq!((promoted.jobs, promoted.next), (0, Some(Duration::from_mins(1))));
    world.advance(Duration::from_mins(1));
    let promoted = world.store.promote(10).await.expect("it works");
    assert_eq!((promoted.jobs, promoted.next), (1, Some(Duration::from_secs(30))));
    let ready = world.get(at).await;
    assert_eq!((ready.due, ready.lane), (None, Some(Lane::Normal)));
    assert_eq!(exec.take_one().await.id, at);
    assert_eq!(world.get(after).await.lane, None);
}

async fn published_settings_hold_unless_a_submit_says_otherwise(world: &World) {
    let published = TaskSettings {
        queue: "ocr".to_owned(),
        priority: Priority::Low,
        ..settings("work")
    };
    world.executor_with(&["ocr"], vec![published]).await;
    let plain = world.get(world.add(job("a")).await).await;
    assert_eq!(
        (plain.queue.as_str(), plain.priority, plain.lane),
        ("ocr", Priority::Low, Some(Lane::Low))
    );
    let chosen = NewJob {
        queue: Some("fast".to_owned()),
        priority: Some(Priority::High),
        ..job("a")
    };
    let chosen = world.get(world.add(chosen).await).await;
    assert_eq!((chosen.queue.as_str(), chosen.priority), ("fast", Priority::High));
    let unknown = NewJob {
        task: "unpublished".to_owned(),
        ..job("a")
    };
    let unknown = world.get(world.add(unknown).await).await;
    assert_eq!(
        (unknown.queue.as_str(), unknown.priority),
        ("default", Priority::Normal)
    );
}

async fn a_unique_key_is_held_while_its_job_is_unfinished(world: &World) {
    let mut exec = world.executor_of(&["default"], &["work", "mail"]).await;
    let first = world.add(keyed("a", "key")).await;
    let again = Submitted { id: first, new: false };
    assert_eq!(outcome(world, keyed("a", "key")).await.expect("stored"), again);
    world.add(keyed("b", "key")).await;
    world
        .add(NewJob {
            task: "mail".to_owned(),
            ..keyed("a", "key")
        })
        .await;
    world.add(keyed("a", "other")).await;

    let taken = exec.take_one().await;
    assert_eq!(taken.id, first);
    assert_eq!(outcome(world, keyed("a", "key")).await.expect("stored"), again, "held");
    exec.run(&taken, Event::Fail).await;
    assert_eq!(outcome(world, keyed("a", "key")).await.expect("stored"), again, "stuck");
    world.advance(Duration::from_mins(1));
    world.store.promote(10).await.expect("it works");
    let taken = exec
        .take(10)
        .await
        .into_iter()
        .find(|j| j.id == first)
        .expect("it is due");
    exec.run(&taken, Event::Succeed).await;
    let second = world.add(keyed("a", "key")).await;
    assert_ne!(second, first);
    world.happen(second, Event::Cancel).await.expect("it may");
    world.add(keyed("a", "key")).await;
}

async fn a_unique_key_twice_in_one_batch_is_one_job(world: &World) {
    let batch = vec![
        keyed("a", "k"),
        keyed("b", "k"),
        keyed("a", "k"),
        job("a"),
        keyed("a", "k"),
    ];
    let submitted = world.submit(batch).await;
    let new: Vec<bool> = submitted.iter().map(|s| s.new).collect();
    assert_eq!(new, [true, true, false, true, false]);
    assert_eq!((submitted[2].id, submitted[4].id), (submitted[0].id, submitted[0].id));
    assert_eq!(world.all().await.len(), 3);
}

async fn the_same_id_again_is_the_same_job(world: &World) {
    let mut exec = world.executor().await;
    let new = given(world, "a");
    let id = new.id;
    assert_eq!(
        outcome(world, new.clone()).await.expect("stored"),
        Submitted { id, new: true }
    );
    let again = Submitted { id, new: false };
    assert_eq!(outcome(world, new.clone()).await.expect("stored"), again);
    let taken = exec.take_one().await;
    assert_eq!(outcome(world, new.clone()).await.expect("stored"), again);
    exec.run(&taken, Event::Succeed).await;
    assert_eq!(
        outcome(world, new.clone()).await.expect("stored"),
        again,
        "also after it finished"
    );
    assert_eq!(world.all().await.len(), 1);
    let both = world.store.submit(vec![new.clone(), given(world, "a"), new]).await;
    let both: Vec<bool> = both
        .expect("it works")
        .into_iter()
        .map(|s| s.expect("stored").new)
        .collect();
    assert_eq!(both, [false, true, false]);
}

async fn an_id_twice_in_one_batch_is_one_job(world: &World) {
    let new = given(world, "a");
    let submitted = world.submit(vec![new.clone(), new.clone()]).await;
    assert_eq!((submitted[0].new, submitted[1].new), (true, false));
    assert_eq!(submitted[1].id, new.id);
    assert_eq!(world.all().await.len(), 1);
}

async fn an_id_of_another_group_is_a_conflict_that_reveals_nothing(world: &World) {
    let mut exec = world.executor().await;
    let theirs = given(world, "a");
    world.add(theirs.clone()).await;
    let mine = NewJob {
        group: "b".to_owned(),
        ..theirs.clone()
    };
    let live = outcome(world, mine.clone()).await.expect_err("a conflict");
    assert!(matches!(live, Error::Conflict(_)), "{live}");
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    let ended = outcome(world, mine).await.expect_err("a conflict");
    assert_eq!(ended.to_string(), live.to_string(), "not even whether it has ended");
    assert!(!live.to_string().contains('a') || !live.to_string().contains("\"a\""));
    assert_eq!(world.all().await.len(), 1);
}

async fn an_id_that_was_not_made_about_now_is_refused(world: &World) {
    let now = world.clock.now();
    let day = SignedDuration::from_hours(24);
    let bad = [
        JobId(Uuid::new_v4()),
        JobId(Uuid::nil()),
        JobId(Uuid::max()),
        JobId::at(now - day * 8),
        JobId::at(now + day * 2),
    ];
    for id in bad {
        let new = NewJob {
            id,
            id_given: true,
            ..job("a")
        };
        let error = outcome(world, new).await.expect_err("an insane id");
        assert!(matches!(error, Error::Invalid { .. }), "{id}: {error}");
        assert_eq!(world.find(id).await, None);
    }
    for id in [JobId::at(now - day * 6), JobId::at(now + day / 2)] {
        let new = NewJob {
            id,
            id_given: true,
            ..job("a")
        };
        assert!(outcome(world, new).await.expect("a sane id").new);
        assert_eq!(world.get(id).await.id, id);
    }
}

async fn an_error_on_one_job_does_not_touch_the_others(world: &World) {
    let theirs = given(world, "a");
    world.add(theirs.clone()).await;
    let first = NewJob {
        id: JobId::at(world.clock.now()),
        ..keyed("b", "key")
    };
    let batch = vec![
        first.clone(),
        NewJob {
            group: "b".to_owned(),
            ..theirs
        },
        NewJob {
            id: JobId(Uuid::new_v4()),
            id_given: true,
            ..job("b")
        },
        NewJob {
            id: JobId::at(world.clock.now()),
            ..keyed("b", "key")
        },
        given(world, "b"),
    ];
    let outcomes = world.store.submit(batch).await.expect("it works");
    assert_eq!(outcomes.len(), 5);
    assert!(matches!(outcomes[0], Ok(Submitted { new: true, .. })));
    assert!(matches!(outcomes[1], Err(Error::Conflict(_))));
    assert!(matches!(outcomes[2], Err(Error::Invalid { .. })));
    assert_eq!(
        outcomes[3].as_ref().ok(),
        Some(&Submitted {
            id: first.id,
            new: false
        })
    );
    assert!(matches!(outcomes[4], Ok(Submitted { new: true, .. })));
    assert_eq!(world.all().await.len(), 3);
}

async fn an_empty_batch_is_fine(world: &World) {
    let mut exec = world.executor().await;
    assert!(world.store.submit(vec![]).await.expect("it works").is_empty());
    assert!(
        world
            .store
            .settle(exec.incarnation, vec![])
            .await
            .expect("it works")
            .is_empty()
    );
    assert!(
        world
            .store
            .start(exec.incarnation, vec![])
            .await
            .expect("it works")
            .is_empty()
    );
    assert!(world.store.get(&[]).await.expect("it works").is_empty());
    assert!(world.store.share("kind", vec![]).await.expect("it works").is_empty());
    let (jobs, found) = exec.try_take(1).await.expect("it works");
    assert!(jobs.is_empty() && !found, "nothing is ready");
}

async fn a_hundred_thousand_jobs_in_one_call(world: &World) {
    const MANY: usize = 100_000;
    if world.is_model() {
        return;
    }
    let mut exec = world.executor().await;
    let groups: Vec<String> = (0..100).map(|i| format!("g{i:02}")).collect();
    let jobs: Vec<NewJob> = (0..MANY).map(|i| job(&groups[i % 100])).collect();
    let submitted = world.submit(jobs).await;
    assert_eq!(submitted.len(), MANY);
    assert!(submitted.iter().all(|s| s.new));
    assert_eq!(world.store.counts().await.expect("it works").ready, MANY as u64);
    let taken = exec.take(100).await;
    let expected: Vec<JobId> = submitted[..100].iter().map(|s| s.id).collect();
    assert_eq!(super::world::ids(&taken), expected);
}

cases!(
    everything_that_was_submitted_is_stored,
    a_delayed_job_is_parked_until_it_is_due,
    published_settings_hold_unless_a_submit_says_otherwise,
    a_unique_key_is_held_while_its_job_is_unfinished,
    a_unique_key_twice_in_one_batch_is_one_job,
    the_same_id_again_is_the_same_job,
    an_id_twice_in_one_batch_is_one_job,
    an_id_of_another_group_is_a_conflict_that_reveals_nothing,
    an_id_that_was_not_made_about_now_is_refused,
    an_error_on_one_job_does_not_touch_the_others,
    an_empty_batch_is_fine,
    a_hundred_thousand_jobs_in_one_call,
);
