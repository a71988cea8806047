//! The classic: documents are read, analysed and filed. Their owners see how far that is, and what the handler writes
//! about it; one of them changes his mind half-way. Ctrl-C cancels what is left.
//!
//!     cargo run -p turnabout --example document

use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnabout::jobs::ScopedJobs;
use turnabout::{Context, Error, Executor, Jobs, Progress, Result, State, Submitted, Task, TaskResult};

/// A document to be processed.
#[derive(Serialize, Deserialize)]
struct Process {
    document: String,
    pages: u32,
}

impl Task for Process {
    const NAME: &'static str = "process";
}

/// What was found in it.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    words: u32,
    language: String,
}

async fn process(cx: Context, task: Process) -> TaskResult<Found> {
    let progress = cx.progress(); // of 100
    cx.log()
        .info(format_args!("{} has {} pages", task.document, task.pages));

    progress.step("extracting text")?;
    let text = extract(&cx, &progress.child(60, u64::from(task.pages))).await?;

    progress.step("analysing")?;
    let mut words = 0;
    for page in progress.track(30, &text) {
        words += page?.split_whitespace().count() as u32;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    progress.step("filing")?;
    cx.log().info(format_args!("{words} words"));
    progress.set(10)?; // the rest
    let language = "en".to_owned();
    Ok(Found { words, language })
}

/// Knows nothing of jobs but a progress to report to, and a log. `?` stops it where the job is to stop.
async fn extract(cx: &Context, pages: &Progress) -> TaskResult<Vec<String>> {
    let mut text = Vec::new();
    for page in 1..=pages.total() {
        tokio::time::sleep(Duration::from_millis(30)).await; // the real work would be here
        if page == 3 {
            cx.log().warn(format_args!("page {page} is hard to read"));
        }
        text.push("It was the best of times, it was the worst of times".to_owned());
        pages.increment(1)?;
    }
    Ok(text)
}

/// Prints what its owner sees of a job, until it ends.
async fn follow(owner: ScopedJobs, job: Submitted, stop_at: Option<u8>) -> Result<()> {
    let mut watch = owner.watch(job.id);
    while let Some(job) = watch.next().await {
        let job = job?;
        let document: Process = job.args()?;
        let step = job.step.as_deref().unwrap_or(job.state.as_str());
        println!("{:<14} {:>3} %  {step}", document.document, job.progress);
        if stop_at.is_some_and(|percent| job.progress >= percent) && !job.cancelling && !job.state.is_final() {
            let told = owner.cancel(job.id).await?;
            println!("{:<14}        its owner cancels it: {told:?}", document.document);
        }
        if job.state == State::Success {
            println!("{:<14}        {:?}", document.document, job.result::<Found>()?);
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let jobs = Jobs::open("sqlite::memory:").await?;
    let executor = Executor::new(&jobs).task(process).slots(2).start().await?;
    let of = |document: &str, pages| Process {
        document: document.to_owned(),
        pages,
    };
    let (ada, bob) = (jobs.of_owner("acme", "ada"), jobs.of_owner("acme", "bob"));
    let hers = jobs.submit(of("contract.pdf", 20)).group("acme").owner("ada").await?;
    let his = jobs.submit(of("novel.pdf", 500)).group("acme").owner("bob").await?;

    // What is not hers does not exist for her.
    assert!(matches!(ada.cancel(his.id).await, Err(Error::NotFound(_))));

    let both = async { tokio::try_join!(follow(ada.clone(), hers, None), follow(bob, his, Some(3))) };
    let stopped = async {
        let _ = tokio::signal::ctrl_c().await;
        for job in jobs.list().state(State::Running).await?.jobs {
            jobs.cancel(job.id).await?;
        }
        std::future::pending::<Result<()>>().await
    };
    tokio::select! {
        done = both => {
            done?;
        }
        failed = stopped => failed?,
    }

    println!("\nWhat was written about contract.pdf:");
    for line in ada.logs(hers.id).await?.lines {
        println!("{:>3} {:5} {}", line.number, line.level, line.message);
    }
    executor.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
