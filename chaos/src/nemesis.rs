//! What goes wrong, and when. Everything that is decided by chance comes from one seed.

use std::sync::Arc;
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
}

impl Nemesis {
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
        let mut names = 0;
        while Instant::now() < until {
            pause(&mut rng, 100..1500).await;
            let seat = &fleet.seats[rng.usize(..fleet.seats.len())];
            if !seat.is_taken() {
                continue;
            }
            let name = seat.name();
            match rng.u32(..100) {
                0..20 => {
                    let back = Duration::from_millis(rng.u64(0..1000));
                    self.note("kill -9, same id", format!("{name}, back after {back:?}"));
                    seat.next(back, None);
                    seat.signal(Signal::KILL);
                }
                20..35 => {
                    names += 1;
                    let back = Duration::from_millis(rng.u64(0..1000));
                    self.note("kill -9, another id", format!("{name}, another after {back:?}"));
                    let first = name.split('x').next().unwrap_or_default();
                    seat.next(back, Some(format!("{first}x{names}")));
                    seat.signal(Signal::KILL);
                }
                35..50 => {
                    let short = self.lease.mul_f64(rng.f64() * 0.6);
                    self.stop(seat, "SIGSTOP, short", short).await;
                }
                50..70 => {
                    let long = self.lease.mul_f64(1.1 + rng.f64());
                    self.stop(seat, "SIGSTOP, longer than a lease", long).await;
                }
                70..85 => {
                    self.note("SIGTERM", name);
                    seat.next(Duration::from_millis(rng.u64(0..500)), None);
                    seat.signal(Signal::TERM);
                    if rng.bool() {
                        pause(&mut rng, 10..400).await;
                        self.note("second SIGTERM", seat.name());
                        seat.signal(Signal::TERM);
                    }
                }
                _ => {
                    self.note("second executor, same id", name);
                    seat.impersonate().await?;
                }
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

    async fn haunt_store(&self, fleet: &Fleet, mut rng: Rng, until: Instant) -> Result<()> {
        while Instant::now() < until {
            pause(&mut rng, 500..2500).await;
            if let Some(file) = &self.file {
                self.haunt_file(file.clone(), &mut rng).await?;
            }
            if let Some(cluster) = &self.cluster {
                let seat = &fleet.seats[rng.usize(..fleet.seats.len())];
                self.haunt_network(cluster, seat, &mut rng).await?;
            }
        }
        Ok(())
    }

    async fn haunt_network(&self, cluster: &Mutex<Cluster>, seat: &Seat, rng: &mut Rng) -> Result<()> {
        let Some(proxy) = &seat.proxy else {
            return Ok(());
        };
        let name = seat.name();
        match rng.u32(..100) {
            0..20 => {
                self.note("connections cut", name);
                proxy.cut();
            }
            20..30 => {
                let time = self.lease.mul_f64(0.5 + rng.f64() * 2.0);
                self.note("connections stranded, new ones fine", format!("{name} for {time:?}"));
                proxy.strand();
                tokio::time::sleep(time).await;
                proxy.cut();
            }
            30..50 => {
                let time = self.lease.mul_f64(0.1 + rng.f64() * 1.9);
                self.note("connections frozen", format!("{name} for {time:?}"));
                proxy.set(Weather::Frozen);
                tokio::time::sleep(time).await;
                proxy.set(Weather::Fine);
            }
            50..70 => {
                let time = Duration::from_millis(rng.u64(20..1500));
                self.note("answers lost", format!("{name} for {time:?}"));
                proxy.set(Weather::Swallowing);
                tokio::time::sleep(time).await;
                proxy.set(Weather::Fine);
                proxy.cut();
            }
            70..85 => {
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
            }
            _ => {
                self.note("PostgreSQL crashed and restarted", "immediate mode");
                cluster.lock().await.crash().await?;
            }
        }
        Ok(())
    }

    /// Somebody else writes to the file, for long.
    async fn haunt_file(&self, file: std::path::PathBuf, rng: &mut Rng) -> Result<()> {
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
