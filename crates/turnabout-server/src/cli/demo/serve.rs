//! `turnabout demo --serve`: the flood behind the API, to be looked at on the operator's page. It goes on until it is stopped:
//! quiet groups come back for more, and so does the one that floods.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use turnabout::{Executor, Jobs, Submission};

use super::{Board, Demo, FLOOD, Tally, one, submissions, work};
use crate::api::{ApiSettings, Exit, Server};
use crate::cli::print;
use crate::cli::signals::Signals;

/// New jobs come so often.
const FEED: Duration = Duration::from_secs(1);

pub(super) async fn run(args: &Demo) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the demonstration")?;
    let jobs = Jobs::open(format!("sqlite://{}", folder.path().join("demo.db").display())).await?;
    let board = Arc::new(Board {
        begun: Instant::now(),
        groups: Mutex::new(BTreeMap::new()),
    });
    let exit = Exit::default();
    let mut requests = exit.requests();
    let settings = ApiSettings {
        address: args.address,
        ..ApiSettings::default()
    };
    let api = Server::new(&jobs, settings).exit(&exit).bind().await?;
    submit(&jobs, &board, submissions(args)).await?;
    let executor = Executor::with_state(&jobs, Arc::clone(&board)).task(work);
    let executor = Arc::new(executor.slots(args.slots).start().await?);
    let api = api.executor(&executor);
    print::out(&format!(
        "{} groups share {} slots; `{FLOOD}` has {} jobs. See who gets what: http://{}/#/fairness\nCtrl-C ends it.",
        args.groups,
        args.slots,
        args.flood,
        api.address()
    ))?;
    let over = CancellationToken::new();
    let api = tokio::spawn(api.run(over.clone()));
    let time = async {
        match args.time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        fed = feed(&jobs, &board, args) => fed?,
        () = signals.next() => {}
        _ = requests.next() => {}
        () = time => {}
    }
    over.cancel();
    executor.shutdown(Duration::ZERO).await;
    api.await.context("the API ended unexpectedly")??;
    Ok(ExitCode::SUCCESS)
}

/// As many jobs as the slots can do, half of them for the flood and half for the quiet groups, one after the other.
async fn feed(jobs: &Jobs, board: &Board, args: &Demo) -> anyhow::Result<()> {
    let millis = u32::try_from(args.job.as_millis()).unwrap_or(u32::MAX).max(1);
    let half = (args.slots * 1000 / millis / 2).clamp(1, 1000);
    let mut quiet = (1..args.groups).cycle();
    let mut tick = tokio::time::interval(FEED);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let flood = (0..half).map(|_| one(args, FLOOD.to_owned()));
        let some = quiet.by_ref().take(half as usize);
        let all = flood.chain(some.map(|n| one(args, format!("group {n:02}")))).collect();
        submit(jobs, board, all).await?;
    }
}

async fn submit(jobs: &Jobs, board: &Board, all: Vec<(String, Submission)>) -> anyhow::Result<()> {
    for (group, _) in &all {
        board.with(group, |tally: &mut Tally| tally.submitted += 1);
    }
    for outcome in jobs.submit_all(all.into_iter().map(|(_, submission)| submission)).await {
        outcome?;
    }
    Ok(())
}
