//! The audit log in plain collections.

use async_trait::async_trait;

use super::Model;
use crate::clock::before;
use crate::error::Result;
use crate::store::audit::{Audit, Deed, Entries, Entry};

#[async_trait]
impl Audit for Model {
    async fn add(&self, deed: Deed) -> Result<()> {
        let at = self.now();
        let tables = &mut *self.tables();
        tables.audited += 1;
        let number = tables.audited;
        tables.audit.push(Entry { number, at, deed });
        Ok(())
    }

    async fn entries(&self, which: &Entries) -> Result<Vec<Entry>> {
        let same = |wanted: &Option<String>, is: Option<&String>| wanted.is_none() || wanted.as_ref() == is;
        let tables = self.tables();
        let matching = tables.audit.iter().rev().filter(|entry| {
            which.before.is_none_or(|before| entry.number < before)
                && same(&which.by, Some(&entry.deed.by))
                && same(&which.action, Some(&entry.deed.action))
                && same(&which.target, entry.deed.target.as_ref())
                && same(&which.group, entry.deed.group.as_ref())
                && which.since.is_none_or(|since| entry.at >= since)
        });
        Ok(matching.take(which.limit as usize).cloned().collect())
    }

    async fn newest(&self, targets: &[String]) -> Result<Vec<Entry>> {
        let tables = self.tables();
        let newest = |target: &String| {
            let mut about = tables.audit.iter().rev();
            about.find(|entry| entry.deed.target.as_ref() == Some(target)).cloned()
        };
        Ok(targets.iter().filter_map(newest).collect())
    }
}

impl Model {
    /// Forgets entries that are past their time.
    pub(super) fn prune_audit(&self) {
        let end = before(self.now(), self.options.audit_retention);
        let tables = &mut *self.tables();
        let all = tables.audit.clone();
        tables.audit.retain(|entry| {
            let setting = matches!(entry.deed.action.as_str(), "set-group" | "set-task" | "set-global");
            let followed = all
                .iter()
                .any(|later| later.deed.target == entry.deed.target && later.number > entry.number);
            entry.at >= end || (setting && !followed)
        });
    }
}
