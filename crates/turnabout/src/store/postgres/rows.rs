//! Rows as jobs.

use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::job::{Attempt, Claim, Claimed, Job, JobId, Lane, Meta, Priority, Reason, State};
use crate::progress::percent_of;
use crate::store::NewJob;

/// A row with the columns of `read.sql`.
pub(super) fn job(row: &Row) -> Result<Job> {
    let executor: Option<Uuid> = row.get("executor");
    let claim: Option<i64> = row.get("claim");
    let due: Option<Timestamp> = row.get("due");
    let state = coded("state", row.get("state"), State::from_code)?;
    let percent = row.get::<_, Option<i16>>("percent").map(|percent| percent as u8);
    Ok(Job {
        id: JobId(row.get("id")),
        task: row.get("task"),
        group: row.get("group"),
        owner: row.get("owner"),
        queue: row.get("queue"),
        priority: coded("priority", row.get("priority"), Priority::from_code)?,
        state,
        reason: row
            .get::<_, Option<i16>>("reason")
            .map(|code| coded("reason", code, Reason::from_code))
            .transpose()?,
        cancelling: row.get("cancelling"),
        args: row
            .get::<_, Option<String>>("args")
            .unwrap_or_else(|| "null".to_owned()),
        items: row.get::<_, i32>("items") as u32,
        unique: row.get("unique_key"),
        meta: meta(row.get("meta")),
        parent: row.get::<_, Option<Uuid>>("parent").map(JobId),
        submitted: row.get("submitted"),
        due,
        expires: row.get("expires"),
        started: row.get("started"),
        finished: row.get("finished"),
        attempts: row.get::<_, i32>("attempts") as u32,
        interruptions: row.get::<_, i32>("interruptions") as u32,
        losses: row.get::<_, i32>("losses") as u32,
        progress: percent_of(state, percent),
        step: row.get("step"),
        error: row.get("error"),
        error_message: row.get("error_message"),
        error_code: row.get("error_code"),
        result: row.get("result"),
        subject: row.get("subject"),
        prepared: row.get("prepared"),
        claim: executor.zip(claim).map(|(executor, number)| Claim { executor, number }),
        lane: row
            .get::<_, Option<i16>>("lane")
            .filter(|_| executor.is_none() && due.is_none())
            .map(|code| coded("lane", code, Lane::from_code))
            .transpose()?,
        seq: row.get("seq"),
        // Only those who show a job ask for it.
        executor: row.try_get("executor_name").unwrap_or_default(),
    })
}

/// A row of `attempts.sql`.
pub(super) fn attempt(row: &Row) -> Result<Attempt> {
    Ok(Attempt {
        number: row.get::<_, i32>(0) as u32,
        claim: Claim {
            executor: row.get(1),
            number: row.get(2),
        },
        executor: row.get(9),
        started: row.get(3),
        ended: row.get(4),
        reason: row
            .get::<_, Option<i16>>(5)
            .map(|code| coded("reason", code, Reason::from_code))
            .transpose()?,
        error: row.get(6),
        error_message: row.get(7),
        error_code: row.get(8),
    })
}

/// A row of `claim.sql`, by position: it is decoded for every job that runs.
pub(super) fn claimed(row: &Row, number: i64) -> Result<Claimed> {
    Ok(Claimed {
        id: JobId(row.get(0)),
        number,
        lane: coded("lane", row.get(1), Lane::from_code)?,
        seq: row.get(2),
        task: row.get(4),
        group: row.get(5),
        owner: row.get(6),
        priority: coded("priority", row.get(7), Priority::from_code)?,
        args: row.get(8),
        items: row.get::<_, i32>(9) as u32,
        meta: meta(row.get(10)),
        parent: row.get::<_, Option<Uuid>>(11).map(JobId),
        submitted: row.get::<_, Timestamp>(12),
        attempts: row.get::<_, i32>(13) as u32,
        interruptions: row.get::<_, i32>(14) as u32,
        losses: row.get::<_, i32>(15) as u32,
        prepared: row.get(16),
    })
}

/// The stored form of a job's units of work.
pub(super) fn items(job: &NewJob) -> i32 {
    i32::try_from(job.items).unwrap_or(i32::MAX)
}

/// The stored form of a job's meta: nothing where there is nothing.
pub(super) fn meta_text(meta: &Meta) -> Option<String> {
    (!meta.is_empty()).then(|| serde_json::to_string(meta).unwrap_or_default())
}

fn meta(text: Option<&str>) -> Meta {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

pub(super) fn coded<T>(what: &'static str, code: i16, from: impl Fn(i16) -> Option<T>) -> Result<T> {
    from(code).ok_or_else(|| Error::Store {
        doing: "reading a job",
        cause: format!("{what} has the unknown code {code}; was the database written by a newer program?").into(),
        transient: false,
    })
}
