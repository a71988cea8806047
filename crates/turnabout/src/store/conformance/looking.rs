//! Looking at jobs: get, list, counts, and why a job waits.

use std::time::Duration;

use super::world::settings;
use super::{World, cases, job};
use crate::group::{Cap, GroupSettings, TaskLimits};
use crate::job::{JobId, Priority, State, When};
use crate::lifecycle::{Event, Policy};
use crate::store::{Filter, NewJob, Setting};
use crate::task::TaskSettings;

async fn get_answers_in_the_given_order(world: &World) {
    let mut exec = world.executor().await;
    let live = world.flood("a", 3).await;
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    let missing = JobId::at(world.clock.now());
    let wanted = [live[2], missing, live[0], live[1], JobId(uuid::Uuid::new_v4())];
    let found = world.store.get(&wanted).await.expect("it works");
    let found: Vec<JobId> = found.into_iter().map(|j| j.id).collect();
    assert_eq!(found, [live[2], live[0], live[1]]);
}

/// Six jobs of one millisecond each: ended, held, ready and parked.
async fn a_few_jobs(world: &World) -> Vec<JobId> {
    let mut exec = world.executor_of(&["default", "ocr"], &["work", "mail"]).await;
    let new = |group: &str, task: &str, owner: Option<&str>, queue: &str| NewJob {
        task: task.to_owned(),
        owner: owner.map(str::to_owned),
        queue: Some(queue.to_owned()),
        ..job(group)
    };
    let mut ids = Vec::new();
    for new in [
        new("a", "work", Some("ada"), "default"),
        new("b", "mail", None, "default"),
        new("a", "work", Some("bob"), "ocr"),
    ] {
        ids.push(world.add(new).await);
        world.advance(Duration::from_millis(1));
    }
    let taken = exec.take(3).await;
    let at = |id| taken.iter().find(|j| j.id == id).expect("it was taken");
    exec.run(at(ids[0]), Event::Succeed).await;
    exec.run(at(ids[1]), Event::FailForGood).await;
    for new in [
        new("b", "work", Some("ada"), "default"),
        new("a", "mail", None, "ocr"),
        NewJob {
            when: When::After(Duration::from_mins(1)),
            ..new("a", "work", Some("ada"), "default")
        },
    ] {
        ids.push(world.add(new).await);
        world.advance(Duration::from_millis(1));
    }
    ids
}

async fn list_filters(world: &World) {
    let ids = a_few_jobs(world).await;
    let list = async |filter: Filter| {
        let filter = Filter { limit: 100, ..filter };
        let jobs = world.store.list(&filter).await.expect("it works");
        jobs.iter()
            .map(|j| ids.iter().position(|id| *id == j.id).expect("one of them"))
            .collect::<Vec<usize>>()
    };
    let any = Filter::default;
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(list(any()).await, [5, 4, 3, 2, 1, 0], "newest first");
    let group = Filter {
        group: some("a"),
        ..any()
    };
    assert_eq!(list(group.clone()).await, [5, 4, 2, 0]);
    let owner = Filter {
        owner: some("ada"),
        ..group.clone()
    };
    assert_eq!(list(owner).await, [5, 0]);
    assert_eq!(
        list(Filter {
            task: some("mail"),
            ..any()
        })
        .await,
        [4, 1]
    );
    assert_eq!(
        list(Filter {
            queue: some("ocr"),
            ..any()
        })
        .await,
        [4, 2]
    );
    let states = |states: &[State]| Filter {
        states: states.to_vec(),
        ..any()
    };
    assert_eq!(list(states(&[State::Waiting])).await, [5, 4, 3]);
    assert_eq!(list(states(&[State::Success, State::Scheduled])).await, [2, 0]);
    assert_eq!(list(states(&[State::Failed])).await, [1]);
    assert!(list(states(&[State::Stuck])).await.is_empty());
    assert!(
        list(Filter {
            group: some("nobody"),
            ..any()
        })
        .await
        .is_empty()
    );
    assert!(
        list(Filter {
            owner: some("' or 1=1 --"),
            ..any()
        })
        .await
        .is_empty()
    );
}

async fn pages_join_without_gap_or_overlap(world: &World) {
    let mut exec = world.executor().await;
    for _ in 0..25 {
        world.flood("a", 1).await;
        world.flood("b", 1).await;
        world.advance(Duration::from_millis(1));
    }
    for job in exec.take(20).await {
        exec.run(&job, Event::Succeed).await;
    }
    for group in [None, Some("a".to_owned())] {
        let whole = Filter {
            group,
            limit: 1000,
            ..Filter::default()
        };
        let all = world.store.list(&whole).await.expect("it works");
        assert_eq!(all.len(), if whole.group.is_some() { 25 } else { 50 });
        assert!(all.windows(2).all(|pair| pair[0].id > pair[1].id), "newest first");
        let mut pages = Vec::new();
        loop {
            let page = Filter {
                before: pages.last().map(|job: &crate::job::Job| job.id),
                limit: 7,
                ..whole.clone()
            };
            let page = world.store.list(&page).await.expect("it works");
            assert!(page.len() <= 7);
            if page.is_empty() {
                break;
            }
            pages.extend(page);
        }
        assert_eq!(pages, all);
    }
}

