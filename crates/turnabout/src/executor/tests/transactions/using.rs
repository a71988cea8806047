//! What a handler can do with its transaction, and what it cannot.

use super::*;

places![
    a_handler_cannot_end_its_transaction,
    savepoints_are_undone_unless_released,
    a_child_shares_the_fate_of_the_transaction,
    the_transaction_is_of_no_use_afterwards,
];

async fn a_handler_cannot_end_its_transaction(place: &Place<'_>) {
    let job = place.run::<0>("commit").await;
    assert_eq!(job.state, State::Failed, "for good: it would do the same again");
    assert!(
        job.error
            .as_deref()
            .is_some_and(|e| e.contains("leave commit and rollback")),
        "{job:?}"
    );
}

async fn savepoints_are_undone_unless_released(place: &Place<'_>) {
    assert_eq!(place.run::<0>("savepoint").await.state, State::Success);
    assert_eq!(place.rows().await, 4);
}

async fn a_child_shares_the_fate_of_the_transaction(place: &Place<'_>) {
    let parent = place.run::<0>("child").await;
    let children = place.jobs.list().task("echo").await.expect("a list").jobs;
    assert_eq!((children.len(), children[0].parent), (1, Some(parent.id)));
    assert_eq!(place.run::<0>("childless").await.state, State::Stuck);
    assert_eq!(place.jobs.list().task("echo").await.expect("a list").jobs.len(), 1);
}

async fn the_transaction_is_of_no_use_afterwards(place: &Place<'_>) {
    let (sender, mut leaked) = mpsc::unbounded_channel::<Context>();
    let executor = Executor::new(&place.jobs).task(move |cx: Context, _: Write<0>| {
        let _ = sender.send(cx);
        async { Ok::<_, TaskError>(()) }
    });
    place.jobs.submit(place.write::<0>("x")).await.expect("submitted");
    drain(executor).await.expect("drained");
    let cx = leaked.recv().await.expect("it leaked");
    let error = cx.transaction().expect("it had one").execute("select 1", &[]).await;
    assert!(error.expect_err("it is over").to_string().contains("has ended"));
}
