//! The claimer: asks the store for jobs as slots become free, and stands by when there are none.
//!
//! One take at a time: what it brings decides what to ask for next. The memory of turns travels through the store
//! and back, so whatever concerns the accounts gathers meanwhile and is booked when it is home again.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::finisher::Ending;
use super::hand::Held;
use super::life::{Backoff, Life};
use crate::error::Error;
use crate::group::Settings;
use crate::job::Claimed;
use crate::store::{Stood, Take, Taken};
use crate::turn::pace::{Load, STALE};
use crate::turn::{Fairness, Pace, Turns};

/// One take asks for no more jobs.
const BATCH: usize = 1000;
/// After finding nothing: look again so long after the last look, since a job may have been on its way.
const LOOKS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(4),
];
/// Accounts are shared and benched groups forgiven so often.
const SECOND: Duration = Duration::from_secs(1);

/// Whoever waits for a rate looks again no sooner than this: tokens that come faster are taken together.
const SOONEST: Duration = Duration::from_millis(2);

/// So many times in a row a look that found only full caps is followed by the next one at once: slots should not idle
/// because others come before those who have work for them. Past that there are pauses between them.
const MAX_FRUITLESS: u32 = 16;

/// Takes jobs until the life is closing.
pub(super) async fn run(life: Arc<Life>) {
    let mut claimer = Claimer::new(&life);
    while !life.closing.is_cancelled() {
        claimer.each_second().await;
        let want = claimer.want();
        if want == 0 {
            life.fine("claiming");
            claimer.wait_for_room().await;
            continue;
        }
        let look = claimer.take(want).await;
        let look = match look {
            Ok(Look::Nothing) => claimer.sleep(want).await,
            look => look,
        };
        match look {
            Ok(Look::Jobs) => claimer.wake().await,
            Ok(Look::Benched) if claimer.fruitless < MAX_FRUITLESS => claimer.fruitless += 1,
            Ok(Look::Contended | Look::Benched) => claimer.contended.wait().await,
            Ok(Look::Nothing) => {}
            Err(Error::LeaseLost) => {
                life.lost.cancel();
                return;
            }
            Err(error) => {
                life.trouble("claiming", &error);
                let pause = claimer.troubled.step();
                claimer.rest(pause).await;
            }
        }
    }
}

/// What a take brought.
enum Look {
    /// Some.
    Jobs,
    /// Something was ready, but others had their hands on it.
    Contended,
    /// What was looked at cannot run for now, because of a cap, or has had enough. The next look leaves it out.
    Benched,
    Nothing,
}

struct Claimer<'a> {
    life: &'a Arc<Life>,
    turns: Turns,
    pace: Pace,
    /// Whether the store believes that we sleep.
    dozing: bool,
    /// How many takes in a row brought jobs.
    lucky: u32,
    /// How many looks since we went to sleep.
    looks: usize,
    /// Whether we were woken for the look that comes next.
    woken: bool,
    /// How many times in a row we were woken for nothing, as far as that has turned out.
    false_alarms: u32,
    troubled: Backoff,
    contended: Backoff,
    /// How many looks in a row found only full caps.
    fruitless: u32,
    last_second: Option<Instant>,
    /// The version of the settings that were last in force.
    settings: i64,
    /// How many jobs had started, and since when none has, nor was any taken.
    still: (u64, Duration),
    /// When a rate lets a job start that it has kept back, on the life's watch.
    again: Option<Duration>,
}

impl<'a> Claimer<'a> {
    fn new(life: &'a Arc<Life>) -> Self {
        Self {
            life,
            turns: life.plan.turns(),
            pace: Pace::new(life.hand.starts(), life.watch()),
            dozing: false,
            lucky: 0,
            looks: 0,
            woken: false,
            false_alarms: 0,
            troubled: Backoff::for_store(),
            contended: Backoff::new(Duration::from_millis(2), Duration::from_millis(50)),
            fruitless: 0,
            last_second: None,
            settings: 0,
            still: (life.hand.starts(), life.watch()),
            again: None,
        }
    }

    /// How many jobs to ask for now.
    fn want(&mut self) -> usize {
        let (life, hand) = (self.life, &self.life.hand);
        if life.draining.load(Relaxed) {
            return 0;
        }
        self.pace.measure(hand.starts(), life.watch());
        // Before looking: a queue that becomes short from now on is told.
        hand.low_water.store(self.pace.low_water(), Relaxed);
        // In this order, in which a job on its way from the queue into a slot is not overlooked.
        let (queued, running) = (hand.queued(), hand.running());
        let used = life.plan.used.load(Relaxed);
        let want = self.pace.want(Load {
            slots: life.seated.load(Relaxed),
            running,
            queued,
        });
        want.min(used.saturating_sub(queued + running))
    }

