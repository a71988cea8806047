//! What the project is for: one tenant floods, the others do not notice.
//!
//! Acme uploads twenty documents; right after it, five others upload one each. There are two slots. Watch the order.
//!
//!     cargo run -p turnabout --example tenants

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use turnabout::{Context, Executor, Jobs, Result, Submission, Task, TaskResult};

/// A document to be converted.
#[derive(Serialize, Deserialize)]
struct Convert {
    document: String,
}

impl Task for Convert {
    const NAME: &'static str = "convert";
    const RETRIES: u32 = 3;
}

/// What all handlers share.
struct App {
    began: Instant,
    converted: AtomicU32,
}

async fn convert(cx: Context<App>, task: Convert) -> TaskResult<u32> {
    // The real work would be here; `?` on any error would mean: try again later.
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(200)) => {}
        () = cx.cancelled() => return Err("stopped half-way".into()),
    }
    let number = cx.state().converted.fetch_add(1, Ordering::Relaxed) + 1;
    println!(
        "{:5.1} s  {:8} {}",
        cx.state().began.elapsed().as_secs_f32(),
        cx.group(),
        task.document
    );
    Ok(number)
}

#[tokio::main]
async fn main() -> Result<()> {
    let jobs = Jobs::open("sqlite::memory:").await?;

    let flood = (1..=20).map(|i| {
        let document = format!("invoice-{i}.pdf");
        Submission::new(Convert { document }).group("acme").owner("wile")
    });
    for outcome in jobs.submit_all(flood).await {
        outcome?;
    }
    for tenant in ["apollo", "bell", "cooper", "dorado", "edison"] {
        let document = "letter.pdf".to_owned();
        jobs.submit(Convert { document }).group(tenant).await?;
    }

    let last = jobs.list().group("acme").limit(1).await?;
    if let Some(job) = last.jobs.first() {
        println!("{}\n", jobs.explain(job.id).await?);
    }

    let app = App {
        began: Instant::now(),
        converted: AtomicU32::new(0),
    };
    let executor = Executor::with_state(&jobs, app).task(convert).slots(2).start().await?;
    for job in jobs.list().limit(1000).await?.jobs {
        jobs.watch(job.id).ended().await?;
    }
    executor.shutdown(Duration::from_secs(5)).await;
    println!("\n{} jobs ended, each tenant's in its turn", jobs.counts().await?.ended);
    Ok(())
}
