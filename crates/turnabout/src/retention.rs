//! PURE: how long ended jobs are kept, by how they ended, whose they are and what they did.
//!
//! The most specific setting wins: the group's for that final state, then the task's, then the one for all jobs, then the
//! retention that the store was opened with. [`kept`] is that rule for one job; `rules` is the same rule turned round, for
//! stores that look for what is past its time. A test compares the two.
//!
//! What goes "at once" can still be read for [`LEAST`], so that whoever waits for a job, or follows it, learns how it ended.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::group::{GroupSettings, Settings, TaskLimits};
use crate::job::State;

/// The states in which jobs are kept.
pub(crate) const FINAL: [State; 3] = [State::Success, State::Failed, State::Cancelled];

/// How long ended jobs are kept, by their final state. What is not said is taken from the next, less specific setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
#[non_exhaustive]
pub struct Retention {
    /// Those that succeeded. Zero: they go at once, which is as soon as whoever waits for them has had [`LEAST`] to look.
    pub success: Option<Duration>,
    /// Those that failed.
    pub failed: Option<Duration>,
    /// Those that were cancelled.
    pub cancelled: Option<Duration>,
}

impl Retention {
    /// Nothing is kept for longer: about a hundred years.
    pub const LONGEST: Duration = Duration::from_hours(24 * 36_525);

    /// What is said about a state.
    pub fn of(&self, state: State) -> Option<Duration> {
        match state {
            State::Success => self.success,
            State::Failed => self.failed,
            State::Cancelled => self.cancelled,
            _ => None,
        }
    }

    /// The place of what is said about a state. None: it is not a final one.
    pub fn of_mut(&mut self, state: State) -> Option<&mut Option<Duration>> {
        match state {
            State::Success => Some(&mut self.success),
            State::Failed => Some(&mut self.failed),
            State::Cancelled => Some(&mut self.cancelled),
            _ => None,
        }
    }

    fn said(&self) -> impl Iterator<Item = Duration> {
        [self.success, self.failed, self.cancelled].into_iter().flatten()
    }
}

/// How a [`Retention`] is written: in seconds.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<f64>,
}

impl From<Written> for Retention {
    fn from(written: Written) -> Self {
        // What cannot be is as long as can be: better kept for too long than forgotten.
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Self::LONGEST);
        Self {
            success: written.success.map(time),
            failed: written.failed.map(time),
            cancelled: written.cancelled.map(time),
        }
    }
}

impl From<Retention> for Written {
    fn from(retention: Retention) -> Self {
        let seconds = |time: Duration| time.as_secs_f64();
        Self {
            success: retention.success.map(seconds),
            failed: retention.failed.map(seconds),
            cancelled: retention.cancelled.map(seconds),
        }
    }
}

/// Whatever is said, a job can be read for so long after its end: by whoever waits for its result, follows its changes, or has
/// to tell others of them. (Only a store that keeps nothing at all never writes an ended job down.)
pub const LEAST: Duration = Duration::from_secs(10);

/// How long a job is kept that has ended in this state.
pub fn kept(settings: &Settings, default: Duration, group: &str, task: &str, state: State) -> Duration {
    let group = settings.groups.get(group).and_then(|group| group.retention.of(state));
    let task = || settings.tasks.get(task).and_then(|task| task.retention.of(state));
    let all = || settings.global.retention.of(state);
    group.or_else(task).or_else(all).unwrap_or(default).max(LEAST)
}

/// Whether no ended job is kept at all, so that none needs to be written down first.
pub(crate) fn keeps_nothing(settings: &Settings, default: Duration) -> bool {
    default.is_zero() && said(settings).all(|kept| kept.is_zero())
}

/// What is kept no longer than this is looked for every few seconds.
pub(crate) const SOON: Duration = Duration::from_mins(5);

/// Whether ended jobs have to be looked for every few seconds.
pub(crate) fn any_soon(settings: &Settings, default: Duration) -> bool {
    shortest(settings, default) <= SOON && !keeps_nothing(settings, default)
}

