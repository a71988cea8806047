//! The program `turnabout-bench`: how fast Turnabout is on both stores, beside what the bare storage engines do in the
//! same minute. What the numbers mean is in docs/benchmarks.md.
//!
//! - `options.rs` is the command line, and what is measured unless it says otherwise
//! - `place.rs` opens a fresh store for each measurement, `work.rs` is the task that is measured
//! - `scenario/` has a file for each scenario, `ceiling.rs` what they are held against
//! - `meter.rs` reads processor time, memory, allocations and the server's counters
//! - `report.rs` prints lines, `table.rs` makes tables of them, `compare.rs` compares two programs, `goals.rs` holds them
//!   against what we want
//! - `peer.rs` takes part in a comparison with other job queues, `steady_peer.rs` in one that lasts for hours
//!
//! And `turnabout-bench lab` ([`lab`]): how fair it is. Users of Turnabout do not need any of this, so that it is no part of their
//! program.
//!
//! A scenario is a function from a place and its sizes to a `report::Measured`, or several.

mod ceiling;
mod compare;
mod goals;
mod lab;
mod machine;
mod meter;
mod options;
mod peer;
mod place;
mod report;
mod scenario;
mod steady_peer;
mod table;
mod work;

use std::time::Duration;

use anyhow::Result;
use clap::Parser;

use options::{Bench, Options, Scenario, Tool};
use place::{Place, Store};
use report::Report;
use scenario::{
    asleep, cost, drain, flood, idle, latency, life, limited, memory, network, schedules, steady, submit, telling,
    unknown,
};

#[tokio::main]
async fn main() -> Result<()> {
    let bench = Bench::parse();
    match bench.tool {
        None => measure(&bench.options).await,
        Some(Tool::Lab(lab)) => lab::run(lab).await,
        Some(Tool::Peer(peer)) => peer::run(peer).await,
        Some(Tool::SteadyPeer) => steady_peer::run().await,
        Some(Tool::Table(files)) => table::run(&files),
        Some(Tool::Compare(files)) => compare::run(&files),
        Some(Tool::Executor(executor)) => memory::execute_here(executor).await,
        Some(Tool::Worker(worker)) => life::work_here(worker).await,
    }
}

/// Everything that is wanted, so often as is wanted.
async fn measure(options: &Options) -> Result<()> {
    let mut report = Report::default();
    machine::print(options).await?;
    for repeat in 1..=options.repeat {
        for store in options.stores() {
            round(options, store, repeat, &mut report).await?;
        }
    }
    eprintln!("{}", table::of_lines(report.lines()));
    Ok(())
}

/// Every wanted scenario once on one store.
async fn round(options: &Options, store: Store, repeat: u32, report: &mut Report) -> Result<()> {
    let place = Place::new(store, &options.pg_url, &options.dir);
    let sizes = options.sizes();
    for scenario in options.scenarios() {
        match scenario {
            Scenario::Submit => {
                for way in [submit::Way::OneCall, submit::Way::Batches] {
                    report.add(submit::bulk(&place, sizes.bulk, way).await?, repeat)?;
                }
                report.add(submit::single(&place, sizes.single).await?, repeat)?;
                if store == Store::Postgres {
                    report.add(submit::within(&place, sizes.single).await?, repeat)?;
                }
            }
            Scenario::Drain => {
                for wanted in options.drains() {
                    report.add(drain::run(&place, wanted).await?, repeat)?;
                }
            }
            Scenario::Steady => report.add(steady::run(&place, options.rate, options.seconds()).await?, repeat)?,
            Scenario::Latency => {
                for apart in &options.apart {
                    let apart = Duration::from_millis(*apart);
                    report.add(latency::run(&place, sizes.latency, apart).await?, repeat)?;
                }
            }
            Scenario::Flood => report.add(flood::run(&place, sizes.flood).await?, repeat)?,
            Scenario::Telling => {
                for measured in telling::run(&place, sizes.telling, options.slots).await? {
                    report.add(measured, repeat)?;
                }
            }
            Scenario::Cost => {
                for history in options.histories() {
                    for measured in cost::run(&place, sizes.bulk, options.slots, history).await? {
                        report.add(measured, repeat)?;
                    }
                }
            }
            Scenario::Idle => {
                let measured = idle::run(&place, options.seconds(), options.settle()).await?;
                report.add(measured, repeat)?;
            }
            Scenario::Schedules => {
                let measured = schedules::run(&place, sizes.schedules, options.seconds(), options.settle()).await?;
                report.add(measured, repeat)?;
            }
            Scenario::Memory => report.add(memory::run(&place, sizes.memory, options.slots).await?, repeat)?,
            Scenario::Unknown => {
                let apart = Duration::from_millis(options.apart.first().copied().unwrap_or(10));
                let measured = unknown::run(&place, sizes.latency, sizes.unknown, apart).await?;
                report.add(measured, repeat)?;
            }
            Scenario::Limited => {
                let apart = Duration::from_millis(options.apart.first().copied().unwrap_or(10));
                let measured = limited::run(&place, sizes.latency, sizes.limited, apart).await?;
                report.add(measured, repeat)?;
            }
            // What follows is about a server that many share.
            _ if store == Store::Sqlite => {}
            Scenario::Network => {
                for wanted in network::Network::all() {
                    report.add(network::run(&place, wanted, options.seconds()).await?, repeat)?;
                }
            }
            Scenario::Asleep => {
                for executors in [0, 1, 8] {
                    report.add(asleep::run(&place, sizes.single, executors).await?, repeat)?;
                }
            }
            Scenario::Life => {
                report.add(life::run(&place, life::Life::STEADY, options.seconds()).await?, repeat)?;
            }
            Scenario::Snapshot => {
                for life in [life::Life::SNAPSHOT, life::Life::SPARSE] {
                    report.add(life::run(&place, life, options.seconds()).await?, repeat)?;
                }
            }
        }
    }
    Ok(())
}
