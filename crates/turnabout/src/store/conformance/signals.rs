//! Signals: who waits is woken. They may come too often, so only their coming is checked, never their number.

use std::time::Duration;

use tokio::sync::broadcast::Receiver;

use super::{World, cases, job};
use crate::job::When;
use crate::lifecycle::Event;
use crate::store::{NewJob, Signal};

/// Waits for a signal; far longer than it should ever take.
async fn expect(signals: &mut Receiver<Signal>, wanted: impl Fn(&Signal) -> bool) -> Signal {
    let waiting = async {
        loop {
            match signals.recv().await {
                Ok(signal) if wanted(&signal) => return signal,
                Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(closed) => panic!("the store is gone: {closed}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("the signal comes")
}

async fn a_submit_wakes_a_sleeper(world: &World) {
    let exec = world.executor().await;
    world.store.doze(exec.incarnation, true).await.expect("it works");
    let mut signals = world.store.signals();
    world.add(job("a")).await;
    expect(&mut signals, |signal| *signal == Signal::Ready).await;
    world.store.doze(exec.incarnation, false).await.expect("it works");
}

async fn a_delayed_submit_tells_a_sleeper_when_it_is_due(world: &World) {
    let exec = world.executor().await;
    world.store.doze(exec.incarnation, true).await.expect("it works");
    let mut signals = world.store.signals();
    world
        .add(NewJob {
            when: When::After(Duration::from_secs(90)),
            ..job("a")
        })
        .await;
    let due = expect(&mut signals, |s| matches!(s, Signal::Due(_))).await;
    assert_eq!(due, Signal::Due(Duration::from_secs(90)));
}

async fn a_cancel_reaches_the_holder(world: &World) {
    let mut exec = world.executor().await;
    let id = world.add(job("a")).await;
    exec.take_one().await;
    let mut signals = world.store.signals();
    world.happen(id, Event::Cancel).await.expect("it may");
    expect(&mut signals, |s| *s == Signal::Cancel(id)).await;
}

async fn a_resumed_group_and_a_promotion_wake_sleepers(world: &World) {
    use crate::group::GroupSettings;
    use crate::store::Setting;
    let exec = world.executor().await;
    world
        .add(NewJob {
            when: When::After(Duration::from_secs(1)),
            ..job("a")
        })
        .await;
    world.store.doze(exec.incarnation, true).await.expect("it works");
    let mut signals = world.store.signals();
    let setting = Setting::Group(
        "a".to_owned(),
        GroupSettings {
            weight: Some(2),
            ..GroupSettings::default()
        },
    );
    world.store.set(setting).await.expect("it is set");
    expect(&mut signals, |s| *s == Signal::Ready).await;
    world.advance(Duration::from_secs(1));
    let mut signals = world.store.signals();
    world.store.doze(exec.incarnation, true).await.expect("it works");
    assert_eq!(world.store.promote(10).await.expect("it works").jobs, 1);
    expect(&mut signals, |s| *s == Signal::Ready).await;
}

cases!(
    a_submit_wakes_a_sleeper,
    a_delayed_submit_tells_a_sleeper_when_it_is_due,
    a_cancel_reaches_the_holder,
    a_resumed_group_and_a_promotion_wake_sleepers,
);
