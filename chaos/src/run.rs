//! One run from beginning to end: calm, storm, healing, calm, and the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fastrand::Rng;
use tokio::sync::Mutex;
use tokio_postgres::NoTls;
use turnabout::Jobs;

use crate::bouncer::Bouncer;
use crate::check::check;
use crate::cluster::Cluster;
use crate::drills;
use crate::fleet::{Fleet, Spec};
use crate::history::History;
use crate::load::{CAPPED, Load, NARROW, persist};
use crate::nemesis::Nemesis;
use crate::proxy::Proxy;
use crate::record::{Record, SideLog, now};
use crate::report::Report;
use crate::schedules::Calendar;
use crate::skew;
use crate::tasks::BOOKS;

/// Which store is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// One file, shared by all processes.
    Sqlite,
    /// A cluster of our own.
    Postgres,
    /// The same behind a `PgBouncer` in transaction mode.
    Pgbouncer,
}

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which store.
    pub target: Target,
    /// How long the nemesis rages.
    pub storm: Duration,
    /// Decides everything that is decided by chance.
    pub seed: u64,
    /// Worker processes.
    pub workers: usize,
    /// Schedules that fire every second.
    pub schedules: usize,
    /// Whether each kind of fault is tried by itself afterwards.
    pub drills: bool,
    /// This program, which is also the worker's.
    pub program: PathBuf,
    /// Where the run's files go; they stay.
    pub folder: PathBuf,
}

/// Slots of each worker.
const SLOTS: u32 = 4;
/// How often leases are renewed: short, so that many end in a run.
const HEARTBEAT: Duration = Duration::from_millis(400);
/// How long leases last.
const LEASE: Duration = Duration::from_millis(2500);
/// How many connections each may have.
const CONNECTIONS: u32 = 6;
/// After the storm, everything must have ended by then.
const HEALING: Duration = Duration::from_mins(2);
/// Groups with a backlog, and jobs of each.
const BACKLOG: (usize, usize) = (4, 100);

