//! PURE: who gets which share of the slots, who waits for how long, and who harms whom.
//!
//! Someone looks at the store now and then ([`Look`]) and tells what is seen. From that the accounts of the last 1, 10 and
//! 60 minutes are kept. They are estimates, and the better the more often one looks: a group that holds 3 of 4 slots in
//! every look has used three quarters of the slot time. Memory is bounded: of each step of time no more than
//! [`MAX_GROUPS`] groups are told apart, and the others are added up.

mod report;
#[cfg(test)]
mod tests;
mod waits;
mod window;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::group::Settings;
use crate::job::State;
use crate::store::insight::{Ended, Head, Held};
use crate::store::overview::Member;
pub use report::{GroupShare, Report};
use window::Window;

/// So many groups are told apart in each step of time.
pub const MAX_GROUPS: usize = 10_000;
/// After a longer pause between two looks nothing is known about the time between them.
const BLIND: Duration = Duration::from_mins(1);

/// What someone sees who looks at the store.
#[derive(Debug)]
pub struct Look<'a> {
    /// When: time since some fixed moment.
    pub at: Duration,
    /// All executors.
    pub executors: &'a [Member],
    /// What they hold.
    pub held: &'a [Held],
    /// The streams of ready jobs.
    pub heads: &'a [Head],
    /// Jobs that ended since the last look: all, or as many as were read.
    pub ended: &'a [Ended],
    /// How many ended since the last look.
    pub ended_jobs: u64,
    /// What is set for groups and tasks.
    pub settings: &'a Settings,
    /// The moment by the store's clock, to say who was heard of.
    pub now: jiff::Timestamp,
}

/// The accounts.
#[derive(Debug)]
pub struct Shares {
    windows: [Window; 3],
    last: Option<Last>,
    /// The names of groups, one copy of each.
    names: HashSet<Arc<str>>,
}

/// What was seen last.
#[derive(Debug)]
struct Last {
    at: Duration,
    slots: u32,
    /// Jobs in executors' hands.
    held: u64,
    groups: HashMap<Arc<str>, Standing>,
    /// Weights of all groups that wait for a turn, added up.
    waiting_weight: f64,
}

/// How a group stands.
#[derive(Clone, Debug, Default)]
struct Standing {
    weight: f64,
    held: u64,
    /// The heads of its streams that executors may take, and each one's place.
    heads: Vec<(u64, i64)>,
    /// Since when none of them has moved.
    still: Duration,
    /// Submitted: the oldest of the heads.
    oldest: Option<jiff::Timestamp>,
}

impl Standing {
    fn waits(&self) -> bool {
        !self.heads.is_empty()
    }

    /// Whether one of the heads of before has gone, or has moved on.
    fn was_served(&self, before: &Self) -> bool {
        let moved = |(stream, place): &(u64, i64)| self.heads.iter().all(|(s, p)| s != stream || p > place);
        before.heads.iter().any(moved) || self.held > before.held
    }
}

impl Default for Shares {
    fn default() -> Self {
        let window = |seconds, steps| Window::new(Duration::from_secs(seconds), steps);
        Self {
            windows: [window(10, 6), window(60, 10), window(300, 12)],
            last: None,
            names: HashSet::new(),
        }
    }
}

impl Shares {
    /// Takes note of what is seen.
    pub fn observe(&mut self, look: &Look<'_>) {
        let slots = slots(look);
        let mut groups = self.standings(look);
        let before = self.last.take();
        for (name, standing) in &mut groups {
            let former = before.as_ref().and_then(|last| last.groups.get(name));
            standing.still = match former {
                Some(former) if former.waits() && !standing.was_served(former) => former.still,
                _ => look.at,
            };
        }
        let held: u64 = groups.values().map(|standing| standing.held).sum();
        let waiting = groups.values().filter(|standing| standing.waits());
        let last = Last {
            at: look.at,
            slots,
            held,
            waiting_weight: waiting.map(|standing| standing.weight).sum(),
            groups,
        };
        let since = before.as_ref().map(|before| look.at.saturating_sub(before.at));
        let held_before = before.as_ref().map_or(held, |before| before.held);
        let started = (look.ended_jobs + held).saturating_sub(held_before);
        for window in &mut self.windows {
            window.advance(look.at);
            if let Some(since) = since.filter(|since| *since <= BLIND) {
                account(window, &last, since.as_secs_f64(), started);
            }
        }
        self.note_ended(look.ended);
        self.last = Some(last);
        // Names of groups that nothing is known about any longer.
        self.names.retain(|name| Arc::strong_count(name) > 1);
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.names.insert(Arc::clone(&new));
        new
    }

