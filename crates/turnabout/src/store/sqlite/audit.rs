//! The audit log: who did what, and when.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, params};

use super::SqliteStore;
use super::rows::{micros, moment};
use crate::clock::before;
use crate::error::Result;
use crate::store::audit::{Audit, Deed, Entries, Entry};

/// So many entries are forgotten in one transaction.
const PRUNED_AT_ONCE: u32 = 5_000;

#[async_trait]
impl Audit for SqliteStore {
    async fn add(&self, deed: Deed) -> Result<()> {
        self.write("writing the audit log", move |tx| {
            tx.connection.prepare_cached(sql!("audit_add"))?.execute(params![
                micros(tx.now),
                deed.by,
                deed.role,
                deed.address,
                deed.action,
                deed.target,
                deed.group,
                deed.filter,
                deed.count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
                deed.before,
                deed.after,
                deed.note
            ])?;
            Ok(())
        })
        .await
    }

    async fn entries(&self, which: &Entries) -> Result<Vec<Entry>> {
        let which = which.clone();
        self.read("reading the audit log", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("audit_entries"))?;
            let params = params![
                which.before.unwrap_or(i64::MAX),
                which.by,
                which.action,
                which.target,
                which.group,
                which.since.map(micros),
                which.limit
            ];
            Ok(statement.query_map(params, entry)?.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn newest(&self, targets: &[String]) -> Result<Vec<Entry>> {
        let targets = targets.to_vec();
        self.read("reading the audit log", move |tx| {
            let mut statement = tx.connection.prepare_cached(sql!("audit_newest"))?;
            let mut found = Vec::new();
            for target in &targets {
                found.extend(statement.query_row([target], entry).optional()?);
            }
            Ok(found)
        })
        .await
    }
}

impl SqliteStore {
    /// Forgets entries that are past their time.
    pub(super) async fn prune_audit(&self) -> Result<()> {
        let retention = self.audit_retention;
        loop {
            let gone = self
                .write("pruning the audit log", move |tx| {
                    let end = micros(before(tx.now, retention));
                    let mut statement = tx.connection.prepare_cached(sql!("prune_audit"))?;
                    Ok(statement.execute(params![end, PRUNED_AT_ONCE])?)
                })
                .await?;
            if gone < PRUNED_AT_ONCE as usize {
                return Ok(());
            }
        }
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        number: row.get(0)?,
        at: moment(row.get(1)?),
        deed: Deed {
            by: row.get(2)?,
            role: row.get(3)?,
            address: row.get(4)?,
            action: row.get(5)?,
            target: row.get(6)?,
            group: row.get(7)?,
            filter: row.get(8)?,
            count: row.get::<_, Option<i64>>(9)?.map(|count| count as u64),
            before: row.get(10)?,
            after: row.get(11)?,
            note: row.get(12)?,
        },
    })
}
