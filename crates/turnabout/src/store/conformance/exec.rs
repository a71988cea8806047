//! Someone who plays an executor.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::error::Result;
use crate::job::{Claimed, Described, State};
use crate::lifecycle::{Event, Standing, decide};
use crate::store::{Beat, ExecutorInfo, Settle, Settled, Start, Store, Take};
use crate::task::TaskSettings;
use crate::turn::{Fairness, Scheme, Tasks, Turns};

/// Takes jobs, and says what became of them.
pub(crate) struct Exec {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) incarnation: Uuid,
    pub(crate) kind: String,
    pub(crate) beat: i64,
    pub(crate) turns: Turns,
    number: i64,
    queues: Vec<String>,
    tasks: Arc<Tasks>,
    settings: HashMap<String, TaskSettings>,
}

impl Exec {
    pub(crate) fn new(store: Arc<dyn Store>, incarnation: Uuid, queues: &[&str], tasks: Vec<TaskSettings>) -> Self {
        let mut sorted: Vec<&str> = tasks.iter().map(|t| t.name.as_str()).collect();
        sorted.sort_unstable();
        Self {
            store,
            incarnation,
            kind: format!("{}:{}", queues.join(","), sorted.join(",")),
            beat: 0,
            turns: Turns::new(Fairness::Jobs, Scheme::default(), 7),
            number: 0,
            queues: queues.iter().map(|q| (*q).to_owned()).collect(),
            tasks: Arc::new(tasks.iter().map(|t| t.name.as_str().into()).collect()),
            settings: tasks.into_iter().map(|t| (t.name.clone(), t)).collect(),
        }
    }

    /// The same executor with another counting scheme or unit of cost.
    pub(crate) fn counting(mut self, fairness: Fairness, scheme: &str, seed: u64) -> Self {
        self.turns = Turns::new(fairness, scheme.parse().expect("a scheme"), seed);
        self
    }

    pub(crate) async fn register(&self) {
        let mut tasks: Vec<String> = self.tasks.iter().map(ToString::to_string).collect();
        tasks.sort_unstable();
        let info = ExecutorInfo {
            incarnation: self.incarnation,
            name: format!("exec-{}", self.incarnation),
            slots: 4,
            queues: self.queues.clone(),
            tasks,
            version: "0.1.0".to_owned(),
            beat: self.beat,
        };
        let mut settings: Vec<TaskSettings> = self.settings.values().cloned().collect();
        settings.sort_by(|a, b| a.name.cmp(&b.name));
        self.store
            .register(&info, &self.kind, &settings)
            .await
            .expect("register works");
    }

    /// Takes up to `want` jobs.
    pub(crate) async fn take(&mut self, want: u32) -> Vec<Claimed> {
        self.try_take(want).await.expect("take works").0
    }

    /// Takes up to `want` jobs; says, too, whether anything was ready.
    pub(crate) async fn try_take(&mut self, want: u32) -> Result<(Vec<Claimed>, bool)> {
        let take = self.ask(want);
        let taken = self.store.take(take).await?;
        self.turns = taken.turns;
        assert!(taken.jobs.len() <= want as usize, "no more than wanted");
        assert!(
            taken.found || taken.jobs.is_empty(),
            "jobs were found, so something was ready"
        );
        for job in &taken.jobs {
            assert_eq!(job.number, self.number, "each claim has its number");
        }
        Ok((taken.jobs, taken.found))
    }

    /// What it says when it asks for jobs.
    pub(crate) fn ask(&mut self, want: u32) -> Take {
        self.number += 1;
        Take {
            executor: self.incarnation,
            number: self.number,
            kind: self.kind.clone(),
            queues: self.queues.clone(),
            tasks: self.tasks.clone(),
            want,
            turns: self.turns.clone(),
        }
    }

    /// Takes one job, which must be there.
    pub(crate) async fn take_one(&mut self) -> Claimed {
        self.take(1).await.pop().expect("a job is ready")
    }

    /// Takes until nothing is ready, and lets each job succeed. Returns them in the order taken.
    pub(crate) async fn drain(&mut self, batch: u32) -> Vec<Claimed> {
        let mut all = Vec::new();
        loop {
            let jobs = self.take(batch).await;
            if jobs.is_empty() {
                return all;
            }
            for job in &jobs {
                assert_eq!(self.run(job, Event::Succeed).await, Settled::Done);
            }
            all.extend(jobs);
        }
    }

    /// Marks a job as started; says whether that was in vain.
    pub(crate) async fn start(&self, job: &Claimed) -> Option<Settled> {
        let jobs = vec![Start::of(job, self.store.clock().now())];
        let trouble = self.store.start(self.incarnation, jobs).await.expect("start works");
        assert!(trouble.len() <= 1 && trouble.iter().all(|(id, _)| *id == job.id));
        trouble.first().map(|(_, settled)| *settled)
    }

    /// What an attempt's end would write.
    pub(crate) fn outcome(&self, job: &Claimed, event: Event, cancelling: bool) -> Settle {
        let standing = match event {
            Event::Release | Event::Throttle(_) => job.standing(),
            _ => Standing {
                state: State::Running,
                attempts: job.attempts + 1,
                ..job.standing()
            },
        };
        let standing = Standing { cancelling, ..standing };
        let policy = self.settings.get(&job.task).map(|t| t.policy).unwrap_or_default();
        Settle {
            id: job.id,
            number: job.number,
            change: decide(&standing, &event, &policy, 0.0).expect("a legal end"),
            cancelling,
            result: (event == Event::Succeed).then(|| "{\"done\":true}".to_owned()),
            error: matches!(event, Event::Fail | Event::FailForGood | Event::RetryAfter(_))
                .then(|| "broken".to_owned()),
            described: Described::default(),
            hooks: self.settings.get(&job.task).map(|t| t.hooks).unwrap_or_default(),
            started: (!matches!(event, Event::Release | Event::Throttle(_))).then(|| self.store.clock().now()),
            reported: true,
            came: None,
        }
    }

    /// Repeated where that may help, as every executor does.
    pub(crate) async fn settle(&self, settle: Settle) -> Settled {
        loop {
            match self.store.settle(self.incarnation, vec![settle.clone()]).await {
                Err(error) if error.is_transient() => tokio::task::yield_now().await,
                settled => return settled.expect("settle works")[0],
            }
        }
    }

    /// Ends an attempt (whose start need not have been marked).
    pub(crate) async fn end(&self, job: &Claimed, event: Event) -> Settled {
        self.settle(self.outcome(job, event, false)).await
    }

    /// A whole attempt: start and end.
    pub(crate) async fn run(&self, job: &Claimed, event: Event) -> Settled {
        if !matches!(event, Event::Release | Event::Throttle(_)) {
            assert_eq!(self.start(job).await, None, "the job is held");
        }
        self.end(job, event).await
    }

    pub(crate) async fn release(&self, job: &Claimed) {
        assert_eq!(self.end(job, Event::Release).await, Settled::Done);
    }

    pub(crate) async fn heartbeat(&mut self) -> Beat {
        self.beat += 1;
        let beat = self.store.heartbeat(self.incarnation, self.beat).await;
        beat.expect("heartbeat works")
    }

    /// Someone else finds this executor silent.
    pub(crate) async fn die(&self) -> u32 {
        let reaped = self.store.reap(self.incarnation, self.beat).await;
        reaped.expect("reap works")
    }
}
