//! Events of `tracing` inside a handler are lines of its job's log.
//!
//! In a program of its own: `tracing` remembers for all threads what the first that meets an event says of it, and in the
//! other tests nobody listens.
#![cfg(all(feature = "log-layer", feature = "sqlite"))]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::Instrument as _;
use tracing_subscriber::prelude::*;
use turnabout::log::Level;
use turnabout::{Context, Executor, Jobs, Task, TaskResult};

#[derive(Serialize, Deserialize)]
struct Read(String);

impl Task for Read {
    const NAME: &'static str = "read";
}

async fn read(cx: Context, task: Read) -> TaskResult {
    tracing::info!(pages = 3, name = %task.0, "reading");
    tracing::debug!("left out");
    cx.log().info("written");
    let deep = async { tracing::warn!(error = "none", "deep inside") };
    let deep = deep.instrument(tracing::info_span!("part", n = 1));
    tokio::spawn(deep.instrument(tracing::Span::current())).await?;
    tokio::spawn(async { tracing::info!("nobody's") }).await?;
    Ok(())
}

#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "so handlers are called"
)]
fn grind(_: Context, task: Read) -> TaskResult {
    tracing::info!("{} on a thread of its own", task.0);
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Grind(String);

impl Task for Grind {
    const NAME: &'static str = "grind";
}

#[tokio::test]
async fn events_inside_a_handler_are_lines_of_its_log() {
    tracing_subscriber::registry().with(turnabout::log::layer()).init();
    let jobs = Jobs::open("sqlite::memory:").await.expect("opened");
    let executor = Executor::new(&jobs)
        .task(read)
        .blocking_task(|cx: Context, task: Grind| grind(cx, Read(task.0)))
        .start()
        .await
        .expect("it starts");
    let one = jobs.submit(Read("one".into())).await.expect("submitted").id;
    let two = jobs.submit(Read("two".into())).await.expect("submitted").id;
    let blocking = jobs.submit(Grind("three".into())).await.expect("submitted").id;
    for (id, expected) in [
        (
            one,
            vec!["reading pages=3 name=one", "written", "deep inside error=none"],
        ),
        (
            two,
            vec!["reading pages=3 name=two", "written", "deep inside error=none"],
        ),
        (blocking, vec!["three on a thread of its own"]),
    ] {
        jobs.watch(id).ended().await.expect("ended");
        let lines = jobs.logs(id).await.expect("a page").lines;
        let messages: Vec<&str> = lines.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(messages, expected);
        assert!(lines.get(2).is_none_or(|line| line.level == Level::Warn));
    }
    executor.shutdown(Duration::ZERO).await;
}
