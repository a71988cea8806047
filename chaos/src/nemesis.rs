//! What goes wrong, and when. Everything that is decided by chance comes from one seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use rustix::process::Signal;
use tokio::sync::Mutex;
use tokio_postgres::NoTls;

use crate::cluster::Cluster;
use crate::fleet::{Fleet, Seat};
use crate::proxy::Weather;
use crate::record::{Record, SideLog, now};

/// What the nemesis has in its hands.
#[derive(Debug)]
pub struct Nemesis {
    /// Where its deeds are written down.
    pub side: Arc<SideLog>,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The server, on `PostgreSQL`.
    pub cluster: Option<Arc<Mutex<Cluster>>>,
    /// The file, on `SQLite`.
    pub file: Option<std::path::PathBuf>,
    /// How many other ids it has given away.
    pub names: AtomicU32,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A worker is killed and comes back under its id.
    Kill,
    /// A worker is killed, and another one comes.
    KillForAnother,
    /// A worker stands still for less than a lease.
    StopShort,
    /// A worker stands still for longer than a lease.
    StopLong,
    /// A worker is told to end.
    Terminate,
    /// And told again before it has.
    TerminateTwice,
    /// A second worker wants the id of a living one.
    Impersonate,
    /// A worker's connections break.
    Cut,
    /// They go silent; new ones work.
    Strand,
    /// Nothing gets through for a while.
    Freeze,
    /// Answers get lost.
    Swallow,
    /// The server ends connections.
    EndBackends,
    /// The server crashes.
    Crash,
    /// Another process writes to the file for long.
    LockFile,
}

/// To processes, whatever the store is.
const TO_PROCESSES: [Deed; 7] = [
    Deed::Kill,
    Deed::KillForAnother,
    Deed::StopShort,
    Deed::StopLong,
    Deed::Terminate,
    Deed::TerminateTwice,
    Deed::Impersonate,
];
/// To the way to a server, and to the server.
const TO_THE_NETWORK: [Deed; 6] = [
    Deed::Cut,
    Deed::Strand,
    Deed::Freeze,
    Deed::Swallow,
    Deed::EndBackends,
    Deed::Crash,
];

impl Deed {
    /// Whether another process sits there afterwards.
    pub fn replaces(self) -> bool {
        matches!(
            self,
            Self::Kill | Self::KillForAnother | Self::Terminate | Self::TerminateTwice
        )
    }
}

impl Nemesis {
    /// Everything that can go wrong here.
    pub fn deeds(&self) -> Vec<Deed> {
        let mut deeds = TO_PROCESSES.to_vec();
        if self.cluster.is_some() {
            deeds.extend(TO_THE_NETWORK);
        }
        if self.file.is_some() {
            deeds.push(Deed::LockFile);
        }
        deeds
    }

    /// Does harm until the time is up, to processes and to their store at the same time; then makes everything good again.
    pub async fn rage(&self, fleet: &Fleet, seed: u64, until: Instant) -> Result<()> {
        let processes = self.haunt_processes(fleet, Rng::with_seed(seed ^ 1), until);
        let store = self.haunt_store(fleet, Rng::with_seed(seed ^ 2), until);
        let (processes, store) = tokio::join!(processes, store);
        for seat in &fleet.seats {
            seat.signal(Signal::CONT);
            if let Some(proxy) = &seat.proxy {
                proxy.set(Weather::Fine);
            }
        }
        processes.and(store)
    }

    fn note(&self, kind: &str, note: impl Into<String>) {
        self.side.write(&Record::Fault {
            at: now(),
            kind: kind.to_owned(),
            note: note.into(),
        });
    }

    async fn haunt_processes(&self, fleet: &Fleet, mut rng: Rng, until: Instant) -> Result<()> {
        while Instant::now() < until {
            pause(&mut rng, 100..1500).await;
            let seat = &fleet.seats[rng.usize(..fleet.seats.len())];
            if !seat.is_taken() {
                continue;
            }
            let deed = match rng.u32(..100) {
                0..20 => Deed::Kill,
                20..35 => Deed::KillForAnother,
                35..50 => Deed::StopShort,
                50..70 => Deed::StopLong,
                70..77 => Deed::Terminate,
                77..85 => Deed::TerminateTwice,
                _ => Deed::Impersonate,
            };
            self.commit(deed, seat, &mut rng).await?;
        }
        Ok(())
    }

    async fn haunt_store(&self, fleet: &Fleet, mut rng: Rng, until: Instant) -> Result<()> {
        while Instant::now() < until {
            pause(&mut rng, 500..2500).await;
            let seat = &fleet.seats[rng.usize(..fleet.seats.len())];
            let deed = match rng.u32(..100) {
                _ if self.cluster.is_none() => Deed::LockFile,
                0..20 => Deed::Cut,
                20..30 => Deed::Strand,
                30..50 => Deed::Freeze,
                50..70 => Deed::Swallow,
                70..85 => Deed::EndBackends,
                _ => Deed::Crash,
            };
            self.commit(deed, seat, &mut rng).await?;
        }
        Ok(())
    }

