//! In real time: how soon after its due time a retry starts on an otherwise idle executor.

use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::store::{Store, StoreOptions};

const DELAY: Duration = Duration::from_millis(300);
/// Met by far: 12 to 24 ms were measured, on a busy machine; but a test must pass on any.
const GENEROUS: Duration = Duration::from_secs(5);

/// A job that fails at first.
#[derive(Debug, Serialize, Deserialize)]
struct Stumble;

impl Task for Stumble {
    const NAME: &'static str = "stumble";
    const JITTER: bool = false;
    const RETRIES: u32 = 3;
    const RETRY_DELAY: Duration = DELAY;
}

async fn stumble(cx: Context<mpsc::UnboundedSender<Instant>>, _: Stumble) -> TaskResult {
    let _ = cx.state().send(Instant::now());
    Err("once more".into())
}

async fn retries_are_on_time(store: Arc<dyn Store>) {
    let jobs = Jobs::on(store);
    let (sender, mut starts) = mpsc::unbounded_channel();
    let executor = Executor::with_state(&jobs, sender).task(stumble);
    let executor = executor.start().await.expect("it starts");
    jobs.submit(Stumble).await.expect("submitted");
    let mut last = within(starts.recv()).await.expect("the first attempt");
    for n in 0..3 {
        let start = within(starts.recv()).await.expect("a retry");
        let delay = DELAY * 2u32.pow(n);
        let waited = start - last;
        println!("retry {} was {:?} late", n + 1, waited.saturating_sub(delay));
        assert!(waited >= delay, "{waited:?} after the failure, {delay:?} was asked for");
        assert!(
            waited < delay + GENEROUS,
            "{waited:?} after the failure, {delay:?} was asked for"
        );
        last = start;
    }
    executor.shutdown(Duration::ZERO).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_are_on_time_on_sqlite() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("jobs.db").display().to_string();
    let store = crate::store::sqlite::SqliteStore::open(&path, StoreOptions::default()).await;
    retries_are_on_time(store.expect("it opens")).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_are_on_time_on_postgres() {
    use crate::store::conformance::world::{drop_schema, postgres_url};

    let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
    let options = StoreOptions {
        schema: schema.clone(),
        ..StoreOptions::default()
    };
    let store = crate::store::postgres::PostgresStore::open(&postgres_url(), options).await;
    retries_are_on_time(store.expect("it opens")).await;
    drop_schema(&postgres_url(), &schema).await;
}