/// The shortest time for which something is kept.
pub(crate) fn shortest(settings: &Settings, default: Duration) -> Duration {
    said(settings).fold(default, Duration::min)
}

/// Everything that is said by anybody.
fn said(settings: &Settings) -> impl Iterator<Item = Duration> {
    let groups = settings.groups.values().map(|group| group.retention);
    let tasks = settings.tasks.values().map(|task| task.retention);
    let all = std::iter::once(settings.global.retention);
    groups.chain(tasks).chain(all).flat_map(|retention| {
        let said: Vec<Duration> = retention.said().collect();
        said
    })
}

/// Ended jobs that are all kept for the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// How they ended.
    pub(crate) states: Vec<State>,
    /// Only those of these groups. None: of all others.
    pub(crate) groups: Option<Vec<String>>,
    /// Only those of these tasks. None: of all others.
    pub(crate) tasks: Option<Vec<String>>,
    /// Not those of these groups.
    pub(crate) except_groups: Vec<String>,
    /// Not those of these tasks.
    pub(crate) except_tasks: Vec<String>,
    /// So long.
    pub(crate) kept: Duration,
}

impl Rule {
    /// The numbers that the stores keep for these states.
    pub(crate) fn codes(&self) -> Vec<i16> {
        self.states.iter().copied().map(State::code).collect()
    }
}

/// What is kept for how long: each ended job is in exactly one of these. As few as there are different times.
pub(crate) fn rules(settings: &Settings, default: Duration) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for rule in FINAL.into_iter().flat_map(|state| rules_of(settings, default, state)) {
        let same = |other: &&mut Rule| {
            let states = rule.states.clone();
            rule == Rule {
                states,
                ..(**other).clone()
            }
        };
        match rules.iter_mut().find(same) {
            Some(other) => other.states.extend(rule.states),
            None => rules.push(rule),
        }
    }
    rules
}

fn rules_of(settings: &Settings, default: Duration, state: State) -> Vec<Rule> {
    let groups = by_time(&settings.groups, |group: &GroupSettings| group.retention.of(state));
    let tasks = by_time(&settings.tasks, |task: &TaskLimits| task.retention.of(state));
    let all_of = |parts: &BTreeMap<Duration, Vec<String>>| parts.values().flatten().cloned().collect::<Vec<_>>();
    let (except_groups, except_tasks) = (all_of(&groups), all_of(&tasks));
    let rest = Rule {
        states: vec![state],
        groups: None,
        tasks: None,
        except_groups,
        except_tasks: Vec::new(),
        kept: settings.global.retention.of(state).unwrap_or(default).max(LEAST),
    };
    let of_groups = groups.into_iter().map(|(kept, groups)| Rule {
        groups: Some(groups),
        except_groups: Vec::new(),
        kept,
        ..rest.clone()
    });
    let of_tasks = tasks.into_iter().map(|(kept, tasks)| Rule {
        tasks: Some(tasks),
        kept,
        ..rest.clone()
    });
    let mut rules: Vec<Rule> = of_groups.chain(of_tasks).collect();
    rules.push(Rule { except_tasks, ..rest });
    rules
}

