//! How far two backlogged groups get apart.
//!
//! A group is backlogged while a job of it waits. From the moment at which two groups are both backlogged, what they
//! have had per weight is compared until one of them is not: by how much is one ahead of the other at the most? Groups that
//! different caps hold back are not compared.

use super::shares::{Step, steps};
use crate::lab::trace::Trace;
use crate::lab::workload::{Micros, Workload, as_seconds};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds in slots.
    Time,
    /// Items of jobs that have started.
    Items,
    /// Jobs that have started.
    Jobs,
}

/// What a group has had, and wants.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    had: f64,
    since: Micros,
    waiting: u32,
    running: u32,
    backlogged: bool,
}

impl Account {
    /// What it has had by now, by time.
    fn by(&self, now: Micros, unit: Unit) -> f64 {
        match unit {
            Unit::Time => self.had + f64::from(self.running) * as_seconds(now - self.since),
            Unit::Items | Unit::Jobs => self.had,
        }
    }

    /// Counts up to now.
    fn advance(&mut self, now: Micros, unit: Unit) {
        self.had = self.by(now, unit);
        self.since = now;
    }
}

/// The largest lag between two groups, per weight.
pub(crate) fn lag(workload: &Workload, trace: &Trace, unit: Unit) -> f64 {
    let n = workload.groups.len();
    let mut accounts = vec![Account::default(); n];
    // For each two: how far apart they were when they became backlogged together.
    let mut base = vec![0.0; n * n];
    let mut worst = 0.0_f64;
    let per_weight = |accounts: &[Account], group: usize, now| {
        accounts[group].by(now, unit) / f64::from(workload.groups[group].weight)
    };
    let apart =
        |accounts: &[Account], a: usize, b: usize, now| per_weight(accounts, a, now) - per_weight(accounts, b, now);
    let alike = |a: usize, b: usize| {
        let (a, b) = (&workload.groups[a], &workload.groups[b]);
        a.cap.is_none() && b.cap.is_none() && (a.task == b.task || workload.limits.is_empty())
    };
    let steps = steps(trace);
    for moment in steps.chunk_by(|a, b| a.0 == b.0) {
        let now = moment[0].0;
        let mut touched: Vec<usize> = moment.iter().map(|step| step.2).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut compare = |accounts: &[Account]| {
            for a in &touched {
                for b in (0..n).filter(|b| accounts[*a].backlogged && accounts[*b].backlogged && alike(*a, *b)) {
                    worst = worst.max((apart(accounts, *a, b, now) - base[a * n + b]).abs());
                }
            }
        };
        // Slot time grows steadily between two steps, so it is furthest apart just before one.
        compare(&accounts);
        for (_, step, group, run) in moment {
            let account = &mut accounts[*group];
            account.advance(now, unit);
            match step {
                Step::Ready => account.waiting += 1,
                Step::Start => {
                    account.waiting -= 1;
                    account.running += 1;
                    account.had += match unit {
                        Unit::Time => 0.0,
                        Unit::Items => f64::from(workload.jobs[trace.runs[*run].job].items),
                        Unit::Jobs => 1.0,
                    };
                }
                Step::End => account.running -= 1,
            }
        }
        // Items and jobs grow at once.
        for a in &touched {
            accounts[*a].backlogged &= accounts[*a].waiting > 0;
        }
        compare(&accounts);
        for a in &touched {
            if accounts[*a].waiting > 0 && !accounts[*a].backlogged {
                accounts[*a].backlogged = true;
                for b in (0..n).filter(|b| accounts[*b].backlogged) {
                    let distance = apart(&accounts, *a, b, now);
                    base[a * n + b] = distance;
                    base[b * n + a] = -distance;
                }
            }
        }
    }
    // Those that are still backlogged at the end.
    for a in 0..n {
        for b in (0..a).filter(|b| accounts[a].backlogged && accounts[*b].backlogged && alike(a, *b)) {
            worst = worst.max((apart(&accounts, a, b, trace.end) - base[a * n + b]).abs());
        }
    }
    worst
}