    async fn take(&mut self, want: usize) -> Result<Look, Error> {
        let life = self.life;
        let idle = *life.hand.size.borrow() == 0;
        let (take, benched) = self.ask(want);
        let number = take.number;
        let asked = life.watch();
        let taken = {
            let _at_work = life.at_work("claimer");
            life.store.take(take).await
        };
        if taken.as_ref().is_ok_and(|taken| !taken.jobs.is_empty()) {
            self.pace.took(life.watch().saturating_sub(asked));
        }
        let look = self.took(number, benched, taken);
        if idle && matches!(look, Ok(Look::Nothing)) {
            life.quiet.send_modify(|count| *count += 1);
        }
        look
    }

    /// What the store is asked, and how many groups are left out. The memory of turns goes with it.
    fn ask(&mut self, want: usize) -> (Take, usize) {
        let life = self.life;
        self.book();
        if life.cap_freed.swap(false, Relaxed) {
            self.turns.forgive();
        }
        if self.again.is_some_and(|at| at <= life.watch()) {
            self.again = None;
            self.turns.forgive();
        }
        self.turns.here = life.here();
        let benched = self.turns.benched().len();
        let tasks = life.plan.tasks();
        let take = Take {
            executor: life.incarnation,
            number: life.numbers.next(),
            kind: tasks.kind.clone(),
            queues: life.plan.queues.clone(),
            tasks: Arc::clone(&tasks.names),
            want: want.min(BATCH) as u32,
            turns: std::mem::replace(&mut self.turns, life.plan.turns()),
        };
        (take, benched)
    }

    /// What the store answered: jobs go into the hand, and the memory of turns is home again.
    fn took(&mut self, number: i64, benched: usize, taken: Result<Taken, Error>) -> Result<Look, Error> {
        let life = self.life;
        let look = taken.map(|taken| {
            self.turns = taken.turns;
            self.troubled.reset();
            life.fine("claiming");
            if taken.settings.version != self.settings {
                self.settings = taken.settings.version;
                self.again = None;
                self.turns.forgive();
            }
            let again = taken.again.map(|again| life.watch() + again.max(SOONEST));
            self.again = self.again.into_iter().chain(again).min();
            if !taken.jobs.is_empty() {
                let jobs = taken
                    .jobs
                    .into_iter()
                    .map(|job| self.charge(job, &taken.settings))
                    .collect();
                self.still = (life.hand.starts(), life.watch());
                life.hand.deal(jobs);
                Look::Jobs
            } else if taken.found && (self.turns.benched().len() > benched || self.turns.is_passing()) {
                Look::Benched
            } else if taken.found {
                Look::Contended
            } else {
                Look::Nothing
            }
        });
        // Only now may the keeper wonder about jobs of this claim that are not in hand.
        life.numbers.answered(number);
        if !matches!(look, Ok(Look::Contended | Look::Benched)) {
            self.contended.reset();
            self.fruitless = 0;
        }
        life.asleep.store(matches!(look, Ok(Look::Nothing)), Relaxed);
        look
    }

    /// A job was taken: its group is charged what it will probably cost.
    fn charge(&mut self, job: Claimed, settings: &Settings) -> Arc<Held> {
        let group = settings.group(&job.group);
        let capped = group.max_running.is_some()
            || group.max_share.is_some()
            || group.rate.is_some()
            || settings.task(&job.task).is_limited();
        let weight = group.weight();
        let cost = self.turns.charge(&job.group, weight, job.items);
        let held = Held::new(job, weight, capped);
        if let Some(cost) = cost {
            held.charge(cost);
        }
        Arc::new(held)
    }

    /// Books what jobs that have ended really cost.
    fn book(&mut self) {
        if self.life.plan.fairness == Fairness::Jobs {
            return;
        }
        let bills = std::mem::take(&mut *self.life.bills.lock().unwrap_or_else(PoisonError::into_inner));
        for bill in bills {
            let (group, weight, charged) = (&bill.held.job.group, bill.held.weight, bill.held.charged());
            self.turns.settle(group, weight, charged, bill.cost);
        }
    }

    /// Forgives, charges long jobs as they go, and shares the accounts; the first time before the first take.
    async fn each_second(&mut self) {
        if self.last_second.is_some_and(|last| last.elapsed() < SECOND) {
            return;
        }
        self.last_second = Some(Instant::now());
        self.turns.forgive();
        let life = self.life;
        if life.plan.fairness == Fairness::Jobs {
            return;
        }
        self.book();
        if life.plan.fairness == Fairness::Time {
            self.charge_running();
        }
        let charges = self.turns.accounts.charges();
        match life.store.share(&life.plan.tasks().kind, charges).await {
            Ok(shared) => {
                life.fine("sharing accounts");
                self.turns.accounts.absorb(shared);
            }
            // What was not shared is lost to the others; they will see the next charges.
            Err(error) => life.trouble("sharing accounts", &error),
        }
    }

