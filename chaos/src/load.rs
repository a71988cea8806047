//! What is submitted, cancelled and looked at: the part of an application that has jobs done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fastrand::Rng;
use tokio_postgres::NoTls;
use turnabout::{Error, JobId, Jobs, State, Submission};

use crate::cluster::Cluster;
use crate::kind::Kind;
use crate::record::{Answer, Moment, Record, SideLog, millis, now};
use crate::tasks::submission;

/// The group with a cap.
pub const CAPPED: (&str, usize) = ("capped", 2);
/// The task with a cap.
pub const NARROW: (&str, usize) = ("narrow", 2);
/// So many jobs are under way at the most.
const UNDER_WAY: usize = 250;

/// Submits, cancels and looks.
#[derive(Debug)]
pub struct Load {
    jobs: Jobs,
    side: Arc<SideLog>,
    open: Mutex<BTreeMap<JobId, Kind>>,
    ended: Mutex<Vec<(JobId, State)>>,
    bookings: Mutex<BTreeSet<JobId>>,
}

/// A job that is about to be submitted.
struct Wish {
    id: JobId,
    kind: Kind,
    group: String,
    unique: Option<String>,
    delay: Moment,
    millis: u64,
    fails: u32,
}

impl Wish {
    fn new(kind: Kind, group: impl Into<String>, millis: u64) -> Self {
        Self {
            id: JobId::new(),
            kind,
            group: group.into(),
            unique: None,
            delay: 0,
            millis,
            fails: 0,
        }
    }

    /// Anything.
    fn random(rng: &mut Rng, kinds: &[(u32, Kind)]) -> Self {
        let total: u32 = kinds.iter().map(|(weight, _)| weight).sum();
        let mut at = rng.u32(..total);
        let mut kind = Kind::Quick;
        for (weight, candidate) in kinds {
            if at < *weight {
                kind = *candidate;
                break;
            }
            at -= weight;
        }
        let millis = match kind {
            Kind::Slow | Kind::Once | Kind::Narrow | Kind::Blocking => rng.u64(10..1000),
            Kind::Stubborn => rng.u64(500..2500),
            _ => rng.u64(0..20),
        };
        let group = if rng.u32(..8) == 0 {
            CAPPED.0.to_owned()
        } else {
            // The lower the number, the more jobs.
            let most = rng.u32(1..8);
            format!("g{}", rng.u32(..most))
        };
        let mut wish = Self::new(kind, group, millis);
        wish.fails = rng.u32(..4);
        if matches!(kind, Kind::Quick | Kind::Slow) && rng.u32(..6) == 0 {
            wish.unique = Some(format!("key-{}", rng.u32(..4)));
        }
        if rng.u32(..6) == 0 {
            wish.delay = self::millis(rng.u64(100..2000));
        }
        wish
    }

    fn submission(&self) -> Submission {
        let mut submission = submission(self.kind, self.millis, self.fails)
            .id(self.id)
            .group(&self.group);
        if let Some(key) = &self.unique {
            submission = submission.unique(key);
        }
        if self.delay > 0 {
            submission = submission.delay(Duration::from_nanos(self.delay));
        }
        submission
    }
}

/// What is submitted while the nemesis rages, and how often.
pub fn mixture(poison: bool, transactions: bool) -> Vec<(u32, Kind)> {
    let mut kinds = vec![
        (40, Kind::Quick),
        (15, Kind::Slow),
        (3, Kind::Stubborn),
        (8, Kind::Flaky),
        (3, Kind::Doomed),
        (12, Kind::Once),
        (4, Kind::Snoozing),
        (6, Kind::Narrow),
        (4, Kind::Blocking),
    ];
    if transactions {
        kinds.push((8, Kind::Booking));
    }
    if poison {
        kinds.push((1, Kind::Poison));
    }
    kinds
}

