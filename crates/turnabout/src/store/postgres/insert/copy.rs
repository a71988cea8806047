//! Many jobs at once, by binary `COPY`.
//!
//! Two round trips: the first begins, asks for the time and opens the copy; the second sends the rows, wakes and
//! commits. Rows are sent as they are written, so that the server stores the first ones meanwhile.
//!
//! Of a large submit two portions are copied at a time, over two connections. The second draws its places in the order of jobs
//! when the first has drawn its own, and commits after it, so that the jobs stay in their order. Before that it must hold
//! nothing that the first may want.

use std::collections::HashSet;
use std::io::Cursor;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::HashMap;
use futures_util::SinkExt as _;
use jiff::Timestamp;

use super::super::connect::{Mode, Tx, failed};
use super::super::{PostgresStore, rows};
use crate::error::Result;
use crate::job::{Lane, Priority};
use crate::store::{Leg, NewJob};

/// Rows are sent in pieces of about so many bytes.
const PIECE: usize = 32 << 10;
/// How a binary copy begins: a signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// How it ends.
const TRAILER: &[u8] = &(-1i16).to_be_bytes();
/// The columns of `copy.sql`.
const COLUMNS: i16 = 18;
/// The server's moments are counted from the year 2000, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;

impl PostgresStore {
    /// Stores plain jobs, all or none. `false`: some group has a limit on unfinished jobs, so nothing was stored, since
    /// nobody has looked (`free`) whether these jobs come under one. `unknown`: tasks that nobody has published, of which their
    /// groups have jobs already.
    pub(super) async fn copy(
        &self,
        jobs: &[NewJob],
        unknown: &HashSet<String>,
        free: bool,
        leg: &mut Leg,
    ) -> Result<bool> {
        leg.until_begun().await;
        // Whoever waits for the portion before must not keep it waiting for a connection.
        let spare = if leg.follows() { self.spare_client().await } else { None };
        let client = if let Some(client) = spare {
            client
        } else {
            leg.until_over().await;
            self.client().await?
        };
        let tx = Tx::on(client);
        let copied = self
            .copy_on(&tx, jobs, unknown, free, leg)
            .await
            .map_err(failed("submitting"))?;
        if copied {
            drop(tx.finish());
        }
        Ok(copied)
    }