async fn counts_by_state(world: &World) {
    let empty = world.store.counts().await.expect("it works");
    assert_eq!((empty.ready, empty.parked, empty.held, empty.ended), (0, 0, 0, 0));
    a_few_jobs(world).await;
    let counts = world.store.counts().await.expect("it works");
    assert_eq!((counts.ready, counts.parked, counts.held, counts.ended), (2, 1, 1, 2));
}

async fn a_waiting_job_can_say_why_it_waits(world: &World) {
    let mut exec = world.executor().await;
    for group in ["a", "b", "c"] {
        world.flood(group, 5).await;
    }
    world
        .add(NewJob {
            queue: Some("ocr".to_owned()),
            ..job("d")
        })
        .await;
    let last = world.add(job("a")).await;
    let high = world
        .add(NewJob {
            priority: Some(Priority::High),
            ..job("a")
        })
        .await;
    let standing = world
        .store
        .standpoint(last)
        .await
        .expect("it works")
        .expect("it exists");
    assert_eq!(standing.job, world.get(last).await);
    assert_eq!((standing.ahead, standing.groups), (5, 3));
    assert!(standing.heard.is_some());
    assert!(standing.running.is_empty());
    assert_eq!(standing.settings, (GroupSettings::default(), TaskLimits::default()));
    let urgent = world
        .store
        .standpoint(high)
        .await
        .expect("it works")
        .expect("it exists");
    assert_eq!(urgent.ahead, 0);

    let settings = GroupSettings {
        max_running: Some(3),
        ..GroupSettings::default()
    };
    let limits = TaskLimits {
        max_running: Some(9),
        paused: false,
        ..TaskLimits::default()
    };
    for setting in [
        Setting::Group("a".to_owned(), settings),
        Setting::Task("work".to_owned(), limits),
    ] {
        world.store.set(setting).await.expect("it is set");
    }
    assert_eq!(exec.take(3).await.len(), 3);
    let standing = world
        .store
        .standpoint(last)
        .await
        .expect("it works")
        .expect("it exists");
    let mut running = standing.running;
    running.sort();
    let expected = [(Cap::Group("a".to_owned()), 1, 3), (Cap::Task("work".to_owned()), 3, 9)];
    assert_eq!(running, expected);
    assert_eq!(standing.settings, (settings, limits));
}

async fn a_job_that_nobody_can_run_says_so(world: &World) {
    world.executor().await;
    let task = world
        .add(NewJob {
            task: "other".to_owned(),
            ..job("a")
        })
        .await;
    let queue = world
        .add(NewJob {
            queue: Some("ocr".to_owned()),
            ..job("a")
        })
        .await;
    for id in [task, queue] {
        let standing = world.store.standpoint(id).await.expect("it works").expect("it exists");
        assert_eq!(standing.heard, None);
    }
    let missing = world.store.standpoint(JobId::at(world.clock.now())).await;
    assert_eq!(missing.expect("it works"), None);
}

async fn a_job_says_when_those_were_last_heard_of_who_would_take_it(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let heard = async || {
        let standing = world.store.standpoint(id).await.expect("it works").expect("it exists");
        standing.heard
    };
    let registered = world.clock.now();
    assert_eq!(heard().await, Some(registered));
    world.advance(Duration::from_mins(5));
    assert_eq!(heard().await, Some(registered), "it is silent");
    exec.heartbeat().await;
    assert_eq!(heard().await, Some(world.clock.now()));
    let overview = &world.store;
    assert!(overview.drain(exec.incarnation, true).await.expect("it works"));
    assert_eq!(heard().await, None, "it takes no more");
    assert!(overview.drain(exec.incarnation, false).await.expect("it works"));
    assert!(heard().await.is_some());
}

async fn tasks_are_published_as_registered(world: &World) {
    let odd = TaskSettings {
        queue: "ocr".to_owned(),
        priority: Priority::High,
        policy: Policy {
            retries: 0,
            retry_delay: Duration::from_millis(1500),
            retry_cap: Duration::from_hours(24),
            jitter: true,
            restartable: false,
        },
        time_limit: None,
        ..settings("odd")
    };
    world.executor_with(&["ocr"], vec![settings("work"), odd.clone()]).await;
    let published = async || {
        let mut tasks = world.store.tasks().await.expect("it works");
        tasks.sort_by(|a, b| a.name.cmp(&b.name));
        tasks
    };
    assert_eq!(published().await, [odd.clone(), settings("work")]);
    let changed = TaskSettings {
        time_limit: Some(Duration::from_secs(5)),
        ..odd
    };
    world.executor_with(&["ocr"], vec![changed.clone()]).await;
    assert_eq!(
        published().await,
        [changed, settings("work")],
        "the last to register says how it is"
    );
}

cases!(
    get_answers_in_the_given_order,
    list_filters,
    pages_join_without_gap_or_overlap,
    counts_by_state,
    a_waiting_job_can_say_why_it_waits,
    a_job_that_nobody_can_run_says_so,
    a_job_says_when_those_were_last_heard_of_who_would_take_it,
    tasks_are_published_as_registered,
);
