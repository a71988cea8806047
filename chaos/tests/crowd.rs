//! More executor processes than a server has connections for: those who fit work undisturbed, the others say why they do not.

use std::time::Duration;

use turnabout_chaos::crowd::{Crowd, gather};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a server of its own, and on a busy machine did not always come to its end: scripts/crowd runs the same"]
async fn who_has_joined_keeps_its_lease_and_who_cannot_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let crowd = Crowd {
        processes: 8,
        // Enough for five of them, and for those who look.
        accepted: 30,
        press: Duration::from_secs(5),
        idle: false,
        seed: fastrand::u64(..),
        program: env!("CARGO_BIN_EXE_turnabout-chaos").into(),
        folder: folder.path().to_owned(),
    };
    let outcome = gather(&crowd).await.expect("it comes to its end");
    println!("{outcome}");
    assert!(
        outcome.is_good(),
        "seed {}: {outcome}, told {:?}",
        crowd.seed,
        outcome.surplus
    );
    assert!(outcome.joined >= 4, "{outcome}");
    assert!(!outcome.surplus.is_empty(), "{outcome}");
    assert!(outcome.busy <= 8, "{outcome}");
}
