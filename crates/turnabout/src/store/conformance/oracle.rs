//! The oracle: random sequences of operations, on the model and on another store. After every single operation both
//! must have answered the same, and at the end they must hold the same jobs, in the same order.
//!
//! Only the values of `seq` may differ (a store may leave gaps), never what they put first.

mod hooks;
mod settings;
mod steps;
mod words;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::world::settings;
use super::{Exec, World, cases, in_memory, seeds};
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, TaskLimits};
use crate::hook::{Hook, Hooks};
use crate::job::{Claimed, Job, JobId, Priority};
use crate::lifecycle::{Event, Policy};
use crate::store::model::Model;
use crate::store::{Filter, Overview as _, Setting, Store, Which};
use crate::task::TaskSettings;
use crate::turn::{Fairness, Scheme, Turns};

/// Operations in one sequence.
const STEPS: usize = 200;
/// So many of them are shown when something is wrong.
const SHOWN: usize = 25;
const GROUPS: [&str; 4] = ["a", "b", "b/c", "d"];
const TASKS: [&str; 3] = ["work", "mail", "other"];
const QUEUES: [&str; 2] = ["default", "ocr"];
const EVERYTHING: u32 = 1_000_000;

/// The same executor on both sides.
struct Pair {
    model: Exec,
    store: Exec,
}

/// A job that an executor was given, and may still believe to hold.
struct Held {
    executor: Uuid,
    job: Claimed,
}

struct Oracle {
    seed: u64,
    rng: fastrand::Rng,
    model: Arc<Model>,
    store: Arc<dyn Store>,
    clock: crate::clock::ManualClock,
    pairs: Vec<Pair>,
    held: Vec<Held>,
    /// Claims that are over; what they write must be refused.
    past: Vec<(Held, Uuid)>,
    ids: Vec<JobId>,
    /// Whether anything but takes has happened since the last take.
    happened: bool,
    log: VecDeque<String>,
}

impl Oracle {
    fn note(&mut self, step: String) {
        self.log.push_back(step);
        if self.log.len() > SHOWN {
            self.log.pop_front();
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "most answers are made just to be compared")]
    fn compare<T: PartialEq + Debug>(&self, model: T, store: T) {
        if model != store {
            let steps: Vec<&str> = self.log.iter().map(String::as_str).collect();
            panic!(
                "seed {}: the store differs from the model.\n{}\nthe last steps:\n{}",
                self.seed,
                difference(&format!("{model:#?}"), &format!("{store:#?}")),
                steps.join("\n")
            );
        }
    }

    /// A random UUID that does not depend on anything but the seed.
    fn uuid(&mut self) -> Uuid {
        uuid::Builder::from_random_bytes(self.rng.u128(..).to_be_bytes()).into_uuid()
    }

    async fn hire(&mut self) {
        let incarnation = self.uuid();
        let (queues, tasks): (&[&str], &[&str]) = if self.rng.bool() {
            (&["default"], &["work", "mail"])
        } else {
            (&["ocr", "default"], &["work", "other"])
        };
        let pair = Pair {
            model: self.exec(self.model.clone(), incarnation, queues, tasks),
            store: self.exec(self.store.clone(), incarnation, queues, tasks),
        };
        pair.model.register().await;
        pair.store.register().await;
        self.pairs.push(pair);
    }

    fn exec(&self, store: Arc<dyn Store>, incarnation: Uuid, queues: &[&str], tasks: &[&str]) -> Exec {
        let tasks = tasks.iter().map(|name| task(name)).collect();
        let mut exec = Exec::new(store, incarnation, queues, tasks);
        exec.kind = format!("{}-{}", self.seed, exec.kind);
        exec.turns = Turns::new(Fairness::Jobs, Scheme::default(), self.seed);
        exec
    }

    /// Everything that there is, on both sides.
    async fn compare_all(&mut self) {
        let filter = Filter {
            limit: EVERYTHING,
            ..Filter::default()
        };
        let model = self.model.list(&filter).await.expect("the model lists");
        let store = self.store.list(&filter).await.expect("the store lists");
        self.compare(order(&model), order(&store));
        self.compare(plain(model), plain(store));
        self.compare(
            self.model.counts().await.expect("the model counts"),
            self.store.counts().await.expect("the store counts"),
        );
        self.model.check();
    }

