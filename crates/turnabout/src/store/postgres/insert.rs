//! Storing new jobs, in one of three ways: a few that are ready at once together with those of other callers
//! (`together.rs`, `plain.rs`), many by `COPY` (`copy.rs`), and those that may exist already, by a given id or a unique
//! key, one transaction a call (here).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

use jiff::Timestamp;
use uuid::Uuid;

use super::connect::{Mode, Tx, failed, is_deadlock};
use super::limits::Quotas;
use super::{PostgresStore, rows};
use crate::clock;
use crate::error::{Error, Result};
use crate::job::{JobId, Priority};
use crate::store::{ID_AHEAD, ID_PAST, Leg, MaxUnfinished, NewJob, Signal, Submitted};
use crate::task::TaskSettings;

mod copy;
mod inside;
mod limited;
mod plain;
pub(super) mod together;

/// So many jobs go into one statement.
const CHUNK: usize = 2000;
/// A key's holder may end between the insert and the look at it, again and again; but not for ever.
const TRIES: usize = 100;
/// So often a submit that was in a deadlock is tried.
const DEADLOCKS: usize = 5;

impl PostgresStore {
    pub(super) async fn insert(&self, jobs: Vec<NewJob>, leg: Leg) -> Result<Vec<Result<Submitted>>> {
        let outcomes = self.insert_jobs(jobs, leg).await?;
        self.hint_new(&outcomes);
        Ok(outcomes)
    }

    /// Only copies begin before the portion before is over: whoever holds an id, a key or a gate and waits for another that
    /// wants the same would wait for ever.
    async fn insert_jobs(&self, mut jobs: Vec<NewJob>, mut leg: Leg) -> Result<Vec<Result<Submitted>>> {
        let outcomes = if jobs.is_empty() {
            return Ok(Vec::new());
        } else if !jobs.iter().all(plain::is_plain) {
            leg.until_over().await;
            let unknown = self.fill_in(&mut jobs).await?;
            self.insert_keyed(&jobs, &unknown).await?
        } else if together::are_few(&jobs) && jobs.iter().all(plain::is_ready) {
            leg.until_over().await;
            let outcomes = all_new(&jobs);
            let Some((rest, stored)) = self.insert_together(jobs).await? else {
                return Ok(outcomes);
            };
            jobs = rest;
            self.insert_rest(&jobs, &stored).await
        } else {
            let unknown = self.fill_in(&mut jobs).await?;
            if jobs.iter().any(limited::is_limited) || self.brings_new_names(&jobs, &unknown).await? {
                leg.until_over().await;
                self.insert_keyed(&jobs, &unknown).await?
            } else {
                self.insert_many(&jobs, &unknown, &mut leg).await?
            }
        };
        self.announce_new(&jobs, &outcomes);
        Ok(outcomes)
    }

