//! Numbers about a task's jobs, for whoever has installed a recorder of the crate `metrics`. Without the feature of that
//! name there are none; without a recorder they cost next to nothing.

use std::time::Duration;

use crate::job::{Reason, State};

/// The numbers of one task.
#[derive(Default)]
pub(super) struct Meter {
    /// Made at the first job, so that a recorder may be installed until then.
    #[cfg(feature = "metrics")]
    handles: std::sync::OnceLock<Handles>,
}

#[cfg(feature = "metrics")]
struct Handles {
    task: String,
    started: metrics::Counter,
    retries: metrics::Counter,
    waited: metrics::Histogram,
    ran: metrics::Histogram,
    /// By state and reason, each made when it first occurs.
    ended: Vec<std::sync::OnceLock<metrics::Counter>>,
    /// Units of work, by the final state of their job.
    items: Vec<std::sync::OnceLock<metrics::Counter>>,
}

#[cfg(feature = "metrics")]
impl Handles {
    fn new(task: &str) -> Self {
        let task = task.to_owned();
        let none = |count: usize| std::iter::repeat_with(Default::default).take(count).collect();
        Self {
            started: metrics::counter!("turnabout_attempts_started_total", "task" => task.clone()),
            retries: metrics::counter!("turnabout_retries_total", "task" => task.clone()),
            waited: metrics::histogram!("turnabout_job_wait_seconds", "task" => task.clone()),
            ran: metrics::histogram!("turnabout_job_run_seconds", "task" => task.clone()),
            ended: none(State::ALL.len() * (Reason::ALL.len() + 1)),
            items: none(State::ALL.len()),
            task,
        }
    }

    fn ended(&self, state: State, reason: Option<Reason>) {
        let why = Reason::ALL.iter().position(|known| Some(*known) == reason);
        let at = state as usize * (Reason::ALL.len() + 1) + why.map_or(0, |at| at + 1);
        if let Some(ended) = self.ended.get(at) {
            let made = || {
                metrics::counter!("turnabout_attempts_ended_total", "task" => self.task.clone(),
                    "state" => state.as_str(), "reason" => crate::meter::why(reason))
            };
            ended.get_or_init(made).increment(1);
        }
    }

    fn items(&self, state: State, items: u32) {
        if let Some(counter) = self.items.get(state as usize) {
            let made = || metrics::counter!("turnabout_items_ended_total", "task" => self.task.clone(), "state" => state.as_str());
            counter.get_or_init(made).increment(items.into());
        }
    }
}

impl Meter {
    /// An attempt starts; so long after the submit, if it is the first of its job.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "the same with the feature")
    )]
    pub(super) fn started(&self, task: &str, waited: Option<Duration>, again: bool) {
        #[cfg(feature = "metrics")]
        {
            let handles = self.handles.get_or_init(|| Handles::new(task));
            handles.started.increment(1);
            handles.retries.increment(again.into());
            if let Some(waited) = waited {
                handles.waited.record(waited);
            }
        }
        #[cfg(not(feature = "metrics"))]
        let _ = (task, waited, again);
    }

    /// An attempt has ended, and its job, which holds so many units of work, is in this state.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "the same with the feature")
    )]
    pub(super) fn ended(&self, task: &str, end: (State, Option<Reason>), items: u32, ran: Option<Duration>) {
        #[cfg(feature = "metrics")]
        {
            let handles = self.handles.get_or_init(|| Handles::new(task));
            let (state, reason) = end;
            handles.ended(state, reason);
            if state.is_final() {
                handles.items(state, items);
            }
            if let Some(ran) = ran {
                handles.ran.record(ran);
            }
        }
        #[cfg(not(feature = "metrics"))]
        let _ = (task, end, items, ran);
    }
}
