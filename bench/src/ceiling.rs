//! What the bare storage engine does on this machine at this moment, in the simplest table and with the fewest
//! statements that a queue of any design needs: no fairness, no retries, no history.
//!
//! The tables, sizes and statements are those of the comparison with other job queues, so that shares of the ceiling can
//! be compared too.

mod postgres;
mod sqlite;

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::place::{Place, Store};

const ARGS: &str = r#"{"n": 12345, "document": "0192f0c0-0000-7000-8000-000000000000", "note": "forty"}"#;
/// Jobs are claimed and deleted in batches of this size ..
const BATCH: u64 = 500;
/// .. and inserted in batches of this size.
const INSERTS: u64 = 1000;
/// What is flushed at a time: about as much as the commit of a single job writes.
const FLUSHED: [u8; 16 << 10] = [2; 16 << 10];
/// A file that is flushed has room for so many of those.
const FLUSHES: usize = 100;

/// Jobs claimed and then deleted in a second, on one connection.
pub(crate) async fn drain(place: &Place, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => postgres::drain(place, jobs).await,
        Store::Sqlite => sqlite::on_file(place, move |file| sqlite::drain(file, jobs)).await,
    }
}

/// Jobs inserted in batches in a second, on one connection.
pub(crate) async fn insert(place: &Place, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => postgres::insert(place, jobs).await,
        Store::Sqlite => sqlite::on_file(place, move |file| sqlite::fill(file, jobs, INSERTS)).await,
    }
}

/// Jobs inserted one by one in a second: each its own commit, by so many connections (`SQLite`: one, which is faster
/// than several).
pub(crate) async fn insert_single(place: &Place, callers: u64, jobs: u64) -> Result<f64> {
    match place.store {
        Store::Postgres => postgres::insert_single(place, callers, jobs).await,
        Store::Sqlite => sqlite::on_file(place, move |file| sqlite::fill(file, jobs, 1)).await,
    }
}

/// Transactions in a second, each of which writes a row of the caller's and inserts a job (`PostgreSQL` only).
pub(crate) async fn insert_within(place: &Place, callers: u64, jobs: u64) -> Result<f64> {
    postgres::insert_within(place, callers, jobs).await
}

/// How long it takes from before a job's insert until it is stored, and until it is claimed.
#[derive(Default)]
pub(crate) struct HandedOver {
    pub(crate) stored: Vec<Duration>,
    pub(crate) claimed: Vec<Duration>,
}

/// Jobs are handed over to somebody who was asleep: on `PostgreSQL` by a notification, on `SQLite` by two commits of one
/// connection.
pub(crate) async fn hand_over(place: &Place, jobs: u64, apart: Duration) -> Result<HandedOver> {
    match place.store {
        Store::Postgres => postgres::hand_over(place, jobs, apart).await,
        Store::Sqlite => sqlite::on_file(place, move |file| sqlite::hand_over(file, jobs, apart)).await,
    }
}

/// How long the disk takes to keep a few pages of a file of its full size, at the pace of [`hand_over`]: no commit is faster.
pub(crate) async fn flush(place: &Place, times: u64, apart: Duration) -> Result<Vec<Duration>> {
    let folder = place.folder()?;
    let flushing = move || {
        let mut file = File::create_new(folder.path().join("flush"))?;
        file.write_all(&vec![1; FLUSHED.len() * FLUSHES])?;
        file.sync_all()?;
        let mut took = Vec::new();
        for n in 0..times as usize {
            std::thread::sleep(apart);
            let begin = Instant::now();
            file.seek(SeekFrom::Start((n % FLUSHES * FLUSHED.len()) as u64))?;
            file.write_all(&FLUSHED)?;
            file.sync_data()?;
            took.push(begin.elapsed());
        }
        Ok(took)
    };
    tokio::task::spawn_blocking(flushing).await?
}

fn rate(jobs: u64, since: Instant) -> f64 {
    jobs as f64 / since.elapsed().as_secs_f64()
}
