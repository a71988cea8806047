//! The limit on tasks that nobody has published. Only a job whose task's name is new to its group passes the gate of the group, and
//! counts the names there; others need but a look.

use std::collections::{HashMap, HashSet};

use super::PostgresStore;
use super::connect::{Tx, failed};
use crate::error::Result;
use crate::store::NewJob;

/// What is being done, for errors.
const LOOKING: &str = "looking at the limit on unknown tasks";

/// The names that are new to their groups.
#[derive(Default)]
pub(super) struct NewNames {
    /// Tasks of these jobs that nobody has published.
    unknown: HashSet<String>,
    /// By group: how many names it may have, how many it has, and which of these jobs' names are not among those.
    groups: HashMap<String, (u32, u32, HashSet<String>)>,
}

impl NewNames {
    pub(super) fn is_unknown(&self, task: &str) -> bool {
        self.unknown.contains(task)
    }

    /// The groups whose gates are to be passed.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// One more job of a task, if there is room for its name; if not, how many are allowed.
    pub(super) fn admit(&mut self, group: &str, task: &str) -> Result<(), u32> {
        let Some((limit, used, new)) = self.groups.get_mut(group) else {
            return Ok(());
        };
        if !new.contains(task) {
            return Ok(());
        }
        if used >= limit {
            return Err(*limit);
        }
        *used += 1;
        new.remove(task);
        Ok(())
    }
}

/// Groups and tasks, one entry a pair.
fn pairs<'a>(
    named: impl Iterator<Item = (&'a str, &'a str)>,
    unknown: &HashSet<String>,
) -> (Vec<&'a str>, Vec<&'a str>) {
    let pairs: HashSet<(&str, &str)> = named.filter(|(_, task)| unknown.contains(*task)).collect();
    pairs.into_iter().unzip()
}

impl PostgresStore {
    /// Whether any of these jobs has a name that its group has not.
    pub(super) async fn brings_new_names(&self, jobs: &[NewJob], unknown: &HashSet<String>) -> Result<bool> {
        if unknown.is_empty() {
            return Ok(false);
        }
        let failed = failed(LOOKING);
        let named = jobs.iter().map(|job| (job.group.as_str(), job.task.as_str()));
        let (groups, tasks) = pairs(named, unknown);
        let client = self.client().await?;
        let statement = client.prepare_cached(&self.sql.new_names).await.map_err(&failed)?;
        let rows = client.query(&statement, &[&groups, &tasks]).await.map_err(&failed)?;
        Ok(!rows.is_empty())
    }

    /// The names that are new to their groups; they are counted when the gates are passed.
    pub(super) async fn new_names<'a>(
        &self,
        tx: &Tx,
        jobs: impl Iterator<Item = (&'a str, &'a str)>,
        unknown: &HashSet<String>,
    ) -> Result<NewNames> {
        let mut names = NewNames {
            unknown: unknown.clone(),
            ..NewNames::default()
        };
        let (groups, tasks) = pairs(jobs, unknown);
        if !groups.is_empty() {
            self.note_new_names(tx, &mut names, &groups, &tasks).await?;
        }
        Ok(names)
    }

    async fn note_new_names(&self, tx: &Tx, names: &mut NewNames, groups: &[&str], tasks: &[&str]) -> Result<()> {
        let rows = tx
            .query(&self.sql.new_names, &[&groups, &tasks])
            .await
            .map_err(failed(LOOKING))?;
        for row in rows {
            let (_, _, new) = names.groups.entry(row.get(0)).or_default();
            new.insert(row.get(1));
        }
        Ok(())
    }

    /// Behind the gates: which names are still new, and how many there are.
    pub(super) async fn count_names(&self, tx: &Tx, names: &mut NewNames) -> Result<()> {
        if names.groups.is_empty() {
            return Ok(());
        }
        let before = std::mem::take(&mut names.groups);
        let each = before.iter();
        let each = each.flat_map(|(group, (_, _, new))| new.iter().map(|task| (group.as_str(), task.as_str())));
        let (groups, tasks): (Vec<&str>, Vec<&str>) = each.unzip();
        self.note_new_names(tx, names, &groups, &tasks).await?;
        let groups: Vec<&str> = names.groups.keys().map(String::as_str).collect();
        let rows = tx
            .query(&self.sql.unknown_tasks, &[&groups])
            .await
            .map_err(failed(LOOKING))?;
        for row in rows {
            if let Some((limit, used, _)) = names.groups.get_mut(row.get::<_, &str>(0)) {
                *limit = row.get::<_, i32>(1) as u32;
                *used = u32::try_from(row.get::<_, i64>(2)).unwrap_or(u32::MAX);
            }
        }
        Ok(())
    }
}
