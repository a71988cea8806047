//! What a measurement cost: processor time, memory, bytes written, allocations, and the server's counters.
//!
//! All of it is read from `/proc`; where the system does not tell, there is no number.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

pub(crate) mod server;

/// The processor time that a process has used. Other programs disturb it far less than rates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    /// Of the threads that it has now, exactly.
    threads: HashMap<OsString, Duration>,
    /// Of all that it ever had, in ticks of 10 ms.
    ticks: Duration,
}

/// The ticks' share of the truth.
const TICK: Duration = Duration::from_millis(10);

impl Cpu {
    /// Of this process so far; `None` where the system does not tell.
    pub(crate) fn now() -> Option<Self> {
        Self::of("self")
    }

    /// Of any process so far.
    pub(crate) fn of(process: &str) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name stands in parentheses and may hold anything; after it, the times are the 12th and 13th field.
        let fields = stat.rsplit_once(')')?.1.split_whitespace();
        let ticks: u32 = fields
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u32>().ok())
            .sum::<Option<u32>>()?;
        let threads = std::fs::read_dir(format!("/proc/{process}/task"))
            .ok()?
            .flatten()
            .filter_map(|thread| {
                let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
                let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
                Some((thread.file_name(), Duration::from_nanos(nanoseconds)))
            })
            .collect();
        Some(Self {
            threads,
            ticks: TICK * ticks,
        })
    }

    /// What has been used between two moments: by the exact times, unless threads have ended meanwhile and taken theirs
    /// with them.
    pub(crate) fn since(&self, then: &Self) -> Duration {
        let before = |thread| then.threads.get(thread).copied().unwrap_or_default();
        let used = |(thread, now): (_, &Duration)| now.saturating_sub(before(thread));
        let threads: Duration = self.threads.iter().map(used).sum();
        let ticks = self.ticks.saturating_sub(then.ticks);
        if ticks > threads + 2 * TICK { ticks } else { threads }
    }

    /// What this process has used since that moment.
    pub(crate) fn until_now(then: &Option<Self>) -> Option<Duration> {
        Some(Self::now()?.since(then.as_ref()?))
    }

    /// The same in microseconds, for each of so many jobs.
    pub(crate) fn per_job(then: &Option<Self>, jobs: u64) -> Option<f64> {
        Some(Self::until_now(then)?.as_secs_f64() * 1e6 / jobs as f64)
    }
}

/// The most memory that this process has had in use at a time since [`forget_peak`], in MiB.
pub(crate) fn peak_memory() -> Option<f64> {
    status("VmHWM:").map(|kib| kib / 1024.0)
}

/// The memory that this process has in use now, in MiB.
pub(crate) fn memory() -> Option<f64> {
    status("VmRSS:").map(|kib| kib / 1024.0)
}

/// Begins a new peak.
pub(crate) fn forget_peak() {
    // Where that is not allowed, the peak is that of the whole run: too much, never too little.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn status(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes that this process has written so far, to files and to the network.
pub(crate) fn written() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

/// How often memory was asked for so far, and how many bytes.
#[cfg(feature = "allocations")]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as without the feature")]
pub(crate) fn allocations() -> Option<(u64, u64)> {
    let stats = counting::GLOBAL.stats();
    let times = stats.allocations + stats.reallocations;
    Some((times as u64, stats.bytes_allocated as u64))
}

/// Nobody counted.
#[cfg(not(feature = "allocations"))]
pub(crate) fn allocations() -> Option<(u64, u64)> {
    None
}

#[cfg(feature = "allocations")]
mod counting {
    use std::alloc::System;

    use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

    #[global_allocator]
    pub(super) static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
}

/// All that this process can tell of itself, at one moment.
pub(crate) struct Moment {
    cpu: Option<Cpu>,
    written: Option<u64>,
    allocations: Option<(u64, u64)>,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            cpu: Cpu::now(),
            written: written(),
            allocations: allocations(),
        }
    }

    /// What each of so many jobs has cost since, by name.
    pub(crate) fn per_job(&self, jobs: u64) -> Vec<(&'static str, f64)> {
        let each = |value: f64| value / jobs as f64;
        let mut values = Vec::new();
        values.extend(Cpu::per_job(&self.cpu, jobs).map(|cpu| ("cpu_us_per_job", cpu)));
        if let (Some(then), Some(now)) = (self.written, written()) {
            values.push(("written_bytes_per_job", each((now - then) as f64)));
        }
        if let (Some(then), Some(now)) = (self.allocations, allocations()) {
            values.push(("allocations_per_job", each((now.0 - then.0) as f64)));
            values.push(("allocated_bytes_per_job", each((now.1 - then.1) as f64)));
        }
        values
    }
}
