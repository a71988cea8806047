//! Sixteen executors, each with a store of its own, take turns as one would: the bounds of fairness after every claim.
//!
//! Takes are ordered as the server ordered them (`many/told.sql`). A visit is what the rotation gives a group by what the take
//! was told; what the take then really got may be less, which is a visit that came back short.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use fastrand::Rng;
use tokio_postgres::Row;

use super::*;
use crate::group::GroupSettings;
use crate::job::Claimed;
use crate::lifecycle::Event;
use crate::store::Settled;
use crate::store::conformance::seeds;

cases![
    sixteen_executors_serve_groups_alike,
    sixteen_executors_of_which_some_die_serve_groups_alike_beside_caps,
];

const EXECUTORS: usize = 16;
/// By each executor, for each seed.
const TAKES: usize = 40;
/// More than is taken of any group, so that these are ready all the while.
const BACKLOG: usize = 2000;

/// Jobs by group.
type Jobs = BTreeMap<String, u32>;

struct Run {
    place: Place,
    seed: u64,
    weights: BTreeMap<String, u32>,
    /// How many jobs of a group may be held.
    caps: BTreeMap<String, u32>,
    held: Mutex<Jobs>,
    dying: bool,
}

/// What a take was told.
struct Told {
    n: i64,
    executor: Uuid,
    want: u32,
    place: String,
    left: u32,
    next: (String, u32),
    complete: bool,
    groups: Vec<String>,
}

impl Told {
    fn read(row: &Row) -> Self {
        let number = |at: usize| u32::try_from(row.get::<_, i32>(at)).expect("no negative number");
        let mut groups: Vec<String> = row.get(8);
        groups.dedup();
        Self {
            n: row.get(0),
            executor: row.get(1),
            want: number(2),
            place: row.get(3),
            left: number(4),
            next: (row.get(5), number(6)),
            complete: row.get(7),
            groups,
        }
    }

    /// How many jobs the rotation gives to each group: the rest of a visit, then whole visits, round and round.
    fn visits(&self, weights: &BTreeMap<String, u32>) -> (Jobs, (String, u32)) {
        let (mut jobs, mut wanted) = (Jobs::new(), self.want);
        let mut next = (self.place.clone(), self.left);
        for (at, group) in self.groups.iter().cycle().enumerate() {
            if wanted == 0 || at >= self.groups.len() && !self.complete {
                break;
            }
            let weight = weights.get(group).copied().unwrap_or(1);
            let goes_on = at == 0 && self.left > 0 && *group == self.place;
            let visit = if goes_on { self.left.min(weight) } else { weight };
            let now = visit.min(wanted);
            *jobs.entry(group.clone()).or_default() += now;
            wanted -= now;
            next = (group.clone(), visit - now);
        }
        (jobs, next)
    }
}

async fn sixteen_executors_serve_groups_alike(place: &Place) {
    watch(place).await;
    for seed in seeds(1) {
        serve(place, seed, false).await;
    }
}

async fn sixteen_executors_of_which_some_die_serve_groups_alike_beside_caps(place: &Place) {
    watch(place).await;
    for seed in seeds(1) {
        serve(place, 100 + seed, true).await;
    }
}

/// From now on, what takes are told is kept.
async fn watch(place: &Place) {
    drop(place.open().await);
    place.run(&place.client().await, include_str!("many/told.sql")).await;
}

