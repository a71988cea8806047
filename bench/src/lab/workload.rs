//! What a workload is: who wants what when, and who is there to do it. Everything follows from one seed.

use std::time::Duration;

use turnabout::group::{GroupSettings, Settings, TaskLimits};
use turnabout::task::Policy;

/// Time in the laboratory: microseconds since the beginning.
pub(super) type Micros = u64;

/// One second.
pub(super) const SECOND: Micros = 1_000_000;

/// So many seconds, to the nearest millisecond: what a logarithm says in its last digit must not change a chart.
pub(super) fn seconds(seconds: f64) -> Micros {
    (seconds * 1e3).round() as Micros * 1_000
}

/// As a number of seconds.
pub(super) fn as_seconds(micros: Micros) -> f64 {
    micros as f64 / SECOND as f64
}

/// A workload.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    /// Its name on the command line and in file names.
    pub(crate) name: &'static str,
    /// Who wants something.
    pub(crate) groups: Vec<Group>,
    /// What they want, in the order in which it is submitted.
    pub(crate) jobs: Vec<Job>,
    /// Who does it.
    pub(crate) crew: Vec<Shift>,
    /// How many jobs of a task may run at a time.
    pub(crate) limits: Vec<(&'static str, u32)>,
    /// The delay before a job's first retry.
    pub(crate) retry_delay: Duration,
    /// When to stop looking. `None`: when all is done.
    pub(crate) until: Option<Micros>,
    /// By how much a real run is faster.
    pub(crate) hurry: u32,
}

/// A group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Which groups are shown together.
    pub(crate) class: &'static str,
    pub(crate) weight: u32,
    pub(crate) cap: Option<u32>,
    /// Whether it wants little, and should not have to wait because others want much.
    pub(crate) quiet: bool,
    /// What its jobs do.
    pub(crate) task: &'static str,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Which group's.
    pub(crate) group: usize,
    /// When it is submitted.
    pub(crate) at: Micros,
    /// How long an attempt takes.
    pub(crate) lasts: Micros,
    pub(crate) items: u32,
    /// How many attempts fail before one succeeds.
    pub(crate) failures: u32,
}

/// An executor, and when it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) from: Micros,
    /// From then on it takes no more jobs, and ends those that run.
    pub(crate) until: Option<Micros>,
    pub(crate) slots: u32,
}

/// What jobs do unless said otherwise.
pub(super) const TASK: &str = "work";

impl Group {
    pub(super) fn new(name: impl Into<String>, class: &'static str) -> Self {
        Self {
            name: name.into(),
            class,
            weight: 1,
            cap: None,
            quiet: false,
            task: TASK,
        }
    }

    pub(super) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(super) fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    pub(super) fn cap(mut self, cap: u32) -> Self {
        self.cap = Some(cap);
        self
    }

    pub(super) fn task(mut self, task: &'static str) -> Self {
        self.task = task;
        self
    }
}

impl Workload {
    /// A workload without groups and jobs, for so many executors of so many slots.
    pub(super) fn new(name: &'static str, executors: usize, slots: u32) -> Self {
        let shift = Shift {
            from: 0,
            until: None,
            slots,
        };
        Self {
            name,
            groups: Vec::new(),
            jobs: Vec::new(),
            crew: vec![shift; executors],
            limits: Vec::new(),
            retry_delay: Policy::default().retry_delay,
            until: None,
            hurry: 100,
        }
    }

    /// Adds a group; says which one it is.
    pub(super) fn group(&mut self, group: Group) -> usize {
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// Adds a job of one item.
    pub(super) fn job(&mut self, group: usize, at: Micros, lasts: Micros) {
        self.job_of(group, at, lasts, 1);
    }

    /// Adds a job.
    pub(super) fn job_of(&mut self, group: usize, at: Micros, lasts: Micros, items: u32) {
        self.jobs.push(Job {
            group,
            at,
            lasts,
            items,
            failures: 0,
        });
    }

    /// Puts the jobs into the order in which they are submitted.
    pub(super) fn sorted(mut self) -> Self {
        self.jobs.sort_by_key(|job| job.at);
        self
    }

    /// The same so many times faster, as a real run sees it. What takes a second in every executor (sharing accounts)
    /// goes on taking a second.
    pub(super) fn hurried(&self, times: u32) -> Self {
        let faster = |micros: Micros| micros / Micros::from(times.max(1));
        let mut workload = self.clone();
        for job in &mut workload.jobs {
            job.at = faster(job.at);
            job.lasts = faster(job.lasts);
        }
        for shift in &mut workload.crew {
            shift.from = faster(shift.from);
            shift.until = shift.until.map(faster);
        }
        workload.retry_delay /= times.max(1);
        workload.until = workload.until.map(faster);
        workload
    }

    /// What is set for groups and tasks.
    pub(super) fn settings(&self) -> Settings {
        let groups = self.groups.iter().map(|group| {
            let mut settings = GroupSettings::default();
            settings.weight = Some(group.weight);
            settings.max_running = group.cap;
            (group.name.clone(), settings)
        });
        let tasks = self.limits.iter().map(|(task, limit)| {
            let mut limits = TaskLimits::default();
            limits.max_running = Some(*limit);
            ((*task).to_owned(), limits)
        });
        let mut settings = Settings::default();
        settings.version = 1;
        settings.groups = groups.collect();
        settings.tasks = tasks.collect();
        settings
    }

    /// When and whether failed jobs run again. Without jitter, so that it is known when a real one could have run.
    pub(super) fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.retry_delay = self.retry_delay;
        policy.jitter = false;
        policy
    }

    /// All tasks.
    pub(super) fn tasks(&self) -> Vec<&'static str> {
        let mut tasks: Vec<_> = self.groups.iter().map(|group| group.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// Whether everybody has work from the beginning to the end.
    pub(super) fn is_saturated(&self) -> bool {
        self.until.is_some() && self.jobs.iter().all(|job| job.at == 0)
    }

    /// The classes of groups, in order.
    pub(super) fn classes(&self) -> Vec<&'static str> {
        let mut classes = Vec::new();
        for group in &self.groups {
            if !classes.contains(&group.class) {
                classes.push(group.class);
            }
        }
        classes
    }

    /// How many slots there are when everybody is there.
    pub(super) fn most_slots(&self) -> u32 {
        self.crew.iter().map(|shift| shift.slots).sum()
    }
}
