//! Settings of both sides: any of them, at any time.

use std::time::Duration;

use super::{GROUPS, Oracle, QUEUES, TASKS};
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, Rate, Settings, TaskLimits};
use crate::retention::Retention;
use crate::store::{Configuration as _, Setting};

impl Oracle {
    /// Ended jobs are kept for a while, for seconds, or hardly.
    fn retention(&mut self) -> Retention {
        let rng = &mut self.rng;
        let mut time = || rng.bool().then(|| Duration::from_secs(rng.u64(..15)));
        Retention {
            success: time(),
            failed: time(),
            cancelled: time(),
        }
    }

    pub(super) async fn set(&mut self) {
        let max_running = if self.rng.bool() { Some(self.rng.u32(..4)) } else { None };
        let retention = self.retention();
        let setting = if self.one_in(6) {
            let paused = self.one_in(3);
            Setting::Queue(self.pick(&QUEUES).to_owned(), QueueSettings { paused })
        } else if self.one_in(4) {
            let paused = self.one_in(8);
            Setting::Global(GlobalSettings { paused, retention })
        } else if self.rng.bool() {
            let group = GroupSettings {
                weight: self.rng.bool().then(|| self.rng.u32(1..4)),
                max_running,
                max_share: None,
                max_unknown_tasks: None,
                max_unfinished: self.one_in(3).then(|| self.rng.u32(1..20)),
                paused: self.one_in(8),
                rate: self.rate(),
                retention,
            };
            if self.one_in(4) {
                // The defaults of all groups, which know neither pauses nor retention.
                let (paused, retention) = (false, Retention::default());
                let defaults = GroupSettings {
                    paused,
                    retention,
                    ..group
                };
                Setting::Group(String::new(), defaults)
            } else {
                Setting::Group(self.pick(&GROUPS).to_owned(), group)
            }
        } else {
            let task = TaskLimits {
                max_running,
                paused: self.one_in(8),
                rate: self.rate(),
                retention,
                ..TaskLimits::default()
            };
            Setting::Task(self.pick(&TASKS).to_owned(), task)
        };
        self.note(format!("set {setting:?}"));
        self.model.set(setting.clone()).await.expect("the model is set");
        self.store.set(setting).await.expect("the store is set");
        let model = self.model.settings().await.expect("the model has settings");
        let store = self.store.settings().await.expect("the store has settings");
        let all = |set: &Settings| {
            let groups = (set.groups.clone(), set.defaults);
            (groups, set.tasks.clone(), set.queues.clone(), set.global)
        };
        self.compare(all(&model), all(&store));
    }

    fn rate(&mut self) -> Option<Rate> {
        let rates = [None, None, Some("1/s burst 2"), Some("3/s"), Some("10/m burst 3")];
        let rate = rates[self.rng.usize(..rates.len())];
        rate.map(|text| text.parse().expect("a rate"))
    }
}
