//! Draining a backlog of jobs that do nothing, through the executor.

use anyhow::Result;

use crate::ceiling;
use crate::meter::Cpu;
use crate::place::{History, Place};
use crate::report::Measured;
use crate::work::{Length, Notes, execute_as, let_go, stop, submit};

/// One drain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain {
    pub(crate) groups: u64,
    pub(crate) backlog: u64,
    pub(crate) executors: u32,
    pub(crate) slots: u32,
    pub(crate) history: History,
    /// Whether another transaction holds a snapshot open meanwhile.
    pub(crate) pinned: bool,
}

/// The clock runs from the start of the first job until the store says that nothing is unfinished.
pub(crate) async fn run(place: &Place, drain: Drain) -> Result<Measured> {
    let backlog = drain.backlog;
    let ceiling = ceiling::drain(place, backlog.min(100_000)).await?;
    let open = place.open(drain.history).await?;
    submit(&open.jobs, 0..backlog, drain.groups, 10_000).await?;
    open.analyze().await?;
    let pin = if drain.pinned { Some(open.pin().await?) } else { None };

    let mut handles = vec![open.jobs.clone()];
    for _ in 1..drain.executors {
        handles.push(open.another().await?);
    }
    let notes = Notes::new(backlog, Length::Nothing);
    let cpu = Cpu::now();
    let mut executors = Vec::new();
    for (number, jobs) in handles.iter().enumerate() {
        executors.push(execute_as(jobs, &notes, drain.slots, &format!("bench-{number}")).await?);
    }
    notes.all_ended().await?;
    let end = loop {
        let_go(&executors).await;
        let end = notes.now();
        if open.unfinished().await? == 0 {
            break end;
        }
    };
    let cpu = Cpu::per_job(&cpu, backlog);
    stop(executors).await;
    drop((handles, pin));
    open.close().await?;

    Ok(Measured::new("drain", place.store)
        .setting("groups", drain.groups)
        .setting("backlog", backlog)
        .setting("executors", drain.executors)
        .setting("history", drain.history == History::Kept)
        .setting("pinned", drain.pinned)
        .setting("slots", drain.slots)
        .rate(backlog, end.saturating_sub(notes.first().unwrap_or_default()), ceiling)
        .maybe("cpu_us_per_job", cpu))
}
