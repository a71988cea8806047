//! Who holds what is found by holds, not by an index on the jobs; and claims stay where the jobs lie.

use super::*;
use crate::lifecycle::Event;
use crate::store::Start;

cases![
    a_claim_stays_on_its_page,
    jobs_that_run_are_not_among_the_ready_ones,
    holds_go_with_their_last_job,
    many_holds_do_not_wait_for_a_heartbeat,
    a_hold_whose_job_went_unseen_goes_with_the_heartbeats,
    a_claim_with_several_holds_keeps_those_that_have_a_job,
    a_claim_that_was_seen_to_be_empty_keeps_a_hold_that_comes_later,
    what_an_executor_leaves_behind_is_found_though_it_is_gone,
    what_no_hold_tells_of_is_found_when_its_executor_is_gone,
];

async fn holds(place: &Place, client: &Client) -> i64 {
    place.number(client, "select count(*) from turnabout.hold").await
}

async fn a_claim_stays_on_its_page(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    add(&store, (0..500).map(|i| job(&format!("g{}", i % 7))).collect()).await;
    let pages = "select id || (ctid::text::point)[0]::text from turnabout.job order by id";
    let before = place.texts(&client, pages).await;
    let mut exec = executor(&store, &["work"]).await;
    // By walking streams, by what is known, and over two connections.
    let taken = [exec.take(3).await, exec.take(100).await, exec.take(397).await].concat();
    assert_eq!(taken.len(), 500);
    assert_eq!(place.texts(&client, pages).await, before);
    // And wrote no index: none knows of what a claim writes.
    let indexes = "select count(*) from pg_index where indrelid = 'turnabout.job'::regclass
        and pg_get_indexdef(indexrelid) ~ '(executor|claim|state|reason)'";
    assert_eq!(place.number(&client, indexes).await, 0);
}

/// Or else every look would walk over all jobs that run.
async fn jobs_that_run_are_not_among_the_ready_ones(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"); 50].into_iter().map(anew).collect()).await;
    let taken = exec.take(50).await;
    let look = "set enable_seqscan = off; explain (analyze, format json) select from turnabout.job
        where queue = 'default' and executor is null and due is null and started is null
        order by \"group\", lane, task, seq limit 1";
    let look = super::super::sql::in_schema(look, &place.schema);
    let passed = async || {
        let messages = client.simple_query(&look).await.expect("a plan");
        let text = messages.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        let plan: serde_json::Value = serde_json::from_str(text.expect("a row")).expect("a plan in JSON");
        removed(&plan[0]["Plan"])
    };
    assert_eq!(passed().await, 50, "they are, as long as they have only been taken");
    let marks = taken.iter().map(|job| Start::of(job, store.clock().now())).collect();
    let refused = store.start(exec.incarnation, marks).await.expect("start works");
    assert!(refused.is_empty());
    assert_eq!(passed().await, 0);
    // Given back, they are ready again.
    for job in &taken {
        exec.release(job).await;
    }
    assert_eq!(exec.take(50).await.len(), 50);
}

/// Rows that were read and passed over.
fn removed(plan: &serde_json::Value) -> i64 {
    let below = plan["Plans"].as_array().into_iter().flatten().map(removed).sum::<i64>();
    below + plan["Rows Removed by Filter"].as_i64().unwrap_or(0)
}

/// Another job of the same kind.
fn anew(job: NewJob) -> NewJob {
    NewJob {
        id: JobId::new(),
        ..job
    }
}

async fn holds_go_with_their_last_job(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a"), job("a")]).await;
    let taken = [exec.take(2).await, exec.take(1).await].concat();
    assert_eq!(holds(place, &client).await, 2);
    exec.end(&taken[0], Event::Succeed).await;
    exec.end(&taken[2], Event::Fail).await;
    assert_eq!(exec.heartbeat().await.held, [(taken[1].id, taken[1].number, false)]);
    assert_eq!(holds(place, &client).await, 1);
    exec.end(&taken[1], Event::Succeed).await;
    assert_eq!(exec.heartbeat().await.held, []);
    assert_eq!(holds(place, &client).await, 0);
}

