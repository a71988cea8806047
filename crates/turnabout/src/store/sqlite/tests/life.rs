//! Jobs' lives in brief, so that a fault here shows before the whole suite runs.

use super::*;
use crate::clock::before;
use crate::group::Cap;
use crate::hook::Hooks;
use crate::job::Described;
use crate::store::Setting;

pub(super) struct Hand {
    store: Arc<SqliteStore>,
    pub(super) executor: Uuid,
    number: i64,
    turns: Turns,
}

impl Hand {
    pub(super) async fn of(store: &Arc<SqliteStore>) -> Self {
        let executor = Uuid::new_v4();
        let info = ExecutorInfo {
            incarnation: executor,
            name: "one".to_owned(),
            slots: 4,
            queues: vec!["default".to_owned()],
            tasks: vec!["mail".to_owned(), "pdf".to_owned()],
            version: "1".to_owned(),
            beat: 0,
        };
        let tasks = [TaskSettings::named("mail"), TaskSettings::named("pdf")];
        store.register(&info, "kind", &tasks).await.expect("registered");
        Self {
            store: store.clone(),
            executor,
            number: 0,
            turns: Turns::new(Fairness::Jobs, Scheme::default(), 1),
        }
    }

    /// What it says when it asks for jobs of these tasks.
    pub(super) fn ask(&mut self, want: u32, tasks: &[&str]) -> Take {
        self.number += 1;
        Take {
            executor: self.executor,
            number: self.number,
            kind: "kind".to_owned(),
            queues: vec!["default".to_owned()],
            tasks: Arc::new(tasks.iter().map(|task| (*task).into()).collect()),
            want,
            turns: self.turns.clone(),
        }
    }

    /// What it has from now on.
    pub(super) fn here(&mut self, here: crate::turn::Here) {
        self.turns.here = here;
    }

    /// Gives those another chance who gave nothing.
    pub(super) fn forgive(&mut self) {
        self.turns.forgive();
    }

    pub(super) async fn try_take(&mut self, want: u32) -> Result<Taken> {
        let take = self.ask(want, &["mail", "pdf"]);
        let taken = self.store.take(take).await?;
        self.turns = taken.turns.clone();
        Ok(taken)
    }

    pub(super) async fn take(&mut self, want: u32) -> Vec<crate::job::Claimed> {
        self.try_take(want).await.expect("taken").jobs
    }

    pub(super) async fn start(&self, job: &crate::job::Claimed) {
        let refused = self
            .store
            .start(
                self.executor,
                vec![crate::store::Start::of(job, self.store.clock().now())],
            )
            .await
            .expect("started");
        assert_eq!(refused, []);
    }

    pub(super) async fn settle(&self, job: &crate::job::Claimed, event: Event, cancelling: bool) -> Settled {
        let standing = crate::lifecycle::Standing {
            state: State::Running,
            cancelling,
            attempts: job.attempts + 1,
            ..job.standing()
        };
        let policy = Policy {
            jitter: false,
            ..Policy::default()
        };
        let settle = Settle {
            id: job.id,
            number: job.number,
            change: decide(&standing, &event, &policy, 0.0).expect("legal"),
            cancelling,
            result: None,
            error: None,
            described: Described::default(),
            hooks: Hooks::NONE,
            started: Some(before(self.store.clock().now(), Duration::from_secs(2))),
            reported: false,
            came: None,
        };
        self.store.settle(self.executor, vec![settle]).await.expect("settled")[0]
    }
}

pub(super) async fn one(store: &SqliteStore, id: JobId) -> Job {
    store
        .get(&[id])
        .await
        .expect("read")
        .pop()
        .expect("there is such a job")
}

pub(super) fn advance(store: &SqliteStore, by: Duration) {
    match &store.clock {
        Clock::Manual(clock) => clock.advance(by),
        Clock::System => panic!("not a manual clock"),
    }
}

#[tokio::test]
async fn groups_take_turns_and_each_is_served_in_order_across_tasks() {
    let store = memory().await;
    let jobs = [
        ("a", "mail"),
        ("a", "pdf"),
        ("a", "mail"),
        ("b", "pdf"),
        ("c", "mail"),
        ("b", "mail"),
    ];
    let ids = submit(&store, jobs.iter().map(|(g, t)| job(g, t)).collect()).await;
    let mut hand = Hand::of(&store).await;
    let taken: Vec<JobId> = hand.take(5).await.iter().map(|j| j.id).collect();
    assert_eq!(taken, [ids[0], ids[3], ids[4], ids[1], ids[5]]);
    let rest = hand.try_take(5).await.expect("taken");
    assert_eq!(rest.jobs.iter().map(|j| j.id).collect::<Vec<_>>(), [ids[2]]);
    assert!(!hand.try_take(5).await.expect("nothing").found);
}

