//! The smallest whole program: submits a job, runs it, prints what it returned.
//!
//!     cargo run -p turnabout --example hello

use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnabout::{Context, Executor, Jobs, Result, Task, TaskResult};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Task for Greet {
    const NAME: &'static str = "greet";
}

async fn greet(_cx: Context, task: Greet) -> TaskResult<String> {
    Ok(format!("Hello, {}!", task.name))
}

#[tokio::main]
async fn main() -> Result<()> {
    let jobs = Jobs::open("sqlite::memory:").await?;
    let executor = Executor::new(&jobs).task(greet).start().await?;

    let submitted = jobs.submit(Greet { name: "Ada".into() }).group("acme").await?;
    let job = jobs.watch(submitted.id).ended().await?;
    println!("{}", job.result::<String>()?.unwrap_or_default());

    executor.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
