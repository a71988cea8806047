//! What a job costs beside time: the log that the server writes, commits, dead rows, processor time of this process and
//! of the server's, bytes written, memory, allocations. Once for submitting, once for running it.

use anyhow::Result;

use crate::ceiling;
use crate::meter::server::{Counters, backends, gone, wal};
use crate::meter::{self, Moment};
use crate::place::{History, Open, Place, Store};
use crate::report::Measured;
use crate::work::{Length, Notes, execute, let_go, stop, submit};

const GROUPS: u64 = 1_000;
const BATCH: usize = 1000;

/// Two results: submitting so many jobs in batches, and draining them.
pub(crate) async fn run(place: &Place, jobs: u64, slots: u32, history: History) -> Result<[Measured; 2]> {
    let bare = bare(place, jobs).await?;
    let mut open = place.open(history).await?;
    let titled = |phase: &str| {
        Measured::new("cost", place.store)
            .setting("phase", phase)
            .setting("jobs", jobs)
            .setting("groups", GROUPS)
            .setting("history", history == History::Kept)
            .setting("slots", slots)
    };

    let phase = Phase::begin(&open).await?;
    submit(&open.jobs, 0..jobs, GROUPS, BATCH).await?;
    let spent = phase.spent(&open, jobs).await?;
    let counted = phase.counted(&mut open, jobs).await?;
    let mut submitted = titled("submit").values(spent).values(counted);
    open.analyze().await?;

    let phase = Phase::begin(&open).await?;
    let notes = Notes::new(jobs, Length::Nothing);
    let executors = vec![execute(&open.jobs, &notes, slots).await?];
    notes.all_ended().await?;
    let_go(&executors).await;
    let spent = phase.spent(&open, jobs).await?;
    stop(executors).await;
    let counted = phase.counted(&mut open, jobs).await?;
    let mut drained = titled("drain").values(spent).values(counted);
    open.close().await?;
    if let Some([insert, drain]) = bare {
        submitted = submitted.value("ceiling_wal_bytes_per_job", insert);
        drained = drained.value("ceiling_wal_bytes_per_job", drain);
    }
    Ok([submitted, drained])
}

/// The log of the bare engine for a job: inserting it in batches, and claiming and deleting it.
async fn bare(place: &Place, jobs: u64) -> Result<Option<[f64; 2]>> {
    if place.store == Store::Sqlite {
        return Ok(None);
    }
    let client = place.connect().await?;
    let begin = wal(&client).await?;
    ceiling::insert(place, jobs).await?;
    let middle = wal(&client).await?;
    ceiling::drain(place, jobs).await?;
    let end = wal(&client).await?;
    // A drain is preceded by an insert, in larger batches: nearly the same.
    let insert = (middle - begin) / jobs as f64;
    Ok(Some([insert, (end - middle) / jobs as f64 - insert]))
}

/// Counters at the beginning of a phase.
struct Phase {
    own: Moment,
    server: Option<Counters>,
}

impl Phase {
    async fn begin(open: &Open) -> Result<Self> {
        meter::forget_peak();
        let server = match &open.client {
            Some(client) => Some(Counters::read(client, &open.address.schema).await?),
            None => None,
        };
        Ok(Self {
            own: Moment::now(),
            server,
        })
    }

    /// What this process and the backends that work for it have spent, while they all are still there.
    async fn spent(&self, open: &Open, jobs: u64) -> Result<Vec<(&'static str, f64)>> {
        let mut values = self.own.per_job(jobs);
        values.extend(meter::peak_memory().map(|peak| ("peak_mib", peak)));
        if let Some(client) = &open.client {
            // The system does not count what goes into sockets.
            values.retain(|(name, _)| *name != "written_bytes_per_job");
            let time = backends(client, &open.address.schema).await?;
            values.extend(time.map(|time| ("server_cpu_us_per_job", time.as_secs_f64() * 1e6 / jobs as f64)));
        }
        Ok(values)
    }

    /// What the server has counted: once all connections are closed, which are then made anew.
    async fn counted(&self, open: &mut Open, jobs: u64) -> Result<Vec<(&'static str, f64)>> {
        let (Some(client), Some(then)) = (&open.client, self.server) else {
            return Ok(Vec::new());
        };
        // Something must stand in its place for the moment.
        let spare = turnabout::Jobs::open("sqlite::memory:").await?;
        drop(std::mem::replace(&mut open.jobs, spare));
        gone(client, &open.address.schema).await?;
        let now = Counters::read(client, &open.address.schema).await?;
        open.jobs = open.another().await?;
        Ok(now.per_job(then, jobs))
    }
}
