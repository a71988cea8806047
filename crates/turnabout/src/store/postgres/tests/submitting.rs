//! Submitting: callers who share commits, jobs that are copied, and who is woken by what.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use tokio_postgres::AsyncMessage;

use super::*;
use crate::job::{Meta, Priority, When};
use crate::submit::Submission;

cases![
    callers_who_share_a_commit_each_have_their_own_answer,
    a_caller_who_gives_up_takes_nobody_along,
    callers_of_a_runtime_that_ends_are_told,
    the_jobs_of_one_caller_keep_their_order,
    more_callers_than_places_are_all_answered,
    what_was_published_holds_however_a_job_is_stored,
    a_copied_batch_keeps_its_order_and_every_character,
    a_copy_knows_when_jobs_are_due_and_expire,
    a_copy_with_a_character_that_cannot_be_stored_stores_nothing,
    a_copy_that_is_dropped_leaves_nothing_behind,
    a_lone_caller_who_gives_up_is_stored_all_the_same,
    sleepers_elsewhere_are_notified_and_those_here_are_not,
    many_large_submits_get_by_with_two_connections,
    a_portion_that_is_refused_does_not_touch_the_others,
];

/// More than share a commit, so that they are copied.
const MANY: usize = 200;

fn named(name: &str) -> NewJob {
    NewJob {
        args: serde_json::to_string(name).expect("JSON"),
        ..job("acme")
    }
}

async fn seqs(store: &PostgresStore, ids: &[JobId]) -> Vec<i64> {
    let jobs = store.get(ids).await.expect("get works");
    assert_eq!(jobs.len(), ids.len());
    jobs.iter().map(|job| job.seq).collect()
}

/// The one with data that the table refuses and the one with somebody else's id fail; the other thirty do not notice.
async fn callers_who_share_a_commit_each_have_their_own_answer(place: &Place) {
    let store = place.open().await;
    let _known = executor(&store, &["work", "bad"]).await;
    let client = place.client().await;
    place
        .run(&client, "alter table turnabout.job add check (task <> 'bad')")
        .await;
    let theirs = NewJob {
        id_given: true,
        ..job("other")
    };
    add(&store, vec![theirs.clone()]).await;
    for round in 0..10 {
        let callers = (0..32).map(|i| {
            let mut wanted = named(&i.to_string());
            if i == round {
                wanted.task = "bad".to_owned();
            } else if i == 31 {
                (wanted.id, wanted.id_given) = (theirs.id, true);
            }
            let store = store.clone();
            tokio::spawn(async move {
                let (id, args) = (wanted.id, wanted.args.clone());
                (id, args, store.submit(vec![wanted]).await)
            })
        });
        for (i, answer) in join_all(callers).await.into_iter().enumerate() {
            let (id, args, outcome) = answer.expect("no panic");
            if i == round {
                let error = outcome.expect_err("the table refuses it").chain();
                assert!(error.contains("violates check constraint"), "{error}");
            } else if i == 31 {
                let outcome = outcome.expect("submit works").pop().expect("an answer");
                assert!(matches!(outcome, Err(Error::Conflict("job id"))), "{outcome:?}");
            } else {
                let stored = outcome
                    .expect("submit works")
                    .pop()
                    .expect("an answer")
                    .expect("stored");
                assert_eq!(stored, Submitted { id, new: true });
                assert_eq!(get(&store, id).await.args, args);
            }
        }
        let counts = store.counts().await.expect("counted");
        assert_eq!(counts.ready, 1 + 30 * (round as u64 + 1));
    }
}

