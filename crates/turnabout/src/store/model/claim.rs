//! Handing out jobs and what comes of them: peek, claim, start, settle.

use std::ops::Bound;
use std::time::Duration;

use uuid::Uuid;

use super::{Model, Tables};
use crate::clock::nanoseconds;
use crate::error::{Error, Result};
use crate::group::{Cap, KeyRate, Settings};
use crate::hook::Hooks;
use crate::job::{Claim, Claimed, Job, JobId, Lane, State};
use crate::lifecycle::{Event, Policy, decide};
use crate::store::{Settle, Settled, Start, Take, Taken, grabbed};
use crate::turn::{Candidate, Peeked, Pick, Ring, Round, Rounded, Stream, interleave};

impl Model {
    /// Whether a job with this key may start now, or for how long it is put off.
    pub(super) fn admit_by_key(&self, rate: &KeyRate, back: bool) -> Option<Duration> {
        let now = nanoseconds(self.now());
        let tables = &mut *self.tables();
        let key = tables.keys.entry(rate.key.clone()).or_default();
        key.admit(rate.rate, now, back)
    }

    pub(super) fn claim(&self, take: Take) -> Result<Taken> {
        let tables = &mut *self.tables();
        if !tables.executors.contains_key(&take.executor) {
            return Err(Error::LeaseLost);
        }
        let settings = tables.settings.clone();
        let ring = tables.rings.get(&take.kind).cloned().unwrap_or_default();
        let peeked = tables.peek(&ring, &take, &settings);
        let mut round = Round::begin(take.turns, &ring, peeked, take.want, &take.tasks, &settings);
        tables.rings.insert(take.kind, round.ring.clone());
        for cap in round.caps(&settings) {
            let limit = settings.limit(&cap).unwrap_or(u32::MAX);
            let running = tables.running(&cap);
            round.allow(cap, limit.saturating_sub(running));
        }
        let now = nanoseconds(self.now());
        for of in round.rates(&settings) {
            if let Some(rate) = settings.rate(&of) {
                let full = tables.rates.get(&of).copied().unwrap_or(0);
                round.meter(of, rate, full, now);
            }
        }
        let claim = Claim {
            executor: take.executor,
            number: take.number,
        };
        let (mut jobs, mut asked) = (Vec::new(), Vec::new());
        loop {
            let picks = round.picks();
            if picks.is_empty() {
                break;
            }
            let mut taken = Vec::new();
            for pick in &picks {
                for id in tables.first_of(pick) {
                    taken.extend(self.hand_over(tables, id, claim));
                }
            }
            round.took(&picks, &taken);
            jobs.extend(taken);
            asked.extend(picks);
        }
        for (of, full) in round.metered() {
            tables.rates.insert(of.clone(), full);
        }
        let Rounded { turns, found, again } = round.end();
        Ok(Taken {
            jobs: interleave(jobs, &asked),
            found,
            again,
            turns,
            settings,
        })
    }

    fn hand_over(&self, tables: &mut Tables, id: JobId, claim: Claim) -> Option<Claimed> {
        let mut job = tables.live.get(&id)?.clone();
        let change = decide(&job.standing(), &Event::Claim, &Policy::default(), 0.0).ok()?;
        let claimed = Claimed::of(&job, job.lane?, claim.number);
        job.claim = Some(claim);
        self.apply(tables, job, &change, Hooks::NONE);
        Some(claimed)
    }

    pub(super) fn grab_parked(&self, claim: Claim, id: JobId) -> Result<Option<Claimed>> {
        let tables = &mut *self.tables();
        if !tables.executors.contains_key(&claim.executor) {
            return Err(Error::LeaseLost);
        }
        let Some(mut job) = tables.live.get(&id).cloned() else {
            return Ok(None);
        };
        let settings = tables.settings.clone();
        let (group, task) = (settings.group(&job.group), settings.task(&job.task));
        let caps = [
            (Cap::Group(job.group.clone()), group.max_running),
            (Cap::Task(job.task.clone()), task.max_running),
        ];
        let full = caps
            .iter()
            .any(|(cap, limit)| limit.is_some_and(|limit| tables.running(cap) >= limit));
        let change =
            grabbed(&job.standing()).filter(|_| !full && !settings.is_paused(&job.queue, &job.group, &job.task));
        let Some(change) = change else { return Ok(None) };
        let now = nanoseconds(self.now());
        let rates: Vec<_> = settings.rates(&job.group, &job.task).collect();
        let full = |of: &Cap| tables.rates.get(of).copied().unwrap_or(0);
        if rates.iter().any(|(of, rate)| rate.tokens(full(of), now) == 0) {
            return Ok(None);
        }
        for (of, rate) in rates {
            let full = rate.after(tables.rates.get(&of).copied().unwrap_or(0), now, 1);
            tables.rates.insert(of, full);
        }
        let claimed = Claimed::of(&job, Lane::from(job.priority), claim.number);
        // Should it be given back before it is done, it needs a place in its lane.
        job.seq = tables.next_seq();
        job.claim = Some(claim);
        self.apply(tables, job, &change, Hooks::NONE);
        Ok(Some(claimed))
    }

    pub(super) fn mark_started(&self, executor: Uuid, jobs: Vec<Start>) -> Vec<(JobId, Settled)> {
        let now = self.now();
        let tables = &mut *self.tables();
        let mut trouble = Vec::new();
        for Start {
            id,
            number,
            attempts,
            at,
        } in jobs
        {
            let claim = Claim { executor, number };
            match tables.fence(id, claim) {
                Fence::Held(job) if job.cancelling => trouble.push((id, Settled::Cancelling)),
                Fence::Held(mut job) => {
                    job.state = State::Running;
                    job.attempts = attempts;
                    job.started = Some(at.min(now));
                    tables.feed.tell(now, &job, false);
                    tables.put(*job);
                }
                Fence::Ended => {}
                Fence::Gone => trouble.push((id, Settled::Lost)),
            }
        }
        trouble
    }