    /// Jobs that run longer than expected are charged as they go.
    fn charge_running(&mut self) {
        let now = self.life.watch();
        for held in self.life.hand.all() {
            let Some(started) = held.started().filter(|_| !held.has_ended()) else {
                continue;
            };
            let seconds = now.saturating_sub(started).as_secs_f64();
            let charged = self
                .turns
                .charge_running(&held.job.group, held.weight, held.charged(), seconds);
            held.charge(charged);
        }
    }

    /// Until a slot is free or the queue is short. Jobs that do not start as soon as they should are given back, so that
    /// others can have them.
    async fn wait_for_room(&mut self) {
        let life = self.life;
        let queued = life.hand.queued() > 0;
        let starts = life.hand.starts();
        if starts != self.still.0 {
            self.still = (starts, life.watch());
        }
        let accounts = life.plan.fairness != Fairness::Jobs;
        tokio::select! {
            () = life.closing.cancelled() => {}
            () = life.hand.room.notified() => {}
            () = life.sleep_until(self.still.1 + STALE), if queued => {
                if life.hand.starts() == starts {
                    for held in life.hand.give_back(0) {
                        super::attempt::hand_on(life, Ending::not_started(held)).await;
                    }
                }
            }
            () = tokio::time::sleep(SECOND), if accounts => {}
        }
    }

    /// Work has come. Others are told that we are awake when it goes on coming: being taken for asleep costs a
    /// needless message, being taken for awake nothing, and a single job is not worth the write.
    async fn wake(&mut self) {
        self.lucky += 1;
        self.looks = 0;
        self.woken = false;
        self.false_alarms = 0;
        if !self.dozing {
            self.life.fine("going to sleep");
        } else if self.lucky > 1 {
            // Should that fail, it is tried again when more has come: nobody has to know.
            self.dozing = self.life.store.doze(self.life.incarnation, false).await.is_err();
        }
    }

    /// Nothing was found. The first time, says so in the store and looks again at once: whoever submits after that
    /// wakes us. Then stands by until woken or served, and looks now and then regardless.
    async fn sleep(&mut self, want: usize) -> Result<Look, Error> {
        let life = self.life;
        self.lucky = 0;
        self.turns.forgive();
        if std::mem::take(&mut self.woken) {
            self.false_alarms = (self.false_alarms + 1).min(6);
        }
        if !self.dozing && !life.store.serves() {
            let asleep = life.store.doze(life.incarnation, true).await;
            if life.note("going to sleep", &asleep) {
                self.dozing = true;
                self.looks = 0;
                return Ok(Look::Nothing);
            }
        }
        let slept = Instant::now();
        let look = self.stand_by(want).await;
        if self.woken && matches!(look, Ok(Look::Nothing)) {
            if slept.elapsed() > SECOND {
                self.false_alarms = 0;
            }
            // Jobs that others may run can wake us any number of times a second. One alarm for nothing is usual: what was
            // taken at the first word of it may be announced once more.
            if self.false_alarms > 1 {
                self.rest(Duration::from_millis((1 << self.false_alarms).min(50))).await;
            }
        }
        self.turns.forgive();
        look
    }

    /// Leaves a take with the store, until something happens or it is time to look again.
    async fn stand_by(&mut self, want: usize) -> Result<Look, Error> {
        let life = self.life;
        let timeout = LOOKS.get(self.looks).copied().unwrap_or(life.plan.heartbeat);
        // Nobody wakes us.
        let timeout = if life.store.hears() {
            timeout
        } else {
            timeout.min(SECOND)
        };
        self.looks += 1;
        let accounts = life.plan.fairness != Fairness::Jobs && *life.hand.size.borrow() > 0;
        // Nothing is held ahead: by the time something comes, the present rate is of the past.
        let free = life.plan.slots.saturating_sub(life.hand.running());
        let (take, benched) = self.ask(want.min(free.max(1)));
        let number = take.number;
        let again = self.again;
        let (woken, looks) = (&mut self.woken, &mut self.looks);
        let until = async {
            tokio::select! {
                () = life.closing.cancelled() => {}
                () = life.ready.notified() => *woken = true,
                () = tokio::time::sleep(timeout) => {}
                () = tokio::time::sleep(SECOND), if accounts => *looks -= 1,
                () = life.sleep_until(again.unwrap_or_default()), if again.is_some() => *looks -= 1,
            }
        };
        match life.store.stand_by(take, Box::pin(until)).await {
            Ok(Stood::Recalled(turns)) => {
                self.turns = turns;
                life.numbers.answered(number);
                Ok(Look::Nothing)
            }
            Ok(Stood::Taken(taken)) => {
                self.woken = true;
                let look = self.took(number, benched, Ok(taken));
                // The slot that was woken on this thread goes first: its job was waited for, more may or may not come.
                tokio::task::yield_now().await;
                look
            }
            Err(error) => self.took(number, benched, Err(error)),
        }
    }

    /// A pause that a shutdown cuts short.
    async fn rest(&self, pause: Duration) {
        tokio::select! {
            () = self.life.closing.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