#[tokio::test]
async fn a_job_runs_and_its_end_is_written_once() {
    let store = memory().await;
    let id = submit(&store, vec![job("a", "mail")]).await[0];
    let mut hand = Hand::of(&store).await;
    let taken = hand.take(1).await.pop().expect("a job");
    hand.start(&taken).await;
    assert_eq!(one(&store, id).await.state, State::Running);
    assert_eq!(hand.settle(&taken, Event::Succeed, false).await, Settled::Done);
    assert_eq!(hand.settle(&taken, Event::Succeed, false).await, Settled::Done);
    let job = one(&store, id).await;
    assert_eq!((job.state, job.attempts), (State::Success, 1));
    assert_eq!(job.claim.expect("a claim").executor, hand.executor);
    assert_eq!(
        job.started.expect("a start"),
        job.finished
            .expect("an end")
            .checked_sub(jiff::SignedDuration::from_secs(2))
            .expect("a time")
    );
    let other = Settle {
        id,
        number: 99,
        change: decide(&job.standing(), &Event::Restart, &Policy::default(), 0.0).expect("legal"),
        cancelling: false,
        result: None,
        error: None,
        described: Described::default(),
        hooks: Hooks::NONE,
        started: None,
        reported: false,
        came: None,
    };
    let lost = store.settle(hand.executor, vec![other]).await.expect("an answer");
    assert_eq!(lost, [Settled::Lost]);
}

#[tokio::test]
async fn a_failed_job_comes_back_when_due_before_the_others() {
    let store = memory().await;
    let ids = submit(&store, vec![job("a", "mail"), job("a", "mail")]).await;
    let mut hand = Hand::of(&store).await;
    let taken = hand.take(1).await.pop().expect("a job");
    hand.start(&taken).await;
    assert_eq!(hand.settle(&taken, Event::Fail, false).await, Settled::Done);
    let promoted = store.promote(10).await.expect("promoted");
    assert_eq!((promoted.jobs, promoted.next), (0, Some(Duration::from_mins(1))));
    advance(&store, Duration::from_mins(1));
    let promoted = store.promote(10).await.expect("promoted");
    assert_eq!((promoted.jobs, promoted.next), (1, None));
    assert_eq!(hand.take(1).await[0].id, ids[0]);
}

#[tokio::test]
async fn a_cancel_reaches_a_held_job_and_fences_its_success() {
    let store = memory().await;
    let id = submit(&store, vec![job("a", "mail")]).await[0];
    let mut signals = store.signals();
    let mut hand = Hand::of(&store).await;
    let taken = hand.take(1).await.pop().expect("a job");
    hand.start(&taken).await;
    let changed = store
        .change(Which::Ids(vec![id]), Event::Cancel)
        .await
        .expect("changed");
    assert_eq!(changed[0].job.state, State::Running);
    heard(&mut signals, Signal::Cancel(id)).await;
    assert_eq!(
        store.heartbeat(hand.executor, 1).await.expect("a beat").held,
        [(id, 1, true)]
    );
    assert_eq!(hand.settle(&taken, Event::Succeed, false).await, Settled::Cancelling);
    assert_eq!(hand.settle(&taken, Event::Succeed, true).await, Settled::Done);
    assert_eq!(one(&store, id).await.state, State::Cancelled);
}

#[tokio::test]
async fn a_cap_is_exact_and_a_freed_place_is_signalled() {
    let store = memory().await;
    submit(&store, (0..5).map(|_| job("a", "mail")).collect()).await;
    let mut hand = Hand::of(&store).await;
    let first = hand.take(1).await.pop().expect("a job");
    let capped = GroupSettings {
        max_running: Some(2),
        ..GroupSettings::default()
    };
    store.set(Setting::Group("a".to_owned(), capped)).await.expect("set");
    assert_eq!(hand.take(5).await.len(), 1, "one was held before the cap was set");
    assert_eq!(hand.take(5).await.len(), 0);
    let filter = Filter {
        states: vec![State::Waiting],
        limit: 1,
        ..Filter::default()
    };
    let waiting = store.list(&filter).await.expect("a list")[0].id;
    let standpoint = store.standpoint(waiting).await.expect("read").expect("a job");
    assert_eq!(standpoint.running, [(Cap::Group("a".to_owned()), 2, 2)]);
    assert_eq!((standpoint.groups, standpoint.heard.is_some()), (1, true));
    let mut signals = store.signals();
    hand.start(&first).await;
    hand.settle(&first, Event::Succeed, false).await;
    heard(&mut signals, Signal::Ready).await;
    hand.turns.forgive();
    assert_eq!(hand.take(5).await.len(), 1);
}

#[tokio::test]
async fn a_silent_executors_jobs_return_to_their_places() {
    let store = memory().await;
    let ids = submit(&store, vec![job("a", "mail"), job("a", "mail")]).await;
    let mut hand = Hand::of(&store).await;
    hand.take(2).await;
    store.heartbeat(hand.executor, 7).await.expect("a beat");
    assert_eq!(store.reap(hand.executor, 6).await.expect("no"), 0);
    assert_eq!(store.reap(hand.executor, 7).await.expect("reaped"), 2);
    assert!(matches!(hand.try_take(1).await, Err(crate::Error::LeaseLost)));
    assert!(!store.heartbeat(hand.executor, 8).await.expect("a beat").alive);
    let mut other = Hand::of(&store).await;
    let again: Vec<JobId> = other.take(2).await.iter().map(|j| j.id).collect();
    assert_eq!(again, ids);
    store.deregister(other.executor).await.expect("gone");
    assert_eq!(store.reap(Uuid::new_v4(), 0).await.expect("orphans"), 2);
}