    pub(super) fn settle_one(&self, tables: &mut Tables, executor: Uuid, settle: Settle) -> Settled {
        let claim = Claim {
            executor,
            number: settle.number,
        };
        match tables.fence(settle.id, claim) {
            Fence::Held(job) if job.cancelling != settle.cancelling => Settled::Cancelling,
            Fence::Held(mut job) => {
                job.result = settle.result.or(job.result);
                if let Some(started) = settle.started {
                    job.started = Some(started.min(self.now()));
                }
                let came = settle.came.unwrap_or_default();
                (job.progress, job.step) = (came.percent, came.step);
                let error = (settle.error.clone(), settle.described.clone());
                tables.keep_attempt(&job, &settle.change, self.now(), error);
                if settle.error.is_some() {
                    job.error = settle.error;
                    job.error_message = settle.described.message;
                    job.error_code = settle.described.code;
                }
                self.apply(tables, *job, &settle.change, settle.hooks);
                Settled::Done
            }
            Fence::Ended => Settled::Done,
            Fence::Gone => Settled::Lost,
        }
    }
}

/// Whether a job is still in the hands that a claim put it in.
pub(super) enum Fence {
    Held(Box<Job>),
    Ended,
    Gone,
}

impl Tables {
    pub(super) fn fence(&self, id: JobId, claim: Claim) -> Fence {
        let of_claim = |job: &&Job| job.claim == Some(claim);
        match self.live.get(&id).filter(of_claim) {
            Some(job) => Fence::Held(Box::new(job.clone())),
            None if self.ended.get(&id).as_ref().is_some_and(of_claim) => Fence::Ended,
            None => Fence::Gone,
        }
    }

    /// What is in executors' hands under a cap.
    pub(super) fn running(&self, cap: &Cap) -> u32 {
        let under = |job: &&Job| match cap {
            Cap::Group(group) => job.group == *group,
            Cap::Task(task) => job.task == *task,
        };
        self.held().filter(under).count() as u32
    }

    fn peek(&self, ring: &Ring, take: &Take, settings: &Settings) -> Peeked {
        let peeks = take.queues.iter().map(|q| self.peek_queue(ring, q, take, settings));
        Peeked::merge(ring, peeks.collect())
    }

    /// The groups of one queue from the place on, once round the ring, until the window is full of groups that can
    /// give something. Those that cannot are shown too, so that they are benched; those on the bench are not.
    fn peek_queue(&self, ring: &Ring, queue: &str, take: &Take, settings: &Settings) -> Peeked {
        let mut all: Vec<Candidate> = Vec::new();
        let mut group = String::new();
        while let Some(found) = self.next_group(queue, &group) {
            group = found.group.to_string();
            if !take.turns.benched().contains(&*found.group) {
                all.push(found);
            }
        }
        all.sort_by_key(|c| ring.wraps(&c.group));
        let useful = |candidate: &Candidate| {
            let known =
                |s: &Stream| take.tasks.contains(&s.task) && !settings.is_paused(queue, &candidate.group, &s.task);
            candidate.streams.iter().any(known)
        };
        let last = all
            .iter()
            .enumerate()
            .filter(|(_, c)| useful(c))
            .nth(take.turns.window(take.want).max(1) - 1);
        let end = last.map_or(all.len(), |(at, _)| at + 1);
        let complete = !all[end..].iter().any(useful);
        all.truncate(end);
        Peeked { groups: all, complete }
    }

    /// The group with ready jobs that follows `group`, and its streams.
    fn next_group(&self, queue: &str, group: &str) -> Option<Candidate> {
        // The end of `group`: no name has a NUL in it.
        let from = (
            queue.to_owned(),
            format!("{group}\0"),
            Lane::Retry,
            String::new(),
            i64::MIN,
        );
        let ((found_queue, found, ..), _) = self.ready.range((Bound::Included(from), Bound::Unbounded)).next()?;
        if found_queue != queue {
            return None;
        }
        let mut streams = Vec::new();
        let mut from = (queue.to_owned(), found.clone(), Lane::Retry, String::new(), i64::MIN);
        while let Some(((q, g, lane, task, _), _)) = self.ready.range((Bound::Excluded(&from), Bound::Unbounded)).next()
        {
            if q != queue || g != found {
                break;
            }
            streams.push(Stream {
                lane: *lane,
                queue: q.as_str().into(),
                task: task.as_str().into(),
                key: 0,
            });
            from = (q.clone(), g.clone(), *lane, task.clone(), i64::MAX);
        }
        Some(Candidate {
            group: found.as_str().into(),
            streams,
        })
    }

    /// The jobs that a pick names: lowest `seq` first over its streams, none giving more than its limit.
    fn first_of(&self, pick: &Pick) -> Vec<JobId> {
        let mut jobs: Vec<(i64, JobId)> = Vec::new();
        for (stream, limit) in &pick.streams {
            let place = |seq| {
                (
                    stream.queue.to_string(),
                    pick.group.to_string(),
                    pick.lane,
                    stream.task.to_string(),
                    seq,
                )
            };
            let range = self.ready.range(place(i64::MIN)..=place(i64::MAX));
            jobs.extend(range.take(*limit as usize).map(|(place, id)| (place.4, *id)));
        }
        jobs.sort_unstable();
        jobs.into_iter().take(pick.jobs as usize).map(|(_, id)| id).collect()
    }
}
