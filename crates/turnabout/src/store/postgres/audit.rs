//! The audit log: who did what, and when.

use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::connect::failed;
use crate::clock::before;
use crate::error::Result;
use crate::store::audit::{Audit, Deed, Entries, Entry};

/// So many entries are forgotten by one statement.
const PRUNED_AT_ONCE: i64 = 5_000;

#[async_trait]
impl Audit for PostgresStore {
    async fn add(&self, deed: Deed) -> Result<()> {
        let count = deed.count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let params: [&(dyn ToSql + Sync); 12] = [
            &self.now(),
            &deed.by,
            &deed.role,
            &deed.address,
            &deed.action,
            &deed.target,
            &deed.group,
            &deed.filter,
            &count,
            &deed.before,
            &deed.after,
            &deed.note,
        ];
        self.run("writing the audit log", &self.sql.audit_add, &params).await
    }

    async fn entries(&self, which: &Entries) -> Result<Vec<Entry>> {
        let (before, limit) = (which.before.unwrap_or(i64::MAX), i64::from(which.limit));
        let params: [&(dyn ToSql + Sync); 7] = [
            &before,
            &which.by,
            &which.action,
            &which.target,
            &which.group,
            &which.since,
            &limit,
        ];
        let rows = self
            .look("reading the audit log", &self.sql.audit_entries, &params)
            .await?;
        Ok(rows.iter().map(entry).collect())
    }

    async fn newest(&self, targets: &[String]) -> Result<Vec<Entry>> {
        let rows = self
            .look("reading the audit log", &self.sql.audit_newest, &[&targets])
            .await?;
        Ok(rows.iter().map(entry).collect())
    }
}

impl PostgresStore {
    /// Forgets entries that are past their time.
    pub(super) async fn prune_audit(&self) -> Result<()> {
        let end = before(self.now(), self.options.audit_retention);
        let client = self.client().await?;
        loop {
            let gone = client.execute(&self.sql.prune_audit, &[&end, &PRUNED_AT_ONCE]).await;
            if gone.map_err(failed("pruning the audit log"))? < PRUNED_AT_ONCE as u64 {
                return Ok(());
            }
        }
    }
}

fn entry(row: &Row) -> Entry {
    Entry {
        number: row.get(0),
        at: row.get(1),
        deed: Deed {
            by: row.get(2),
            role: row.get(3),
            address: row.get(4),
            action: row.get(5),
            target: row.get(6),
            group: row.get(7),
            filter: row.get(8),
            count: row.get::<_, Option<i64>>(9).map(|count| count as u64),
            before: row.get(10),
            after: row.get(11),
            note: row.get(12),
        },
    }
}
