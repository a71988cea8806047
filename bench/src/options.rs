//! The command line, and what is measured unless it says otherwise.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;

use crate::lab;
use crate::peer::PeerArgs;
use crate::place::{History, Store};
use crate::scenario::drain::Drain;
use crate::scenario::life::WorkerArgs;
use crate::scenario::memory::ExecutorArgs;

/// Measures Turnabout: a line of JSON per result on standard output, a table of medians on standard error at the end.
#[derive(Debug, clap::Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) tool: Option<Tool>,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Tool {
    /// Show how fair each rule is, with simulated and real executors
    Lab(lab::Args),
    /// Run one scenario of a comparison with other job queues, as one of them
    Peer(PeerArgs),
    /// Take part in a comparison that lasts for hours: lines of JSON, until SIGTERM (settings come from the environment)
    SteadyPeer,
    /// Print Markdown tables of earlier results, ours and those of a comparison
    Table(Files),
    /// Compare two programs by their results: the first file has the base's, the second those of the one in question
    Compare(Files),
    /// An executor in a process of its own, for `--only memory`
    #[command(hide = true)]
    Executor(ExecutorArgs),
    /// An executor in a process of its own, for `--only life`
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// Files of JSON lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Files {
    /// Files with lines of JSON
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Small sizes, to see whether everything works
    #[arg(long)]
    quick: bool,
    /// Only these scenarios; network, asleep, life and snapshot are measured only if they are named
    #[arg(long, value_delimiter = ',')]
    only: Vec<Scenario>,
    /// Only these stores
    #[arg(long, value_delimiter = ',')]
    store: Vec<Store>,
    /// How often everything is measured; the table shows medians
    #[arg(long, default_value_t = 3)]
    pub(crate) repeat: u32,
    /// The `PostgreSQL` server (a superuser's URL): schemas of our own are made in this database and dropped again
    #[arg(long, env = "PG_URL", hide_env_values = true, default_value = "")]
    pub(crate) pg_url: String,
    /// Where `SQLite` files are made; it should be on a real disk
    #[arg(long, default_value = "target")]
    pub(crate) dir: PathBuf,
    /// So many jobs instead of each scenario's usual number (drain: see --backlog)
    #[arg(long)]
    jobs: Option<u64>,
    /// Drain over so many groups (with --backlog and --executors: every combination)
    #[arg(long, value_delimiter = ',')]
    groups: Vec<u64>,
    /// Drain so many jobs
    #[arg(long, value_delimiter = ',')]
    backlog: Vec<u64>,
    /// Drain by so many executors, each with --slots slots or with its own number: `1,8,16x4`
    #[arg(long, value_delimiter = ',')]
    executors: Vec<Crew>,
    /// Slots of an executor that drains
    #[arg(long, default_value_t = 64)]
    pub(crate) slots: u32,
    /// Drain only with (`kept`) or without (`none`) history; both unless said
    #[arg(long)]
    history: Option<History>,
    /// Do every drain once more while another transaction holds a snapshot open
    #[arg(long)]
    pinned: bool,
    /// Latency: so many milliseconds between a job's end and the next one
    #[arg(long, value_delimiter = ',', default_value = "10")]
    pub(crate) apart: Vec<u64>,
    /// Steady state: jobs offered in a second
    #[arg(long, default_value_t = 500)]
    pub(crate) rate: u64,
    /// Steady state, idle cost, network, life and snapshot: for how many seconds (10 unless said; an hour at the most)
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    Submit,
    Drain,
    Steady,
    Latency,
    Flood,
    Telling,
    Cost,
    Idle,
    Memory,
    Schedules,
    Unknown,
    Limited,
    Network,
    Asleep,
    Life,
    Snapshot,
}

/// How many jobs.
pub(crate) struct Sizes {
    pub(crate) bulk: u64,
    pub(crate) single: u64,
    pub(crate) latency: u64,
    pub(crate) flood: u64,
    pub(crate) telling: u64,
    pub(crate) memory: u64,
    pub(crate) schedules: u64,
    /// Names of tasks that nobody knows.
    pub(crate) unknown: u64,
    /// Jobs that wait and may not run.
    pub(crate) limited: u64,
}

impl Options {
    pub(crate) fn stores(&self) -> Vec<Store> {
        if !self.store.is_empty() {
            return self.store.clone();
        }
        let mut stores = vec![Store::Sqlite];
        if self.pg_url.is_empty() {
            eprintln!("PG_URL is not set: PostgreSQL is left out (run this under `scripts/postgres run --fsync --`)");
        } else {
            stores.push(Store::Postgres);
        }
        stores
    }

