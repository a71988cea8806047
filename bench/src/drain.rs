//! Draining a backlog of jobs that do nothing, through the executor.

use std::time::Duration;

use anyhow::Result;

use crate::History;
use crate::ceiling;
use crate::place::Place;
use crate::report::{Cpu, Measured};
use crate::work::{Notes, execute, submit};

/// The clock runs from the start of the first job until the store says that nothing is unfinished.
pub(crate) async fn run(place: &Place, groups: u64, backlog: u64, slots: u32, history: History) -> Result<Measured> {
    let ceiling = ceiling::drain(place, backlog.min(100_000)).await?;
    let open = place.open(history).await?;
    submit(&open.jobs, 0..backlog, groups, 10_000).await?;
    open.analyze().await?;

    let notes = Notes::new(backlog, None);
    let cpu = Cpu::now();
    let executor = execute(&open.jobs, &notes, slots).await?;
    notes.all_ended().await?;
    let end = loop {
        // The executor lets go of a job only when the store has answered that it is written: asking that often costs
        // nothing, asking the store to count would. Then the store is asked all the same.
        while executor.health().held > 0 {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        let end = notes.now();
        if open.unfinished().await? == 0 {
            break end;
        }
    };
    let cpu = cpu.since();
    let seconds = end.saturating_sub(notes.first()).as_secs_f64();
    executor.shutdown(Duration::from_secs(10)).await;
    drop(executor);
    open.close().await?;

    let rate = backlog as f64 / seconds;
    Ok(Measured::new("drain", place.store)
        .setting("groups", groups)
        .setting("backlog", backlog)
        .setting("history", history == History::Kept)
        .setting("slots", slots)
        .value("per_s", rate)
        .value("ceiling_per_s", ceiling)
        .value("of_ceiling", rate / ceiling)
        .value("cpu_us_per_job", cpu.as_secs_f64() * 1e6 / backlog as f64))
}
