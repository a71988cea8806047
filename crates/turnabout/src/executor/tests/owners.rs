//! Whose jobs are whose: for others they do not exist.

use super::*;
use crate::error::Error;
use crate::job::{Priority, State};
use crate::jobs::{Cancel, ScopedJobs};
use crate::store::conformance::cases;

cases![
    a_foreign_job_does_not_exist,
    an_owner_does_with_a_job_what_anyone_may,
    a_list_holds_no_foreign_job_whatever_is_asked_for,
];

async fn submit(jobs: &Jobs, group: &str, owner: Option<&str>) -> JobId {
    let submission = Submission::new(Echo("x".into())).group(group);
    let submission = match owner {
        Some(owner) => submission.owner(owner),
        None => submission,
    };
    jobs.submit_all([submission]).await.all().expect("submitted")[0].id
}

async fn a_foreign_job_does_not_exist(world: &World) {
    let jobs = jobs_of(world);
    let of = |group: &str, owner: &str| jobs.of_owner(group, owner);
    let hers = submit(&jobs, "acme", Some("ada")).await;
    let nobodys = submit(&jobs, "acme", None).await;
    let missing = JobId::at(world.clock.now());
    let strangers: Vec<(ScopedJobs, JobId)> = vec![
        (of("acme", "bob"), hers),
        (of("bell", "ada"), hers),
        (jobs.of_group("bell"), hers),
        (of("acme", "ada"), nobodys),
        (of("acme", "ada"), missing),
    ];
    for (stranger, id) in strangers {
        let errors = [
            stranger.get(id).await.err(),
            stranger.cancel(id).await.err(),
            stranger.restart(id).await.err(),
            stranger.delete(id).await.err(),
            stranger.set_priority(id, Priority::High).await.err(),
            stranger.explain(id).await.err(),
            stranger.watch(id).next().await.and_then(Result::err),
            stranger.watch(id).ended().await.err(),
        ];
        for error in errors {
            assert!(
                matches!(error, Some(Error::NotFound(found)) if found == id),
                "{error:?}"
            );
        }
        assert_eq!(stranger.get_many(&[id]).await.expect("it works"), []);
    }
    assert_eq!(
        jobs.get(hers).await.expect("it is there").state,
        State::Waiting,
        "nothing has happened to it"
    );
}

async fn an_owner_does_with_a_job_what_anyone_may(world: &World) {
    let jobs = jobs_of(world);
    for scoped in [jobs.of_owner("acme", "ada"), jobs.of_group("acme")] {
        let id = submit(&jobs, "acme", Some("ada")).await;
        assert_eq!(scoped.get(id).await.expect("it is there").id, id);
        scoped.set_priority(id, Priority::High).await.expect("it may");
        assert_eq!(scoped.explain(id).await.expect("it waits").job.id, id);
        assert_eq!(scoped.cancel(id).await.expect("it may"), Cancel::Cancelled);
        assert_eq!(scoped.cancel(id).await.expect("again"), Cancel::Cancelled);
        assert_eq!(
            within(scoped.watch(id).ended()).await.expect("it has").state,
            State::Cancelled
        );
        scoped.restart(id).await.expect("it may");
        crate::testing::drain(Executor::new(&jobs).task(echo))
            .await
            .expect("drained");
        assert!(matches!(scoped.cancel(id).await, Err(Error::NotCancellable { .. })));
        scoped.delete(id).await.expect("it may");
        assert!(matches!(scoped.get(id).await, Err(Error::NotFound(_))));
    }
}

async fn a_list_holds_no_foreign_job_whatever_is_asked_for(world: &World) {
    let jobs = jobs_of(world);
    let hers = submit(&jobs, "acme", Some("ada")).await;
    let his = submit(&jobs, "acme", Some("bob")).await;
    submit(&jobs, "bell", Some("ada")).await;
    let ids = async |list: crate::jobs::List| {
        let page = list.await.expect("a page");
        page.jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    let (ada, acme) = (jobs.of_owner("acme", "ada"), jobs.of_group("acme"));
    assert_eq!(ids(ada.list()).await, [hers]);
    assert_eq!(ids(ada.list().group("acme").owner("ada")).await, [hers]);
    assert_eq!(ids(ada.list().group("bell")).await, []);
    assert_eq!(ids(ada.list().owner("bob")).await, []);
    assert_eq!(ids(acme.list()).await.len(), 2);
    assert_eq!(ids(acme.list().owner("bob")).await, [his]);
    assert_eq!(ids(acme.list().group("bell")).await, []);
}