    /// Those that were named; or all but those that need many processes, and minutes each.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        use Scenario::{Asleep, Life, Network, Snapshot};
        if self.only.is_empty() {
            let all = Scenario::value_variants().iter().copied();
            all.filter(|scenario| !matches!(scenario, Network | Asleep | Life | Snapshot))
                .collect()
        } else {
            self.only.clone()
        }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let size = |usual: u64, quick: u64| self.jobs.unwrap_or(if self.quick { quick } else { usual });
        Sizes {
            bulk: size(100_000, 10_000),
            single: size(8_000, 800),
            latency: size(300, 100),
            flood: size(10_000, 1_000),
            telling: size(20_000, 2_000),
            memory: size(1_000_000, 20_000),
            schedules: size(100_000, 1_000),
            unknown: if self.quick { 2_000 } else { 100_000 },
            limited: size(1_000_000, 2_000),
        }
    }

    pub(crate) fn seconds(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(if self.quick { 3 } else { 10 }))
    }

    /// How long an executor is left alone before it counts as idle.
    pub(crate) fn settle(&self) -> Duration {
        Duration::from_millis(if self.quick { 300 } else { 5_500 })
    }

    pub(crate) fn histories(&self) -> Vec<History> {
        self.history.map_or(vec![History::None, History::Kept], |h| vec![h])
    }

    /// The drains to measure, each with the one that it is to be compared with close by.
    pub(crate) fn drains(&self) -> Vec<Drain> {
        let usual = if self.quick { 10_000 } else { 100_000 };
        let chosen = !(self.groups.is_empty() && self.backlog.is_empty() && self.executors.is_empty());
        let points = if chosen { self.chosen(usual) } else { self.usual(usual) };
        let mut drains = Vec::new();
        for (groups, backlog, crew) in points {
            for history in self.histories() {
                let drain = Drain {
                    groups,
                    backlog,
                    executors: crew.executors,
                    slots: crew.slots.unwrap_or(self.slots),
                    history,
                    pinned: false,
                };
                drains.push(drain);
                // Unless asked for everywhere, a snapshot is held for one of them.
                let typical = (groups, backlog, crew) == (1_000, usual, Crew::of(1)) && history == History::None;
                if self.pinned || (!chosen && typical) {
                    drains.push(Drain { pinned: true, ..drain });
                }
            }
        }
        drains
    }

    /// Groups, backlogs and executors: every combination of what the command line says.
    fn chosen(&self, usual: u64) -> Vec<(u64, u64, Crew)> {
        let or = |given: &[u64], usual: u64| if given.is_empty() { vec![usual] } else { given.to_vec() };
        let executors = if self.executors.is_empty() {
            &[Crew::of(1)]
        } else {
            self.executors.as_slice()
        };
        let mut points = Vec::new();
        for groups in or(&self.groups, 1_000) {
            for backlog in or(&self.backlog, usual) {
                points.extend(executors.iter().map(|executors| (groups, backlog, *executors)));
            }
        }
        points
    }

    /// Groups, backlogs and executors: each varied around one point.
    fn usual(&self, usual: u64) -> Vec<(u64, u64, Crew)> {
        let one = Crew::of(1);
        if self.quick {
            return vec![(1, usual, one), (1_000, usual, one), (1_000, usual, Crew::of(2))];
        }
        let mut points: Vec<_> = [1, 100, 1_000, 10_000, 100_000]
            .map(|groups| (groups, usual, one))
            .into();
        points.extend([2, 4, 8].map(|executors| (1_000, usual, Crew::of(executors))));
        let few = |executors| {
            (
                1_000,
                usual,
                Crew {
                    executors,
                    slots: Some(4),
                },
            )
        };
        points.extend([1, 16, 32, 48].map(few));
        points.extend([(1_000, 10_000, one), (1_000, 1_000_000, one)]);
        points
    }
}

/// Executors that work together, and how many slots each has, if that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crew {
    executors: u32,
    slots: Option<u32>,
}

impl Crew {
    fn of(executors: u32) -> Self {
        Self { executors, slots: None }
    }
}

impl FromStr for Crew {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is not a number; say 8, or 8x4"))
        };
        match text.split_once('x') {
            Some((executors, slots)) => Ok(Self {
                executors: number(executors)?,
                slots: Some(number(slots)?),
            }),
            None => number(text).map(Self::of),
        }
    }
}
