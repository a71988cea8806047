//! Eight executors, fifty schedules that fire every second for half a minute, and a nemesis that kills: no time has two jobs,
//! none is lost, and no run comes beside the previous one.

use std::time::Duration;

use turnabout_chaos::run::{Plan, Target, run};

async fn storm(target: Target) {
    let folder = tempfile::tempdir().expect("a folder");
    let seed = std::env::var("TURNABOUT_SEED").ok().and_then(|seed| seed.parse().ok());
    let plan = Plan {
        target,
        storm: Duration::from_secs(30),
        seed: seed.unwrap_or_else(|| fastrand::u64(..)),
        workers: 8,
        schedules: 50,
        drills: false,
        program: env!("CARGO_BIN_EXE_turnabout-chaos").into(),
        folder: folder.path().to_owned(),
    };
    println!("seed {} (TURNABOUT_SEED)", plan.seed);
    let report = run(&plan).await.expect("the run comes to its end");
    println!("{report}");
    assert!(report.is_good(), "seed {}", plan.seed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_keep_their_promises_on_sqlite_whatever_is_killed() {
    storm(Target::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_keep_their_promises_on_postgres_whatever_is_killed() {
    storm(Target::Postgres).await;
}