async fn waiting(store: &PostgresStore, callers: usize) {
    let began = Instant::now();
    while store.together.waiting() != callers {
        assert!(began.elapsed() < Duration::from_secs(30), "they do not wait");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Callers who are being stored and callers who wait are dropped; whoever stays is stored, once.
async fn a_caller_who_gives_up_takes_nobody_along(place: &Place) {
    let store = place.open().await;
    let _known = executor(&store, &["work"]).await;
    let client = place.client().await;
    place
        .run(&client, "begin; lock table turnabout.job in exclusive mode")
        .await;
    // The first is being stored, the others wait.
    let mut callers = Vec::new();
    for i in 0..9 {
        let (theirs, wanted) = (store.clone(), named(&i.to_string()));
        callers.push(tokio::spawn(async move {
            theirs.submit(vec![wanted]).await.expect("submit works")
        }));
        if i == 0 {
            place.until_blocked(&client).await;
        }
        waiting(&store, i).await;
    }
    // The first one last: when it is gone, whoever still waits is stored by the next commit.
    for gone in [8, 3, 0] {
        let caller = callers.remove(gone);
        caller.abort();
        assert!(caller.await.expect_err("it was dropped").is_cancelled());
    }
    place.run(&client, "commit").await;
    let stored: HashSet<JobId> = join_all(callers)
        .await
        .into_iter()
        .map(|answer| answer.expect("no panic").pop().expect("an answer").expect("stored").id)
        .collect();
    assert_eq!(stored.len(), 6);
    let texts = place
        .texts(&client, "select args from turnabout.job order by seq")
        .await;
    // The one that was being stored is; those that waited were not begun.
    let texts: Vec<&str> = texts.iter().map(|args| args.trim_matches('"')).collect();
    assert_eq!(texts, ["0", "1", "2", "4", "5", "6", "7"]);
    waiting(&store, 0).await;
    add(&store, vec![job("acme")]).await;
}

/// What was sent cannot be recalled: it is stored, and the executors of this process are told.
async fn a_lone_caller_who_gives_up_is_stored_all_the_same(place: &Place) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work"]).await;
    // In the first step it lets others come in; nothing is sent before the second.
    for times in 2..=9 {
        let mut signals = store.signals();
        let id = job("acme").id;
        let given_up = super::taking::polled(times, store.submit(vec![NewJob { id, ..job("acme") }])).await;
        let taken = async {
            loop {
                while !signals.recv().await.is_ok_and(|signal| signal == Signal::Ready) {}
                if let Some(job) = exec.take(1).await.pop() {
                    break job.id;
                }
            }
        };
        let taken = tokio::time::timeout(Duration::from_secs(30), taken).await;
        assert_eq!(taken, Ok(id), "dropped after {times} steps: {given_up:?}");
    }
}

/// Whoever was to store for the others is gone, with its runtime; they hear of it, and the next caller is stored.
async fn callers_of_a_runtime_that_ends_are_told(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    place
        .run(&client, "begin; lock table turnabout.job in exclusive mode")
        .await;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let first = store.clone();
    runtime.spawn(async move { first.submit(vec![job("acme")]).await });
    place.until_blocked(&client).await;
    let second = store.clone();
    let second = tokio::spawn(async move { second.submit(vec![job("acme")]).await });
    waiting(&store, 1).await;
    runtime.shutdown_background();
    place.run(&client, "commit").await;
    // Told so, or stored by this runtime: what ends first is a matter of luck.
    if let Err(error) = second.await.expect("no panic") {
        assert!(error.is_transient(), "{error:?}");
    }
    waiting(&store, 0).await;
    tokio::time::timeout(Duration::from_secs(30), add(&store, vec![job("acme")]))
        .await
        .expect("the next one is stored");
}

async fn the_jobs_of_one_caller_keep_their_order(place: &Place) {
    let store = place.open().await;
    let callers = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..20 {
                ids.extend(add(&store, vec![job("acme"), job("acme")]).await);
            }
            ids
        })
    });
    for ids in join_all(callers).await {
        let seqs = seqs(&store, &ids.expect("no panic")).await;
        assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    }
}

async fn more_callers_than_places_are_all_answered(place: &Place) {
    let store = place.open().await;
    let callers = (0..3000).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { add(&store, vec![job("acme")]).await })
    });
    for ids in join_all(callers).await {
        assert_eq!(ids.expect("no panic").len(), 1);
    }
    assert_eq!(store.counts().await.expect("counted").ready, 3000);
}

