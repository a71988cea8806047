//! Executors on a server that is some milliseconds away: does another one add anything?

use std::time::{Duration, Instant};

use anyhow::Result;

use super::delay::Delay;
use crate::place::{Address, History, Place, connect};
use crate::report::{Measured, millis, percentile};
use crate::work::{Length, Notes, execute_as, stop, submit};

const GROUPS: u64 = 200;
const SLOTS: u32 = 4;
/// A longer backlog would take longer to make than to measure.
const BACKLOG: u64 = 60_000;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    /// How far the server is.
    pub(crate) round_trip: Duration,
    /// Executors with four slots each, with connections of their own.
    pub(crate) executors: u32,
    /// How long a job takes.
    pub(crate) job: Duration,
}

impl Network {
    /// Every combination that a goal speaks of.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for round_trip in [2, 5] {
            for job in [1, 100] {
                for executors in [1, 4, 8, 16] {
                    all.push(Self {
                        round_trip: Duration::from_millis(round_trip),
                        executors,
                        job: Duration::from_millis(job),
                    });
                }
            }
        }
        all
    }
}

/// Jobs that end in a second, while more than enough of them wait.
pub(crate) async fn run(place: &Place, wanted: Network, time: Duration) -> Result<Measured> {
    let open = place.open(History::None).await?;
    let most = f64::from(wanted.executors * SLOTS) / wanted.job.as_secs_f64();
    let jobs = BACKLOG.min((most * (time.as_secs_f64() + 2.0)) as u64);
    submit(&open.jobs, 0..jobs, GROUPS, 10_000).await?;
    open.analyze().await?;
    let network = Delay::before(&open.address.url, wanted.round_trip).await?;
    let round_trip = round_trip(&network.url).await?;
    let notes = Notes::new(jobs, Length::Timer(wanted.job));
    let mut executors = Vec::new();
    for n in 0..wanted.executors {
        let address = Address {
            url: network.url.clone(),
            schema: open.address.schema.clone(),
            retention: open.address.retention,
        };
        executors.push(execute_as(&address.open().await?, &notes, SLOTS, &format!("bench-{n}")).await?);
    }
    // They have begun one after the other.
    let (begin, before) = (Instant::now(), notes.ended());
    notes.wait_for(jobs, time).await;
    let (ended, took) = (notes.ended() - before, begin.elapsed());
    stop(executors).await;
    open.close().await?;
    let rate = ended as f64 / took.as_secs_f64();
    Ok(Measured::new("network", place.store)
        .setting("round_trip_ms", wanted.round_trip.as_millis() as u64)
        .setting("executors", wanted.executors)
        .setting("slots", SLOTS)
        .setting("job_ms", wanted.job.as_millis() as u64)
        .value("per_s", rate)
        .value("of_slots", rate / most)
        .value("real_round_trip_ms", millis(round_trip)))
}

/// How long a statement that does nothing takes.
async fn round_trip(url: &str) -> Result<Duration> {
    let client = connect(url).await?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let begin = Instant::now();
        client.batch_execute("").await?;
        times.push(begin.elapsed());
    }
    Ok(percentile(&times, 0.5))
}
