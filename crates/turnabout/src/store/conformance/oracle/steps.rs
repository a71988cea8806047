//! The operations that the oracle chooses from.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::words::{brief, changed, said, without_seq};
use super::{Exec, GROUPS, Held, Oracle, QUEUES, TASKS, plain};
use crate::job::{JobId, Meta, Priority, State, When};
use crate::lifecycle::Event;
use crate::store::{
    Executors as _, Filter, MaxUnfinished, NewJob, Overview as _, Report, Rewrite, Settle, Settled, Store, Which,
};

impl Oracle {
    pub(super) async fn step(&mut self) {
        // No two moments are the same, so that no two jobs are due at the same one.
        self.clock.advance(Duration::from_micros(self.rng.u64(1..5000)));
        let step = self.rng.u8(..100);
        self.happened |= !(22..44).contains(&step);
        match step {
            0..22 => self.submit().await,
            22..44 => self.take().await,
            44..48 => self.start().await,
            48..50 => self.report().await,
            50..65 => self.settle().await,
            65..68 => self.stale().await,
            68..71 => self.finish_all().await,
            71..79 => self.change().await,
            79..83 => self.promote().await,
            83..86 => self.expire().await,
            86..88 => self.reap().await,
            88..90 => self.heartbeat().await,
            90..92 => self.set().await,
            92..96 => self.advance(),
            96..98 => self.pay().await,
            98 => self.forget().await,
            _ => self.look().await,
        }
    }

    pub(super) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        *self.rng.choice(among).expect("something to choose from")
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn known_id(&mut self) -> Option<JobId> {
        (!self.ids.is_empty()).then(|| self.ids[self.rng.usize(..self.ids.len())])
    }