#[tokio::test]
async fn keys_and_ids_name_one_job() {
    let store = memory().await;
    let now = store.clock.now();
    let keyed = || NewJob {
        unique: Some("k".to_owned()),
        ..job("a", "mail")
    };
    let outcomes = store.submit(vec![keyed(), keyed()]).await.expect("submitted");
    let [Ok(first), Ok(second)] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    assert_eq!((first.new, second.new, first.id), (true, false, second.id));
    store
        .change(Which::Ids(vec![first.id]), Event::Cancel)
        .await
        .expect("cancelled");
    let again = submit(&store, vec![keyed()]).await[0];
    assert_ne!(again, first.id);
    let error = store
        .change(Which::Ids(vec![first.id]), Event::Restart)
        .await
        .expect_err("taken");
    assert!(matches!(error, crate::Error::Conflict("unique key")), "{error}");
    assert_eq!(one(&store, first.id).await.state, State::Cancelled);

    let given = |group, id| NewJob {
        id,
        id_given: true,
        ..job(group, "mail")
    };
    let id = JobId::at(now);
    let old = JobId::at(now.checked_sub(jiff::SignedDuration::from_hours(200)).expect("a time"));
    let outcomes = store
        .submit(vec![given("a", id), given("a", id), given("b", id), given("a", old)])
        .await
        .expect("submitted");
    assert_eq!(outcomes[0].as_ref().expect("new"), &Submitted { id, new: true });
    assert_eq!(outcomes[1].as_ref().expect("known"), &Submitted { id, new: false });
    assert!(matches!(outcomes[2], Err(crate::Error::Conflict("job id"))));
    assert!(matches!(outcomes[3], Err(crate::Error::Invalid { .. })));
}

#[tokio::test]
async fn lists_page_over_unfinished_and_ended_jobs_by_id() {
    let store = memory().await;
    let mut ids = submit(&store, (0..10).map(|_| job("a", "mail")).collect()).await;
    store
        .change(Which::Ids(ids[..5].to_vec()), Event::Cancel)
        .await
        .expect("cancelled");
    ids.sort_unstable();
    ids.reverse();
    for group in [None, Some("a".to_owned())] {
        let mut seen = Vec::new();
        let mut filter = Filter {
            group,
            limit: 3,
            ..Filter::default()
        };
        loop {
            let page = store.list(&filter).await.expect("a page");
            let Some(last) = page.last() else { break };
            filter.before = Some(last.id);
            seen.extend(page.iter().map(|j| j.id));
        }
        assert_eq!(seen, ids);
    }
    let cancelled = Filter {
        states: vec![State::Cancelled],
        limit: 100,
        ..Filter::default()
    };
    assert_eq!(store.list(&cancelled).await.expect("a list").len(), 5);
    let counts = store.counts().await.expect("counts");
    assert_eq!((counts.ready, counts.ended), (5, 5));
    advance(&store, Duration::from_hours(31 * 24));
    assert_eq!(store.prune().await.expect("pruned"), 5);
}

#[tokio::test]
async fn a_job_that_waits_too_long_expires_and_a_priority_change_keeps_the_place() {
    let store = memory().await;
    let expiring = NewJob {
        expires: When::After(Duration::from_mins(1)),
        ..job("a", "mail")
    };
    let ids = submit(&store, vec![expiring, job("a", "mail")]).await;
    advance(&store, Duration::from_mins(1));
    let expired = store.change(Which::Expired(10), Event::Expire).await.expect("expired");
    assert_eq!(expired.iter().map(|c| c.job.id).collect::<Vec<_>>(), [ids[0]]);
    let before = one(&store, ids[1]).await.seq;
    let event = Event::Reprioritise(Priority::High);
    store.change(Which::Ids(vec![ids[1]]), event).await.expect("changed");
    let job = one(&store, ids[1]).await;
    assert_eq!((job.seq, job.lane), (before, Some(crate::job::Lane::High)));
    let back = store
        .change(Which::Ids(vec![ids[0]]), Event::Restart)
        .await
        .expect("restarted");
    assert!(back[0].outcome.is_ok());
    assert!(one(&store, ids[0]).await.seq > before);
}

#[tokio::test]
async fn a_job_that_nobody_could_read_is_not_let_in() {
    let store = memory().await;
    let id = submit(&store, vec![job("a", "mail")]).await[0];
    let far = i64::MAX;
    for set in [
        "priority = 99".to_owned(),
        "state = 42".to_owned(),
        "lane = -1".to_owned(),
        format!("submitted = {far}"),
        format!("expires = -{far}"),
    ] {
        let update = store.write("spoiling", move |tx| {
            Ok(tx.connection.execute(&format!("UPDATE job SET {set}"), [])?)
        });
        let error = update.await.expect_err("it is not let in");
        assert!(error.chain().contains("CHECK constraint failed"), "{}", error.chain());
    }
    assert_eq!(one(&store, id).await.priority, Priority::Normal);
}
