//! Schedules that fire every second while the nemesis rages. What became of each time is written into the side log, as long
//! as the store remembers it; their jobs are looked after like all others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use turnabout::Job;
use turnabout::schedule::{META_NAME, ScheduleKey};
use turnabout::schedule::{Overlap, ScheduleChange};

use crate::kind::Kind;
use crate::load::{Load, persist};
use crate::record::{Moment, Record, now};
use crate::tasks::submission_args;

/// Whose they are.
const GROUP: &str = "scheduled";
/// What became of times is asked for so often; a schedule remembers a hundred.
const NOTE: Duration = Duration::from_secs(2);

/// Schedules end so many seconds from when they are told to.
const AHEAD: i64 = 8;

/// The schedules of a run.
#[derive(Clone, Debug)]
pub struct Calendar {
    load: Arc<Load>,
    made: Moment,
    all: Arc<Vec<(ScheduleKey, Kind)>>,
    /// The first time of each, and the number of the last run that was noted.
    noted: Arc<Mutex<BTreeMap<String, (i64, i64)>>>,
}

impl Calendar {
    /// Makes so many schedules: half of them of jobs that take longer than a second.
    pub async fn make(load: Arc<Load>, count: usize) -> Result<Self> {
        let made = now();
        let mut all = Vec::new();
        let mut noted = BTreeMap::new();
        for n in 0..count {
            let (kind, millis, overlap) = match n % 4 {
                0 | 1 => (Kind::Quick, 5, Overlap::Skip),
                2 => (Kind::Slow, 1500, Overlap::Skip),
                _ => (Kind::Slow, 700, Overlap::Wait),
            };
            let name = format!("schedule-{n}");
            let set = || {
                let args = submission_args(millis);
                let set = load.jobs().schedule_named(&name, kind.task(), args).every("1 second");
                set.overlap(overlap).group(GROUP)
            };
            let schedule = persist(async || set().await).await?;
            let first = schedule.standing.next.map_or(0, Timestamp::as_second);
            noted.insert(name.clone(), (first, 0));
            all.push((ScheduleKey::new(name).group(GROUP), kind));
        }
        Ok(Self {
            load,
            made,
            all: Arc::new(all),
            noted: Arc::new(Mutex::new(noted)),
        })
    }

    /// Notes what became of times, again and again. What cannot be read now is read later.
    pub async fn note_for_ever(&self) {
        loop {
            let _ = tokio::time::timeout(Duration::from_secs(10), self.note_once()).await;
            tokio::time::sleep(NOTE).await;
        }
    }

    /// Notes all that there is.
    pub async fn note(&self) -> Result<()> {
        persist(async || self.note_once().await).await
    }

    async fn note_once(&self) -> turnabout::Result<()> {
        for (key, kind) in self.all.iter() {
            let known = self.noted().get(&key.name).map_or(0, |(_, number)| *number);
            let mut runs = self.load.jobs().schedules().history(key, None, 100).await?;
            runs.retain(|past| past.run.number > known);
            for past in runs.iter().rev() {
                let run = &past.run;
                self.load.side().write(&Record::Fired {
                    schedule: key.name.clone(),
                    number: run.number,
                    time: run.time.as_second(),
                    count: run.count,
                    became: run.kind.to_string(),
                    job: run.job,
                });
                if let Some(job) = run.job {
                    self.load.came(job, *kind, GROUP, self.made);
                }
                if let Some((_, number)) = self.noted().get_mut(&key.name) {
                    *number = run.number;
                }
            }
        }
        Ok(())
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (i64, i64)>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets all schedules come to their end, which is soon, and writes down from when to when each had times.
    pub async fn stop(&self) -> Result<()> {
        let schedules = self.load.jobs().schedules();
        for (key, _) in self.all.iter() {
            persist(async || {
                // Ahead of every time that has come, however long this takes.
                let end = Timestamp::now().as_second() + AHEAD;
                let change = ScheduleChange {
                    end: Some(Timestamp::from_second(end).ok()),
                    ..ScheduleChange::default()
                };
                schedules.change(key.clone(), change).await
            })
            .await?;
        }
        // What waits for an earlier job has its turn, too. One that never comes to its end is told by the checker.
        let begun = Instant::now();
        for (key, _) in self.all.iter() {
            let mut last = persist(async || schedules.get(key).await).await?;
            while begun.elapsed() < Duration::from_mins(2) && last.is_active() {
                tokio::time::sleep(Duration::from_millis(100)).await;
                last = persist(async || schedules.get(key).await).await?;
            }
            let first = self.noted().get(&key.name).map_or(0, |(first, _)| *first);
            self.load.side().write(&Record::Schedule {
                schedule: key.name.clone(),
                first,
                last: last.definition.end.map_or(0, Timestamp::as_second),
                every: 1,
            });
        }
        Ok(())
    }

    /// Writes down every job that says that a schedule submitted it.
    pub async fn conclude(&self) -> Result<()> {
        let mut before = None;
        loop {
            let page = persist(async || {
                let list = self.load.jobs().list().group(GROUP).limit(500);
                match before {
                    Some(before) => list.before(before).await,
                    None => list.await,
                }
            });
            let page = page.await?;
            for job in &page.jobs {
                self.conclude_one(job);
            }
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn conclude_one(&self, job: &Job) {
        if let (Some(schedule), Some(time)) = (job.meta.get(META_NAME), job.scheduled_for()) {
            self.load.side().write(&Record::Scheduled {
                schedule: schedule.clone(),
                time: time.as_second(),
                job: job.id,
            });
        }
    }
}