    fn new_id(&mut self) -> JobId {
        let mut random = [0; 10];
        self.rng.fill(&mut random);
        let millis = self.clock.now().as_millisecond() as u64;
        JobId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    fn new_job(&mut self) -> NewJob {
        let mut id = self.new_id();
        let mut id_given = self.one_in(4);
        if self.one_in(12)
            && let Some(known) = self.known_id()
        {
            (id, id_given) = (known, true);
        }
        if self.one_in(60) {
            (id, id_given) = (JobId(self.uuid()), true);
        }
        NewJob {
            id,
            id_given,
            task: self.pick(&TASKS).to_owned(),
            group: self.pick(&GROUPS).to_owned(),
            owner: self.rng.bool().then(|| "ada".to_owned()),
            queue: self.one_in(4).then(|| self.pick(&QUEUES).to_owned()),
            priority: self.rng.bool().then(|| self.pick(Priority::ALL)),
            when: if self.one_in(5) {
                When::After(Duration::from_micros(self.rng.u64(1..20_000_000)))
            } else {
                When::Now
            },
            expires: if self.one_in(8) {
                When::After(Duration::from_micros(self.rng.u64(1_000_000..60_000_000)))
            } else {
                When::Now
            },
            unique: self.one_in(4).then(|| format!("key{}", self.rng.u8(..3))),
            args: format!("{{\"n\":{}}}", self.rng.u16(..)),
            prepared: self.one_in(4),
            items: self.rng.u32(1..9),
            subject: self.one_in(4).then(|| "a subject".to_owned()),
            max_unfinished: MaxUnfinished::AsPublished,
            meta: if self.one_in(4) {
                Meta::from([("k".to_owned(), "v".to_owned())])
            } else {
                Meta::new()
            },
            parent: if self.one_in(6) { self.known_id() } else { None },
        }
    }

    async fn submit(&mut self) {
        let n = self.rng.usize(1..5);
        let jobs: Vec<NewJob> = (0..n).map(|_| self.new_job()).collect();
        self.note(format!("submit {jobs:?}"));
        let model = self.model.submit(jobs.clone()).await.expect("the model submits");
        let store = self.store.submit(jobs).await.expect("the store submits");
        for submitted in model.iter().flatten().filter(|s| s.new) {
            self.ids.push(submitted.id);
        }
        self.compare(said(model), said(store));
    }

    async fn take(&mut self) {
        let at = self.rng.usize(..self.pairs.len());
        let want = self.rng.u32(1..7);
        // As executors do: when something has happened, who gave nothing before gets another chance. (How far beyond
        // its window a peek looks for such groups is each store's own affair.)
        let forgive = std::mem::take(&mut self.happened);
        if forgive {
            for pair in &mut self.pairs {
                pair.model.turns.forgive();
                pair.store.turns.forgive();
            }
        }
        let pair = &mut self.pairs[at];
        let model = pair.model.try_take(want).await;
        let store = pair.store.try_take(want).await;
        let executor = pair.model.incarnation;
        let kind = pair.model.kind.clone();
        self.note(format!(
            "take {want} as {executor} ({kind}), forgiving {forgive}: {}",
            brief(&model)
        ));
        match (model, store) {
            (Ok((model, model_found)), Ok((store, store_found))) => {
                self.compare(without_seq(&model), without_seq(&store));
                self.compare(model_found, store_found);
                for job in model {
                    self.held.push(Held { executor, job });
                }
            }
            (model, store) => self.compare(brief(&model), brief(&store)),
        }
    }

    /// A job in someone's hands, and who that is.
    fn any_held(&mut self) -> Option<(usize, usize)> {
        if self.held.is_empty() {
            return None;
        }
        let at = self.rng.usize(..self.held.len());
        let pair = self.at(self.held[at].executor)?;
        Some((at, pair))
    }

    fn at(&self, executor: Uuid) -> Option<usize> {
        self.pairs.iter().position(|p| p.model.incarnation == executor)
    }

    async fn start(&mut self) {
        let Some((at, pair)) = self.any_held() else { return };
        let job = self.held[at].job.clone();
        self.note(format!("start {}", job.id));
        let pair = &self.pairs[pair];
        self.compare(pair.model.start(&job).await, pair.store.start(&job).await);
    }

    async fn settle(&mut self) {
        let Some((at, pair)) = self.any_held() else { return };
        let held = self.held.swap_remove(at);
        let moment = Duration::from_micros(self.rng.u64(1..10_000_000));
        let event = self.pick(&[
            Event::Succeed,
            Event::Succeed,
            Event::Succeed,
            Event::Fail,
            Event::Fail,
            Event::FailForGood,
            Event::RetryAfter(moment),
            Event::Snooze(moment),
            Event::TimeOut,
            Event::Interrupt,
            Event::Release,
            Event::Throttle(moment),
        ]);
        let pair = &self.pairs[pair];
        let mut settle = pair.model.outcome(&held.job, event, false);
        settle.started = settle.started.map(|now| crate::clock::before(now, moment));
        let again = Settle {
            started: settle.started,
            ..pair.model.outcome(&held.job, event, true)
        };
        let model = pair.model.settle(settle.clone()).await;
        let store = pair.store.settle(settle).await;
        self.note(format!("settle {} by {event:?}: {model:?}", held.job.id));
        self.compare(model, store);
        if model == Settled::Cancelling {
            let pair = &self.pairs[self.at(held.executor).expect("it is there")];
            let model = pair.model.settle(again.clone()).await;
            let store = pair.store.settle(again).await;
            self.note(format!("settle {} again, cancelling: {model:?}", held.job.id));
            self.compare(model, store);
        }
        let executor = held.executor;
        self.past.push((held, executor));
    }

    /// What a claim that is over still tries to write.
    async fn report(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let held = &self.held[self.rng.usize(..self.held.len())];
        let report = Report {
            id: held.job.id,
            number: held.job.number - i64::from(self.rng.u8(..8) == 0),
            percent: self.rng.u8(..100),
            step: self.rng.bool().then(|| format!("step {}", self.rng.u8(..))),
        };
        let executor = held.executor;
        self.note(format!("{executor} reports {report:?}"));
        for store in [self.model.clone() as Arc<dyn Store>, self.store.clone()] {
            store
                .report(executor, vec![report.clone()])
                .await
                .expect("report works");
        }
    }

    async fn stale(&mut self) {
        if self.past.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.past.len());
        let (job, executor) = (self.past[at].0.job.clone(), self.past[at].1);
        let [model, store] = [self.model.clone() as std::sync::Arc<dyn Store>, self.store.clone()]
            .map(|store| Exec::new(store, executor, &[], TASKS.iter().map(|t| super::task(t)).collect()));
        self.note(format!("start and settle {} once more", job.id));
        self.compare(model.start(&job).await, store.start(&job).await);
        let (model, store) = (
            model.end(&job, Event::Succeed).await,
            store.end(&job, Event::Succeed).await,
        );
        self.compare(model, store);
    }

    /// One executor ends all that it holds, in one call.
    async fn finish_all(&mut self) {
        let at = self.rng.usize(..self.pairs.len());
        let executor = self.pairs[at].model.incarnation;
        let (mine, others): (Vec<Held>, Vec<Held>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| held.executor == executor);
        self.held = others;
        let settles: Vec<Settle> = mine
            .iter()
            .map(|held| self.pairs[at].model.outcome(&held.job, Event::Succeed, false))
            .collect();
        let model = self.model.settle(executor, settles.clone()).await;
        let store = self.store.settle(executor, settles).await;
        let model = model.expect("the model settles");
        self.note(format!("{executor} ends all it holds: {model:?}"));
        self.compare(model.clone(), store.expect("the store settles"));
        for (held, settled) in mine.into_iter().zip(model) {
            match settled {
                Settled::Cancelling => self.held.push(held),
                Settled::Done | Settled::Lost => self.past.push((held, executor)),
            }
        }
    }

    async fn rewrite(&mut self) {
        let Some(id) = self.known_id() else { return };
        let to = Rewrite {
            queue: Some(self.pick(&QUEUES).to_owned()),
            args: None,
        };
        self.note(format!("{to:?} {id}"));
        let model = self.model.rewrite(vec![id], to.clone()).await;
        let store = self.store.rewrite(vec![id], to).await;
        self.compare(changed(model), changed(store));
    }

