//! Why a job waits, by whom slots are taken, and when it will start: laboratory workloads, in time that is moved by hand.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use super::{Exec, World, cases, job};
use crate::group::{GroupSettings, TaskLimits};
use crate::job::{Claimed, JobId, Priority};
use crate::jobs::{Jobs, Predicted};
use crate::lifecycle::Event;
use crate::store::{NewJob, Setting, Settle};

/// Slots of the executor.
const SLOTS: usize = 4;
const TICK: Duration = Duration::from_millis(500);

/// An executor that runs jobs of given lengths, tick by tick.
struct Bench<'a> {
    world: &'a World,
    exec: Exec,
    running: Vec<(Claimed, u32)>,
    /// How many ticks a job of a group takes.
    ticks: HashMap<&'static str, u32>,
    started: HashMap<JobId, Timestamp>,
}

impl<'a> Bench<'a> {
    async fn new(world: &'a World, ticks: &[(&'static str, u32)]) -> Self {
        Self {
            world,
            exec: world.executor().await,
            running: Vec::new(),
            ticks: ticks.iter().copied().collect(),
            started: HashMap::new(),
        }
    }

    async fn tick(&mut self) {
        let (mut ended, mut going) = (Vec::new(), Vec::new());
        for (job, left) in self.running.drain(..) {
            if left == 0 {
                ended.push(job);
            } else {
                going.push((job, left - 1));
            }
        }
        self.running = going;
        for job in ended {
            let settle = Settle {
                started: Some(self.started[&job.id]),
                ..self.exec.outcome(&job, Event::Succeed, false)
            };
            self.exec.settle(settle).await;
        }
        let free = SLOTS - self.running.len();
        if free > 0 {
            // As an executor does when a place under a cap has become free.
            self.exec.turns.forgive();
            for job in self.exec.take(free as u32).await {
                self.exec.start(&job).await;
                self.started.insert(job.id, self.world.clock.now());
                let ticks = self.ticks.get(job.group.as_str()).copied().unwrap_or(1);
                self.running.push((job, ticks - 1));
            }
        }
        self.world.advance(TICK);
        self.exec.heartbeat().await;
    }
}

