//! Numbers about a task's jobs, for whoever has installed a recorder of the crate `metrics`. Without the feature of that
//! name there are none; without a recorder they cost next to nothing.

use std::time::Duration;

use crate::job::State;

/// The numbers of one task.
#[derive(Default)]
pub(super) struct Meter {
    /// Made at the first job, so that a recorder may be installed until then.
    #[cfg(feature = "metrics")]
    handles: std::sync::OnceLock<Handles>,
}

#[cfg(feature = "metrics")]
struct Handles {
    started: metrics::Counter,
    waited: metrics::Histogram,
    ran: metrics::Histogram,
    /// By state.
    ended: Vec<metrics::Counter>,
    /// Units of work, by the final state of their job.
    items: Vec<metrics::Counter>,
}

#[cfg(feature = "metrics")]
impl Handles {
    fn new(task: &str) -> Self {
        let task = task.to_owned();
        let ended = |state: &State| metrics::counter!("turnabout_attempts_ended_total", "task" => task.clone(), "state" => state.as_str());
        let items = |state: &State| metrics::counter!("turnabout_items_ended_total", "task" => task.clone(), "state" => state.as_str());
        Self {
            started: metrics::counter!("turnabout_attempts_started_total", "task" => task.clone()),
            waited: metrics::histogram!("turnabout_job_wait_seconds", "task" => task.clone()),
            ran: metrics::histogram!("turnabout_job_run_seconds", "task" => task.clone()),
            ended: State::ALL.iter().map(ended).collect(),
            items: State::ALL.iter().map(items).collect(),
        }
    }
}

impl Meter {
    /// An attempt starts; so long after the submit, if it is the first.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "the same with the feature")
    )]
    pub(super) fn started(&self, task: &str, waited: Option<Duration>) {
        #[cfg(feature = "metrics")]
        {
            let handles = self.handles.get_or_init(|| Handles::new(task));
            handles.started.increment(1);
            if let Some(waited) = waited {
                handles.waited.record(waited);
            }
        }
        #[cfg(not(feature = "metrics"))]
        let _ = (task, waited);
    }

    /// An attempt has ended, and its job, which holds so many units of work, is in this state.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "the same with the feature")
    )]
    pub(super) fn ended(&self, task: &str, state: State, items: u32, ran: Option<Duration>) {
        #[cfg(feature = "metrics")]
        {
            let handles = self.handles.get_or_init(|| Handles::new(task));
            if let Some(ended) = handles.ended.get(state as usize) {
                ended.increment(1);
            }
            if let Some(counter) = handles.items.get(state as usize).filter(|_| state.is_final()) {
                counter.increment(items.into());
            }
            if let Some(ran) = ran {
                handles.ran.record(ran);
            }
        }
        #[cfg(not(feature = "metrics"))]
        let _ = (task, state, items, ran);
    }
}
