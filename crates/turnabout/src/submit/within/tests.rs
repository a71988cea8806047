//! A job that is submitted inside a transaction shares its fate.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, IsolationLevel, NoTls};

use crate::error::Error;
use crate::job::{JobId, Priority, State};
use crate::jobs::Jobs;
use crate::store::conformance::world::{World, on_postgres, postgres_url};
use crate::task::Task;

#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

impl Task for Mail {
    const NAME: &'static str = "mail";
}

fn mail() -> Mail {
    Mail { to: "ada".into() }
}

/// A connection of the application's own.
async fn connect() -> Client {
    let (client, connection) = tokio_postgres::connect(&postgres_url(), NoTls)
        .await
        .expect("a connection");
    tokio::spawn(connection);
    client
}

async fn the_jobs(world: &World) -> usize {
    world.all().await.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_exists_if_and_only_if_the_transaction_commits() {
    on_postgres(async |world: &World| {
        let jobs = Jobs::on(world.store.clone());
        let mut client = connect().await;
        let mut tx = client.transaction().await.expect("a transaction");
        jobs.submit(mail())
            .group("acme")
            .within(&mut tx)
            .await
            .expect("it is submitted");
        tx.rollback().await.expect("it is taken back");
        assert_eq!(the_jobs(world).await, 0);

        let mut tx = client.transaction().await.expect("a transaction");
        let submitted = jobs
            .submit(mail())
            .group("acme")
            .owner("ada")
            .priority(Priority::High)
            .meta("locale", "en")
            .items(3)
            .within(&mut tx)
            .await
            .expect("it is submitted");
        assert!(submitted.new);
        assert_eq!(the_jobs(world).await, 0, "nobody sees it yet");
        tx.commit().await.expect("it is kept");
        let job = jobs.get(submitted.id).await.expect("it is there");
        assert_eq!(
            (job.group.as_str(), job.owner.as_deref(), job.items),
            ("acme", Some("ada"), 3)
        );
        assert_eq!(
            (job.priority, job.state, job.meta["locale"].as_str()),
            (Priority::High, State::Waiting, "en")
        );
        assert_eq!(job.args::<Mail>().expect("they decode").to, "ada");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_ids_and_mistakes_are_as_outside_a_transaction() {
    on_postgres(async |world: &World| {
        let jobs = Jobs::on(world.store.clone());
        let mut client = connect().await;
        let mut tx = client.transaction().await.expect("a transaction");
        let first = jobs
            .submit(mail())
            .unique("k")
            .within(&mut tx)
            .await
            .expect("the first");
        let second = jobs
            .submit(mail())
            .unique("k")
            .within(&mut tx)
            .await
            .expect("the second");
        assert_eq!((first.id, true, false), (second.id, first.new, second.new));
        let refused = jobs
            .submit(mail())
            .group("")
            .within(&mut tx)
            .await
            .expect_err("an empty group");
        assert!(matches!(refused, Error::Invalid { what: "group", .. }));
        // A mistake that is found before anything is sent does not spoil the transaction.
        let later = jobs
            .submit(mail())
            .delay(Duration::from_hours(1))
            .within(&mut tx)
            .await
            .expect("a delayed one");
        tx.commit().await.expect("it is kept");
        assert_eq!(the_jobs(world).await, 2);
        assert!(jobs.get(later.id).await.expect("it is there").due.is_some());

        // The function goes by the server's clock, whatever the test's clock says.
        let id = JobId::new();
        for (group, new) in [("a", true), ("a", false)] {
            let submitted = jobs.submit_named("mail", ()).group(group).id(id);
            let mut tx = client.transaction().await.expect("a transaction");
            assert_eq!(submitted.within(&mut tx).await.expect("the same job").new, new);
            tx.commit().await.expect("it is kept");
        }
    })
    .await;
}

/// An owner may have two.
#[derive(Serialize, Deserialize)]
struct Scarce;

impl Task for Scarce {
    const NAME: &'static str = "scarce";
    const MAX_UNFINISHED: Option<u32> = Some(2);

    fn describe(&self) -> Option<String> {
        Some("a scarce job".to_owned())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_inside_transactions_and_does_not_end_them() {
    on_postgres(async |world: &World| {
        let jobs = Jobs::on(world.store.clone());
        let mut client = connect().await;
        let mut tx = client.transaction().await.expect("a transaction");
        let first = jobs
            .submit(Scarce)
            .owner("ada")
            .within(&mut tx)
            .await
            .expect("submitted");
        jobs.submit(Scarce)
            .owner("ada")
            .unique("k")
            .within(&mut tx)
            .await
            .expect("submitted");
        let error = jobs
            .submit(Scarce)
            .owner("ada")
            .within(&mut tx)
            .await
            .expect_err("full");
        assert!(
            error
                .to_string()
                .contains("the owner `ada`, of the task `scarce`, has 2"),
            "{error}"
        );
        let same = jobs
            .submit(Scarce)
            .owner("ada")
            .unique("k")
            .within(&mut tx)
            .await
            .expect("known");
        assert!(!same.new, "a job that exists needs no room");
        jobs.submit(Scarce)
            .owner("bob")
            .within(&mut tx)
            .await
            .expect("another owner");
        tx.commit().await.expect("the transaction goes on");
        assert_eq!(the_jobs(world).await, 3);
        assert_eq!(world.get(first.id).await.subject.as_deref(), Some("a scarce job"));
    })
    .await;
}

/// At any isolation: one whose snapshot is too old to count what others stored must fail, not exceed the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_at_once_store_exactly_the_allowed_number() {
    on_postgres(async |world: &World| {
        let jobs = Jobs::on(world.store.clone());
        for level in [
            IsolationLevel::ReadCommitted,
            IsolationLevel::RepeatableRead,
            IsolationLevel::Serializable,
        ] {
            let owner = format!("{level:?}");
            let submits = (0..16).map(async |_| {
                let mut client = connect().await;
                let begun = client.build_transaction().isolation_level(level).start().await;
                let mut tx = begun.expect("a transaction");
                tx.query_one("select 1", &[]).await.expect("a snapshot");
                let submitted = jobs.submit(Scarce).owner(owner.as_str()).within(&mut tx).await;
                submitted.is_ok() && tx.commit().await.is_ok()
            });
            let stored = futures_util::future::join_all(submits).await;
            let stored = stored.into_iter().filter(|stored| *stored).count();
            let there = world
                .all()
                .await
                .into_iter()
                .filter(|job| job.owner == Some(owner.clone()));
            assert_eq!(there.count(), stored);
            assert!((1..=2).contains(&stored), "{level:?}: {stored}");
        }
    })
    .await;
}
