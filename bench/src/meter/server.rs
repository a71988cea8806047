//! What a `PostgreSQL` server tells of the work that it did for us.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::Client;

use crate::meter::Cpu;

/// The server's counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// Bytes of its log, of the whole server.
    pub(crate) wal: f64,
    /// Commits in the database.
    pub(crate) commits: f64,
    /// Versions of rows in a schema that became garbage: updated or deleted.
    pub(crate) dead: f64,
    /// Of these, updates that touched no index.
    pub(crate) hot: f64,
}

const COUNTERS: &str = "
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8,
           (select xact_commit from pg_stat_database where datname = current_database())::float8,
           coalesce(sum(n_tup_upd + n_tup_del), 0)::float8,
           coalesce(sum(n_tup_hot_upd), 0)::float8
    from pg_stat_user_tables where schemaname = $1";

impl Counters {
    /// The counters now. The log's is exact at every moment, the others only once connections have gone: see [`gone`].
    pub(crate) async fn read(client: &Client, schema: &str) -> Result<Self> {
        let row = client.query_one(COUNTERS, &[&schema]).await?;
        Ok(Self {
            wal: row.get(0),
            commits: row.get(1),
            dead: row.get(2),
            hot: row.get(3),
        })
    }

    /// What each of so many jobs has cost from then until now, by name.
    pub(crate) fn per_job(self, then: Self, jobs: u64) -> Vec<(&'static str, f64)> {
        let each = |now: f64, then: f64| (now - then) / jobs as f64;
        vec![
            ("wal_bytes_per_job", each(self.wal, then.wal)),
            ("commits_per_1000", each(self.commits, then.commits) * 1000.0),
            ("dead_rows_per_job", each(self.dead, then.dead)),
            ("hot_updates_per_job", each(self.hot, then.hot)),
        ]
    }
}

/// The server's log so far, in bytes.
pub(crate) async fn wal(client: &Client) -> Result<f64> {
    let row = client
        .query_one(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8",
            &[],
        )
        .await?;
    Ok(row.get(0))
}

/// The processor time so far of the backends whose connections have this name, where the server is on this machine and
/// the system tells.
pub(crate) async fn backends(client: &Client, name: &str) -> Result<Option<Duration>> {
    let rows = client
        .query("select pid from pg_stat_activity where application_name = $1", &[&name])
        .await?;
    let times = rows.iter().map(|row| {
        let cpu = Cpu::of(&row.get::<_, i32>(0).to_string())?;
        Some(cpu.since(&Cpu::default()))
    });
    Ok(times.sum())
}

/// Waits until connections of this name have gone: by then the server has counted all that was done on them.
pub(crate) async fn gone(client: &Client, name: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let row = client
            .query_one(
                "select count(*) from pg_stat_activity where application_name = $1",
                &[&name],
            )
            .await?;
        if row.get::<_, i64>(0) == 0 || begin.elapsed() > Duration::from_secs(5) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
