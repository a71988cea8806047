//! The worker processes: seats that are always taken. Whoever dies is replaced, under the same id unless the nemesis says
//! otherwise.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::proxy::Proxy;
use crate::record::{Record, SideLog, now};
use crate::skew::SKEWS;
use crate::worker::Wellness;

/// What all workers have in common.
#[derive(Clone, Debug)]
pub struct Spec {
    /// This program, which is also the worker's.
    pub program: PathBuf,
    /// The folder of the run: the side log, and what workers print.
    pub folder: PathBuf,
    /// Slots of each worker.
    pub slots: u32,
    /// How often leases are renewed.
    pub heartbeat: Duration,
    /// How long they last.
    pub lease: Duration,
    /// Where every second worker listens, past a pooler.
    pub listen_url: Option<String>,
    /// How many connections each worker may have.
    pub connections: u32,
}

impl Spec {
    /// The side log.
    pub fn side(&self) -> PathBuf {
        self.folder.join("side.jsonl")
    }
}

/// All workers.
#[derive(Debug)]
pub struct Fleet {
    /// One for each worker.
    pub seats: Vec<Arc<Seat>>,
    keepers: JoinSet<()>,
}

/// One worker, and whoever replaces it.
#[derive(Debug)]
pub struct Seat {
    spec: Spec,
    /// What makes its clock wrong, and by how many seconds.
    skew: Option<(PathBuf, i64)>,
    url: String,
    listen_url: Option<String>,
    /// The network between it and the store, if there is one.
    pub proxy: Option<Proxy>,
    side: Arc<SideLog>,
    counter: Arc<AtomicU32>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    name: String,
    process: u32,
    pid: Option<Pid>,
    pause: Duration,
    closed: bool,
}

impl Fleet {
    /// Starts a worker for each way to the store.
    /// Their clocks are off, if there is a library for that.
    pub fn start(spec: &Spec, side: &Arc<SideLog>, ways: Vec<(String, Option<Proxy>)>, skewed: Option<&Path>) -> Self {
        let counter = Arc::new(AtomicU32::new(1));
        let mut keepers = JoinSet::new();
        let seats = ways.into_iter().enumerate().map(|(n, (url, proxy))| {
            let state = State {
                name: format!("worker-{n}"),
                process: 0,
                pid: None,
                pause: Duration::ZERO,
                closed: false,
            };
            Arc::new(Seat {
                spec: spec.clone(),
                skew: skewed.map(|library| (library.to_owned(), SKEWS[n % SKEWS.len()])),
                url,
                listen_url: spec.listen_url.clone().filter(|_| n % 2 == 0),
                proxy,
                side: Arc::clone(side),
                counter: Arc::clone(&counter),
                state: Mutex::new(state),
            })
        });
        let seats: Vec<_> = seats.collect();
        for seat in &seats {
            keepers.spawn(Arc::clone(seat).keep());
        }
        Self { seats, keepers }
    }

    /// Waits until every worker has a lease.
    pub async fn ready(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let records = crate::record::read(&self.seats[0].spec.side())?;
            let renewed = |process: u32| {
                let by = |record: &Record| matches!(record, Record::Renewed { process: p, .. } if *p == process);
                records.iter().any(by)
            };
            if self.seats.iter().all(|seat| renewed(seat.state().process)) {
                return Ok(());
            }
            ensure!(begun.elapsed() < Duration::from_mins(1), "the workers do not start");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Tells all workers to stop, and waits until they have. Those that do not are killed, and counted.
    pub async fn stop(mut self) -> usize {
        for seat in &self.seats {
            seat.state().closed = true;
            seat.signal(Signal::CONT);
            seat.signal(Signal::TERM);
        }
        let all = async { while self.keepers.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(30), all).await.is_ok() {
            return 0;
        }
        let alive = self.seats.iter().filter(|seat| seat.signal(Signal::KILL)).count();
        while self.keepers.join_next().await.is_some() {}
        alive
    }
}

impl Seat {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present id.
    pub fn name(&self) -> String {
        self.state().name.clone()
    }