    async fn change(&mut self) {
        if self.one_in(8) {
            return self.rewrite().await;
        }
        let priority = self.pick(Priority::ALL);
        let event = self.pick(&[
            Event::Cancel,
            Event::Cancel,
            Event::Restart,
            Event::Restart,
            Event::Delete,
            Event::Reprioritise(priority),
            Event::Reprioritise(priority),
            Event::Postpone(Duration::from_secs(7)),
        ]);
        let mut ids: Vec<JobId> = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            ids.extend(self.known_id().filter(|id| !ids.contains(id)));
        }
        if matches!(event, Event::Postpone(_)) {
            // No two jobs are due at the same moment.
            ids.truncate(1);
        }
        self.change_both(Which::Ids(ids), event).await;
    }

    async fn change_both(&mut self, which: Which, event: Event) {
        self.note(format!("{event:?} {which:?}"));
        let model = self.model.change(which.clone(), event).await;
        let store = self.store.change(which, event).await;
        self.compare(changed(model), changed(store));
    }

    async fn promote(&mut self) {
        let limit = self.rng.u32(1..6);
        self.note(format!("promote {limit}"));
        let model = self.model.promote(limit).await.expect("the model promotes");
        self.compare(model, self.store.promote(limit).await.expect("the store promotes"));
    }

    async fn expire(&mut self) {
        let limit = self.rng.u32(1..5);
        self.change_both(Which::Expired(limit), Event::Expire).await;
    }

    async fn reap(&mut self) {
        let at = self.rng.usize(..self.pairs.len());
        if self.one_in(3) {
            let (executor, beat) = (self.pairs[at].model.incarnation, self.pairs[at].model.beat + 1);
            self.note(format!("reap {executor}, whose heartbeat is another"));
            let model = self.model.reap(executor, beat).await.expect("the model reaps");
            self.compare(model, self.store.reap(executor, beat).await.expect("the store reaps"));
            return;
        }
        let dead = self.pairs.swap_remove(at);
        self.note(format!("reap {}", dead.model.incarnation));
        self.compare(dead.model.die().await, dead.store.die().await);
        let executor = dead.model.incarnation;
        for held in std::mem::take(&mut self.held) {
            if held.executor == executor {
                self.past.push((held, executor));
            } else {
                self.held.push(held);
            }
        }
        self.hire().await;
    }

    async fn heartbeat(&mut self) {
        let at = self.rng.usize(..self.pairs.len());
        let pair = &mut self.pairs[at];
        let mut beats = [pair.model.heartbeat().await, pair.store.heartbeat().await];
        for beat in &mut beats {
            beat.held.sort_unstable();
            beat.peers.sort_unstable();
        }
        let [model, store] = beats;
        self.note(format!("heartbeat of {at}"));
        self.compare(model, store);
    }

    async fn forget(&mut self) {
        self.note("forget".to_owned());
        let model = self.model.forget().await.expect("the model forgets");
        let store = self.store.forget().await.expect("the store forgets");
        self.compare(model, store);
    }

    fn advance(&mut self) {
        let by = Duration::from_micros(self.rng.u64(1..10_000_000));
        self.note(format!("{by:?} pass"));
        self.clock.advance(by);
    }

    async fn look(&mut self) {
        let filter = Filter {
            states: if self.rng.bool() {
                vec![self.pick(State::ALL), self.pick(State::ALL)]
            } else {
                Vec::new()
            },
            task: self.one_in(3).then(|| self.pick(&TASKS).to_owned()),
            group: self.one_in(3).then(|| self.pick(&GROUPS).to_owned()),
            owner: self.one_in(4).then(|| "ada".to_owned()),
            queue: self.one_in(4).then(|| self.pick(&QUEUES).to_owned()),
            before: self.known_id().filter(|_| self.rng.bool()),
            limit: self.rng.u32(1..20),
            ..Filter::default()
        };
        self.note(format!("list {filter:?}"));
        let model = self.model.list(&filter).await.expect("the model lists");
        let store = self.store.list(&filter).await.expect("the store lists");
        self.compare(plain(model), plain(store));
        let counts = self.model.counts().await.expect("the model counts");
        self.compare(counts, self.store.counts().await.expect("the store counts"));
        if let Some(id) = self.known_id() {
            self.note(format!("the attempts of {id}"));
            let attempts = self.model.attempts(id).await.expect("the model has attempts");
            self.compare(attempts, self.store.attempts(id).await.expect("the store has attempts"));
            self.note(format!("why does {id} wait?"));
            let [model, store] = [
                self.model.standpoint(id).await.expect("the model explains"),
                self.store.standpoint(id).await.expect("the store explains"),
            ]
            .map(|standpoint| {
                standpoint.filter(|s| !s.job.state.is_final()).map(|mut s| {
                    s.job.seq = 0;
                    s.running.sort();
                    s
                })
            });
            self.compare(model, store);
        }
    }
}
