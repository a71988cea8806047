//! PURE: what a job costs its group, and when that is booked: an estimate when it is taken, more while it runs longer than
//! that, the truth at its end.

use super::{Fairness, Turns};

impl Turns {
    /// A job was taken: its group is charged what it will probably cost, which is returned. By jobs nothing is charged.
    pub fn charge(&mut self, group: &str, weight: u32, items: u32) -> Option<f64> {
        let known = match self.fairness {
            Fairness::Jobs => return None,
            Fairness::Items => Some(f64::from(items)),
            Fairness::Time => None,
        };
        Some(self.accounts.take(group, weight, known))
    }

    /// A job has been running for so many seconds: if its group was charged less than that, it is charged the rest. What
    /// was charged in total is returned.
    pub fn charge_running(&mut self, group: &str, weight: u32, charged: f64, seconds: f64) -> f64 {
        if self.fairness != Fairness::Time || seconds <= charged {
            return charged;
        }
        self.accounts.correct(group, weight, seconds - charged);
        seconds
    }

    /// A job that its group was charged so much for has ended, and really cost this. `None`: it never started.
    pub fn settle(&mut self, group: &str, weight: u32, charged: f64, cost: Option<f64>) {
        if self.fairness == Fairness::Jobs {
            return;
        }
        self.accounts.correct(group, weight, cost.unwrap_or(0.0) - charged);
        // A job that never started teaches nothing about what jobs of its group cost.
        self.accounts.ended(group, cost.unwrap_or(charged));
    }
}

impl Fairness {
    /// What a job of so many items costs that held a slot for so many seconds.
    pub fn cost(self, items: u32, seconds: f64) -> f64 {
        match self {
            Self::Jobs => 1.0,
            Self::Items => f64::from(items),
            Self::Time => seconds,
        }
    }
}