    /// All groups that hold slots or wait for some.
    fn standings(&mut self, look: &Look<'_>) -> HashMap<Arc<str>, Standing> {
        let mut groups: HashMap<Arc<str>, Standing> = HashMap::new();
        for held in look.held {
            let name = self.name(&held.group);
            groups.entry(name).or_default().held += held.jobs;
        }
        let takers = Takers::new(look);
        for head in look.heads.iter().filter(|head| takers.take(head, look.settings)) {
            let full = look.settings.group(&head.group).max_running;
            let name = self.name(&head.group);
            let standing = groups.entry(name).or_default();
            if full.is_some_and(|full| standing.held >= full.into()) {
                continue;
            }
            standing.heads.push((stream(head), head.seq));
            standing.oldest = standing.oldest.into_iter().chain([head.submitted]).min();
        }
        for (name, standing) in &mut groups {
            standing.weight = look.settings.group(name).weight().into();
        }
        groups
    }

    fn note_ended(&mut self, ended: &[Ended]) {
        for job in ended {
            let Some(waited) = job.waited.filter(|_| job.attempts <= 1) else {
                continue;
            };
            let name = self.name(&job.group);
            for window in &mut self.windows {
                if let Some(cell) = window.cell(&name) {
                    cell.waits.add(waited);
                }
            }
        }
        let failed = ended.iter().filter(|job| job.state == State::Failed).count() as u64;
        for window in &mut self.windows {
            window.totals().failed += failed;
        }
    }

    /// How many groups are told apart, in the step that has most.
    pub fn groups(&self) -> usize {
        self.windows.iter().map(Window::groups).max().unwrap_or(0)
    }
}

/// Adds up a time in which things stood as they do now.
fn account(window: &mut Window, last: &Last, seconds: f64, started: u64) {
    let totals = window.totals();
    totals.started += started;
    totals.seconds += seconds;
    if last.groups.is_empty() {
        return;
    }
    totals.active += seconds;
    let held = last.held as f64;
    let busy = held.min(last.slots.into());
    totals.slot_seconds += busy * seconds;
    let weight: f64 = last.groups.values().map(|standing| standing.weight).sum();
    let waiting = last.groups.values().filter(|standing| standing.waits()).count();
    for (name, standing) in &last.groups {
        let share = if held > 0.0 { standing.held as f64 / held } else { 0.0 };
        let entitled = standing.weight / weight;
        let others_wait = waiting > usize::from(standing.waits());
        let cell = window.cell_or_rest(name);
        cell.used += share * busy * seconds;
        cell.entitled += entitled * seconds;
        if others_wait && held > 0.0 {
            cell.over += (share - entitled) * seconds;
        }
        if standing.waits() {
            cell.got += share * seconds;
            cell.due += entitled * seconds;
        }
    }
}

/// Slots of executors that are there and may take jobs.
fn slots(look: &Look<'_>) -> u32 {
    let there = look.executors.iter().filter(|member| member.is_there(look.now));
    there.map(|member| member.info.slots).sum()
}

/// Which jobs executors would take.
struct Takers<'a> {
    takers: Vec<&'a Member>,
}

impl<'a> Takers<'a> {
    fn new(look: &'a Look<'_>) -> Self {
        let there = |member: &&Member| member.is_there(look.now);
        Self {
            takers: look.executors.iter().filter(there).collect(),
        }
    }

    fn take(&self, head: &Head, settings: &Settings) -> bool {
        if settings.is_paused(&head.queue, &head.group, &head.task) {
            return false;
        }
        let knows =
            |member: &&Member| member.info.queues.contains(&head.queue) && member.info.tasks.contains(&head.task);
        self.takers.iter().any(knows)
    }
}

/// A number for a stream.
fn stream(head: &Head) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    (&head.queue, head.lane, &head.task).hash(&mut hasher);
    hasher.finish()
}