/// Lets a workload run for a while, asks for all jobs that wait when they will start, and lets it run to its end. Says how
/// often that was right, in a hundred.
async fn hits(world: &World, name: &str, ticks: &[(&'static str, u32)], waiting: Vec<NewJob>) -> u32 {
    let jobs = Jobs::on(world.store.clone());
    let mut bench = Bench::new(world, ticks).await;
    let ids: Vec<JobId> = world.submit(waiting).await.iter().map(|job| job.id).collect();
    for _ in 0..20 {
        bench.tick().await;
    }
    let mut told: Vec<(JobId, Predicted)> = Vec::new();
    for id in ids.iter().filter(|id| !bench.started.contains_key(*id)) {
        let why = jobs.explain(*id).await.expect("it is there");
        told.push((*id, why.predicted.unwrap_or_else(|| panic!("{name}: someone can say"))));
    }
    for _ in 0..3000 {
        if told.iter().all(|(id, _)| bench.started.contains_key(id)) {
            break;
        }
        bench.tick().await;
    }
    let right = |(id, predicted): &&(JobId, Predicted)| {
        let start = bench.started[id];
        predicted.earliest <= start && start <= predicted.latest
    };
    let hits = told.iter().filter(right).count() * 100 / told.len().max(1);
    println!("{name}: {} jobs, {hits} % started in the interval", told.len());
    u32::try_from(hits).expect("a percentage")
}

fn many(group: &str, jobs: usize) -> Vec<NewJob> {
    (0..jobs).map(|_| job(group)).collect()
}

async fn four_starts_in_five_lie_in_the_predicted_interval(world: &World) {
    let flood = [many("big", 60), many("a", 25), many("b", 25), many("c", 25)].concat();
    let right = hits(world, "flood", &[("big", 1), ("a", 1), ("b", 1), ("c", 1)], flood).await;
    assert!(right >= 80, "{right} %");
}

async fn four_starts_in_five_lie_in_the_interval_with_jobs_of_different_length(world: &World) {
    let mixed = [many("slow", 25), many("quick", 35), many("other", 35)].concat();
    let right = hits(world, "mixed", &[("slow", 8), ("quick", 1), ("other", 2)], mixed).await;
    assert!(right >= 80, "{right} %");
}

async fn four_starts_in_five_lie_in_the_interval_with_weights_limits_and_priorities(world: &World) {
    let heavy = GroupSettings {
        weight: Some(3),
        ..GroupSettings::default()
    };
    let limited = GroupSettings {
        max_running: Some(1),
        ..GroupSettings::default()
    };
    for (group, settings) in [("heavy", heavy), ("limited", limited)] {
        let setting = Setting::Group(group.to_owned(), settings);
        world.store.set(setting).await.expect("it is set");
    }
    let urgent = many("light", 20).into_iter().map(|job| NewJob {
        priority: Some(Priority::High),
        ..job
    });
    let all = [
        many("heavy", 50),
        many("light", 25),
        many("limited", 20),
        urgent.collect(),
    ]
    .concat();
    let right = hits(world, "weights", &[("heavy", 1), ("light", 1), ("limited", 2)], all).await;
    assert!(right >= 80, "{right} %");
}

async fn it_is_told_that_all_slots_are_taken_and_by_whom(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let mut bench = Bench::new(world, &[("big", 100)]).await;
    world.flood("big", 6).await;
    bench.tick().await;
    let id = world.add(job("a")).await;
    let why = jobs.explain(id).await.expect("it is there");
    assert_eq!((why.slots, why.held), (4, 4));
    assert_eq!(why.taken_by.len(), 1, "{why:?}");
    assert!(
        why.to_string()
            .contains("All 4 slots that it could run in are taken: 4 by `big`."),
        "{why}"
    );
    assert_eq!(why.predicted, None, "nothing has ended that could tell");
    let hidden = why.clone().without_others();
    assert!(hidden.to_string().contains("4 by other groups") && !hidden.to_string().contains("big"));
    let own = world.add(job("big")).await;
    let own = jobs.explain(own).await.expect("it is there").without_others();
    assert!(own.to_string().contains("4 by `big`"), "{own}");

    // What keeps it from running at all is told instead.
    let paused = TaskLimits {
        paused: true,
        ..TaskLimits::default()
    };
    world
        .store
        .set(Setting::Task("work".to_owned(), paused))
        .await
        .expect("it is set");
    let why = jobs.explain(id).await.expect("it is there").to_string();
    assert!(
        why.contains("The task `work` is paused.") && !why.contains("slots"),
        "{why}"
    );
}

async fn each_state_of_a_job_is_explained_and_so_are_the_limits_of_its_group_and_task(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let explain = async |id| jobs.explain(id).await.expect("it is there").to_string();
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    let text = explain(id).await;
    assert!(
        text.contains("is waiting.") && text.contains("It is number 1"),
        "{text}"
    );
    let claimed = exec.take_one().await;
    let text = explain(id).await;
    assert!(
        text.ends_with("is scheduled. An executor has it and will start it shortly."),
        "{text}"
    );
    exec.start(&claimed).await;
    let text = explain(id).await;
    assert!(text.ends_with("is running. It is not waiting."), "{text}");

    // One of them runs, and no more may.
    let next = world.add(job("a")).await;
    let one = |paused| GroupSettings {
        max_running: Some(1),
        paused,
        ..GroupSettings::default()
    };
    let set = async |setting| world.store.set(setting).await.expect("it is set");
    set(Setting::Group("a".to_owned(), one(false))).await;
    let limits = TaskLimits {
        max_running: Some(1),
        ..TaskLimits::default()
    };
    set(Setting::Task("work".to_owned(), limits)).await;
    let text = explain(next).await;
    for limit in ["group `a`", "task `work`"] {
        let sentence = format!("1 job of the {limit} is running, which is its limit.");
        assert!(text.contains(&sentence), "{text}");
    }
    set(Setting::Group("a".to_owned(), one(true))).await;
    let text = explain(next).await;
    assert!(
        text.contains("The group `a` is paused.") && text.contains("limit"),
        "{text}"
    );

    assert_eq!(jobs.cancel(id).await.expect("it runs"), crate::jobs::Cancel::Cancelling);
    let text = explain(id).await;
    assert!(text.ends_with("It was told to stop."), "{text}");
    let outcome = exec.outcome(&claimed, Event::Succeed, true);
    exec.settle(outcome).await;
    let text = explain(id).await;
    assert!(
        text.contains("is cancelled") && text.ends_with("It has ended."),
        "{text}"
    );
}

cases![
    four_starts_in_five_lie_in_the_predicted_interval,
    four_starts_in_five_lie_in_the_interval_with_jobs_of_different_length,
    four_starts_in_five_lie_in_the_interval_with_weights_limits_and_priorities,
    it_is_told_that_all_slots_are_taken_and_by_whom,
    each_state_of_a_job_is_explained_and_so_are_the_limits_of_its_group_and_task,
];