    /// Leaves both sides empty for the next seed.
    async fn clear(&mut self) {
        for pair in std::mem::take(&mut self.pairs) {
            self.compare(pair.model.die().await, pair.store.die().await);
        }
        self.held.clear();
        self.past.clear();
        for store in [self.model.clone() as Arc<dyn Store>, self.store.clone()] {
            let groups = GROUPS.map(|name| Setting::Group(name.to_owned(), GroupSettings::default()));
            let tasks = TASKS.map(|name| Setting::Task(name.to_owned(), TaskLimits::default()));
            let queues = QUEUES.map(|name| Setting::Queue(name.to_owned(), QueueSettings::default()));
            let all = [
                Setting::Global(GlobalSettings::default()),
                Setting::Group(String::new(), GroupSettings::default()),
            ];
            for setting in groups.into_iter().chain(tasks).chain(queues).chain(all) {
                store.set(setting).await.expect("it is set");
            }
        }
        for event in [Event::Cancel, Event::Delete] {
            let ids = std::mem::take(&mut self.ids);
            for store in [self.model.clone() as Arc<dyn Store>, self.store.clone()] {
                store
                    .change(Which::Ids(ids.clone()), event)
                    .await
                    .expect("change works");
            }
            self.ids = ids;
        }
        self.ids.clear();
        self.note("cleared".to_owned());
        self.compare_all().await;
    }
}

/// The tasks differ in what a failure or a loss does to their jobs.
fn task(name: &str) -> TaskSettings {
    let plain = settings(name);
    match name {
        "work" => TaskSettings {
            policy: Policy {
                retries: 2,
                retry_delay: Duration::from_secs(3),
                ..plain.policy
            },
            ..plain
        },
        "mail" => TaskSettings {
            priority: Priority::High,
            policy: Policy {
                restartable: false,
                ..plain.policy
            },
            hooks: Hooks::NONE.with(Hook::Error).with(Hook::Cancelled),
            ..plain
        },
        _ => TaskSettings {
            queue: "ocr".to_owned(),
            max_unfinished: Some(4),
            hooks: Hooks::NONE.with(Hook::Cancelled).with(Hook::Delete),
            ..plain
        },
    }
}

/// What the two say between their common beginning and end.
fn difference(model: &str, store: &str) -> String {
    let (model, store): (Vec<&str>, Vec<&str>) = (model.lines().collect(), store.lines().collect());
    let same = model.iter().zip(&store).take_while(|(a, b)| a == b).count();
    let most = model.len().min(store.len()) - same;
    let end = model
        .iter()
        .rev()
        .zip(store.iter().rev())
        .take(most)
        .take_while(|(a, b)| a == b)
        .count();
    let between = |lines: &[&str]| lines[same..lines.len() - end].join("\n");
    format!("model:\n{}\nstore:\n{}", between(&model), between(&store))
}

/// Without the values of `seq`.
fn plain(jobs: Vec<Job>) -> Vec<Job> {
    jobs.into_iter().map(|job| Job { seq: 0, ..job }).collect()
}

/// The ready jobs of each group in order of `seq`. (Between groups it says nothing: of a batch, jobs under a limit may
/// be stored after the others.)
fn order(jobs: &[Job]) -> Vec<JobId> {
    let mut ready: Vec<&Job> = jobs.iter().filter(|job| job.lane.is_some()).collect();
    ready.sort_by_key(|job| (&job.group, job.seq));
    ready.into_iter().map(|job| job.id).collect()
}

async fn random_operations_have_the_same_results_as_in_the_model(world: &World) {
    let mut oracle = Oracle {
        seed: 0,
        rng: fastrand::Rng::new(),
        model: world.model_beside(),
        store: world.store.clone(),
        clock: world.clock.clone(),
        pairs: Vec::new(),
        held: Vec::new(),
        past: Vec::new(),
        ids: Vec::new(),
        happened: false,
        log: VecDeque::new(),
    };
    for seed in seeds(30) {
        println!("seed {seed}");
        oracle.seed = seed;
        oracle.rng = fastrand::Rng::with_seed(seed);
        oracle.log.clear();
        for _ in 0..3 {
            oracle.hire().await;
        }
        for _ in 0..STEPS {
            oracle.step().await;
        }
        oracle.compare_all().await;
        oracle.clear().await;
    }
}

cases!(random_operations_have_the_same_results_as_in_the_model);
in_memory!(random_operations_have_the_same_results_as_in_the_model);