    /// The process that sits here at present.
    pub fn process(&self) -> u32 {
        self.state().process
    }

    /// What the process that sits here said about itself last.
    pub fn health(&self) -> Option<Wellness> {
        let text = std::fs::read(Wellness::path(&self.spec.side(), self.process())).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether a process sits here.
    pub fn is_taken(&self) -> bool {
        self.state().pid.is_some()
    }

    /// Who comes next: so long after the present one has gone, and perhaps under another id.
    pub fn next(&self, pause: Duration, name: Option<String>) {
        let mut state = self.state();
        state.pause = pause;
        if let Some(name) = name {
            state.name = name;
        }
    }

    /// Sends a signal; says whether there was someone to get it.
    pub fn signal(&self, signal: Signal) -> bool {
        let pid = self.state().pid;
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    /// Starts another process with this worker's id, which should be refused; if not, it lives for two leases.
    pub async fn impersonate(&self) -> Result<()> {
        let (name, first) = {
            let state = self.state();
            (state.name.clone(), state.process)
        };
        let process = self.counter.fetch_add(1, Relaxed);
        self.note_process(process, &name);
        let mut child = self.spawn(process, &name)?;
        let _input = child.stdin.take();
        let _ = tokio::time::timeout(self.spec.lease * 2, child.wait()).await;
        // It may have gone.
        let _ = child.start_kill();
        let how = child.wait().await?.to_string();
        self.side.write(&Record::Gone {
            at: now(),
            process,
            how,
        });
        self.side.write(&Record::Impostor {
            at: now(),
            name,
            process,
            first,
        });
        Ok(())
    }

    fn note_process(&self, process: u32, name: &str) {
        self.side.write(&Record::Process {
            at: now(),
            process,
            name: name.to_owned(),
            slots: self.spec.slots as usize,
        });
    }

    fn spawn(&self, process: u32, name: &str) -> Result<Child> {
        let log = std::fs::File::create(self.spec.folder.join(format!("worker-{process}.log")))?;
        let mut command = Command::new(&self.spec.program);
        if let Some((library, seconds)) = &self.skew {
            command
                .env("LD_PRELOAD", library)
                .env("TURNABOUT_SKEW", seconds.to_string());
        }
        let child = command
            .arg("worker")
            .args(["--store", &self.url, "--name", name])
            .arg("--side")
            .arg(self.spec.side())
            .args([
                "--process",
                &process.to_string(),
                "--slots",
                &self.spec.slots.to_string(),
            ])
            .args(["--heartbeat", &self.spec.heartbeat.as_millis().to_string()])
            .args(["--lease", &self.spec.lease.as_millis().to_string()])
            .args(["--connections", &self.spec.connections.to_string()])
            .args(self.listen_url.iter().flat_map(|url| ["--listen-url", url]))
            // Ends with us: it reads until the end of its input.
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        Ok(child)
    }

    /// Keeps the seat taken.
    async fn keep(self: Arc<Self>) {
        loop {
            let pause = std::mem::replace(&mut self.state().pause, Duration::from_millis(100));
            tokio::time::sleep(pause).await;
            let process = self.counter.fetch_add(1, Relaxed);
            let name = {
                let mut state = self.state();
                if state.closed {
                    return;
                }
                state.process = process;
                state.name.clone()
            };
            self.note_process(process, &name);
            let how = match self.spawn(process, &name) {
                Ok(mut child) => {
                    // Held open: waiting for the child would close it.
                    let _input = child.stdin.take();
                    self.state().pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
                    if self.state().closed {
                        self.signal(Signal::TERM);
                    }
                    let ended = child.wait().await;
                    self.state().pid = None;
                    ended.map_or_else(|error| error.to_string(), |status| status.to_string())
                }
                Err(error) => error.to_string(),
            };
            self.side.write(&Record::Gone {
                at: now(),
                process,
                how,
            });
        }
    }
}