    /// Stores jobs of which some may exist already, or may be too many, all in one transaction. `unknown`: tasks that nobody has
    /// published.
    async fn insert_keyed(&self, jobs: &[NewJob], unknown: &HashSet<String>) -> Result<Vec<Result<Submitted>>> {
        let mut tries = 0;
        let mut limited = self.limits.load(Relaxed) || !unknown.is_empty() || jobs.iter().any(limited::is_limited);
        loop {
            tries += 1;
            match self.try_insert_keyed(jobs, limited, unknown).await {
                // Someone else's transaction was in the way, and we were chosen to step back.
                Err(error) if is_deadlock(&error) && tries < DEADLOCKS => {}
                Ok(Some(outcomes)) => return Ok(outcomes),
                Ok(None) => limited = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// `None`: some come under limits, though `limited` said that there are none.
    async fn try_insert_keyed(
        &self,
        jobs: &[NewJob],
        limited: bool,
        unknown: &HashSet<String>,
    ) -> Result<Option<Vec<Result<Submitted>>>> {
        let failed = failed("submitting");
        let tx = Tx::on(self.client().await?);
        tx.open(Mode::Durable).await.map_err(&failed)?;
        let Some(outcomes) = self.insert_keyed_in(&tx, jobs, limited, unknown).await? else {
            return Ok(None);
        };
        tx.commit().await.map_err(&failed)?;
        Ok(Some(outcomes))
    }

    /// Stores jobs of which some may exist already, or may be too many. `None`: as above.
    async fn insert_keyed_in(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        limited: bool,
        unknown: &HashSet<String>,
    ) -> Result<Option<Vec<Result<Submitted>>>> {
        let failed = failed("submitting");
        let mut quotas = if limited {
            self.pass_gates(tx, jobs, unknown).await?
        } else {
            Quotas::default()
        };
        // Ids and keys are inserted in one and the same order by everyone, so that two who submit the same ones do not
        // wait for each other; but each job has its place in the lane by the order in which it was given.
        let seqs = tx
            .query(&self.sql.draw_seqs, &[&(jobs.len() as i64)])
            .await
            .map_err(&failed)?;
        let mut sorted: Vec<(usize, i64, &NewJob)> = (jobs.iter().enumerate().zip(&seqs))
            .map(|((at, job), row)| (at, row.get(0), job))
            .collect();
        sorted.sort_by_key(|(_, _, job)| {
            // Of several with one key the first is the job, so those stay as they came.
            let id = (job.id_given && job.unique.is_none()).then_some(job.id);
            (&job.group, &job.task, &job.unique, id)
        });
        let mut outcomes: Vec<Option<Result<Submitted>>> = jobs.iter().map(|_| None).collect();
        for chunk in sorted.chunks(CHUNK) {
            let wanted: Vec<NewJob> = chunk.iter().map(|(_, _, job)| (*job).clone()).collect();
            let seqs: Vec<i64> = chunk.iter().map(|(_, seq, _)| *seq).collect();
            let Some(stored) = self.insert_chunk(tx, &wanted, &seqs, &quotas, limited).await? else {
                return Ok(None);
            };
            for ((at, ..), outcome) in chunk.iter().zip(stored) {
                outcomes[*at] = Some(outcome);
            }
        }
        let mut outcomes: Vec<Result<Submitted>> = outcomes.into_iter().flatten().collect();
        if limited {
            self.take_back_surplus(tx, &mut quotas, jobs, &mut outcomes).await?;
        }
        Ok(Some(outcomes))
    }

    /// Queue, priority and limit of jobs whose submitter did not say, as the tasks' published settings have them. Returns the
    /// tasks that nobody has published.
    async fn fill_in(&self, jobs: &mut [NewJob]) -> Result<HashSet<String>> {
        let names: HashSet<&str> = jobs.iter().map(|job| job.task.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let known: HashMap<String, TaskSettings> = self
            .read_tasks(Some(&names))
            .await?
            .into_iter()
            .map(|task| (task.name.clone(), task))
            .collect();
        let unknown = names.iter().filter(|name| !known.contains_key(**name));
        let unknown = unknown.map(|name| (*name).to_owned()).collect();
        for job in jobs {
            let settings = known.get(&job.task);
            job.queue
                .get_or_insert_with(|| settings.map_or_else(|| "default".to_owned(), |s| s.queue.clone()));
            job.priority
                .get_or_insert(settings.map_or(Priority::Normal, |s| s.priority));
            if job.max_unfinished == MaxUnfinished::AsPublished {
                let limit = settings.and_then(|s| s.max_unfinished);
                job.max_unfinished = limit.map_or(MaxUnfinished::Any, MaxUnfinished::AtMost);
            }
        }
        Ok(unknown)
    }

    /// Inserts jobs of which some may exist already. `None`: see [`Self::try_insert_keyed`].
    async fn insert_chunk(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        seqs: &[i64],
        quotas: &Quotas,
        limited: bool,
    ) -> Result<Option<Vec<Result<Submitted>>>> {
        let failed = failed("submitting");
        let mut outcomes: Vec<Option<Result<Submitted>>> = jobs.iter().map(|_| None).collect();
        self.refuse_strange_ids(tx, jobs, &mut outcomes).await?;
        for _ in 0..TRIES {
            let open: Vec<usize> = (0..jobs.len()).filter(|i| outcomes[*i].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let wanted: Vec<NewJob> = open.iter().map(|i| jobs[*i].clone()).collect();
            let mut stored = HashSet::new();
            for under in [false, true] {
                let these = || open.iter().filter(|i| quotas.concern(&jobs[**i]) == under);
                let part: Vec<NewJob> = these().map(|i| jobs[*i].clone()).collect();
                let places: Vec<i64> = these().map(|i| seqs[*i]).collect();
                if !part.is_empty() {
                    stored.extend(self.store(tx, &part, &places, under).await.map_err(&failed)?);
                }
            }
            let ended = self.withdraw_ended(tx, &wanted, &stored).await?;
            let holders = self.holders(tx, &wanted, &stored).await?;
            let mut seen = HashSet::new();
            for (job, i) in wanted.iter().zip(open) {
                // The same id twice in one call: the first is the job.
                let first = seen.insert(job.id);
                let theirs = ended
                    .get(&job.id)
                    .or_else(|| holders.ids.get(&job.id).filter(|_| job.id_given));
                outcomes[i] = if stored.contains(&job.id.0) && first && !ended.contains_key(&job.id) {
                    Some(Ok(Submitted { id: job.id, new: true }))
                } else if let Some(group) = theirs {
                    Some(if *group == job.group {
                        Ok(Submitted { id: job.id, new: false })
                    } else {
                        Err(Error::Conflict("job id"))
                    })
                } else {
                    job.unique
                        .as_ref()
                        .and_then(|key| holders.keys.get(&(job.group.clone(), job.task.clone(), key.clone())))
                        .map(|id| Ok(Submitted { id: *id, new: false }))
                };
            }
            // Neither stored nor known: its key's holder has just ended, or its group has a limit.
            if !limited && outcomes.iter().any(Option::is_none) {
                return Ok(None);
            }
        }
        let outcomes = outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or(Err(Error::Conflict("unique key"))));
        Ok(Some(outcomes.collect()))
    }

    /// Given ids must be of version 7 and of these days, unless they name a job that exists.
    async fn refuse_strange_ids(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        outcomes: &mut [Option<Result<Submitted>>],
    ) -> Result<()> {
        let now = self.now();
        let lowest = clock::before(now, ID_PAST);
        let highest = clock::after(now, ID_AHEAD);
        let strange: Vec<usize> = (0..jobs.len())
            .filter(|i| jobs[*i].id_given && !jobs[*i].id.time().is_some_and(|t| t >= lowest && t <= highest))
            .collect();
        if strange.is_empty() {
            return Ok(());
        }
        let wanted: Vec<NewJob> = strange.iter().map(|i| jobs[*i].clone()).collect();
        let holders = self.holders(tx, &wanted, &HashSet::new()).await?;
        for i in strange {
            if !holders.ids.contains_key(&jobs[i].id) {
                outcomes[i] = Some(Err(Error::invalid(
                    "job id",
                    "a given id must be a UUID of version 7, made within the last 7 days; leave it out to have one made",
                )));
            }
        }
        Ok(())
    }

    /// The insert itself. Says which ids were stored.
    /// `limited`: these come under limits, and there is room for them or they will be taken back.
    async fn store(
        &self,
        tx: &Tx,
        jobs: &[NewJob],
        seqs: &[i64],
        limited: bool,
    ) -> Result<HashSet<Uuid>, tokio_postgres::Error> {
        let statement = tx.prepare(&self.sql.insert).await?;
        let now = self.options.clock.manual();
        let ids: Vec<Uuid> = jobs.iter().map(|j| j.id.0).collect();
        let (at, delay): (Vec<Option<Timestamp>>, Vec<Option<f64>>) = jobs.iter().map(|j| j.when.parts()).unzip();
        let (expires_at, expires_in): (Vec<Option<Timestamp>>, Vec<Option<f64>>) =
            jobs.iter().map(|j| j.expires.parts()).unzip();
        let parents: Vec<Option<Uuid>> = jobs.iter().map(|j| j.parent.map(|p| p.0)).collect();
        let items: Vec<i32> = jobs.iter().map(rows::items).collect();
        let priorities: Vec<i16> = jobs
            .iter()
            .map(|j| j.priority.unwrap_or(Priority::Normal).code())
            .collect();
        let queues: Vec<&str> = jobs.iter().map(|j| j.queue.as_deref().unwrap_or("default")).collect();
        let groups: Vec<&str> = jobs.iter().map(|j| j.group.as_str()).collect();
        let tasks: Vec<&str> = jobs.iter().map(|j| j.task.as_str()).collect();
        let owners: Vec<Option<&str>> = jobs.iter().map(|j| j.owner.as_deref()).collect();
        let keys: Vec<Option<&str>> = jobs.iter().map(|j| j.unique.as_deref()).collect();
        let args: Vec<&str> = jobs.iter().map(|j| j.args.as_str()).collect();
        // Nothing at all where no job has any.
        let mut subjects: Vec<Option<&str>> = Vec::new();
        if jobs.iter().any(|j| j.subject.is_some()) {
            subjects.extend(jobs.iter().map(|j| j.subject.as_deref()));
        }
        let prepared: Vec<bool> = jobs.iter().map(|j| j.prepared).collect();
        let meta: Vec<Option<String>> = jobs.iter().map(|j| rows::meta_text(&j.meta)).collect();
        let rows = tx
            .client()
            .query(
                &statement,
                &[
                    &now,
                    &ids,
                    &at,
                    &delay,
                    &expires_at,
                    &expires_in,
                    &parents,
                    &items,
                    &priorities,
                    &queues,
                    &groups,
                    &tasks,
                    &owners,
                    &keys,
                    &args,
                    &meta,
                    &seqs,
                    &subjects,
                    &prepared,
                    &limited,
                ],
            )
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// A given id that was just stored may name a job that has ended: then it is taken back. Says whose those are.
    async fn withdraw_ended(&self, tx: &Tx, jobs: &[NewJob], stored: &HashSet<Uuid>) -> Result<HashMap<JobId, String>> {
        let failed = failed("looking for given ids");
        let given: Vec<Uuid> = jobs
            .iter()
            .filter(|job| job.id_given && stored.contains(&job.id.0))
            .map(|job| job.id.0)
            .collect();
        if given.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = tx.query(&self.sql.ended, &[&given]).await.map_err(&failed)?;
        let ended: HashMap<JobId, String> = rows.iter().map(|row| (JobId(row.get(0)), row.get(1))).collect();
        if !ended.is_empty() {
            let ids: Vec<Uuid> = ended.keys().map(|id| id.0).collect();
            tx.execute(&self.sql.withdraw, &[&ids]).await.map_err(&failed)?;
        }
        Ok(ended)
    }

    /// Who has the ids and the unique keys of the jobs that could not be stored.
    async fn holders(&self, tx: &Tx, jobs: &[NewJob], stored: &HashSet<Uuid>) -> Result<Holders> {
        let failed = failed("looking for the holders of ids and keys");
        let rest: Vec<&NewJob> = jobs
            .iter()
            .filter(|job| !stored.contains(&job.id.0) || job.id_given)
            .collect();
        let mut holders = Holders::default();
        if rest.is_empty() {
            return Ok(holders);
        }
        let ids: Vec<Uuid> = rest.iter().filter(|job| job.id_given).map(|job| job.id.0).collect();
        let keyed: Vec<(&NewJob, &str)> = rest
            .iter()
            .filter_map(|job| Some((*job, job.unique.as_deref()?)))
            .collect();
        let groups: Vec<&str> = keyed.iter().map(|(job, _)| job.group.as_str()).collect();
        let tasks: Vec<&str> = keyed.iter().map(|(job, _)| job.task.as_str()).collect();
        let keys: Vec<&str> = keyed.iter().map(|(_, key)| *key).collect();
        for row in tx
            .query(&self.sql.holders, &[&ids, &groups, &tasks, &keys])
            .await
            .map_err(&failed)?
        {
            let (id, group): (Uuid, String) = (row.get(0), row.get(1));
            match row.get::<_, Option<String>>(3) {
                None => drop(holders.ids.insert(JobId(id), group)),
                Some(key) => drop(holders.keys.insert((group, row.get(2), key), JobId(id))),
            }
        }
        Ok(holders)
    }

    fn announce_new(&self, jobs: &[NewJob], outcomes: &[Result<Submitted>]) {
        let now = self.now();
        let new = jobs
            .iter()
            .zip(outcomes)
            .filter(|(_, o)| matches!(o, Ok(Submitted { new: true, .. })));
        let mut ready = false;
        let mut due = None;
        for (job, _) in new {
            match job.when.moment(now) {
                None => ready = true,
                Some(moment) => due = Some(due.map_or(moment, |d: Timestamp| d.min(moment))),
            }
        }
        if ready {
            self.signal(Signal::Ready);
            self.waker.ready();
        }
        if let Some(due) = due {
            let wait = clock::until(now, due);
            self.signal(Signal::Due(wait));
            if Self::is_soon(wait) {
                self.waker.due();
            }
        }
    }
}

fn all_new(jobs: &[NewJob]) -> Vec<Result<Submitted>> {
    jobs.iter().map(|job| Ok(Submitted { id: job.id, new: true })).collect()
}

/// Who has ids and unique keys.
#[derive(Default)]
struct Holders {
    /// The group of each.
    ids: HashMap<JobId, String>,
    /// By group, task and key.
    keys: HashMap<(String, String, String), JobId>,
}
