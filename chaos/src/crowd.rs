//! Many executor processes, under load, on a server that accepts a certain number of connections: nobody who has joined loses
//! a lease, and whoever cannot join says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio_postgres::NoTls;
use turnabout::Jobs;

use crate::check::{Violation, check};
use crate::cluster::Cluster;
use crate::fleet::{Fleet, Spec};
use crate::history::History;
use crate::load::Load;
use crate::record::{Record, SideLog, now, read};
use crate::run::ended;
use crate::tasks::BOOKS;

/// Slots of each worker.
const SLOTS: u32 = 4;
/// As configured unless said otherwise.
const HEARTBEAT: Duration = Duration::from_secs(5);
const LEASE: Duration = Duration::from_secs(30);
/// Workers that can join have done so by then.
const JOINED: Duration = Duration::from_secs(30);
/// After so long without a job, connections that are not needed are closed.
const IDLE: Duration = Duration::from_secs(45);
/// What somebody who cannot join says.
const REFUSED: &str = "the server accepts no more connections";

/// What is tried.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// Worker processes.
    pub processes: usize,
    /// How many connections the server accepts.
    pub accepted: u32,
    /// How long jobs are submitted.
    pub press: Duration,
    /// Whether to wait until connections that nobody needs are closed, and count again.
    pub idle: bool,
    /// Decides everything that is decided by chance.
    pub seed: u64,
    /// This program, which is also the worker's.
    pub program: PathBuf,
    /// Where the files go.
    pub folder: PathBuf,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    processes: usize,
    accepted: u32,
    /// Workers that have a lease and say that all is well.
    pub joined: usize,
    /// Workers that said that they cannot join, and how often each did.
    pub surplus: Vec<usize>,
    /// Those that neither work nor say why, or that are not well.
    pub lost: Vec<String>,
    /// Leases that ended.
    pub leases_lost: usize,
    /// Jobs that ended.
    pub jobs: usize,
    /// The most connections that one process had, under load.
    pub busy: usize,
    /// And when nothing had happened for a while.
    pub idle: Option<usize>,
    /// The most connections in all.
    pub all: usize,
    /// Promises that were not kept.
    pub violations: Vec<Violation>,
}

impl Outcome {
    /// Whether nobody suffered, and everybody works or says why not.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty()
            && self.leases_lost == 0
            && self.lost.is_empty()
            && self.joined + self.surplus.len() == self.processes
            && self.surplus.iter().all(|times| (1..=20).contains(times))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} processes on a server with max_connections = {}: {} ready, {} cannot join and say so, {} leases lost, {} jobs \
             ended, {} violations",
            self.processes,
            self.accepted,
            self.joined,
            self.surplus.len(),
            self.leases_lost,
            self.jobs,
            self.violations.len()
        )?;
        write!(
            f,
            "  connections: {} in all, {} of one process under load",
            self.all, self.busy
        )?;
        match self.idle {
            Some(idle) => writeln!(f, ", {idle} of one process while idle")?,
            None => writeln!(f)?,
        }
        for lost in &self.lost {
            writeln!(f, "  NOT WELL {lost}")?;
        }
        for violation in self.violations.iter().take(10) {
            writeln!(f, "  VIOLATION {violation}")?;
        }
        Ok(())
    }
}

/// Tries it.
pub async fn gather(crowd: &Crowd) -> Result<Outcome> {
    std::fs::create_dir_all(&crowd.folder)?;
    let cluster = Cluster::accepting(crowd.accepted, false).await?;
    let direct = Cluster::url(cluster.port());
    let (watcher, connection) = tokio_postgres::connect(&direct, NoTls).await?;
    tokio::spawn(connection);
    watcher.batch_execute(BOOKS).await?;
    let spec = Spec {
        program: crowd.program.clone(),
        folder: crowd.folder.clone(),
        slots: SLOTS,
        heartbeat: HEARTBEAT,
        lease: LEASE,
        listen_url: None,
        connections: 8,
    };
    let _ = std::fs::remove_file(spec.side());
    let side = Arc::new(SideLog::open(&spec.side())?);
    side.write(&Record::Run {
        seed: crowd.seed,
        store: "Postgres".to_owned(),
        lease: LEASE.as_nanos() as u64,
        group_caps: Vec::new(),
        task_caps: Vec::new(),
    });
    let jobs = Jobs::open(&direct)
        .connections(4)
        .await
        .context("the store cannot be opened")?;
    let load = Load::new(jobs, Arc::clone(&side));
    let ways = (0..crowd.processes).map(|n| (format!("{direct}?application_name=worker-{n}"), None));
    let fleet = Fleet::start(&spec, &side, ways.collect(), None);
    // Under load from the beginning: whoever comes late must find a place among those who are busy.
    let until = Instant::now() + JOINED + crowd.press;
    let mut outcome = Outcome {
        processes: crowd.processes,
        accepted: crowd.accepted,
        ..Outcome::default()
    };
    let looking = async {
        let mut rng = fastrand::Rng::with_seed(crowd.seed ^ 5);
        while Instant::now() < until {
            load.look(&mut rng).await;
            let counts = connections(&watcher).await?;
            outcome.busy = outcome.busy.max(counts.values().copied().max().unwrap_or(0));
            outcome.all = outcome.all.max(counts.values().sum());
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        anyhow::Ok(())
    };
    let (pressed, looked) = tokio::join!(load.press(crowd.seed, until, false, false), looking);
    pressed.and(looked)?;
    let mut rng = fastrand::Rng::with_seed(crowd.seed ^ 6);
    let begun = Instant::now();
    while load.under_way() > 0 && begun.elapsed() < Duration::from_mins(1) {
        load.look(&mut rng).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    ended(&load).await;
    for seat in &fleet.seats {
        let since = now() - 10_000_000_000;
        match seat.health().filter(|health| health.at >= since) {
            Some(health) if health.good => outcome.joined += 1,
            Some(health) => outcome.lost.push(format!("{}: {}", seat.name(), health.why)),
            None => {
                let log = crowd.folder.join(format!("worker-{}.log", seat.process()));
                let text = std::fs::read_to_string(log).unwrap_or_default();
                match text.matches(REFUSED).count() {
                    0 => outcome.lost.push(format!("{}: it says nothing\n{text}", seat.name())),
                    times => outcome.surplus.push(times),
                }
            }
        }
    }
    if crowd.idle {
        tokio::time::sleep(IDLE).await;
        outcome.idle = connections(&watcher).await?.values().copied().max();
    }
    fleet.stop().await;
    load.conclude().await?;
    let records = read(&spec.side())?;
    let mut leases: BTreeMap<u32, BTreeSet<uuid::Uuid>> = BTreeMap::new();
    for record in &records {
        match record {
            Record::Renewed {
                process, incarnation, ..
            } => {
                leases.entry(*process).or_default().insert(*incarnation);
            }
            Record::Final { state, .. } if state.is_final() => outcome.jobs += 1,
            _ => {}
        }
    }
    outcome.leases_lost = leases.values().map(|leases| leases.len() - 1).sum();
    outcome.violations = check(&History::new(records));
    Ok(outcome)
}

/// How many connections each worker has.
async fn connections(watcher: &tokio_postgres::Client) -> Result<BTreeMap<String, usize>> {
    let sql =
        "select application_name, count(*) from pg_stat_activity where application_name like 'worker-%' group by 1";
    let rows = watcher.query(sql, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), row.get::<_, i64>(1) as usize))
        .collect())
}
