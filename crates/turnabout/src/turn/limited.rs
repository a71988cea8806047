//! PURE: who is next at the places under a task's limit (a cap, a limit on one executor, or a rate).
//!
//! The ring says how many turns go to groups that wait for such a place, but not to which of them: takes that find the
//! limit reached move the ring past groups that got nothing, in step with whatever else there is to do, and the same group
//! could come first each time. So an executor remembers who had a place last, and gives the turns to those who have been
//! without one for longest. Groups of larger weight have as many places in a row. Whatever the unit of cost is: jobs of
//! one task are much alike.

use std::collections::{BTreeMap, HashMap};

use super::{Candidate, Tasks};
use crate::group::Settings;

/// An executor's memory of who had places under limits.
#[derive(Clone, Debug, Default)]
pub(super) struct Limited {
    /// Whether any task that the executor knows has a limit.
    any: bool,
    served: HashMap<String, Served>,
    services: u64,
}

/// When a group last had its full turn, and what is left of the present one.
#[derive(Clone, Copy, Debug)]
struct Served {
    at: u64,
    left: u32,
}

/// So many groups are remembered; past that all begin anew.
const MAX_SERVED: usize = 100_000;

/// The tasks of a group that can give nothing beyond tasks' limits; none if it has other work too.
pub(super) fn limits<'a>(candidate: &'a Candidate, settings: &Settings) -> Option<Vec<&'a str>> {
    let limited = |task: &str| settings.task(task).is_limited();
    candidate.streams.iter().all(|s| limited(&s.task)).then(|| {
        let mut tasks: Vec<&str> = candidate.streams.iter().map(|s| &*s.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    })
}

impl Limited {
    /// Looks whether limits matter to an executor of these tasks.
    pub(super) fn look(&mut self, tasks: &Tasks, settings: &Settings) {
        let limited =
            |(task, limits): (&String, &crate::group::TaskLimits)| limits.is_limited() && tasks.contains(task.as_str());
        self.any = settings.tasks.iter().any(limited);
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Gives the turns of groups that wait for places to those of them who have been without one for longest. `shares`
    /// are how many jobs each of these groups is to give.
    pub(super) fn hand_over(&self, shares: &mut [(usize, u32)], groups: &[Candidate], settings: &Settings) {
        if !self.any {
            return;
        }
        let mut waiting: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for (at, candidate) in groups.iter().enumerate() {
            if let Some(tasks) = limits(candidate, settings) {
                waiting.entry(tasks).or_default().push(at);
            }
        }
        for mut line in waiting.into_values() {
            let mut turns: u32 = line.iter().map(|at| std::mem::take(&mut shares[*at].1)).sum();
            line.sort_by_key(|at| self.last(&groups[*at].group));
            for (lap, at) in (0..).flat_map(|lap| line.iter().map(move |at| (lap, *at))) {
                if turns == 0 {
                    break;
                }
                let group = &groups[at].group;
                let weight = settings.group(group).weight();
                let begun = self.served.get(&**group).filter(|_| lap == 0);
                let visit = begun.map_or(weight, |served| served.left.min(weight)).min(turns);
                shares[at].1 += visit;
                turns -= visit;
            }
        }
    }

    /// When a group last had its full turn: lower is longer ago.
    pub(super) fn last(&self, group: &str) -> u64 {
        self.served.get(group).map_or(0, |served| served.at)
    }

    /// A group was offered a place and did not take it, because of a cap of its own, say: the next one in line comes
    /// first, or all would wait for it.
    pub(super) fn pass(&mut self, group: &str) {
        self.services += 1;
        if let Some(served) = self.served.get_mut(group) {
            served.at = self.services;
        } else {
            self.serve(group, 1);
        }
    }

    /// A group of this weight had a place.
    pub(super) fn serve(&mut self, group: &str, weight: u32) {
        if self.served.len() >= MAX_SERVED {
            self.served.clear();
        }
        self.services += 1;
        let full = weight.max(1);
        let served = self
            .served
            .entry(group.to_owned())
            .or_insert(Served { at: 0, left: full });
        served.left = served.left.min(full) - 1;
        if served.left == 0 {
            *served = Served {
                at: self.services,
                left: full,
            };
        }
    }
}
