//! Submits beside executors that sleep: do they cost those who submit anything?

use std::time::Instant;

use anyhow::Result;
use futures_util::future::try_join_all;

use crate::place::{History, Place};
use crate::report::Measured;
use crate::work::{Length, Notes, Work, execute_as, group, idle, stop};

/// Each with connections of its own.
const CLIENTS: u64 = 16;
const GROUPS: u64 = 100;

/// Single submits a second by sixteen clients, of jobs that are not for these executors: they go on sleeping.
pub(crate) async fn run(place: &Place, jobs: u64, executors: u32) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let notes = Notes::new(0, Length::Nothing);
    let mut asleep = Vec::new();
    for n in 0..executors {
        asleep.push(execute_as(&open.another().await?, &notes, 4, &format!("bench-{n}")).await?);
    }
    for executor in &asleep {
        idle(executor).await;
    }
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(open.another().await?);
    }
    let begin = Instant::now();
    let each = jobs / CLIENTS;
    let calls = clients.iter().zip(0..).map(|(client, number)| async move {
        for n in 0..each {
            let n = number * each + n;
            let submit = client.submit(Work::new(n)).queue("elsewhere").group(group(n, GROUPS));
            submit.await?;
        }
        anyhow::Ok(())
    });
    try_join_all(calls).await?;
    let took = begin.elapsed();
    stop(asleep).await;
    drop(clients);
    open.close().await?;
    Ok(Measured::new("asleep", place.store)
        .setting("executors", executors)
        .setting("clients", CLIENTS)
        .value("per_s", (each * CLIENTS) as f64 / took.as_secs_f64()))
}