/// Runs, checks, and says what came of it.
pub async fn run(plan: &Plan) -> Result<Report> {
    std::fs::create_dir_all(&plan.folder)?;
    let spec = Spec {
        program: plan.program.clone(),
        folder: plan.folder.clone(),
        slots: SLOTS,
        heartbeat: HEARTBEAT,
        lease: LEASE,
        listen_url: None,
        connections: CONNECTIONS,
    };
    let path = spec.side();
    // An earlier run's would be taken for a part of this one.
    let _ = std::fs::remove_file(&path);
    let side = Arc::new(SideLog::open(&path)?);
    side.write(&Record::Run {
        seed: plan.seed,
        store: format!("{:?}", plan.target),
        lease: LEASE.as_nanos() as u64,
        group_caps: vec![(CAPPED.0.to_owned(), CAPPED.1)],
        task_caps: vec![(NARROW.0.to_owned(), NARROW.1)],
    });
    let place = Place::open(plan).await?;
    let spec = Spec {
        listen_url: place.listen_url.clone(),
        ..spec
    };
    let jobs = Jobs::open(&place.url).await.context("the store cannot be opened")?;
    persist(async || jobs.group(CAPPED.0).max_running(Some(CAPPED.1 as u32)).await).await?;
    persist(async || jobs.task_limits(NARROW.0).max_running(Some(NARROW.1 as u32)).await).await?;
    let load = Arc::new(Load::new(jobs, Arc::clone(&side)));
    let looking = tokio::spawn({
        let (load, mut rng) = (Arc::clone(&load), Rng::with_seed(plan.seed ^ 5));
        async move {
            loop {
                load.look(&mut rng).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    });

    // Only the store's clock counts; on SQLite that is the machine's, which all processes share.
    let skewed = if place.cluster.is_some() {
        skew::build(&plan.folder)
    } else {
        None
    };
    let fleet = Fleet::start(&spec, &side, place.ways(plan.workers).await?, skewed.as_deref());
    fleet.ready().await?;
    phase(&side, "calm before", true);
    load.backlog(BACKLOG.0, BACKLOG.1).await?;
    ended(&load).await;

    phase(&side, "storm", false);
    let calendar = Calendar::make(Arc::clone(&load), plan.schedules).await?;
    let noting = tokio::spawn({
        let calendar = calendar.clone();
        async move { calendar.note_for_ever().await }
    });
    let until = Instant::now() + plan.storm;
    let nemesis = Nemesis {
        side: Arc::clone(&side),
        lease: LEASE,
        cluster: place.cluster.clone(),
        file: place.file.clone(),
        names: AtomicU32::new(0),
    };
    load.backlog(BACKLOG.0, BACKLOG.1).await?;
    let (raged, pressed) = tokio::join!(
        nemesis.rage(&fleet, plan.seed, until),
        load.press(plan.seed, until, place.cluster.is_some(), true)
    );
    raged.context("the nemesis stumbled")?;
    pressed.context("a submit was refused")?;

    phase(&side, "healing", false);
    let healing = Instant::now();
    calendar.stop().await?;
    noting.abort();
    calendar.note().await?;
    ended(&load).await;
    let healing = healing.elapsed();
    fleet.ready().await?;
    if plan.drills {
        phase(&side, "drills", false);
        drills::drill(&nemesis, &fleet, &load, plan.seed)
            .await
            .context("a drill stumbled")?;
        ended(&load).await;
        fleet.ready().await?;
    }
    phase(&side, "calm after", true);
    load.backlog(BACKLOG.0, BACKLOG.1).await?;
    ended(&load).await;
    phase(&side, "end", false);
    looking.abort();
    let unstoppable = fleet.stop().await;
    calendar.conclude().await?;
    load.conclude().await?;
    if let Some(cluster) = &place.cluster {
        load.audit(cluster.lock().await.port()).await?;
    }
    let counts = load.jobs().counts().await?;
    side.write(&Record::Left {
        held: counts.held,
        unfinished: counts.ready + counts.parked,
    });
    let history = History::new(crate::record::read(&path)?);
    let violations = check(&history);
    Ok(Report::new(plan, history, violations, healing, unstoppable))
}

fn phase(side: &SideLog, name: &str, calm: bool) {
    side.write(&Record::Phase {
        at: now(),
        name: name.to_owned(),
        calm,
    });
}

/// Waits until all jobs have been seen to end, or until waiting is useless: then the checker says which have not.
pub(crate) async fn ended(load: &Load) {
    let begun = Instant::now();
    while load.under_way() > 0 && begun.elapsed() < HEALING {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Where the jobs of a run are.
struct Place {
    url: String,
    cluster: Option<Arc<Mutex<Cluster>>>,
    bouncer: Option<Bouncer>,
    /// Where every second worker listens.
    listen_url: Option<String>,
    file: Option<PathBuf>,
}

impl Place {
    async fn open(plan: &Plan) -> Result<Self> {
        match plan.target {
            Target::Sqlite => {
                let file = plan.folder.join("jobs.db");
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(Path::new(&format!("{}{end}", file.display())));
                }
                Ok(Self {
                    url: format!("sqlite://{}", file.display()),
                    cluster: None,
                    bouncer: None,
                    listen_url: None,
                    file: Some(file),
                })
            }
            Target::Postgres | Target::Pgbouncer => {
                let cluster = Cluster::start(false).await?;
                let (client, connection) = tokio_postgres::connect(&Cluster::url(cluster.port()), NoTls).await?;
                let connection = tokio::spawn(connection);
                client.batch_execute(BOOKS).await?;
                drop(client);
                connection.await??;
                let bouncer = match plan.target {
                    Target::Pgbouncer => Some(Bouncer::before(cluster.port()).await?),
                    _ => None,
                };
                let direct = Cluster::url(cluster.port());
                Ok(Self {
                    url: bouncer
                        .as_ref()
                        .map_or(direct.clone(), |bouncer| Cluster::url(bouncer.port)),
                    listen_url: bouncer.is_some().then_some(direct),
                    bouncer,
                    cluster: Some(Arc::new(Mutex::new(cluster))),
                    file: None,
                })
            }
        }
    }

    /// The way to the store for each worker; through a network that can fail, if there is one.
    async fn ways(&self, workers: usize) -> Result<Vec<(String, Option<Proxy>)>> {
        let mut ways = Vec::new();
        for _ in 0..workers {
            ways.push(match &self.cluster {
                None => (self.url.clone(), None),
                Some(cluster) => {
                    let server = match &self.bouncer {
                        Some(bouncer) => bouncer.port,
                        None => cluster.lock().await.port(),
                    };
                    let proxy = Proxy::before(server).await?;
                    (Cluster::url(proxy.port), Some(proxy))
                }
            });
        }
        Ok(ways)
    }
}
