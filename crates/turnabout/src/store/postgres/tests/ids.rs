//! Ids when connections are lost: only the dead are succeeded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::*;
use crate::{Context, Executor, Jobs, Task, TaskResult};

cases![
    one_that_lost_its_connections_is_not_succeeded,
    one_whose_process_ended_is_succeeded,
    messages_to_oneself_tell_whether_others_are_heard,
];

#[derive(Serialize, Deserialize)]
struct Nothing;

impl Task for Nothing {
    const NAME: &'static str = "nothing";
}

async fn nothing(_: Context, _: Nothing) -> TaskResult {
    Ok(())
}

/// Ends all connections that have something to do with this schema, as a network that fails would.
async fn cut(place: &Place) {
    let client = place.client().await;
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
               where pid <> pg_backend_pid() and query like '%' || $1 || '%'";
    client.query(cut, &[&place.schema]).await.expect("cut");
}

fn executor(jobs: &Jobs) -> Executor {
    Executor::new(jobs).task(nothing).name("here")
}

async fn one_that_lost_its_connections_is_not_succeeded(place: &Place) {
    let first = place.open().await;
    let running = executor(&Jobs::on(first)).start().await.expect("it starts");
    let second = Jobs::on(place.open().await);
    for _ in 0..3 {
        cut(place).await;
        let refused = executor(&second).start().await;
        match refused {
            Err(Error::IdTaken { .. }) => {}
            Err(error) => assert!(error.is_transient(), "{error:?}"),
            Ok(_) => panic!("a second one was let in"),
        }
    }
    assert!(running.health().registered);
    running.shutdown(Duration::ZERO).await;
}

async fn one_whose_process_ended_is_succeeded(place: &Place) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let first = {
        let (url, options) = (place.url.clone(), place.options(Clock::System));
        let start = async move {
            let store = PostgresStore::open(&url, options).await.expect("opened");
            executor(&Jobs::on(store)).start().await.expect("it starts")
        };
        runtime.spawn(start).await.expect("started")
    };
    // As with its process: whatever it was doing, it does no more.
    let incarnation = first.health().incarnation;
    runtime.shutdown_background();
    let store = place.open().await;
    let second = executor(&Jobs::on(store.clone())).start().await.expect("it starts");
    let known = store.executors().await.expect("read");
    assert_eq!(known.len(), 1);
    assert_ne!(known[0].info.incarnation, incarnation);
    second.shutdown(Duration::ZERO).await;
}

async fn messages_to_oneself_tell_whether_others_are_heard(place: &Place) {
    let store = place.open().await;
    assert!(store.listener.is_there(Duration::from_secs(20)).await);
    let (number, echo) = store.listener.next_echo();
    store.run("testing", &store.sql.notify, &[&echo]).await.expect("sent");
    assert!(store.listener.has_heard(number, Duration::from_secs(20)).await);
    assert!(store.hears());
    // One that is never sent, as if it got lost.
    let (lost, _) = store.listener.next_echo();
    assert!(!store.listener.has_heard(lost, Duration::from_millis(2100)).await);
    store.listener.beat();
    assert!(!store.hears());
    // One that arrives makes it good; perhaps not the next one, since another connection is tried.
    let mut heard = false;
    while !heard {
        let echo = store.listener.beat().expect("it listens");
        store.run("testing", &store.sql.notify, &[&echo]).await.expect("sent");
        let number = echo.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        heard = store.listener.has_heard(number, Duration::from_secs(1)).await;
    }
    store.listener.beat();
    assert!(store.hears());
}
