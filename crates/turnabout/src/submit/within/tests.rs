//! A job that is submitted inside a transaction shares its fate.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, NoTls};

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
            assert_eq!(submitted.within(&mut client).await.expect("the same job").new, new);
        }
    })
    .await;
}
