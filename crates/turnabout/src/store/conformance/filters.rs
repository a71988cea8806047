//! Which jobs a list holds, and changing all of them at once.

use std::time::Duration;

use uuid::Uuid;

use super::{World, cases, job};
use crate::job::{Described, JobId, Meta, Reason, State};
use crate::jobs::Jobs;
use crate::lifecycle::Event;
use crate::store::overview::Not;
use crate::store::{Filter, NewJob, Settle, Settled};

async fn lists_look_into_meta_and_leave_out_what_is_not_meant(world: &World) {
    let mut exec = world.executor().await;
    let meta = |pairs: &[(&str, &str)]| -> Meta {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    };
    let with = [
        ("a", meta(&[("order", "1"), ("it's \"odd\"", "ü")]), Some("ada")),
        ("a", meta(&[("order", "2")]), None),
        ("b", meta(&[]), Some("bob")),
    ];
    let mut ids = Vec::new();
    for (group, meta, owner) in with {
        let owner = owner.map(str::to_owned);
        let new = NewJob {
            owner,
            meta,
            ..job(group)
        };
        ids.push(world.add(new).await);
        world.advance(Duration::from_secs(1));
        if ids.len() == 1 {
            let taken = exec.take_one().await;
            exec.run(&taken, Event::FailForGood).await;
        }
    }
    let list = async |filter: Filter| {
        let whole = Filter { limit: 100, ..filter };
        let jobs = world.store.list(&whole).await.expect("it works");
        assert_eq!(world.store.count(&whole).await.expect("it works"), jobs.len() as u64);
        assert!(jobs.iter().all(|job| whole.includes(job)));
        let at = |job: &crate::Job| ids.iter().position(|id| *id == job.id).expect("one of them");
        jobs.iter().map(at).collect::<Vec<usize>>()
    };
    let by_meta = |pairs: &[(&str, &str)]| Filter {
        meta: meta(pairs),
        ..Filter::default()
    };
    assert_eq!(
        list(by_meta(&[("order", "1")])).await,
        [0],
        "the one that has failed, too"
    );
    assert_eq!(list(by_meta(&[("it's \"odd\"", "ü"), ("order", "1")])).await, [0]);
    assert_eq!(
        list(by_meta(&[("order", "1"), ("more", "x")])).await,
        Vec::<usize>::new()
    );
    let but = |not: Not| Filter {
        not,
        ..Filter::default()
    };
    let some = |text: &str| Some(text.to_owned());
    let not = Not {
        group: some("a"),
        ..Not::default()
    };
    assert_eq!(list(but(not)).await, [2]);
    let not = Not {
        owner: some("ada"),
        ..Not::default()
    };
    assert_eq!(list(but(not)).await, [2, 1], "also whoever has none");
    let not = Not {
        reason: Some(Reason::Permanent.code()),
        ..Not::default()
    };
    assert_eq!(list(but(not)).await, [2, 1]);
    let not = Not {
        task: some("work"),
        ..Not::default()
    };
    assert_eq!(list(but(not)).await, Vec::<usize>::new());
    let not = Not {
        queue: some("ocr"),
        code: some("none"),
        ..Not::default()
    };
    assert_eq!(list(but(not)).await, [2, 1, 0]);
}

