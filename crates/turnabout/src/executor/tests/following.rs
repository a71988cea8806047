//! Following many jobs: one that cannot be read is not the end of it, and whoever does not read begins anew.

use std::collections::HashSet;

use super::counting::{Counting, Fault};
use super::*;
use crate::jobs::{Following, Interest, Told};
use crate::store::conformance::cases;
use crate::submit::Submission;

cases![
    following_goes_on_after_a_panic,
    whoever_reads_too_little_is_told_to_begin_anew,
];

fn one(n: u32) -> Submission {
    Submission::named("unheard-of", n)
}

async fn submit(jobs: &Jobs, n: u32) -> JobId {
    jobs.submit_all(vec![one(n)]).await.all().expect("submitted")[0].id
}

/// Reads until this is told; how many other things were.
async fn until_told(following: &mut Following, wanted: impl Fn(&Told) -> bool) -> Option<usize> {
    let mut before = 0;
    while let Some(note) = following.next().await {
        match note.told.iter().position(&wanted) {
            Some(at) => return Some(before + at),
            None => before += note.told.len(),
        }
    }
    None
}

async fn following_goes_on_after_a_panic(world: &World) {
    let store = Counting::new(&world.store);
    let jobs = Jobs::on(store.clone());
    let mut following = jobs.follow(Interest::default(), None).await.expect("followed");
    until_told(&mut following, |told| *told == Told::Ready)
        .await
        .expect("ready");
    store.fail("get", Fault::Panic, 1);
    let job = submit(&jobs, 1).await;
    assert_eq!(until_told(&mut following, |_| false).await, None, "it is cut off");

    // It begins anew, and finds what there is.
    let interest = Interest {
        initial: 10,
        ..Interest::default()
    };
    let mut following = jobs.follow(interest, None).await.expect("followed");
    let is = |told: &Told| matches!(told, Told::Job(news) if news.id == job);
    until_told(&mut following, is).await.expect("it is told");
}

async fn whoever_reads_too_little_is_told_to_begin_anew(world: &World) {
    let jobs = Jobs::on(world.store.clone());
    let interest = |buffer| Interest {
        buffer,
        ..Interest::default()
    };
    let mut slow = jobs.follow(interest(10), None).await.expect("followed");
    let mut patient = jobs.follow(interest(0), None).await.expect("followed");
    for following in [&mut slow, &mut patient] {
        until_told(following, |told| *told == Told::Ready).await.expect("ready");
    }
    // From now on only one of them reads.
    let mut told = 0;
    for n in 0..3 {
        let many: Vec<Submission> = (0..60).map(|job| one(60 * n + job)).collect();
        let mut left: HashSet<JobId> = HashSet::new();
        for outcome in jobs.submit_all(many).await {
            left.insert(outcome.expect("submitted").id);
        }
        while !left.is_empty() {
            for news in patient.next().await.expect("a note").told.iter() {
                let Told::Job(job) = news else { panic!("{news:?}") };
                left.remove(&job.id);
                told += 1;
            }
        }
    }
    assert!(told >= 180, "each of them");
    let before = until_told(&mut slow, |told| *told == Told::Resync).await;
    assert!(
        before.expect("told to begin anew") <= 60,
        "what was told at once, and no more"
    );
    let id = submit(&jobs, 181).await;
    let is = |told: &Told| matches!(told, Told::Job(news) if news.id == id);
    until_told(&mut slow, is).await.expect("and then it is told of others");
}
