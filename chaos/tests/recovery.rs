//! How soon work goes on after a fault. Measured and printed; what is waited for comes, or the test fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio_postgres::NoTls;
use turnabout::{JobId, Jobs, State};
use turnabout_chaos::cluster::Cluster;
use turnabout_chaos::fleet::{Fleet, Spec};
use turnabout_chaos::kind::Kind;
use turnabout_chaos::proxy::Proxy;
use turnabout_chaos::record::{Moment, Record, SideLog, now, read};
use turnabout_chaos::tasks::submission;

const HEARTBEAT: Duration = Duration::from_millis(500);
const LEASE: Duration = Duration::from_secs(3);
/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(90);

/// Three workers on one store.
struct Stage {
    spec: Spec,
    fleet: Fleet,
    jobs: Jobs,
    cluster: Option<Cluster>,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new(postgres: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = Spec {
            program: env!("CARGO_BIN_EXE_turnabout-chaos").into(),
            folder: folder.path().to_owned(),
            slots: 4,
            heartbeat: HEARTBEAT,
            lease: LEASE,
            listen_url: None,
            connections: 6,
        };
        let side = Arc::new(SideLog::open(&spec.side()).expect("a side log"));
        let (url, cluster, ways) = if postgres {
            let cluster = Cluster::start(false).await.expect("a cluster");
            let mut ways = Vec::new();
            for _ in 0..3 {
                let proxy = Proxy::before(cluster.port()).await.expect("a proxy");
                ways.push((Cluster::url(proxy.port), Some(proxy)));
            }
            (Cluster::url(cluster.port()), Some(cluster), ways)
        } else {
            let url = format!("sqlite://{}", folder.path().join("jobs.db").display());
            let ways = (0..3).map(|_| (url.clone(), None)).collect();
            (url, None, ways)
        };
        let jobs = Jobs::open(&url).await.expect("opened");
        let fleet = Fleet::start(&spec, &side, ways, None);
        fleet.ready().await.expect("they start");
        Self {
            spec,
            fleet,
            jobs,
            cluster,
            _folder: folder,
        }
    }

    fn records(&self) -> Vec<Record> {
        read(&self.spec.side()).expect("read")
    }

    async fn submit(&self, kind: Kind, millis: u64, count: usize) -> Vec<JobId> {
        let jobs = (0..count).map(|n| submission(kind, millis, 0).group(format!("g{}", n % 5)));
        let submitted = self.jobs.submit_all(jobs).await;
        submitted.into_iter().map(|one| one.expect("submitted").id).collect()
    }

    /// When each of these jobs began after a moment.
    fn begun(&self, jobs: &[JobId], after: Moment) -> Vec<(JobId, u32, Moment)> {
        let records = self.records();
        let began = records.iter().filter_map(|record| match record {
            Record::Began { at, process, job, .. } if *at > after && jobs.contains(job) => Some((*job, *process, *at)),
            _ => None,
        });
        began.collect()
    }

    async fn all_begun(&self, jobs: &[JobId], after: Moment) -> Moment {
        until(|| {
            let begun = self.begun(jobs, after);
            let all = jobs.iter().all(|job| begun.iter().any(|(one, ..)| one == job));
            all.then(|| begun.iter().map(|(.., at)| *at).max().unwrap_or(after))
        })
        .await
    }

    /// A worker that runs some of these jobs, and which.
    fn busy(&self, jobs: &[JobId], after: Moment) -> (usize, Vec<JobId>) {
        let begun = self.begun(jobs, after);
        let held = |process: u32| -> Vec<JobId> {
            let latest = |job: &JobId| begun.iter().filter(|(one, ..)| one == job).max_by_key(|(.., at)| *at);
            let here = jobs
                .iter()
                .filter(|job| latest(job).is_some_and(|(_, by, _)| *by == process));
            here.copied().collect()
        };
        let all = self.fleet.seats.iter().enumerate().filter(|(_, seat)| seat.is_taken());
        let (seat, jobs) = all
            .map(|(n, seat)| (n, held(seat.process())))
            .max_by_key(|(_, jobs)| jobs.len())
            .expect("a worker");
        assert!(!jobs.is_empty(), "someone runs something");
        (seat, jobs)
    }

    /// Nobody was replaced.
    fn nobody_died(&self) {
        let gone = self
            .records()
            .iter()
            .filter(|r| matches!(r, Record::Gone { .. }))
            .count();
        assert_eq!(gone, 0, "no process was restarted");
    }