    async fn copy_on(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        unknown: &HashSet<String>,
        free: bool,
        leg: &mut Leg,
    ) -> Result<bool, tokio_postgres::Error> {
        // Prepared before anything is sent, so that nothing overtakes the beginning or the end.
        let copy = tx.prepare(&self.sql.copy).await?;
        for sql in [&self.sql.open_copy, &self.sql.arrive] {
            tx.prepare(sql).await?;
        }
        let drawn = jobs.len() as i64;
        let manual = self.options.clock.manual();
        let (begun, asked, sink) = futures_util::join!(
            tx.open(Mode::Durable),
            async { tx.query(&self.sql.open_copy, &[&drawn]).await },
            tx.client().copy_in(&copy),
        );
        begun?;
        let asked = asked?;
        let theirs = asked.first().map(|row| row.get(0));
        let limits = asked.first().is_some_and(|row| row.get(1));
        self.limits.store(limits, Relaxed);
        if limits && !free {
            return Ok(false);
        }
        let seqs: Vec<i64> = asked.first().map(|row| row.get(2)).unwrap_or_default();
        leg.begin();
        let now = manual.or(theirs).unwrap_or_else(|| self.now());
        let mut sink = pin!(sink?);
        let mut piece = Vec::with_capacity(PIECE + 4096);
        piece.extend_from_slice(HEADER);
        for (job, seq) in jobs.iter().zip(&seqs) {
            write_row(&mut piece, job, *seq, now, unknown.contains(&job.task));
            if piece.len() >= PIECE {
                let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE + 4096));
                sink.send(Cursor::new(full)).await?;
            }
        }
        piece.extend_from_slice(TRAILER);
        sink.send(Cursor::new(piece)).await?;
        if leg.follows() {
            // It may be long until the portion before is over, and it is not to be given up for that.
            let (copied, arrived, patient) = futures_util::join!(
                sink.as_mut().finish(),
                self.arrive(tx, jobs, &seqs, now),
                tx.client()
                    .batch_execute("set local idle_in_transaction_session_timeout = '5min'"),
            );
            copied?;
            arrived?;
            patient?;
            leg.until_over().await;
            tx.client().batch_execute("commit").await?;
            return Ok(true);
        }
        leg.until_over().await;
        let (copied, arrived, committed) = futures_util::join!(
            sink.finish(),
            self.arrive(tx, jobs, &seqs, now),
            tx.client().batch_execute("commit"),
        );
        copied?;
        arrived?;
        committed?;
        Ok(true)
    }

    /// Announces those of the jobs that are ready at once.
    async fn arrive(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        seqs: &[i64],
        now: Timestamp,
    ) -> Result<(), tokio_postgres::Error> {
        // Seqs rise, so the first of a stream is its lowest.
        let mut streams: HashMap<(&str, &str, i16, &str), i64> = HashMap::default();
        for (job, seq) in jobs.iter().zip(seqs) {
            if job.when.moment(now).is_none() {
                let lane = Lane::from(job.priority.unwrap_or(Priority::Normal)).code();
                let queue = job.queue.as_deref().unwrap_or("default");
                streams.entry((queue, &job.group, lane, &job.task)).or_insert(*seq);
            }
        }
        if streams.is_empty() {
            return Ok(());
        }
        let queues: Vec<&str> = streams.keys().map(|key| key.0).collect();
        let groups: Vec<&str> = streams.keys().map(|key| key.1).collect();
        let lanes: Vec<i16> = streams.keys().map(|key| key.2).collect();
        let tasks: Vec<&str> = streams.keys().map(|key| key.3).collect();
        let firsts: Vec<i64> = streams.values().copied().collect();
        tx.execute(&self.sql.arrive, &[&queues, &groups, &lanes, &tasks, &firsts])
            .await?;
        Ok(())
    }
}

/// One row, in the order of the columns of `copy.sql`.
fn write_row(to: &mut Vec<u8>, job: &NewJob, seq: i64, now: Timestamp, limited: bool) {
    let priority = job.priority.unwrap_or(Priority::Normal).code();
    to.extend_from_slice(&COLUMNS.to_be_bytes());
    bytes(to, Some(&seq.to_be_bytes()));
    bytes(to, Some(job.id.0.as_bytes()));
    moment(to, Some(now));
    moment(to, job.when.moment(now));
    moment(to, job.expires.expiry(now));
    bytes(to, job.parent.as_ref().map(|parent| parent.0.as_bytes().as_slice()));
    bytes(to, Some(&rows::items(job).to_be_bytes()));
    bytes(to, Some(&priority.to_be_bytes()));
    bytes(to, Some(&priority.to_be_bytes()));
    bytes(to, Some(job.queue.as_deref().unwrap_or("default").as_bytes()));
    bytes(to, Some(job.group.as_bytes()));
    bytes(to, Some(job.task.as_bytes()));
    bytes(to, job.owner.as_deref().map(str::as_bytes));
    bytes(to, Some(job.args.as_bytes()));
    bytes(to, rows::meta_text(&job.meta).as_deref().map(str::as_bytes));
    bytes(to, job.subject.as_deref().map(str::as_bytes));
    bytes(to, Some(&[u8::from(job.prepared)]));
    bytes(to, Some(&[u8::from(limited)]));
}

/// A value: its length, then its bytes. Nothing at all has the length -1.
fn bytes(to: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => to.extend_from_slice(&(-1i32).to_be_bytes()),
        Some(value) => {
            // Names and arguments are far shorter; the server refuses what is not.
            to.extend_from_slice(&i32::try_from(value.len()).unwrap_or(i32::MAX).to_be_bytes());
            to.extend_from_slice(value);
        }
    }
}

fn moment(to: &mut Vec<u8>, moment: Option<Timestamp>) {
    let since = moment.map(|moment| (moment.as_microsecond() - EPOCH).to_be_bytes());
    bytes(to, since.as_ref().map(<[u8; 8]>::as_slice));
}
