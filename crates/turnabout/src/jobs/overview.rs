//! The whole at a glance: executors, sums, rates; and following many jobs.

use std::time::Duration;

use uuid::Uuid;

use super::Jobs;
use super::feed::{Feed, Following, Interest, Position};
use crate::clock::before;
use crate::error::{Error, Result};
use crate::store::overview::{GroupSum, Member, SigningKey, Sum, Tally, Whose};
use crate::submit::group_name;

/// A page of groups holds no more.
const MAX_GROUPS: u32 = 1000;

impl Jobs {
    /// All registered executors, by name.
    pub async fn executors(&self) -> Result<Vec<Member>> {
        self.store().executors().await
    }

    /// Tells an executor to take no more jobs, or that it may again. It goes on with what it has in hand, and stays
    /// registered. Says whether there is such an executor; it hears of it with its next heartbeat.
    pub async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool> {
        self.store().drain(executor, drain).await
    }

    /// Tells an executor to take no more jobs, to finish those that it has in hand, and to end; see
    /// [`ExecutorHandle::dismissed`](crate::ExecutorHandle::dismissed). Says whether there is such an executor; it hears of it
    /// with its next heartbeat.
    pub async fn dismiss(&self, executor: Uuid) -> Result<bool> {
        self.store().dismiss(executor).await
    }

    /// The keys by which servers of this store sign what they hand out, newest first.
    #[doc(hidden)]
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        self.store().keys().await
    }

    /// Forgets the signing keys that are as old as `forget` or older, adds this one if none is younger than `renew`, and
    /// returns those that there are then. With two zeros whatever was signed before counts no longer.
    #[doc(hidden)]
    pub async fn renew_signing_keys(
        &self,
        secret: &[u8],
        renew: Duration,
        forget: Duration,
    ) -> Result<Vec<SigningKey>> {
        self.store().renew_keys(secret, renew, forget).await
    }

    /// Jobs by task, priority and state: the unfinished ones, and those that have ended within `window`.
    pub async fn summary(&self, whose: &Whose, window: Duration) -> Result<Vec<Sum>> {
        let since = before(self.store().clock().now(), window);
        self.store().sums(whose, since).await
    }

    /// Failed jobs by task and priority: all that are kept, however long ago they failed.
    pub async fn failed_summary(&self, whose: &Whose) -> Result<Vec<Sum>> {
        self.store().failed_sums(whose).await
    }

    /// How many jobs were submitted and have ended within `window`.
    pub async fn tally(&self, whose: &Whose, window: Duration) -> Result<Tally> {
        let since = before(self.store().clock().now(), window);
        self.store().tally(whose, since).await
    }

    /// Groups with unfinished jobs after this one, by name.
    pub async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>> {
        if !(1..=MAX_GROUPS).contains(&limit) {
            let why = format!("{limit} is not from 1 to {MAX_GROUPS}");
            return Err(Error::invalid("page size", why));
        }
        self.store().groups(whose, after, limit).await
    }

    /// The unfinished jobs of one group, or those that one owner has in it. Every name is a group's: one that nobody has
    /// used yet has none.
    pub async fn group_sum(&self, group: &str, owner: Option<&str>) -> Result<GroupSum> {
        group_name(group)?;
        let whose = Whose {
            group: Some(group.to_owned()),
            owner: owner.map(ToOwned::to_owned),
        };
        let sum = self.store().groups(&whose, "", 1).await?.pop();
        Ok(sum.unwrap_or_else(|| GroupSum {
            group: group.to_owned(),
            ..GroupSum::default()
        }))
    }

    /// Follows many jobs: what they are, and what becomes of them. All who follow share one reader of the store. `from` is
    /// where someone left off ([`Note::place`](super::Note)): if that is still known, only what changed since is told.
    pub async fn follow(&self, interest: Interest, from: Option<Position>) -> Result<Following> {
        let feed = self.inner.feed.get_or_init(|| Feed::new(self.store()));
        feed.follow(interest, from).await
    }
}