impl Load {
    /// On these jobs.
    pub fn new(jobs: Jobs, side: Arc<SideLog>) -> Self {
        Self {
            jobs,
            side,
            open: Mutex::default(),
            ended: Mutex::default(),
            bookings: Mutex::default(),
        }
    }

    /// The handle on all jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// A job that was submitted by a schedule, since this moment at the earliest.
    pub(crate) fn came(&self, job: JobId, kind: Kind, group: &str, from: Moment) {
        self.side.write(&Record::Submitted {
            from,
            at: now(),
            wanted: job,
            job,
            new: true,
            kind,
            group: group.to_owned(),
            unique: None,
            delay: 0,
        });
        self.open().insert(job, kind);
    }

    /// The side log.
    pub(crate) fn side(&self) -> &SideLog {
        &self.side
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<JobId, Kind>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, Vec<(JobId, State)>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many have not been seen to end.
    pub fn under_way(&self) -> usize {
        self.open().len()
    }

    /// Submits and cancels until the time is up. Poison, where it is wanted, is submitted for the first half of it: it takes a
    /// while to work.
    pub async fn press(&self, seed: u64, until: Instant, transactions: bool, poison: bool) -> Result<()> {
        let poisonous = Instant::now() + until.saturating_duration_since(Instant::now()) / 2;
        let submits = async {
            let mut rng = Rng::with_seed(seed ^ 3);
            while Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(rng.u64(10..60))).await;
                if self.under_way() < UNDER_WAY {
                    let kinds = mixture(poison && Instant::now() < poisonous, transactions);
                    let count = rng.usize(1..20);
                    let wishes = (0..count).map(|_| Wish::random(&mut rng, &kinds)).collect();
                    self.submit(wishes).await?;
                }
            }
            Ok(())
        };
        let cancels = async {
            let mut rng = Rng::with_seed(seed ^ 4);
            while Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(rng.u64(20..200))).await;
                let chosen = {
                    let open = self.open();
                    let n = rng.usize(..open.len().max(1));
                    // Poison has to be seen through; of the others, the latest are the least likely to have ended.
                    let job = open.iter().rev().nth(n).filter(|(_, kind)| **kind != Kind::Poison);
                    job.map(|(id, _)| *id)
                };
                if let Some(job) = chosen {
                    self.cancel(job).await;
                }
            }
        };
        let (submitted, ()) = tokio::join!(submits, cancels);
        submitted
    }

    /// A backlog in several groups, for the lag between them. Held back until all of it is there.
    pub async fn backlog(&self, groups: usize, jobs: usize) -> Result<()> {
        let task = Kind::Quick.task();
        persist(async || self.jobs.task_limits(task).pause().await).await?;
        let wishes = (0..groups * jobs)
            .map(|n| Wish::new(Kind::Quick, format!("{}{}", crate::check::BACKLOG, n % groups), 5))
            .collect();
        self.submit(wishes).await?;
        persist(async || self.jobs.task_limits(task).resume().await).await?;
        Ok(())
    }

    /// Submits until all is answered. Ids are given, so that nothing is stored twice.
    async fn submit(&self, mut wishes: Vec<Wish>) -> Result<()> {
        let from = now();
        while !wishes.is_empty() {
            let answers = self.jobs.submit_all(wishes.iter().map(Wish::submission)).await;
            let at = now();
            let mut again = Vec::new();
            for (wish, answer) in wishes.into_iter().zip(answers) {
                match answer {
                    Ok(submitted) => {
                        self.side.write(&Record::Submitted {
                            from,
                            at,
                            wanted: wish.id,
                            job: submitted.id,
                            new: submitted.new,
                            kind: wish.kind,
                            group: wish.group,
                            unique: wish.unique,
                            delay: wish.delay,
                        });
                        if submitted.id == wish.id {
                            self.open().insert(wish.id, wish.kind);
                            if wish.kind == Kind::Booking {
                                self.bookings
                                    .lock()
                                    .unwrap_or_else(PoisonError::into_inner)
                                    .insert(wish.id);
                            }
                        }
                    }
                    Err(error) if error.is_transient() => again.push(wish),
                    Err(error) => bail!("a {} job was refused: {}", wish.kind.task(), error.chain()),
                }
            }
            wishes = again;
            if !wishes.is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    async fn cancel(&self, job: JobId) {
        let from = now();
        let answer = match self.jobs.cancel(job).await {
            Ok(_) => Answer::Accepted,
            Err(Error::NotCancellable { .. }) => Answer::NotCancellable,
            Err(_) => Answer::Unknown,
        };
        self.side.write(&Record::Cancel {
            from,
            at: now(),
            job,
            answer,
        });
    }

    /// Looks at all jobs that have not ended, and at some that have.
    pub async fn look(&self, rng: &mut Rng) {
        let open: Vec<JobId> = self.open().keys().copied().collect();
        for portion in open.chunks(500) {
            let Ok(jobs) = self.jobs.get_many(portion).await else {
                continue;
            };
            let at = now();
            for job in jobs.iter().filter(|job| job.state.is_final()) {
                let (job, state) = (job.id, job.state);
                self.side.write(&Record::Seen { at, job, state });
                self.open().remove(&job);
                self.ended().push((job, state));
            }
        }
        let again: BTreeMap<JobId, State> = {
            let ended = self.ended();
            let count = if ended.is_empty() { 0 } else { 20 };
            (0..count).map(|_| ended[rng.usize(..ended.len())]).collect()
        };
        let ids: Vec<JobId> = again.keys().copied().collect();
        if let Ok(jobs) = self.jobs.get_many(&ids).await {
            let at = now();
            for job in jobs.iter().filter(|job| again.get(&job.id) != Some(&job.state)) {
                let (job, state) = (job.id, job.state);
                self.side.write(&Record::Seen { at, job, state });
            }
        }
    }

    /// Writes down what the transactions of handlers left behind: once for each job that booked or should have.
    pub async fn audit(&self, port: u16) -> Result<()> {
        let (client, connection) = tokio_postgres::connect(&Cluster::url(port), NoTls).await?;
        let connection = tokio::spawn(connection);
        let rows = client
            .query("select job, count(*) from booked group by job", &[])
            .await?;
        let booked: BTreeMap<JobId, i64> = rows.iter().map(|row| (JobId(row.get(0)), row.get(1))).collect();
        drop(client);
        connection.await??;
        let mut bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        bookings.extend(booked.keys());
        for job in bookings {
            let times = booked.get(&job).copied().unwrap_or_default() as u64;
            self.side.write(&Record::Effect { job, times });
        }
        Ok(())
    }

    /// Writes down how the store has every job in the end.
    pub async fn conclude(&self) -> Result<()> {
        let mut all: Vec<JobId> = self.ended().iter().map(|(job, _)| *job).collect();
        all.extend(self.open().keys());
        for portion in all.chunks(500) {
            for job in self.jobs.get_many(portion).await? {
                let note = if job.state.is_final() {
                    None
                } else {
                    let why = self.jobs.explain(job.id).await;
                    let why = why.map_or_else(|error| error.chain(), |why| why.to_string());
                    Some(format!("{why} (due {:?}, held by {:?})", job.due, job.claim))
                };
                self.side.write(&Record::Final {
                    job: job.id,
                    state: job.state,
                    reason: job.reason,
                    attempts: job.attempts,
                    losses: job.losses,
                    result: job.result::<String>().ok().flatten(),
                    note,
                });
            }
        }
        Ok(())
    }
}

/// Tries until it works, or until waiting does not help.
pub async fn persist<T>(mut call: impl AsyncFnMut() -> turnabout::Result<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        match call().await {
            Ok(value) => return Ok(value),
            Err(error) if error.is_transient() && begun.elapsed() < Duration::from_mins(1) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => bail!(error.chain()),
        }
    }
}
