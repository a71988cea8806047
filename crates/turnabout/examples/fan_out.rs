//! One job that becomes many: a mailing is split into a job for each recipient, and what came of them is counted.
//!
//! The children inherit group, owner and meta (and with it a trace context), and know their parent. Each has its own
//! retries; a recipient that cannot be reached does not stop the others.
//!
//!     cargo run -p turnabout --example fan_out

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnabout::{
    Context, Described, Executor, HookContext, Jobs, Priority, Result, State, Submission, Task, TaskError, TaskResult,
};

/// A mailing to many.
#[derive(Serialize, Deserialize)]
struct Mailing {
    subject: String,
    recipients: u32,
}

impl Task for Mailing {
    const NAME: &'static str = "mailing";

    fn describe(&self) -> Option<String> {
        Some(format!("{} to {} people", self.subject, self.recipients))
    }
}

/// A letter to one.
#[derive(Serialize, Deserialize)]
struct Letter {
    subject: String,
    to: String,
}

impl Task for Letter {
    const NAME: &'static str = "letter";
    const PRIORITY: Priority = Priority::Low;
    const RETRIES: u32 = 2;
    const RETRY_DELAY: Duration = Duration::from_millis(50);
}

#[derive(Default)]
struct Post {
    sent: AtomicU32,
    failed: AtomicU32,
}

async fn mailing(cx: Context<Post>, task: Mailing) -> TaskResult<usize> {
    // In portions, so that a mailing to millions needs little memory.
    let mut submitted = 0;
    let everybody: Vec<u32> = (0..task.recipients).collect();
    for portion in everybody.chunks(100) {
        let letters = portion.iter().map(|n| {
            let letter = Letter {
                subject: task.subject.clone(),
                to: format!("reader{n}@example.org"),
            };
            // Should this handler run a second time, the key makes it the same letter, not another one.
            cx.child(Submission::new(letter)).unique(format!("{}-{n}", cx.job()))
        });
        for outcome in cx.jobs().submit_all(letters).await {
            outcome?;
            submitted += 1;
        }
        cx.check_cancelled()?;
    }
    Ok(submitted)
}

async fn letter(cx: Context<Post>, task: Letter) -> TaskResult {
    if task.to == "reader13@example.org" {
        return Err(TaskError::permanent("no such mailbox"));
    }
    // Some need a second attempt.
    if task.to.ends_with("7@example.org") && cx.attempt() == 1 {
        return Err("the server was busy".into());
    }
    cx.state().sent.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Whatever failed for good is counted.
async fn bounced(cx: HookContext<Post>) -> TaskResult {
    let letter: Letter = cx.task()?;
    if cx.job().state == State::Failed {
        cx.state().failed.fetch_add(1, Ordering::Relaxed);
        let why = cx.job().error_message.as_deref().unwrap_or("it failed");
        println!("{}: {why}", letter.to);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let jobs = Jobs::open("sqlite::memory:").await?;
    let executor = Executor::with_state(&jobs, Post::default())
        .task(mailing)
        .task(letter)
        .on_error::<Letter>(bounced)
        .describe_error::<Letter>(|_| Some(Described::new("bounced", "The letter came back.")))
        .slots(4)
        .start()
        .await?;

    let mailing = Mailing {
        subject: "Spring news".into(),
        recipients: 250,
    };
    let mailing = jobs
        .submit(mailing)
        .group("acme")
        .owner("ada")
        .meta("locale", "en")
        .await?;
    let mailing = jobs.watch(mailing.id).ended().await?;
    println!(
        "{}: {} letters",
        mailing.subject.clone().unwrap_or_default(),
        mailing.result::<usize>()?.unwrap_or_default()
    );

    // Until all children have ended.
    let (mut sent, mut failed) = (0, 0);
    while sent + failed < 250 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        (sent, failed) = (0, 0);
        let mut list = jobs.list().task("letter").limit(1000);
        loop {
            let page = list.clone().await?;
            for job in page.jobs.iter().filter(|job| job.parent == Some(mailing.id)) {
                assert_eq!((job.group.as_str(), job.owner.as_deref()), ("acme", Some("ada")));
                sent += u32::from(job.state == State::Success);
                failed += u32::from(job.state == State::Failed);
            }
            match page.next {
                Some(next) => list = list.before(next),
                None => break,
            }
        }
    }
    executor.shutdown(Duration::from_secs(5)).await;
    println!("{sent} sent, {failed} came back");
    Ok(())
}
