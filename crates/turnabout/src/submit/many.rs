//! Many jobs at once: prepared and handed to the store in portions, and while those are on their way the next is prepared.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::arguments::{self, Typed};
use super::{Submission, no_answer};
use crate::error::{Error, Result};
use crate::jobs::Jobs;
use crate::store::{Leg, NewJob, Relay, Store, Submitted};

/// A portion has about so many bytes of arguments at the most, so that no single write grows without bound.
const PORTION_BYTES: usize = 8 << 20;
/// The first portion has so many jobs, so that these can soon be taken ..
pub(crate) const FIRST_PORTION: usize = 1_000;
/// .. and each later one as many as went before it, up to so many: what a commit costs, and what each stream costs that gets
/// some of them, is shared.
const LARGEST_PORTION: usize = 8_000;
/// So many portions are on their way at a time.
const UNDER_WAY: usize = 2;

/// What became of many jobs, see [`Jobs::submit_all`]: one outcome for each, in their order. A refused job does not touch the
/// others, so each outcome is to be looked at: one by one, or by [`all`](Self::all).
#[derive(Debug)]
#[must_use = "jobs may have been refused: use `.all()?`, or look at each outcome"]
pub struct ManySubmitted(Vec<Result<Submitted>>);

impl ManySubmitted {
    /// All jobs, or the error of the first one that was refused. The others are stored nevertheless.
    pub fn all(self) -> Result<Vec<Submitted>> {
        self.0.into_iter().collect()
    }
}

impl Deref for ManySubmitted {
    type Target = [Result<Submitted>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for ManySubmitted {
    type Item = Result<Submitted>;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Stores many jobs; one outcome for each, in their order.
pub(crate) async fn submit_all(jobs: &Jobs, submissions: Vec<Submission>) -> ManySubmitted {
    let mut many = Many::new(jobs, submissions.len());
    for (at, submission) in submissions.into_iter().enumerate() {
        match jobs.accept(submission).await {
            Ok((job, task)) => {
                if many.is_full() {
                    many.send().await;
                }
                many.add(at, job, task);
            }
            Err(error) => many.outcomes[at] = Some(Err(error)),
        }
    }
    ManySubmitted(many.finish().await)
}

/// What a store says of a portion.
type Answers = Vec<Result<Submitted>>;
/// Which jobs of the call a portion has, and their tasks, for what these want to do when they are stored.
type Tasks = Vec<(usize, Option<Box<dyn Typed>>)>;

/// Portions on their way, in their order. A caller that is dropped recalls them.
#[derive(Default)]
struct UnderWay {
    relay: Relay,
    portions: VecDeque<(Tasks, AbortOnDropHandle<Answers>)>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // One that is dropped is over, and whoever follows it would be free to commit, behind a hole.
        self.relay.recall();
    }
}

/// A call with many jobs.
struct Many<'a> {
    jobs: &'a Jobs,
    /// How many jobs the next portion has at the most.
    most: usize,
    /// How many went before it.
    sent: usize,
    outcomes: Vec<Option<Result<Submitted>>>,
    /// What is stored next.
    portion: Vec<NewJob>,
    tasks: Tasks,
    bytes: usize,
    under_way: UnderWay,
}

impl<'a> Many<'a> {
    fn new(jobs: &'a Jobs, count: usize) -> Self {
        let mut outcomes = Vec::new();
        outcomes.resize_with(count, || None);
        // Jobs are large: what grows step by step would copy them again and again.
        let most = FIRST_PORTION;
        let room = count.min(most);
        Self {
            jobs,
            most,
            sent: 0,
            outcomes,
            portion: Vec::with_capacity(room),
            tasks: Vec::with_capacity(room),
            bytes: 0,
            under_way: UnderWay::default(),
        }
    }

    fn add(&mut self, at: usize, job: NewJob, task: Option<Box<dyn Typed>>) {
        self.bytes += job.args.len();
        self.portion.push(job);
        self.tasks.push((at, task));
    }

    fn is_full(&self) -> bool {
        self.portion.len() >= self.most || self.bytes >= PORTION_BYTES
    }

    fn next_portion(&mut self) -> (Vec<NewJob>, Tasks) {
        self.bytes = 0;
        self.sent += self.portion.len();
        self.most = self.sent.clamp(FIRST_PORTION, LARGEST_PORTION);
        let room = self.most.min(self.outcomes.len() - self.sent);
        (
            std::mem::replace(&mut self.portion, Vec::with_capacity(room)),
            std::mem::replace(&mut self.tasks, Vec::with_capacity(room)),
        )
    }

    /// Sends the portion on its way, as soon as there is room for it.
    async fn send(&mut self) {
        let (portion, tasks) = self.next_portion();
        let store = Arc::clone(self.jobs.store());
        let Ok(runtime) = Handle::try_current() else {
            // Nobody is there to carry it.
            let answers = store_portion(&*store, portion, Leg::whole()).await;
            self.note(tasks, answers).await;
            return;
        };
        while self.under_way.portions.len() >= UNDER_WAY {
            self.receive().await;
        }
        let leg = self.under_way.relay.leg();
        let storing = async move { store_portion(&*store, portion, leg).await };
        let storing = runtime.spawn(storing.in_current_span());
        self.under_way
            .portions
            .push_back((tasks, AbortOnDropHandle::new(storing)));
    }

    /// Waits for what became of the first portion on its way.
    async fn receive(&mut self) {
        if let Some((tasks, storing)) = self.under_way.portions.front_mut() {
            // Gone only if it panicked, or the runtime shuts down: then nobody knows.
            let answers = storing.await.unwrap_or_default();
            let tasks = std::mem::take(tasks);
            self.under_way.portions.pop_front();
            self.note(tasks, answers).await;
        }
    }

    async fn note(&mut self, tasks: Tasks, answers: Answers) {
        let unknown = std::iter::repeat_with(|| Err(no_answer()));
        for ((at, task), answer) in tasks.into_iter().zip(answers.into_iter().chain(unknown)) {
            arguments::after_submit(task, &answer, self.jobs).await;
            self.outcomes[at] = Some(answer);
        }
    }

    async fn finish(mut self) -> Vec<Result<Submitted>> {
        if self.under_way.portions.is_empty() && !self.portion.is_empty() {
            // All there is, or was: it needs no one to carry it.
            let (portion, tasks) = self.next_portion();
            let answers = store_portion(&**self.jobs.store(), portion, Leg::whole()).await;
            self.note(tasks, answers).await;
        } else if !self.portion.is_empty() {
            self.send().await;
        }
        while !self.under_way.portions.is_empty() {
            self.receive().await;
        }
        let outcomes = self.outcomes.into_iter();
        outcomes.map(|o| o.unwrap_or_else(|| Err(no_answer()))).collect()
    }
}

async fn store_portion(store: &dyn Store, portion: Vec<NewJob>, leg: Leg) -> Answers {
    let count = portion.len();
    let named: Vec<String> = portion.iter().map(|job| job.task.clone()).collect();
    match store.submit_portion(portion, leg).await {
        Ok(answers) => {
            crate::meter::submitted(named.iter().map(String::as_str), &answers);
            answers
        }
        Err(error) => {
            // Each job of the portion was not stored, for one and the same reason.
            let error = Arc::new(error);
            std::iter::repeat_with(|| Err(Error::shared("submitting a batch", &error)))
                .take(count)
                .collect()
        }
    }
}
