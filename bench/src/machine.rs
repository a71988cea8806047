//! Where it was measured: the first line of every run. Numbers mean nothing without it.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::options::Options;
use crate::place::{Store, connect};

/// Settings of the server that decide how fast it is, and how safe.
const SETTINGS: [&str; 12] = [
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "wal_compression",
    "autovacuum",
    "max_connections",
    "jit",
];

/// Prints the line.
pub(crate) async fn print(options: &Options) -> Result<()> {
    let mut line = json!({
        "scenario": "machine",
        "time": jiff::Timestamp::now().to_string(),
        "turnabout": env!("CARGO_PKG_VERSION"),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "allocations_counted": cfg!(feature = "allocations"),
        "processors": std::thread::available_parallelism()?.get(),
        "processor": field("/proc/cpuinfo", "model name"),
        "memory": field("/proc/meminfo", "MemTotal"),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "load": first_line("/proc/loadavg"),
        "repeats": options.repeat,
    });
    if options.stores().contains(&Store::Sqlite) {
        line["sqlite"] = json!({ "version": rusqlite::version(), "journal_mode": "wal", "synchronous": "full" });
    }
    if options.stores().contains(&Store::Postgres) {
        let client = connect(&options.pg_url).await?;
        let mut settings = Map::new();
        for name in SETTINGS {
            let row = client.query_one("select current_setting($1, true)", &[&name]).await?;
            settings.insert(
                name.to_owned(),
                row.get::<_, Option<String>>(0).map_or(Value::Null, Value::from),
            );
        }
        line["postgres"] = Value::Object(settings);
    }
    println!("{line}");
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its numbers mean nothing");
    }
    Ok(())
}

/// What follows a name and a colon in a file.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn first_line(file: &str) -> Option<String> {
    Some(std::fs::read_to_string(file).ok()?.lines().next()?.to_owned())
}
