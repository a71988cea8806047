//! What nobody here can take costs nothing: jobs of unknown tasks, and of paused groups. Measured by the steps of `SQLite`'s
//! machine, which say how much was walked, on any computer.

use rusqlite::StatementStatus;

use super::life::Hand;
use super::*;
use crate::group::{QueueSettings, TaskLimits};
use crate::store::Setting;

/// Every statement of a take.
const STATEMENTS: [&str; 11] = [
    sql!("registered"),
    sql!("settings_version"),
    sql!("ring"),
    sql!("peek_tasks"),
    sql!("peek"),
    sql!("ring_move"),
    sql!("heads"),
    sql!("claim"),
    sql!("stream_move"),
    sql!("stream_close"),
    sql!("sweep"),
];

/// The steps of these statements since they were last asked for.
async fn steps(store: &SqliteStore) -> i32 {
    let count = |tx: &mut Tx<'_>| {
        let mut steps = 0;
        for sql in STATEMENTS {
            steps += tx.connection.prepare_cached(sql)?.reset_status(StatementStatus::VmStep);
        }
        Ok(steps)
    };
    store.write("counting", count).await.expect("counted")
}

async fn pause(store: &SqliteStore, group: &str) {
    let paused = GroupSettings {
        paused: true,
        ..GroupSettings::default()
    };
    store.set(Setting::Group(group.to_owned(), paused)).await.expect("set");
}

/// What takes of jobs of other groups cost, one after the other, beside these jobs: twice as by an executor that has forgotten who
/// gave nothing, then as by one that remembers.
async fn cost(unwanted: impl Iterator<Item = NewJob>, paused: &[String]) -> Vec<i32> {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    // As many as anybody could have who was allowed to.
    let all = GroupSettings {
        max_unknown_tasks: Some(u32::MAX),
        ..GroupSettings::default()
    };
    store.set(Setting::Group(String::new(), all)).await.expect("set");
    submit(&store, unwanted.collect()).await;
    for group in paused {
        pause(&store, group).await;
    }
    let wanted = ["a", "m", "z"].map(|group| (0..9).map(move |_| job(group, "mail")));
    submit(&store, wanted.into_iter().flatten().collect()).await;
    steps(&store).await;
    let mut costs = Vec::new();
    for (n, want) in [1, 1, 2, 3, 7, 20].into_iter().enumerate() {
        if n < 2 {
            hand.forgive();
        }
        let groups: Vec<String> = hand.take(want).await.into_iter().map(|job| job.group).collect();
        assert!(!groups.is_empty() || want == 20, "{groups:?}");
        assert!(
            groups.iter().all(|group| ["a", "m", "z"].contains(&group.as_str())),
            "{groups:?}"
        );
        costs.push(steps(&store).await);
    }
    costs
}

/// The walk of an index ends a step or two later where it ends at an entry that does not count.
fn assert_alike(costs: &[i32], nothing: &[i32], beside: &str) {
    let alike = costs
        .iter()
        .zip(nothing)
        .all(|(cost, nothing)| (cost - nothing).abs() <= 5);
    assert!(alike, "{beside}: {costs:?}, alone {nothing:?}");
}

#[tokio::test]
async fn a_take_costs_the_same_however_many_unknown_task_names_wait() {
    let nothing = cost(std::iter::empty(), &[]).await;
    for many in [100, 20_000] {
        let one_group = || (0..many).map(|n| job("g", &format!("unknown{n}")));
        let groups = || (0..many).map(|n| job(&format!("g{n}"), &format!("unknown{n}")));
        let costs = cost(one_group(), &[]).await;
        assert_alike(&costs, &nothing, &format!("{many} names in one group"));
        let costs = cost(one_group(), &["g".to_owned()]).await;
        assert_alike(&costs, &nothing, &format!("{many} names in a paused group"));
        let costs = cost(groups(), &[]).await;
        assert_alike(&costs, &nothing, &format!("{many} names in a group each"));
    }
}

#[tokio::test]
async fn a_take_costs_the_same_however_many_paused_groups_have_jobs() {
    let nothing = cost(std::iter::empty(), &[]).await;
    for groups in [3, 500] {
        let paused: Vec<String> = (0..groups).map(|n| format!("g{n}")).collect();
        let costs = cost(paused.iter().map(|group| job(group, "mail")), &paused).await;
        assert_alike(&costs, &nothing, &format!("{groups} paused groups"));
    }
}

/// What takes of mails cost in groups that have so many other jobs before them, of which none may be taken.
async fn cost_behind(setting: Setting, queue: &str, many: usize) -> Vec<i32> {
    let store = memory().await;
    let mut hand = Hand::of(&store).await;
    let groups = ["a", "m", "z"];
    let before = (0..many).map(|n| NewJob {
        queue: Some(queue.to_owned()),
        ..job(groups[n % 3], "pdf")
    });
    submit(&store, before.collect()).await;
    store.set(setting).await.expect("set");
    // Whatever may run of them, runs.
    hand.take(1).await;
    let wanted = groups.map(|group| (0..9).map(move |_| job(group, "mail")));
    submit(&store, wanted.into_iter().flatten().collect()).await;
    steps(&store).await;
    let mut costs = Vec::new();
    for want in [1, 1, 2, 3, 7] {
        hand.forgive();
        let jobs = hand.take(want).await;
        assert!(
            !jobs.is_empty() && jobs.iter().all(|job| job.task == "mail"),
            "{jobs:?}"
        );
        costs.push(steps(&store).await);
    }
    costs
}

#[tokio::test]
async fn a_take_costs_the_same_however_many_jobs_wait_behind_a_pause_a_limit_or_a_rate() {
    let task = |limits| Setting::Task("pdf".to_owned(), limits);
    let none = TaskLimits::default();
    let paused = TaskLimits { paused: true, ..none };
    let capped = TaskLimits {
        max_running: Some(1),
        ..none
    };
    let rated = TaskLimits {
        rate: "1/d".parse().ok(),
        ..none
    };
    let asleep = Setting::Queue("ocr".to_owned(), QueueSettings { paused: true });
    for (setting, queue) in [
        (task(paused), "default"),
        (task(capped), "default"),
        (task(rated), "default"),
        (asleep, "ocr"),
    ] {
        let few = cost_behind(setting.clone(), queue, 30).await;
        let many = cost_behind(setting.clone(), queue, 100_000).await;
        println!("{setting:?}: {few:?} steps, {many:?} with 100,000 jobs");
        assert_alike(&many, &few, &format!("100,000 jobs behind {setting:?}"));
    }
}

#[tokio::test]
async fn pausing_and_resuming_a_group_costs_by_its_own_streams() {
    let mut costs = Vec::new();
    for others in [10, 1000] {
        let store = memory().await;
        let mut jobs: Vec<NewJob> = (0..others).map(|n| job(&format!("g{n}"), "mail")).collect();
        jobs.push(job("a", "mail"));
        let mut scan = job("a", "pdf");
        scan.queue = Some("ocr".to_owned());
        jobs.push(scan);
        submit(&store, jobs).await;
        let pausing = |tx: &mut Tx<'_>| {
            let mut statement = tx.connection.prepare_cached(sql!("streams_pause"))?;
            let streams = statement.execute(rusqlite::params!["a", true])?;
            Ok((streams, statement.get_status(StatementStatus::VmStep)))
        };
        let (streams, steps) = store.write("pausing", pausing).await.expect("paused");
        assert_eq!(streams, 2, "in both queues");
        costs.push(steps);
    }
    assert_eq!(costs[0], costs[1]);
}