async fn many_holds_do_not_wait_for_a_heartbeat(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"); 150].into_iter().map(anew).collect()).await;
    for _ in 0..150 {
        let job = exec.take_one().await;
        exec.end(&job, Event::Succeed).await;
    }
    assert_eq!(holds(place, &client).await, 150 % 64);
}

/// Its answer was lost, or a transaction of its handler's has ended it.
async fn a_hold_whose_job_went_unseen_goes_with_the_heartbeats(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a")]).await;
    let id = exec.take_one().await.id;
    let gone = format!("delete from turnabout.job where id = '{id}'");
    place.run(&client, &gone).await;
    assert_eq!(exec.heartbeat().await.held, []);
    assert_eq!(holds(place, &client).await, 1, "it was just seen to be empty");
    exec.heartbeat().await;
    assert_eq!(holds(place, &client).await, 0);
}

/// A heartbeat comes between two parts of a take, of which the first got nothing.
async fn a_claim_that_was_seen_to_be_empty_keeps_a_hold_that_comes_later(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a")]).await;
    let hold = format!(
        "insert into turnabout.hold values ('{}', 1, array[gen_random_uuid()])",
        exec.incarnation
    );
    place.run(&client, &hold).await;
    assert_eq!(exec.heartbeat().await.held, []);
    let taken = exec.take_one().await;
    assert_eq!(taken.number, 1);
    for _ in 0..3 {
        assert_eq!(exec.heartbeat().await.held, [(taken.id, taken.number, false)]);
    }
    assert_eq!(holds(place, &client).await, 1);
    assert_eq!(exec.die().await, 1, "it is found");
}

async fn a_claim_with_several_holds_keeps_those_that_have_a_job(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a")]).await;
    let taken = exec.take_one().await;
    // Of a first try that got nothing.
    let other = format!(
        "insert into turnabout.hold values ('{}', {}, array[gen_random_uuid()])",
        exec.incarnation, taken.number
    );
    place.run(&client, &other).await;
    assert_eq!(exec.heartbeat().await.held, [(taken.id, taken.number, false)]);
    assert_eq!(holds(place, &client).await, 2);
    exec.heartbeat().await;
    assert_eq!(holds(place, &client).await, 1, "one of them was empty");
    assert_eq!(exec.heartbeat().await.held, [(taken.id, taken.number, false)]);
    exec.end(&taken, Event::Succeed).await;
    exec.heartbeat().await;
    assert_eq!(holds(place, &client).await, 0);
}

async fn what_an_executor_leaves_behind_is_found_though_it_is_gone(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a")]).await;
    let left = exec.take_one().await;
    let ended = exec.take_one().await;
    exec.end(&ended, Event::Succeed).await;
    store.deregister(exec.incarnation).await.expect("it goes");
    assert_eq!(holds(place, &client).await, 1);
    assert_eq!(store.reap(Uuid::nil(), 0).await.expect("reap works"), 1);
    assert_eq!(holds(place, &client).await, 0);
    let mut next = executor(&store, &["work"]).await;
    assert_eq!(next.take_one().await.id, left.id);
}

/// A hold must not get lost. If it does, by an older program or by hand, the job does not.
async fn what_no_hold_tells_of_is_found_when_its_executor_is_gone(place: &Place) {
    let store = place.open().await;
    let client = place.client().await;
    let mut exec = executor(&store, &["work"]).await;
    add(&store, vec![job("a"), job("a")]).await;
    let (lost, told) = (exec.take_one().await, exec.take_one().await);
    let gone = format!("delete from turnabout.hold where jobs = array['{}']::uuid[]", lost.id);
    place.run(&client, &gone).await;
    assert_eq!(holds(place, &client).await, 1);
    assert_eq!(store.reap(exec.incarnation, 0).await.expect("reap works"), 1);
    let mut next = executor(&store, &["work"]).await;
    assert_eq!(next.take_one().await.id, told.id);
    // Beside the hold of the one that was taken just now.
    while holds(place, &client).await < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.reap(Uuid::nil(), 0).await.expect("reap works"), 1);
    assert_eq!(next.take_one().await.id, lost.id);
}
