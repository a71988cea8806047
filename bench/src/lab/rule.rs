//! By which rule jobs are chosen: the three units of cost, and first in, first out to hold them against.

use clap::ValueEnum;
use turnabout::Fairness;
use turnabout::group::Settings;

use super::workload::{Group, Workload};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Rule {
    /// What a plain queue does: everybody is in one group. Weights and caps of groups mean nothing there.
    Fifo,
    /// Each job costs 1.
    Jobs,
    /// A job costs its items.
    Items,
    /// A job costs its seconds.
    Time,
}

impl Rule {
    pub(super) const ALL: [Self; 4] = [Self::Fifo, Self::Jobs, Self::Items, Self::Time];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Jobs => "jobs",
            Self::Items => "items",
            Self::Time => "time",
        }
    }

    /// The unit of cost that executors are told.
    pub(super) fn fairness(self) -> Fairness {
        match self {
            Self::Fifo | Self::Jobs => Fairness::Jobs,
            Self::Items => Fairness::Items,
            Self::Time => Fairness::Time,
        }
    }

    /// In which group of the store a group's jobs are.
    pub(super) fn store_group(self, group: &Group) -> &str {
        match self {
            Self::Fifo => "everybody",
            _ => &group.name,
        }
    }

    /// What is set in the store.
    pub(super) fn settings(self, workload: &Workload) -> Settings {
        let mut settings = workload.settings();
        if self == Self::Fifo {
            settings.groups.clear();
        }
        settings
    }
}
