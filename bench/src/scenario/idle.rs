//! What an executor costs that has nothing to do.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::proxy::Proxy;
use crate::meter::Cpu;
use crate::meter::server::backends;
use crate::place::{Address, History, Open, Place};
use crate::report::Measured;
use crate::work::{Length, Notes, execute, idle, stop};

const SLOTS: u32 = 64;

/// Processor time of this process and of the server's backends, in percent of one processor; and, in a second stretch of
/// the same length, statements sent to the server. Before each, the executor is given time to settle: when it has run out
/// of work it looks again a few times, the last time after five seconds.
pub(crate) async fn run(place: &Place, time: Duration, settle: Duration) -> Result<Measured> {
    let open = place.open(History::Kept).await?;
    let notes = Notes::new(0, Length::Nothing);
    let executor = execute(&open.jobs, &notes, SLOTS).await?;
    idle(&executor).await;
    tokio::time::sleep(settle).await;
    let (begin, own, server) = (Instant::now(), Cpu::now(), server(&open).await?);
    tokio::time::sleep(time).await;
    let own = Cpu::until_now(&own);
    let elapsed = begin.elapsed();
    let server = match (server, self::server(&open).await?) {
        (Some(then), Some(now)) => Some(now.saturating_sub(then)),
        _ => None,
    };
    stop(vec![executor]).await;
    let statements = statements(&open, time, settle).await?;
    open.close().await?;
    let percent = |cpu: Duration| cpu.as_secs_f64() / elapsed.as_secs_f64() * 100.0;
    Ok(Measured::new("idle", place.store)
        .setting("seconds", time.as_secs())
        .setting("slots", SLOTS)
        .maybe("cpu_percent", own.map(percent))
        .maybe("server_cpu_percent", server.map(percent))
        .maybe("statements_per_s", statements))
}

/// Processor time of the backends that work for us.
async fn server(open: &Open) -> Result<Option<Duration>> {
    match &open.client {
        Some(client) => backends(client, &open.address.schema).await,
        None => Ok(None),
    }
}

/// Statements in a second that an idle executor sends to the server.
pub(super) async fn statements(open: &Open, time: Duration, settle: Duration) -> Result<Option<f64>> {
    if open.client.is_none() {
        return Ok(None);
    }
    let proxy = Proxy::before(&open.address.url).await?;
    let address = Address {
        url: proxy.url.clone(),
        schema: open.address.schema.clone(),
        retention: open.address.retention,
    };
    let jobs = address.open().await?;
    let executor = execute(&jobs, &Notes::new(0, Length::Nothing), SLOTS).await?;
    idle(&executor).await;
    tokio::time::sleep(settle).await;
    let before = proxy.statements();
    tokio::time::sleep(time).await;
    let statements = proxy.statements() - before;
    stop(vec![executor]).await;
    Ok(Some(statements as f64 / time.as_secs_f64()))
}