async fn serve(place: &Place, seed: u64, rough: bool) {
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let store = place.open().await;
    let client = place.client().await;
    let weights: BTreeMap<String, u32> = (0..6)
        .map(|n| (format!("s{seed}-{n}"), *rng.choice(&[1, 1, 2, 3, 5]).expect("a weight")))
        .collect();
    let caps: BTreeMap<String, u32> = if rough {
        (0..2).map(|n| (format!("s{seed}-{n}-capped"), rng.u32(1..4))).collect()
    } else {
        BTreeMap::new()
    };
    let groups = weights.keys().chain(caps.keys());
    for group in groups.clone() {
        let setting = GroupSettings {
            weight: weights.get(group).copied(),
            max_running: caps.get(group).copied(),
            ..GroupSettings::default()
        };
        let setting = Setting::Group(group.clone(), setting);
        store.set(setting).await.expect("it is set");
    }
    for group in groups {
        add(&store, (0..BACKLOG).map(|_| job(group)).collect()).await;
    }
    let run = Arc::new(Run {
        place: Place {
            url: place.url.clone(),
            schema: place.schema.clone(),
        },
        seed,
        weights,
        caps,
        held: Mutex::default(),
        dying: rough,
    });
    let start = Arc::new(tokio::sync::Barrier::new(EXECUTORS));
    let mut takers = Vec::new();
    for n in 0..EXECUTORS {
        takers.push(tokio::spawn(execute(run.clone(), start.clone(), n)));
    }
    // Groups that come with a single job: whose turn it is then, and what was told by then.
    let mut guests: BTreeMap<String, i64> = BTreeMap::new();
    while !takers.iter().all(tokio::task::JoinHandle::is_finished) {
        let group = format!("s{seed}-{}-guest-{}", rng.u32(..6), guests.len());
        add(&store, vec![job(&group)]).await;
        let last = place
            .number(&client, "select coalesce(max(n), 0) from turnabout.told")
            .await;
        guests.insert(group, last);
        tokio::time::sleep(Duration::from_millis(rng.u64(1..40))).await;
    }
    let mut taken: HashMap<Uuid, Vec<Jobs>> = HashMap::new();
    for taker in takers {
        taken.extend(taker.await.expect("no panic"));
    }
    let told = sql::in_schema("select * from turnabout.told order by n", &place.schema);
    let told: Vec<Told> = client
        .query(&told, &[])
        .await
        .expect("told")
        .iter()
        .map(Told::read)
        .collect();
    check(&run, &told, taken, &guests);
    for group in run.weights.keys() {
        let left = format!("select count(*) from turnabout.job where \"group\" = '{group}' and executor is null");
        let left = place.number(&client, &left).await;
        assert!(left > 0, "seed {seed}: {group} was not ready all the while");
    }
    place
        .run(&client, "truncate turnabout.told; delete from turnabout.job")
        .await;
}

/// One executor after the other, through one store: for each, what each take got that was told of something.
async fn execute(run: Arc<Run>, start: Arc<tokio::sync::Barrier>, n: usize) -> HashMap<Uuid, Vec<Jobs>> {
    let mut rng = Rng::with_seed(run.seed * 100 + n as u64);
    let options = StoreOptions {
        connections: 3,
        ..run.place.options(Clock::System)
    };
    let store = PostgresStore::open(&run.place.url, options)
        .await
        .expect("the store opens");
    let mut exec = executor(&store, &["work"]).await;
    let mut all: HashMap<Uuid, Vec<Jobs>> = HashMap::new();
    start.wait().await;
    for _ in 0..TAKES {
        exec.turns.forgive();
        let (incarnation, beat) = (exec.incarnation, exec.beat);
        let want = rng.u32(1..=4);
        let dies = run.dying && rng.u8(..12) == 0;
        let taken = if dies {
            // In the middle of a take.
            let (taken, reaped) = tokio::join!(exec.try_take(want), store.reap(incarnation, beat));
            reaped.expect("reap works");
            taken
        } else {
            exec.try_take(want).await
        };
        let jobs = match taken {
            Ok((jobs, found)) => {
                if found {
                    let mut got = Jobs::new();
                    for job in &jobs {
                        *got.entry(job.group.clone()).or_default() += 1;
                    }
                    all.entry(incarnation).or_default().push(got);
                }
                jobs
            }
            Err(Error::LeaseLost) if dies => Vec::new(),
            // A reap and a take may stand in each other's way at caps. As every executor, this one looks again.
            Err(error) if run.dying && error.is_transient() => {
                all.entry(incarnation).or_default().push(Jobs::new());
                Vec::new()
            }
            Err(error) => panic!("seed {}: a take failed: {}", run.seed, error.chain()),
        };
        if dies {
            store.reap(incarnation, beat).await.expect("reap works");
            exec = executor(&store, &["work"]).await;
            continue;
        }
        hold(&run, &jobs);
        for job in &jobs {
            let event = if rng.u8(..8) == 0 {
                Event::Release
            } else {
                Event::Succeed
            };
            let_go(&run, job);
            assert_eq!(exec.end(job, event).await, Settled::Done, "seed {}", run.seed);
        }
    }
    all
}

/// No more of a capped group are held than may be.
fn hold(run: &Run, jobs: &[Claimed]) {
    let mut held = run.held.lock().unwrap_or_else(PoisonError::into_inner);
    for job in jobs {
        let count = held.entry(job.group.clone()).or_default();
        *count += 1;
        let allowed = run.caps.get(&job.group).copied().unwrap_or(u32::MAX);
        assert!(
            *count <= allowed,
            "seed {}: {count} of {} are held",
            run.seed,
            job.group
        );
    }
}

