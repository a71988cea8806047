//! Sums over many jobs, which cost by how many there are: they are not added up anew for everyone who asks, and those that
//! the operator's page begins with are kept ready, so that its first reader does not wait for them either.

use std::sync::Arc;
use std::time::Duration;

use turnabout::Jobs;
use turnabout::jobs::{GroupSum, List, Sum, Tally, Whose};

use super::answers::{Again, Answers};
use super::groups::PAGE;
use super::state::{App, Inner};
use super::summary::{self, RATE, WINDOW};
use super::types::TaskSummary;

const AGAIN: Again = Again {
    cheap: Duration::from_millis(25),
    least: Duration::ZERO,
    oldest: Duration::from_mins(1),
    worth: Duration::from_millis(500),
};

/// Whose jobs, as a key.
type Who = (Option<String>, Option<String>);

fn who(whose: &Whose) -> Who {
    (whose.group.clone(), whose.owner.clone())
}

/// What is asked for again and again.
#[derive(Default)]
pub(super) struct Sums {
    tasks: Answers<(Who, Duration), Vec<Sum>>,
    summaries: Answers<(Who, Duration), Summaries>,
    rates: Answers<(Who, Duration), Tally>,
    groups: Answers<(Who, String, u32), Vec<GroupSum>>,
    group: Answers<(String, Option<String>), GroupSum>,
    counts: Answers<String, u64>,
}

/// Tasks, and how many were left out.
type Summaries = (Vec<TaskSummary>, u64);

async fn summarise(jobs: Jobs, whose: Whose, window: Duration) -> turnabout::Result<Summaries> {
    let (sums, failed) = tokio::try_join!(jobs.summary(&whose, window), jobs.failed_summary(&whose))?;
    Ok(summary::bounded(summary::of_tasks(sums, failed, window)))
}

/// How often it is looked whether sums are old.
const LOOK: Duration = Duration::from_secs(5);

/// Keeps sums ready for as long as the server runs.
pub(super) fn keep_ready(app: &App) {
    let app = Arc::clone(app);
    tokio::spawn(async move {
        loop {
            if let Err(error) = app.add_up().await {
                // Whoever asks will be told.
                tracing::debug!(error = %error.chain(), "cannot add up jobs at present");
            }
            tokio::select! {
                () = app.ending.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    });
}

impl Inner {
    /// What the operator's page begins with, one after the other: nobody waits for it.
    async fn add_up(&self) -> turnabout::Result<()> {
        let (jobs, all) = (&self.jobs, Whose::default());
        let sums = &self.sums;
        let tasks = sums
            .tasks
            .keep_ready((who(&all), WINDOW), AGAIN, jobs.summary(&all, WINDOW));
        tasks.await?;
        let summaries = summarise(jobs.clone(), all.clone(), WINDOW);
        let summaries = sums.summaries.keep_ready((who(&all), WINDOW), AGAIN, summaries);
        summaries.await?;
        let rates = sums.rates.keep_ready((who(&all), RATE), AGAIN, jobs.tally(&all, RATE));
        rates.await?;
        let groups = (who(&all), String::new(), PAGE);
        let groups = sums.groups.keep_ready(groups, AGAIN, jobs.groups(&all, "", PAGE));
        groups.await
    }

    /// Jobs by task, priority and state; those that have ended within a time are among them.
    pub(super) async fn task_sums(&self, whose: &Whose, window: Duration) -> turnabout::Result<Vec<Sum>> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.summary(&of, window).await };
        self.sums.tasks.get((who(whose), window), AGAIN, add_up).await
    }

    /// The same as a summary, in which all failed jobs count that are kept; and how many tasks were left out, as it is bounded.
    pub(super) async fn summaries(&self, whose: &Whose, window: Duration) -> turnabout::Result<Summaries> {
        let add_up = summarise(self.jobs.clone(), whose.clone(), window);
        self.sums.summaries.get((who(whose), window), AGAIN, add_up).await
    }

    /// How many jobs came and went within a time.
    pub(super) async fn rates(&self, whose: &Whose, window: Duration) -> turnabout::Result<Tally> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.tally(&of, window).await };
        self.sums.rates.get((who(whose), window), AGAIN, add_up).await
    }

    /// The unfinished jobs of each group, a page of groups at a time.
    pub(super) async fn group_sums(&self, whose: &Whose, after: &str, limit: u32) -> turnabout::Result<Vec<GroupSum>> {
        let question = (who(whose), after.to_owned(), limit);
        let (jobs, of, from) = (self.jobs.clone(), whose.clone(), after.to_owned());
        let add_up = async move { jobs.groups(&of, &from, limit).await };
        self.sums.groups.get(question, AGAIN, add_up).await
    }

    /// The unfinished jobs of one group, or of one of its owners.
    pub(super) async fn group_sum(&self, group: &str, owner: Option<String>) -> turnabout::Result<GroupSum> {
        let (jobs, name, of) = (self.jobs.clone(), group.to_owned(), owner.clone());
        let add_up = async move { jobs.group_sum(&name, of.as_deref()).await };
        self.sums.group.get((group.to_owned(), owner), AGAIN, add_up).await
    }

    /// How many jobs of a list there are, up to a limit. `question`: all that the list says.
    pub(super) async fn count(&self, question: String, list: List, limit: u32) -> turnabout::Result<u64> {
        self.sums.counts.get(question, AGAIN, list.count(limit)).await
    }
}
