//! How long the pure parts take: planning a round of turns, charging accounts, deciding what becomes of a job. No
//! database, no clock: what is measured here is paid for every batch, or every job, on every store.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use turnabout::Fairness;

use turnabout::group::Settings;
use turnabout::job::{Claimed, JobId, Lane, Meta, Priority, State};
use turnabout::lifecycle::{Event, Policy, Standing, decide};
use turnabout::turn::{Accounts, Candidate, Peeked, Pick, Ring, Round, Scheme, Stream, Tasks, Turns, interleave};

const TASK: &str = "work";

/// A peek that found so many groups, each with jobs in two lanes.
fn peeked(groups: usize) -> Peeked {
    let stream = |lane| Stream {
        lane,
        queue: "default".into(),
        task: TASK.into(),
        key: 0,
    };
    let candidate = |n| Candidate {
        group: format!("g{n:05}").into(),
        streams: vec![stream(Lane::High), stream(Lane::Normal)],
    };
    Peeked {
        groups: (0..groups).map(candidate).collect(),
        complete: true,
    }
}

/// What a store would return for these picks.
fn claim(picks: &[Pick]) -> Vec<Claimed> {
    let mut jobs = Vec::new();
    for pick in picks {
        for _ in 0..pick.jobs {
            jobs.push(Claimed {
                id: JobId::new(),
                prepared: true,
                number: 1,
                task: TASK.to_owned(),
                group: pick.group.to_string(),
                owner: None,
                priority: Priority::Normal,
                lane: pick.lane,
                seq: jobs.len() as i64,
                args: "{}".to_owned(),
                items: 1,
                meta: Meta::new(),
                parent: None,
                submitted: Timestamp::UNIX_EPOCH,
                attempts: 0,
                interruptions: 0,
                losses: 0,
            });
        }
    }
    jobs
}

/// One round that gives a job to each of the groups that a peek found.
fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("round");
    let tasks = Tasks::from_iter([TASK.into()]);
    let settings = Settings::default();
    for fairness in [Fairness::Jobs, Fairness::Time] {
        for groups in [1, 100, 1_000] {
            let found = peeked(groups);
            let turns = Turns::new(fairness, Scheme::default(), 7);
            let ring = Ring::default();
            group.throughput(Throughput::Elements(groups as u64));
            group.bench_with_input(
                BenchmarkId::new(format!("{fairness:?}"), groups),
                &groups,
                |b, groups| {
                    let plan = || {
                        let want = *groups as u32;
                        let round = Round::begin(turns.clone(), &ring, found.clone(), want, &tasks, &settings);
                        let jobs = claim(&round.picks());
                        (round, jobs)
                    };
                    // What the store does in between is not ours; what is planned, told and put in order is.
                    b.iter_batched(
                        || (turns.clone(), found.clone(), plan().1),
                        |(turns, found, jobs)| {
                            let want = *groups as u32;
                            let mut round = Round::begin(turns, &ring, found, want, &tasks, &settings);
                            let picks = round.picks();
                            round.took(&picks, &jobs);
                            (interleave(jobs, &picks), round.end())
                        },
                        BatchSize::SmallInput,
                    );
                },
            );
        }
    }
    group.finish();
}

/// A job is taken, costs something else than expected, and ends; 1,000 groups by turns. Then all is shared.
fn accounts(c: &mut Criterion) {
    let names: Vec<String> = (0..1_000).map(|n| format!("g{n:05}")).collect();
    let mut group = c.benchmark_group("accounts");
    group.throughput(Throughput::Elements(names.len() as u64));
    group.bench_function("take, correct and end", |b| {
        let mut accounts = Accounts::default();
        b.iter(|| {
            for name in &names {
                let charged = accounts.take(name, 1, None);
                accounts.correct(name, 1, 2.0 - charged);
                accounts.ended(name, 2.0);
            }
        });
    });
    group.bench_function("share", |b| {
        let mut accounts = Accounts::default();
        for name in &names {
            accounts.take(name, 1, None);
        }
        b.iter(|| {
            let charges = accounts.charges();
            accounts.absorb(
                charges
                    .iter()
                    .map(|charge| (charge.group.clone(), charge.floor + charge.add)),
            );
            charges
        });
    });
    group.finish();
}

/// A whole life: claimed, started, failed, due again, claimed, started, succeeded.
fn lifecycle(c: &mut Criterion) {
    let fresh = Standing {
        state: State::Waiting,
        reason: None,
        cancelling: false,
        priority: Priority::Normal,
        ready: true,
        attempts: 0,
        interruptions: 0,
        losses: 0,
    };
    let policy = Policy::default();
    let life = [
        Event::Claim,
        Event::Start,
        Event::Fail,
        Event::Promote,
        Event::Claim,
        Event::Start,
        Event::Succeed,
    ];
    c.bench_function("lifecycle/seven decisions", |b| {
        b.iter(|| {
            let mut job = black_box(fresh);
            for event in &life {
                job = decide(&job, event, &policy, 0.5).expect("a legal step").standing();
            }
            assert_eq!(job.state, State::Success);
            job
        });
    });
}

criterion_group!(pure, rounds, accounts, lifecycle);
criterion_main!(pure);
