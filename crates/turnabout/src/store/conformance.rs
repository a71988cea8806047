//! The conformance suite: what every store must do. Each case is an `async fn case(world: &World)`, and becomes three
//! tests: on the model, on `SQLite` and on `PostgreSQL`.
//!
//! Time is moved by hand. Random cases print their seed; `TURNABOUT_SEEDS` asks for more of them.

mod accounts;
mod attempts;
mod audit;
pub(crate) mod beside;
mod bulk;
mod caps;
mod concurrency;
mod defaults;
mod each;
mod exec;
mod fence;
mod filters;
mod grab;
mod hooks;
mod insight;
mod lanes;
mod lifecycle;
mod limits;
mod logs;
mod looking;
mod names;
mod oracle;
mod overview;
mod pauses;
mod portions;
mod predicting;
mod progress;
mod rates;
mod retention;
mod rotation;
mod schedules;
mod settings;
mod several;
mod signals;
mod standing;
mod submit;
mod unknown;
mod wishes;
pub(crate) mod world;

pub(crate) use exec::Exec;
pub(crate) use world::{World, job};

/// Makes three tests of each case. A case that is missing from the list is dead code, so that the compiler notices.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod model {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store::conformance::world::on_model(super::$case).await;
            })+
        }

        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store::conformance::world::on_sqlite(super::$case).await;
            })+
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store::conformance::world::on_postgres(super::$case).await;
            })+
        }
    };
}

/// Makes one more test of each case: on `SQLite` without a file.
macro_rules! in_memory {
    ($($case:ident),+ $(,)?) => {
        #[cfg(feature = "sqlite")]
        mod sqlite_in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store::conformance::world::on_sqlite_in_memory(super::$case).await;
            })+
        }
    };
}

pub(crate) use {cases, in_memory};

/// The seeds of a random case: a few that never change, and as many as `TURNABOUT_SEEDS` asks for.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    let wanted = std::env::var("TURNABOUT_SEEDS").ok().and_then(|n| n.parse().ok());
    1..1 + wanted.unwrap_or(usual)
}
