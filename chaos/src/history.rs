//! PURE: the side log as runs, leases and jobs.

use std::collections::{BTreeMap, HashMap};

use turnabout::JobId;
use uuid::Uuid;

use crate::record::{How, Moment, Record};

/// One run of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// In which process.
    pub process: u32,
    /// By which lease.
    pub incarnation: Uuid,
    /// Which job.
    pub job: JobId,
    /// The attempt's number, as the handler saw it.
    pub attempt: u32,
    /// When it began.
    pub from: Moment,
    /// When it ended: by itself, or with its process.
    pub to: Moment,
    /// How; `None`: with its process.
    pub how: Option<How>,
}

/// What happened, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Everything, by time.
    pub records: Vec<Record>,
    /// All runs, by their beginning.
    pub runs: Vec<Run>,
    /// When each lease was certainly valid: pieces in order, which do not touch.
    leases: HashMap<Uuid, Vec<(Moment, Moment)>>,
}

impl History {
    /// Puts the records of a run in order.
    pub fn new(mut records: Vec<Record>) -> Self {
        records.sort_by_key(moment);
        let lease = records.iter().find_map(|record| match record {
            Record::Run { lease, .. } => Some(*lease),
            _ => None,
        });
        let (runs, leases) = (runs(&records), leases(&records, lease.unwrap_or_default()));
        Self { records, runs, leases }
    }

    /// The parts of a run during which its lease was certainly valid. Others take over what an executor held no
    /// sooner than a lease after its last heartbeat; what it does later is its own affair, and refused by the store.
    pub fn valid(&self, run: &Run) -> Vec<(Moment, Moment)> {
        let pieces = self.leases.get(&run.incarnation).map_or(&[][..], Vec::as_slice);
        pieces
            .iter()
            .map(|(from, to)| (run.from.max(*from), run.to.min(*to)))
            .filter(|(from, to)| from < to)
            .collect()
    }

    /// Whether a lease was certainly valid at a moment.
    pub fn is_valid(&self, incarnation: Uuid, at: Moment) -> bool {
        let pieces = self.leases.get(&incarnation);
        pieces.is_some_and(|pieces| pieces.iter().any(|(from, to)| (*from..=*to).contains(&at)))
    }

    /// Runs by job, in order.
    pub fn by_job(&self) -> BTreeMap<JobId, Vec<&Run>> {
        let mut jobs: BTreeMap<JobId, Vec<&Run>> = BTreeMap::new();
        for run in &self.runs {
            jobs.entry(run.job).or_default().push(run);
        }
        jobs
    }

    /// Everything that concerns a job, with its runs.
    pub fn of_job(&self, job: JobId) -> Vec<String> {
        let processes: Vec<(u32, Moment, Moment)> = self
            .runs
            .iter()
            .filter(|run| run.job == job)
            .map(|run| (run.process, run.from, run.to))
            .collect();
        let begin = self.records.iter().map(moment).find(|at| *at > 0).unwrap_or_default();
        let line = |record: &Record| {
            let text = serde_json::to_string(record).unwrap_or_default();
            match moment(record) {
                Moment::MAX => format!("{:>12}  {text}", "in the end"),
                at => format!("{:>10.3} s  {text}", at.saturating_sub(begin) as f64 / 1e9),
            }
        };
        let touches = |record: &&Record| match record {
            Record::Began { job: of, .. }
            | Record::Cancel { job: of, .. }
            | Record::Seen { job: of, .. }
            | Record::Effect { job: of, .. }
            | Record::Final { job: of, .. } => *of == job,
            Record::Submitted { job: of, wanted, .. } => *of == job || *wanted == job,
            Record::Ended { at, process, .. } => processes.iter().any(|(p, _, to)| p == process && to == at),
            Record::Gone { process, .. } | Record::Process { process, .. } => {
                processes.iter().any(|(p, ..)| p == process)
            }
            Record::Renewed { process, at, .. } => {
                // Only those around it: there are many.
                let near = |(p, from, to): &(u32, Moment, Moment)| {
                    let second = 1_000_000_000;
                    p == process && *at + second >= *from && *at <= *to + second
                };
                processes.iter().any(near)
            }
            _ => false,
        };
        self.records.iter().filter(touches).map(line).collect()
    }
}

/// When something happened; what has no time of its own comes last.
pub fn moment(record: &Record) -> Moment {
    match record {
        Record::Run { .. } => 0,
        Record::Process { at, .. }
        | Record::Gone { at, .. }
        | Record::Impostor { at, .. }
        | Record::Renewed { at, .. }
        | Record::Began { at, .. }
        | Record::Ended { at, .. }
        | Record::Submitted { at, .. }
        | Record::Cancel { at, .. }
        | Record::Seen { at, .. }
        | Record::Fault { at, .. }
        | Record::Recovered { at, .. }
        | Record::Phase { at, .. } => *at,
        Record::Final { .. }
        | Record::Left { .. }
        | Record::Effect { .. }
        | Record::Fired { .. }
        | Record::Schedule { .. }
        | Record::Scheduled { .. } => Moment::MAX,
    }
}

fn runs(records: &[Record]) -> Vec<Run> {
    let mut gone = HashMap::new();
    let mut ended = HashMap::new();
    for record in records {
        match record {
            Record::Gone { at, process, .. } => drop(gone.insert(*process, *at)),
            Record::Ended {
                at, process, run, how, ..
            } => drop(ended.insert((*process, *run), (*at, *how))),
            _ => {}
        }
    }
    records
        .iter()
        .filter_map(|record| match record {
            Record::Began {
                at,
                process,
                incarnation,
                run,
                job,
                attempt,
            } => {
                let end = ended.get(&(*process, *run));
                let with_process = || gone.get(process).copied().unwrap_or(Moment::MAX);
                Some(Run {
                    process: *process,
                    incarnation: *incarnation,
                    job: *job,
                    attempt: *attempt,
                    from: *at,
                    to: end.map_or_else(with_process, |(at, _)| *at),
                    how: end.map(|(_, how)| *how),
                })
            }
            _ => None,
        })
        .collect()
}

fn leases(records: &[Record], lease: Moment) -> HashMap<Uuid, Vec<(Moment, Moment)>> {
    let mut leases: HashMap<Uuid, Vec<(Moment, Moment)>> = HashMap::new();
    for record in records {
        if let Record::Renewed { incarnation, at, .. } = record {
            let pieces = leases.entry(*incarnation).or_default();
            match pieces.last_mut() {
                Some((_, to)) if *to >= *at => *to = at + lease,
                _ => pieces.push((*at, at + lease)),
            }
        }
    }
    leases
}