    /// Does one thing, to one worker where it is about one; returns when it is over.
    pub async fn commit(&self, deed: Deed, seat: &Seat, rng: &mut Rng) -> Result<()> {
        match deed {
            Deed::LockFile => match &self.file {
                Some(file) => self.lock_file(file.clone(), rng).await,
                None => Ok(()),
            },
            Deed::EndBackends | Deed::Crash => match &self.cluster {
                Some(cluster) => self.harm_server(deed, cluster, rng).await,
                None => Ok(()),
            },
            Deed::Cut | Deed::Strand | Deed::Freeze | Deed::Swallow => {
                self.harm_network(deed, seat, rng).await;
                Ok(())
            }
            _ => self.harm_process(deed, seat, rng).await,
        }
    }

    async fn harm_process(&self, deed: Deed, seat: &Seat, rng: &mut Rng) -> Result<()> {
        let name = seat.name();
        match deed {
            Deed::Kill => {
                let back = Duration::from_millis(rng.u64(0..1000));
                self.note("kill -9, same id", format!("{name}, back after {back:?}"));
                seat.next(back, None);
                seat.signal(Signal::KILL);
            }
            Deed::KillForAnother => {
                let number = self.names.fetch_add(1, Relaxed) + 1;
                let back = Duration::from_millis(rng.u64(0..1000));
                self.note("kill -9, another id", format!("{name}, another after {back:?}"));
                let first = name.split('x').next().unwrap_or_default();
                seat.next(back, Some(format!("{first}x{number}")));
                seat.signal(Signal::KILL);
            }
            Deed::StopShort => {
                let short = self.lease.mul_f64(rng.f64() * 0.6);
                self.stop(seat, "SIGSTOP, short", short).await;
            }
            Deed::StopLong => {
                let long = self.lease.mul_f64(1.1 + rng.f64());
                self.stop(seat, "SIGSTOP, longer than a lease", long).await;
            }
            Deed::Terminate | Deed::TerminateTwice => {
                self.note("SIGTERM", name);
                seat.next(Duration::from_millis(rng.u64(0..500)), None);
                seat.signal(Signal::TERM);
                if deed == Deed::TerminateTwice {
                    pause(rng, 10..400).await;
                    self.note("second SIGTERM", seat.name());
                    seat.signal(Signal::TERM);
                }
            }
            _ => {
                self.note("second executor, same id", name);
                seat.impersonate().await?;
            }
        }
        Ok(())
    }

    async fn stop(&self, seat: &Seat, kind: &str, time: Duration) {
        self.note(kind, format!("{} for {time:?}", seat.name()));
        seat.signal(Signal::STOP);
        tokio::time::sleep(time).await;
        seat.signal(Signal::CONT);
    }

    async fn harm_network(&self, deed: Deed, seat: &Seat, rng: &mut Rng) {
        let Some(proxy) = &seat.proxy else {
            return;
        };
        let name = seat.name();
        match deed {
            Deed::Cut => {
                self.note("connections cut", name);
                proxy.cut();
            }
            Deed::Strand => {
                let time = self.lease.mul_f64(0.5 + rng.f64() * 2.0);
                self.note("connections stranded, new ones fine", format!("{name} for {time:?}"));
                proxy.strand();
                tokio::time::sleep(time).await;
                proxy.cut();
            }
            Deed::Freeze => {
                let time = self.lease.mul_f64(0.1 + rng.f64() * 1.9);
                self.note("connections frozen", format!("{name} for {time:?}"));
                proxy.set(Weather::Frozen);
                tokio::time::sleep(time).await;
                proxy.set(Weather::Fine);
            }
            _ => {
                let time = Duration::from_millis(rng.u64(20..1500));
                self.note("answers lost", format!("{name} for {time:?}"));
                proxy.set(Weather::Swallowing);
                tokio::time::sleep(time).await;
                proxy.set(Weather::Fine);
                proxy.cut();
            }
        }
    }

    async fn harm_server(&self, deed: Deed, cluster: &Mutex<Cluster>, rng: &mut Rng) -> Result<()> {
        if deed == Deed::Crash {
            self.note("PostgreSQL crashed and restarted", "immediate mode");
            return cluster.lock().await.crash().await;
        }
        let port = cluster.lock().await.port();
        let some = if rng.bool() { "true" } else { "random() < 0.5" };
        self.note("pg_terminate_backend", format!("where {some}"));
        let (client, connection) = tokio_postgres::connect(&Cluster::url(port), NoTls).await?;
        let connection = tokio::spawn(connection);
        let others = "select pg_terminate_backend(pid) from pg_stat_activity \
                      where pid <> pg_backend_pid() and backend_type = 'client backend'";
        client.batch_execute(&format!("{others} and {some}")).await?;
        drop(client);
        connection.await??;
        Ok(())
    }

    /// Somebody else writes to the file, for long.
    async fn lock_file(&self, file: std::path::PathBuf, rng: &mut Rng) -> Result<()> {
        let time = self.lease.mul_f64(rng.f64() * 2.0);
        self.note("file locked by another process", format!("for {time:?}"));
        tokio::task::spawn_blocking(move || -> Result<()> {
            let connection = rusqlite::Connection::open(file)?;
            connection.busy_timeout(Duration::from_secs(10))?;
            if connection.execute_batch("begin immediate").is_ok() {
                std::thread::sleep(time);
                connection.execute_batch("rollback")?;
            }
            Ok(())
        })
        .await?
    }
}

async fn pause(rng: &mut Rng, millis: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(rng.u64(millis))).await;
}