async fn lists_look_into_subjects_and_times_and_can_be_counted(world: &World) {
    let mut exec = world.executor().await;
    let begin = world.clock.now();
    let subjects = [
        Some("Import of 100% of Ada's rows"),
        None,
        Some("export"),
        Some("IMPORT _ again"),
    ];
    let mut ids = Vec::new();
    for subject in subjects {
        let new = NewJob {
            subject: subject.map(str::to_owned),
            ..job("a")
        };
        ids.push(world.add(new).await);
        world.advance(Duration::from_secs(1));
    }
    let taken = exec.take_one().await;
    exec.run(&taken, Event::Succeed).await;
    let list = async |filter: Filter| {
        let whole = Filter { limit: 100, ..filter };
        let jobs = world.store.list(&whole).await.expect("it works");
        let count = world.store.count(&whole).await.expect("it works");
        assert_eq!(count, jobs.len() as u64);
        let found = jobs
            .iter()
            .map(|job| ids.iter().position(|id| *id == job.id).expect("one of them"));
        found.collect::<Vec<usize>>()
    };
    let with = |text: &str| Filter {
        subject: Some(text.to_owned()),
        ..Filter::default()
    };
    assert_eq!(list(with("import")).await, [3, 0]);
    assert_eq!(list(with("100%")).await, [0]);
    assert_eq!(list(with("_")).await, [3]);
    assert_eq!(list(with("'")).await, [0]);
    assert_eq!(list(with("nothing")).await, Vec::<usize>::new());
    let at = |seconds: u64| Some(begin + Duration::from_secs(seconds));
    let between = |since, until| Filter {
        since,
        until,
        ..Filter::default()
    };
    assert_eq!(list(between(at(1), None)).await, [3, 2, 1]);
    assert_eq!(list(between(None, at(1))).await, [0]);
    assert_eq!(list(between(at(1), at(3))).await, [2, 1]);
    assert_eq!(list(between(at(3), at(1))).await, Vec::<usize>::new());
    let few = Filter {
        limit: 3,
        ..Filter::default()
    };
    assert_eq!(world.store.count(&few).await.expect("it works"), 3, "up to a limit");
}