async fn what_was_published_holds_however_a_job_is_stored(place: &Place) {
    let store = place.open().await;
    let scan = TaskSettings {
        queue: "scanner".to_owned(),
        priority: Priority::Low,
        ..TaskSettings::named("scan")
    };
    let exec = Exec::new(store.clone(), Uuid::new_v4(), &["scanner"], vec![scan]);
    exec.register().await;
    let scan = |count: usize| -> Vec<NewJob> {
        (0..count)
            .map(|i| NewJob {
                task: "scan".to_owned(),
                queue: (i % 2 == 1).then(|| "fast".to_owned()),
                priority: (i % 3 == 2).then_some(Priority::High),
                ..job("acme")
            })
            .collect()
    };
    for count in [6, MANY] {
        let ids = add(&store, scan(count)).await;
        for (i, job) in store.get(&ids).await.expect("get works").iter().enumerate() {
            let queue = if i % 2 == 1 { "fast" } else { "scanner" };
            let priority = if i % 3 == 2 { Priority::High } else { Priority::Low };
            assert_eq!((&*job.queue, job.priority), (queue, priority), "{i} of {count}");
            assert_eq!(job.lane.map(crate::job::Lane::code), Some(priority.code()));
        }
    }
    let ids = add(&store, vec![job("acme")]).await;
    let job = get(&store, ids[0]).await;
    assert_eq!(
        (&*job.queue, job.priority),
        ("default", Priority::Normal),
        "nobody said"
    );
}

async fn a_copied_batch_keeps_its_order_and_every_character(place: &Place) {
    let store = place.open().await;
    let odd = [
        "",
        "\\",
        "\\N",
        "\\.",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "\"quoted\"",
        "'",
        "äöü€😀",
        "\u{1}\u{7f}",
        "{}",
        ",;|",
        "\u{feff}",
        "x\\u0000y",
    ];
    let jobs: Vec<NewJob> = (0..MANY)
        .map(|i| {
            let text = odd[i % odd.len()];
            NewJob {
                args: serde_json::to_string(&format!("{i} {text}")).expect("JSON"),
                owner: Some(format!("o\\{}", i % 3)).filter(|_| i % 2 == 0),
                meta: Meta::from_iter((i % 5 == 0).then(|| ("key".to_owned(), text.to_owned()))),
                parent: (i % 7 == 0).then(JobId::new),
                items: i as u32 + 1,
                priority: Some([Priority::High, Priority::Normal, Priority::Low][i % 3]),
                queue: Some(format!("q\\t{}", i % 2)),
                ..job(&format!("gruppe ü/{}", i % 4))
            }
        })
        .collect();
    let ids = add(&store, jobs.clone()).await;
    let read = store.get(&ids).await.expect("get works");
    assert_eq!(read.len(), jobs.len());
    for (wanted, job) in jobs.iter().zip(&read) {
        assert_eq!(
            (&job.args, &job.owner, &job.meta, job.parent),
            (&wanted.args, &wanted.owner, &wanted.meta, wanted.parent)
        );
        assert_eq!((job.items, Some(job.priority)), (wanted.items, wanted.priority));
        assert_eq!((Some(&job.queue), &job.group), (wanted.queue.as_ref(), &wanted.group));
        assert_eq!((job.due, job.expires), (None, None));
        let age = Timestamp::now().duration_since(job.submitted).as_secs();
        assert!(age.abs() < 60, "submitted {age} s ago");
    }
    assert!(seqs(&store, &ids).await.is_sorted_by(|a, b| a < b));
}

async fn a_copy_knows_when_jobs_are_due_and_expire(place: &Place) {
    let store = place.open().await;
    let moment: Timestamp = "2123-04-05T06:07:08.000009Z".parse().expect("a moment");
    let past: Timestamp = "2001-01-01T00:00:00Z".parse().expect("a moment");
    let hour = Duration::from_hours(1);
    let whens = [When::Now, When::After(hour), When::At(moment), When::At(past)];
    let jobs: Vec<NewJob> = (0..16)
        .map(|i| NewJob {
            when: whens[i % 4],
            expires: whens[i / 4],
            ..job("acme")
        })
        .collect();
    let ids = add(&store, jobs).await;
    for (i, job) in store.get(&ids).await.expect("get works").iter().enumerate() {
        let later = crate::clock::after(job.submitted, hour);
        let due = [None, Some(later), Some(moment), None][i % 4];
        let expires = [None, Some(later), Some(moment), Some(past)][i / 4];
        assert_eq!((job.due, job.expires), (due, expires), "{i}");
        assert_eq!(job.lane.is_some(), due.is_none(), "{i}");
    }
}

async fn a_copy_with_a_character_that_cannot_be_stored_stores_nothing(place: &Place) {
    let store = place.open().await;
    for at in [0, MANY / 2, MANY - 1] {
        let mut jobs: Vec<NewJob> = (0..MANY).map(|i| named(&i.to_string())).collect();
        jobs[at].args = "\"\0\"".to_owned();
        let error = store.submit(jobs).await.expect_err("it is refused");
        assert!(!error.is_transient());
        assert!(error.chain().contains("invalid byte sequence"), "{}", error.chain());
    }
    assert_eq!(store.counts().await.expect("counted"), Counts::default());
    add(&store, (0..MANY).map(|_| job("acme")).collect()).await;
}

