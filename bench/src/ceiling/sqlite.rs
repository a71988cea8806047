//! The ceilings of `SQLite`: one connection, WAL, `synchronous = full`.

use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;
use uuid::Uuid;

use super::{ARGS, BATCH, HandedOver, rate};
use crate::place::Place;

/// Measures something on a fresh file, on a thread that may block.
pub(super) async fn on_file<T, F>(place: &Place, measure: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce(&mut Connection) -> Result<T> + Send + 'static,
{
    let folder = place.folder()?;
    let path = folder.path().join("ceiling.db");
    tokio::task::spawn_blocking(move || {
        let mut file = Connection::open(path)?;
        file.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full;
             create table ceiling (id blob primary key, grp text not null, task text not null, args text not null,
                 run_at integer not null, created_at integer not null, state integer not null) without rowid;
             create index ready on ceiling (run_at, id) where state = 0;",
        )?;
        measure(&mut file)
    })
    .await?
}

pub(super) fn fill(file: &mut Connection, jobs: u64, batch: u64) -> Result<f64> {
    let begin = Instant::now();
    for from in (0..jobs).step_by(batch as usize) {
        let tx = file.transaction()?;
        {
            let mut insert = tx.prepare_cached("insert into ceiling values (?1, ?2, 'work', ?3, ?4, ?4, 0)")?;
            for n in from..jobs.min(from + batch) {
                let group = format!("g{}", n % 100);
                insert.execute(rusqlite::params![&Uuid::now_v7().as_bytes()[..], group, ARGS, n as i64])?;
            }
        }
        tx.commit()?;
    }
    Ok(rate(jobs, begin))
}

pub(super) fn drain(file: &mut Connection, jobs: u64) -> Result<f64> {
    fill(file, jobs, 10_000)?;
    let begin = Instant::now();
    loop {
        let claimed = claim(file, BATCH)?;
        if claimed.is_empty() {
            return Ok(rate(jobs, begin));
        }
        let tx = file.transaction()?;
        {
            let mut delete = tx.prepare_cached("delete from ceiling where id = ?1")?;
            for (id, _) in &claimed {
                delete.execute([id])?;
            }
        }
        tx.commit()?;
    }
}

pub(super) fn hand_over(file: &mut Connection, jobs: u64, apart: Duration) -> Result<HandedOver> {
    let mut handed = HandedOver::default();
    for _ in 0..jobs {
        let begin = Instant::now();
        fill(file, 1, 1)?;
        handed.stored.push(begin.elapsed());
        claim(file, 1)?;
        handed.claimed.push(begin.elapsed());
        std::thread::sleep(apart);
    }
    Ok(handed)
}

/// Ids and arguments.
fn claim(file: &Connection, jobs: u64) -> Result<Vec<(Vec<u8>, String)>> {
    let claim = format!(
        "update ceiling set state = 1 where id in (
             select id from ceiling where state = 0 order by run_at, id limit {jobs})
         returning id, args"
    );
    let claimed = file
        .prepare_cached(&claim)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(claimed)
}