/// Names by the time that is said for them, each list in order.
fn by_time<T>(all: &HashMap<String, T>, said: impl Fn(&T) -> Option<Duration>) -> BTreeMap<Duration, Vec<String>> {
    let mut parts: BTreeMap<Duration, Vec<String>> = BTreeMap::new();
    for (name, set) in all {
        if let Some(kept) = said(set) {
            parts.entry(kept.max(LEAST)).or_default().push(name.clone());
        }
    }
    for names in parts.values_mut() {
        names.sort_unstable();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    impl Rule {
        fn covers(&self, group: &str, task: &str, state: State) -> bool {
            let among = |names: &[String], name: &str| names.iter().any(|n| n == name);
            self.states.contains(&state)
                && self.groups.as_ref().is_none_or(|names| among(names, group))
                && self.tasks.as_ref().is_none_or(|names| among(names, task))
                && !among(&self.except_groups, group)
                && !among(&self.except_tasks, task)
        }
    }

    fn said(days: [Option<u32>; 3]) -> Retention {
        let [success, failed, cancelled] = days.map(|days| days.map(|days| DAY * days));
        Retention {
            success,
            failed,
            cancelled,
        }
    }

    #[test]
    fn c33_the_most_specific_setting_wins() {
        let mut settings = Settings::default();
        settings.global.retention = said([Some(0), None, None]);
        let task = TaskLimits {
            retention: said([Some(2), Some(60), None]),
            ..TaskLimits::default()
        };
        settings.tasks.insert("mail".to_owned(), task);
        let group = GroupSettings {
            retention: said([None, Some(90), None]),
            ..GroupSettings::default()
        };
        settings.groups.insert("acme".to_owned(), group);
        let days = |group, task, state| kept(&settings, DAY * 30, group, task, state).as_secs() / DAY.as_secs();
        assert_eq!(kept(&settings, DAY, "a", "t", State::Success), LEAST, "for all jobs");
        assert_eq!(days("a", "t", State::Failed), 30, "as the store was opened");
        assert_eq!(days("a", "mail", State::Success), 2, "the task before all");
        assert_eq!(days("a", "mail", State::Failed), 60);
        assert_eq!(days("acme", "mail", State::Failed), 90, "the group before the task");
        assert_eq!(
            days("acme", "mail", State::Success),
            2,
            "of which the group says nothing"
        );
        assert_eq!(days("acme", "mail", State::Cancelled), 30);
    }

    #[test]
    fn c33_each_ended_job_is_in_one_rule_with_the_time_that_it_is_kept() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let mut settings = Settings::default();
            let mut some = || said([(); 3].map(|()| random.bool().then(|| random.u32(0..4))));
            settings.global.retention = some();
            for name in ["a", "b", "c"] {
                let group = GroupSettings {
                    retention: some(),
                    ..GroupSettings::default()
                };
                settings.groups.insert(name.to_owned(), group);
                let task = TaskLimits {
                    retention: some(),
                    ..TaskLimits::default()
                };
                settings.tasks.insert(name.to_owned(), task);
            }
            let default = DAY * 9;
            let rules = rules(&settings, default);
            for group in ["a", "b", "c", "other"] {
                for task in ["a", "b", "c", "other"] {
                    for state in FINAL {
                        let of: Vec<_> = rules.iter().filter(|rule| rule.covers(group, task, state)).collect();
                        assert_eq!(of.len(), 1, "{group} {task} {state}: {of:?}");
                        assert_eq!(of[0].kept, kept(&settings, default, group, task, state));
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_kept_only_if_nobody_keeps_anything() {
        let mut settings = Settings::default();
        assert!(keeps_nothing(&settings, Duration::ZERO));
        assert!(!keeps_nothing(&settings, DAY));
        settings.global.retention = said([Some(0), None, None]);
        assert!(keeps_nothing(&settings, Duration::ZERO));
        settings.global.retention = said([Some(0), Some(30), None]);
        assert!(!keeps_nothing(&settings, Duration::ZERO));
        assert_eq!(shortest(&settings, DAY), Duration::ZERO);
    }

    #[test]
    fn a_retention_is_written_in_seconds_and_read_again() {
        let retention = said([Some(0), None, Some(1)]);
        let text = serde_json::to_string(&retention).expect("JSON");
        assert_eq!(text, r#"{"success":0.0,"cancelled":86400.0}"#);
        assert_eq!(serde_json::from_str::<Retention>(&text).expect("read"), retention);
        let wrong: Retention = serde_json::from_str(r#"{"failed":-1}"#).expect("read");
        assert_eq!(wrong.failed, Some(Retention::LONGEST), "rather too long than forgotten");
    }
}