/// Dropped after ever so many polls, it is stored whole or not at all, and the next one finds its way.
async fn a_copy_that_is_dropped_leaves_nothing_behind(place: &Place) {
    let store = place.open().await;
    for times in 1..=30 {
        let jobs: Vec<NewJob> = (0..2000).map(|_| job("acme")).collect();
        drop(super::taking::polled(times, store.submit(jobs)).await);
    }
    add(&store, (0..2000).map(|_| job("last")).collect()).await;
    let counts = store.counts().await.expect("counted");
    assert!(counts.ready >= 2000 && counts.ready.is_multiple_of(2000), "{counts:?}");
}

async fn sleepers_elsewhere_are_notified_and_those_here_are_not(place: &Place) {
    let (here, elsewhere) = (place.open().await, place.open().await);
    let (listener, mut connection) = tokio_postgres::connect(&place.url, NoTls).await.expect("a connection");
    let (sender, mut notes) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(note) = message {
                let _ = sender.send(note.payload().to_owned());
            }
        }
    });
    place.run(&listener, &format!("listen {}", place.schema)).await;
    let ways = || -> Vec<Vec<NewJob>> {
        let keyed = NewJob {
            unique: Some(Uuid::new_v4().to_string()),
            ..job("acme")
        };
        vec![vec![job("acme")], (0..MANY).map(|_| job("acme")).collect(), vec![keyed]]
    };
    let exec = executor(&here, &["work"]).await;
    here.doze(exec.incarnation, true).await.expect("it works");
    for jobs in ways() {
        let mut signals = here.signals();
        add(&here, jobs).await;
        assert_eq!(signals.try_recv(), Ok(Signal::Ready), "told at once");
    }
    // Everybody is told, after the commit, but nobody listens to what it says itself.
    let told = notes.recv().await.expect("someone sleeps");
    assert!(told.starts_with("ready "), "{told}");
    let mut signals = here.signals();
    let probe = JobId::new();
    let sent = format!("notify {}, 'cancel {probe}'", place.schema);
    place.run(&listener, &sent).await;
    loop {
        match signals.recv().await.expect("the store lives") {
            Signal::Cancel(id) if id == probe => break,
            signal => assert_ne!(signal, Signal::Ready, "its own message"),
        }
    }
    for jobs in ways() {
        let mut signals = here.signals();
        add(&elsewhere, jobs).await;
        while signals.recv().await.expect("the store lives") != Signal::Ready {}
    }
}

/// A portion that waits for the one before must not keep it, or that of another caller, from the connection that it needs.
async fn many_large_submits_get_by_with_two_connections(place: &Place) {
    let options = StoreOptions {
        connections: 2,
        ..place.options(Clock::System)
    };
    let store = PostgresStore::open(&place.url, options).await.expect("the store opens");
    let jobs = crate::Jobs::on(store.clone());
    let callers = (0..6).map(|caller| {
        let jobs = jobs.clone();
        let submissions = (0..3_000).map(move |n| Submission::named("work", n).group(format!("g{caller}")));
        tokio::spawn(async move { jobs.submit_all(submissions).await })
    });
    for outcomes in join_all(callers).await {
        assert!(outcomes.expect("no panic").iter().all(Result::is_ok));
    }
    let client = place.client().await;
    let unordered =
        "select count(*) from (select args::int - lag(args::int) over (partition by \"group\" order by seq) as step
        from turnabout.job) s where step <> 1";
    assert_eq!(place.number(&client, unordered).await, 0, "all are in their order");
    assert_eq!(
        place.number(&client, "select count(*) from turnabout.job").await,
        18_000
    );
}

async fn a_portion_that_is_refused_does_not_touch_the_others(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    place
        .run(&client, "alter table turnabout.job add check (args <> '1500')")
        .await;
    let jobs = crate::Jobs::on(store.clone());
    let outcomes = jobs.submit_all((0..3_000).map(|n| Submission::named("work", n))).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), (1_000..2_000).contains(&n), "job {n}: {outcome:?}");
    }
    assert_eq!(place.number(&client, "select count(*) from turnabout.job").await, 2_000);
}