    async fn ended(&self, jobs: &[JobId]) {
        let begun = Instant::now();
        loop {
            if let Ok(found) = self.jobs.get_many(jobs).await
                && found.iter().all(|job| job.state.is_final())
            {
                assert!(found.iter().all(|job| job.state == State::Success));
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "they do not end");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn seconds(from: Moment, to: Moment) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

async fn a_killed_executors_jobs_run_again(postgres: bool) {
    let store = if postgres { "postgres" } else { "sqlite" };
    let stage = Stage::new(postgres).await;
    let jobs = stage.submit(Kind::Slow, 600_000, 6).await;
    stage.all_begun(&jobs, 0).await;

    // Nobody comes back under its id: the others wait for its lease.
    let (seat, held) = stage.busy(&jobs, 0);
    stage.fleet.seats[seat].next(Duration::from_hours(1), None);
    let killed = now();
    assert!(stage.fleet.seats[seat].signal(Signal::KILL));
    let again = stage.all_begun(&held, killed).await;
    println!(
        "{store}: kill -9 of one of three executors, nobody with its id: its {} jobs ran again after {:.2} s \
         (lease {LEASE:?}, heartbeat {HEARTBEAT:?})",
        held.len(),
        seconds(killed, again)
    );

    // One with the same id comes back at once.
    let (seat, held) = stage.busy(&jobs, 0);
    stage.fleet.seats[seat].next(Duration::ZERO, None);
    let killed = now();
    assert!(stage.fleet.seats[seat].signal(Signal::KILL));
    let again = stage.all_begun(&held, killed).await;
    let restarted = stage.records().iter().find_map(|record| match record {
        Record::Process { at, .. } if *at > killed => Some(*at),
        _ => None,
    });
    println!(
        "{store}: kill -9 and restart with the same id: its {} jobs ran again {:.2} s after the restart",
        held.len(),
        seconds(restarted.expect("it was restarted"), again)
    );
    for job in jobs {
        let _ = stage.jobs.cancel(job).await;
    }
    for seat in &stage.fleet.seats {
        seat.signal(Signal::KILL);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_executors_jobs_run_again_on_postgres() {
    a_killed_executors_jobs_run_again(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_executors_jobs_run_again_on_sqlite() {
    a_killed_executors_jobs_run_again(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_after_the_server_has_crashed() {
    let mut stage = Stage::new(true).await;
    let jobs = stage.submit(Kind::Quick, 20, 3000).await;
    until(|| (stage.begun(&jobs, 0).len() > 100).then_some(())).await;
    stage
        .cluster
        .as_mut()
        .expect("a cluster")
        .crash()
        .await
        .expect("it comes back");
    let accepts = now();
    let first = until(|| stage.begun(&jobs, accepts).iter().map(|(.., at)| *at).min()).await;
    println!(
        "postgres: crashed (immediate mode) with 3 executors under load: work resumed {:.2} s after the server accepted \
         connections",
        seconds(accepts, first)
    );
    stage.ended(&jobs).await;
    stage.nobody_died();
    assert_eq!(stage.fleet.stop().await, 0, "all stop when told to");
    assert_eq!(stage.jobs.counts().await.expect("counted").held, 0);
}

/// As after a fail-over: connections lead to a server that only reads, new ones to one that writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_after_connections_led_to_a_server_that_only_reads() {
    let stage = Stage::new(true).await;
    let port = stage.cluster.as_ref().expect("a cluster").port();
    let (client, connection) = tokio_postgres::connect(&Cluster::url(port), NoTls)
        .await
        .expect("connected");
    tokio::spawn(connection);
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity \
               where pid <> pg_backend_pid() and backend_type = 'client backend'";
    client
        .batch_execute(&format!(
            "alter database postgres set default_transaction_read_only = on; {cut}"
        ))
        .await
        .expect("it only reads");
    tokio::time::sleep(LEASE).await;
    // Old connections go on reading only; nobody cuts them.
    client
        .batch_execute("alter database postgres reset default_transaction_read_only")
        .await
        .expect("it writes");
    let writes = now();
    let begun = Instant::now();
    let job = loop {
        let submitted = stage.jobs.submit_all([submission(Kind::Quick, 1, 0)]).await;
        match submitted.into_iter().next().expect("an answer") {
            Ok(job) => break job.id,
            Err(error) => assert!(error.is_transient() && begun.elapsed() < PATIENCE, "{}", error.chain()),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let ran = stage.all_begun(&[job], writes).await;
    println!(
        "postgres: read-only for a lease: a job ran {:.2} s after it could write",
        seconds(writes, ran)
    );
    stage.ended(&[job]).await;
    stage.nobody_died();
    assert_eq!(stage.fleet.stop().await, 0, "all stop when told to");
}

/// As by a firewall that forgets: connections stand, and nothing passes by them any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_after_connections_were_stranded() {
    let stage = Stage::new(true).await;
    let jobs = stage.submit(Kind::Quick, 20, 300).await;
    until(|| (stage.begun(&jobs, 0).len() > 50).then_some(())).await;
    for seat in &stage.fleet.seats {
        seat.proxy.as_ref().expect("a proxy").strand();
    }
    let stranded = now();
    let more = stage.submit(Kind::Quick, 20, 30).await;
    let first = until(|| stage.begun(&more, stranded).iter().map(|(.., at)| *at).min()).await;
    println!(
        "postgres: all connections stranded: work resumed after {:.2} s",
        seconds(stranded, first)
    );
    stage.ended(&jobs).await;
    stage.ended(&more).await;
    stage.nobody_died();
    assert_eq!(stage.fleet.stop().await, 0, "all stop when told to");
}