/// Few that match among many: each page looks at some jobs, and all pages together find what one without bounds does.
async fn a_page_that_may_not_look_for_long_says_where_to_go_on(world: &World) {
    let mut exec = world.executor().await;
    let jobs = Jobs::on(world.store.clone());
    for n in 0..40 {
        let new = NewJob {
            subject: (n % 13 == 5).then(|| "rare".to_owned()),
            ..job(["a", "b"][n % 2])
        };
        world.add(new).await;
        world.advance(Duration::from_secs(1));
        if n % 3 == 0 {
            let taken = exec.take_one().await;
            let event = if n % 2 == 0 { Event::Succeed } else { Event::FailForGood };
            exec.run(&taken, event).await;
        }
    }
    let rare = jobs.list().subject("rare").limit(2);
    for (list, bounded) in [
        (rare.clone(), true),
        (rare.clone().group("b"), true),
        (rare.state(State::Waiting), true),
        (jobs.list().state(State::Failed).code("none").limit(2), true),
        (jobs.list().state(State::Failed).limit(2), true),
        (jobs.list().limit(30), false),
    ] {
        let (mut expected, mut found, mut empty) = (Vec::new(), Vec::new(), 0);
        for (looks, all) in [(None, &mut expected), (Some(3), &mut found)] {
            let mut before = None;
            loop {
                let mut list = list.clone();
                list = looks.map_or(list.clone(), |looks| list.looks(looks));
                list = before.map_or(list.clone(), |before| list.before(before));
                let page = list.await.expect("it works");
                empty += u32::from(page.jobs.is_empty());
                all.extend(page.jobs.iter().map(|job| job.id));
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
        }
        assert_eq!(found, expected);
        assert_eq!(
            empty > 1,
            bounded && found.len() < 6,
            "{found:?}, {empty} pages were empty"
        );
    }
}

async fn lists_ask_for_reasons_codes_parents_executors_and_attempts(world: &World) {
    let mut exec = world.executor().await;
    let parent = JobId::new();
    let child = |group: &str| NewJob {
        parent: Some(parent),
        ..job(group)
    };
    let ended = world.add(child("a")).await;
    let taken = exec.take_one().await;
    assert_eq!(exec.start(&taken).await, None);
    let described = Described {
        message: None,
        code: Some("no-space".to_owned()),
    };
    let outcome = exec.outcome(&taken, Event::FailForGood, false);
    assert_eq!(exec.settle(Settle { described, ..outcome }).await, Settled::Done);
    world.advance(Duration::from_secs(1));
    let runs = world.add(job("r")).await;
    let taken = exec.take_one().await;
    assert_eq!(exec.start(&taken).await, None);
    world.advance(Duration::from_secs(1));
    let waiting = world.add(child("b")).await;
    let cancelled = world.add(job("c")).await;
    world.happen(cancelled, Event::Cancel).await.expect("it may");
    let list = async |filter: Filter| {
        let whole = Filter { limit: 100, ..filter };
        let jobs = world.store.list(&whole).await.expect("it works");
        let count = world.store.count(&whole).await.expect("it works");
        assert_eq!(count, jobs.len() as u64);
        assert!(
            jobs.iter().all(|job| whole.includes(job)),
            "the rule is the same everywhere"
        );
        jobs.iter().map(|job| job.id).collect::<Vec<JobId>>()
    };
    let any = Filter::default;
    let none = Vec::<JobId>::new();
    let reason = |reason| Filter {
        reason: Some(reason),
        ..any()
    };
    assert_eq!(list(reason(Reason::Permanent)).await, [ended]);
    assert_eq!(list(reason(Reason::CancelRequested)).await, [cancelled]);
    assert_eq!(list(reason(Reason::Lost)).await, none);
    let code = |code: &str| Filter {
        code: Some(code.to_owned()),
        ..any()
    };
    assert_eq!(list(code("no-space")).await, [ended]);
    assert_eq!(list(code("no")).await, none);
    let children = |parent| Filter {
        parent: Some(parent),
        ..any()
    };
    assert_eq!(list(children(parent)).await, [waiting, ended]);
    assert_eq!(
        list(Filter {
            group: Some("b".to_owned()),
            ..children(parent)
        })
        .await,
        [waiting]
    );
    assert_eq!(list(children(waiting)).await, none);
    let by = |executor| Filter {
        executor: Some(executor),
        ..any()
    };
    assert_eq!(list(by(exec.incarnation)).await, [runs, ended]);
    assert_eq!(list(by(Uuid::nil())).await, none);
    let attempts = |least| Filter {
        attempts: Some(least),
        ..any()
    };
    assert_eq!(list(attempts(1)).await, [runs, ended]);
    assert_eq!(list(attempts(2)).await, none);
}

/// A given id may be older than its job.
async fn a_job_with_an_older_id_is_found_by_when_it_was_submitted(world: &World) {
    let now = world.clock.now();
    let id = JobId::at(now - Duration::from_hours(100));
    let given = NewJob {
        id,
        id_given: true,
        ..job("a")
    };
    world.add(given).await;
    let filter = Filter {
        since: Some(now),
        until: Some(now + Duration::from_secs(1)),
        limit: 10,
        ..Filter::default()
    };
    let found = world.store.list(&filter).await.expect("it works");
    assert_eq!(found.iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
}

async fn c37_a_brief_list_has_no_arguments_and_no_results(world: &World) {
    let mut exec = world.executor().await;
    let long = NewJob {
        args: format!("{:?}", "x".repeat(100_000)),
        ..job("a")
    };
    let (done, waits) = (
        world.add(long.clone()).await,
        world
            .add(NewJob {
                id: JobId::new(),
                ..long
            })
            .await,
    );
    let taken = exec.take_one().await;
    assert_eq!(taken.id, done);
    exec.run(&taken, Event::Succeed).await;
    let jobs = Jobs::on(world.store.clone());
    let full = jobs.list().await.expect("a page").jobs;
    assert!(full.iter().all(|job| job.args.len() > 100_000));
    assert!(full.iter().any(|job| job.result.is_some()));
    let brief = jobs.list().brief().await.expect("a page").jobs;
    assert_eq!(brief.len(), 2);
    for job in &brief {
        assert_eq!((job.args.as_str(), &job.result), ("null", &None), "{}", job.state);
    }
    assert_eq!(world.get(waits).await.args.len(), 100_002);
    let brief = jobs.get_many_brief(&[waits, done]).await.expect("both");
    let seen: Vec<_> = brief.iter().map(|job| (job.id, job.args.as_str())).collect();
    assert_eq!(seen, [(waits, "null"), (done, "null")]);
    assert!(brief.iter().all(|job| job.result.is_none()));
}

async fn a_page_of_long_jobs_ends_early_and_says_where_to_go_on(world: &World) {
    for n in 0..20 {
        let long = NewJob {
            id: JobId::new(),
            args: format!("{:?}", "x".repeat(if n < 10 { 300_000 } else { 10 })),
            ..job("a")
        };
        world.add(long).await;
    }
    let jobs = Jobs::on(world.store.clone());
    let mut seen = Vec::new();
    let mut pages = 0;
    let mut list = jobs.list();
    loop {
        let page = list.await.expect("a page");
        pages += 1;
        let bytes: usize = page.jobs.iter().map(|job| job.args.len()).sum();
        assert!(bytes < 1_400_000, "about a million: {bytes}");
        seen.extend(page.jobs.iter().map(|job| job.id));
        let Some(next) = page.next else { break };
        list = jobs.list().before(next);
    }
    assert!(pages >= 3, "{pages} pages for three million bytes");
    let all = jobs.list().brief().await.expect("a page");
    assert_eq!(seen, all.jobs.iter().map(|job| job.id).collect::<Vec<_>>());
}

async fn d53_words_name_sets_of_states(world: &World) {
    let mut exec = world.executor().await;
    let jobs = Jobs::on(world.store.clone());
    world.flood("a", 5).await;
    let taken = exec.take(3).await;
    exec.start(&taken[0]).await;
    exec.run(&taken[1], Event::Succeed).await;
    exec.run(&taken[2], Event::FailForGood).await;
    for (word, states, count) in [
        ("unfinished", State::UNFINISHED, 3),
        ("ended", State::ENDED, 2),
        ("active", State::ACTIVE, 1),
        ("waiting", &[State::Waiting], 2),
    ] {
        assert_eq!(State::named(word).expect("a word"), states);
        assert_eq!(
            jobs.list().states(states).count(10).await.expect("counted"),
            count,
            "{word}"
        );
    }
    let error = State::named("done").expect_err("no such word").to_string();
    assert!(error.contains("unfinished, ended, active"), "{error}");
}

async fn the_earliest_moment_of_a_clock_is_one_that_has_passed(world: &World) {
    let early = crate::job::When::At(jiff::Timestamp::MIN);
    for count in [1, 3, 200] {
        let jobs = (0..count).map(|n| NewJob {
            when: early,
            unique: (n == 2).then(|| format!("{count}")),
            ..job("a")
        });
        world.submit(jobs.collect()).await;
    }
    let late = NewJob {
        expires: early,
        ..job("b")
    };
    let expired = world.add(late).await;
    let jobs = crate::Jobs::on(world.store.clone());
    let list = || jobs.list().group("a").since(jiff::Timestamp::MIN);
    assert_eq!(list().count(1000).await.expect("counted"), 204);
    let none = list().until(jiff::Timestamp::MIN).count(1000).await;
    assert_eq!(none.expect("counted"), 0);
    assert!(world.get(expired).await.expires < Some(world.clock.now()));
    assert!(world.all().await.iter().all(|job| job.due.is_none()));
}

cases!(
    the_earliest_moment_of_a_clock_is_one_that_has_passed,
    lists_look_into_meta_and_leave_out_what_is_not_meant,
    a_page_that_may_not_look_for_long_says_where_to_go_on,
    lists_ask_for_reasons_codes_parents_executors_and_attempts,
    c37_a_brief_list_has_no_arguments_and_no_results,
    a_page_of_long_jobs_ends_early_and_says_where_to_go_on,
    d53_words_name_sets_of_states,
    lists_look_into_subjects_and_times_and_can_be_counted,
    a_job_with_an_older_id_is_found_by_when_it_was_submitted,
);