fn let_go(run: &Run, job: &Claimed) {
    let mut held = run.held.lock().unwrap_or_else(PoisonError::into_inner);
    *held.get_mut(&job.group).expect("it was held") -= 1;
}

/// How far two groups are apart, and the extremes so far: of that itself less, and more, what came back short by then.
#[derive(Clone, Copy, Default)]
struct Apart {
    visits: Extremes,
    jobs: Extremes,
}

#[derive(Clone, Copy, Default)]
struct Extremes {
    now: f64,
    lowest: f64,
    highest: f64,
}

impl Extremes {
    /// The most that the two have drifted apart over any time, beyond what came back `short` in that time.
    fn drift(&mut self, by: f64, short: f64) -> f64 {
        self.now += by;
        let (up, down) = (self.now - short, self.now + short);
        let drift = (up - self.lowest).max(self.highest - down);
        self.lowest = self.lowest.min(up);
        self.highest = self.highest.max(down);
        drift
    }
}

fn check(run: &Run, told: &[Told], mut taken: HashMap<Uuid, Vec<Jobs>>, guests: &BTreeMap<String, i64>) {
    let seed = run.seed;
    for list in taken.values_mut() {
        list.reverse();
    }
    let mut apart: BTreeMap<(&str, &str), Apart> = BTreeMap::new();
    let (mut short, mut jobs, mut waited) = (0, 0, 0);
    let mut visits: Vec<(i64, Jobs)> = Vec::new();
    for one in told {
        let (planned, next) = one.visits(&run.weights);
        assert_eq!(next, one.next, "seed {seed}, take {}", one.n);
        // One that died in between got nothing.
        let got = taken.get_mut(&one.executor).and_then(Vec::pop).unwrap_or_default();
        let of = |jobs: &Jobs, group: &str| jobs.get(group).copied().unwrap_or(0);
        let less: u32 = planned.iter().map(|(group, n)| n.saturating_sub(of(&got, group))).sum();
        let more: u32 = got.iter().map(|(group, n)| n.saturating_sub(of(&planned, group))).sum();
        assert!(
            more <= less,
            "seed {seed}, take {}: {got:?} instead of {planned:?}",
            one.n
        );
        short += less;
        jobs += got.values().sum::<u32>();
        for (a, weight_a) in &run.weights {
            for (b, weight_b) in run.weights.range::<String, _>(a..).skip(1) {
                let share = |jobs| {
                    f64::from(of(jobs, a)) / f64::from(*weight_a) - f64::from(of(jobs, b)) / f64::from(*weight_b)
                };
                let apart = apart.entry((a, b)).or_default();
                let drift = apart.visits.drift(share(&planned), 0.0);
                assert!(
                    drift <= 1.0 + 1e-9,
                    "seed {seed}, take {}: visits to {a} and {b}: {drift}",
                    one.n
                );
                let drift = apart.jobs.drift(share(&got), f64::from(short));
                assert!(
                    drift <= 1.0 + 1e-9,
                    "seed {seed}, take {}: jobs of {a} and {b}: {drift}",
                    one.n
                );
            }
        }
        visits.push((one.n, planned));
    }
    assert!(
        taken.values().all(Vec::is_empty),
        "seed {seed}: takes that nobody was told of"
    );
    for (guest, last) in guests {
        // The take that was under way when the guest came may not have seen it; others may have visited it by then.
        let (early, late) = visits.split_at(visits.partition_point(|(n, _)| *n <= last + 1));
        if early.iter().any(|(_, planned)| planned.contains_key(guest)) {
            continue;
        }
        let mut sums = Jobs::new();
        for (_, planned) in late {
            if planned.contains_key(guest) {
                waited += 1;
                for (group, weight) in &run.weights {
                    let sum = sums.get(group).copied().unwrap_or(0);
                    assert!(sum <= *weight, "seed {seed}: {guest} waited for {sum} jobs of {group}");
                }
                break;
            }
            for (group, n) in planned {
                *sums.entry(group.clone()).or_default() += n;
            }
        }
    }
    println!(
        "seed {seed}: {} takes, {jobs} jobs, {short} short, {} guests, {waited} of them waited",
        told.len(),
        guests.len()
    );
    assert!(
        told.len() > EXECUTORS * TAKES / 2,
        "seed {seed}: hardly anything was taken"
    );
    assert!(
        run.dying || short * 5 <= jobs,
        "seed {seed}: {short} of {jobs} came back short"
    );
}
