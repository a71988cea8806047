//! Sums over many jobs, which cost by how many there are: they are not added up anew for everyone who asks.

use std::time::Duration;

use turnabout::jobs::{GroupSum, List, Sum, Tally, Whose};

use super::answers::{Again, Answers};
use super::state::Inner;
use super::summary;
use super::types::TaskSummary;

const AGAIN: Again = Again {
    cheap: Duration::from_millis(25),
    oldest: Duration::from_mins(1),
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
    summaries: Answers<(Who, Duration), (Vec<TaskSummary>, u64)>,
    rates: Answers<(Who, Duration), Tally>,
    groups: Answers<(Who, String, u32), Vec<GroupSum>>,
    group: Answers<(String, Option<String>), GroupSum>,
    counts: Answers<String, u64>,
}

impl Inner {
    /// Jobs by task, priority and state; those that have ended within a time are among them.
    pub(super) async fn task_sums(&self, whose: &Whose, window: Duration) -> turnabout::Result<Vec<Sum>> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move { jobs.summary(&of, window).await };
        self.sums.tasks.get((who(whose), window), AGAIN, add_up).await
    }

    /// The same as a summary, in which all failed jobs count that are kept; and how many tasks were left out, as it is bounded.
    pub(super) async fn summaries(
        &self,
        whose: &Whose,
        window: Duration,
    ) -> turnabout::Result<(Vec<TaskSummary>, u64)> {
        let (jobs, of) = (self.jobs.clone(), whose.clone());
        let add_up = async move {
            let (sums, failed) = tokio::try_join!(jobs.summary(&of, window), jobs.failed_summary(&of))?;
            Ok(summary::bounded(summary::of_tasks(sums, failed, window)))
        };
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
