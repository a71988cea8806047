//! What a task does with its arguments: checks and completes them, describes them, encodes them in its own way.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::*;
use crate::error::Error;
use crate::job::State;
use crate::store::conformance::cases;
use crate::task::{Args, BoxError, Refused, TaskError};
use crate::testing::drain;
use crate::{Described, Submitting};

/// Counts what its hooks do, in what the application gave to the handle.
#[derive(Debug, Default)]
struct Seen {
    prepared: AtomicU32,
    stored: Mutex<Vec<JobId>>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Export {
    table: String,
    rows: u32,
}

impl Task for Export {
    const NAME: &'static str = "export";
    const RETRY_DELAY: Duration = Duration::from_secs(1);
    const JITTER: bool = false;

    fn items(&self) -> u32 {
        assert_ne!(self.table, "uncountable!", "too many to count");
        self.rows
    }

    fn describe(&self) -> Option<String> {
        assert_ne!(self.table, "unspeakable!", "it has no words");
        Some(format!("{}\nof {} rows", self.table, self.rows))
    }

    fn public(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::from_iter([("table".to_owned(), self.table.clone().into())])
    }

    async fn prepare(&mut self, cx: &Submitting<'_>) -> Result<(), Refused> {
        let Some(seen) = cx.jobs().state::<Arc<Seen>>() else {
            return Err("there is no state".into());
        };
        seen.prepared.fetch_add(1, Relaxed);
        tokio::task::yield_now().await;
        match self.table.as_str() {
            "secret" => {
                return Err(Refused::new("no-access", format!("{} may not see it.", cx.group())).status(403));
            }
            "bomb" => panic!("a bomb"),
            table => self.table = format!("{table}!"),
        }
        self.rows = self.rows.max(1);
        Ok(())
    }

    async fn after_submit(&self, job: JobId, jobs: &Jobs) -> Result<(), BoxError> {
        assert_ne!(self.table, "late bomb!", "a late bomb");
        let seen = jobs.state::<Arc<Seen>>().ok_or("there is no state")?;
        seen.stored.lock().map_err(|_| "poisoned")?.push(job);
        Ok(())
    }
}

async fn export(_: Context, task: Export) -> TaskResult<Export> {
    Ok(task)
}

fn with_state(world: &World) -> (Jobs, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    (jobs_of(world).with_state(Arc::clone(&seen)), seen)
}

fn table(name: &str) -> Export {
    Export {
        table: name.to_owned(),
        rows: 0,
    }
}

async fn d45_arguments_are_completed_and_what_is_public_is_told(world: &World) {
    let (jobs, seen) = with_state(world);
    let id = jobs.submit(table("users")).await.expect("submitted").id;
    let job = jobs.get(id).await.expect("it is there");
    assert_eq!(job.args, r#"{"table":"users!","rows":1}"#);
    assert_eq!(job.subject.as_deref(), Some("users! of 1 rows"), "one line");
    assert_eq!((job.items, job.prepared), (1, true));
    assert_eq!(job.public(), Some(r#"{"table":"users!"}"#));
    assert_eq!(crate::job::Brief::from(&job).public.as_deref(), job.public());
    drain(Executor::new(&jobs).task(export)).await.expect("drained");
    let result = jobs
        .get(id)
        .await
        .expect("it is there")
        .result::<Export>()
        .expect("a result");
    assert_eq!(
        result.expect("one").table,
        "users!",
        "it was not prepared a second time"
    );
    assert_eq!(seen.prepared.load(Relaxed), 1);
    assert_eq!(*seen.stored.lock().expect("the list"), [id]);
}

async fn d46_a_job_that_its_task_refuses_is_not_stored(world: &World) {
    let (jobs, seen) = with_state(world);
    let error = jobs.submit(table("secret")).group("acme").await.expect_err("refused");
    let Error::Refused { code, message, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((code.as_str(), message.as_str()), ("no-access", "acme may not see it."));
    assert_eq!(error.http_status(), 403);
    let error = jobs.submit(table("bomb")).await.expect_err("it panics").to_string();
    assert!(error.contains("panicked: a bomb"), "{error}");
    let outcomes = jobs.submit_all(["a", "secret", "uncountable", "b"].map(table)).await;
    let fine: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(fine, [true, false, false, true], "the others are stored");
    assert_eq!(jobs.counts().await.expect("counted").ready, 2);
    assert_eq!(seen.stored.lock().expect("the list").len(), 2);
}

async fn a_job_stands_though_its_description_or_the_hook_after_its_submit_fails(world: &World) {
    let (jobs, _) = with_state(world);
    let late = jobs.submit(table("late bomb")).await.expect("submitted");
    assert!(late.new);
    assert_eq!(jobs.get(late.id).await.expect("it is there").state, State::Waiting);
    let id = jobs.submit(table("unspeakable")).await.expect("submitted").id;
    assert_eq!(jobs.get(id).await.expect("it is there").subject, None);
}

async fn a_job_that_exists_already_is_not_announced_again(world: &World) {
    let (jobs, seen) = with_state(world);
    for _ in 0..2 {
        jobs.submit(table("users")).unique("once").await.expect("submitted");
    }
    assert_eq!(seen.stored.lock().expect("the list").len(), 1);
}

async fn a_job_submitted_by_name_is_prepared_by_its_executor(world: &World) {
    let (jobs, seen) = with_state(world);
    let good = jobs.submit_named("export", table("users")).await.expect("submitted").id;
    let bad = jobs
        .submit_named("export", table("secret"))
        .await
        .expect("submitted")
        .id;
    assert_eq!(seen.prepared.load(Relaxed), 0);
    drain(Executor::new(&jobs).task(export)).await.expect("drained");
    let good = jobs
        .get(good)
        .await
        .expect("it is there")
        .result::<Export>()
        .expect("a result");
    assert_eq!(good.expect("one").table, "users!");
    let bad = jobs.get(bad).await.expect("it is there");
    assert_eq!(
        (bad.state, bad.attempts),
        (State::Failed, 1),
        "for good, though it has retries"
    );
    assert_eq!(bad.error.as_deref(), Some("default may not see it."));
    assert_eq!(bad.error_code.as_deref(), Some("no-access"));
    assert_eq!(seen.prepared.load(Relaxed), 2);
}

async fn a_job_submitted_by_name_is_prepared_at_once_where_its_task_is_known(world: &World) {
    let (jobs, seen) = with_state(world);
    let jobs = jobs.with_task::<Export>().with_task::<Compact>();
    let id = jobs.submit_named("export", table("users")).await.expect("submitted").id;
    let job = jobs.get(id).await.expect("it is there");
    assert_eq!(
        (job.args.as_str(), job.subject.as_deref(), job.prepared),
        (r#"{"table":"users!","rows":1}"#, Some("users! of 1 rows"), true)
    );
    assert_eq!(*seen.stored.lock().expect("the list"), [id], "it was announced");
    let mut refused = Vec::new();
    for outcome in jobs
        .submit_all([
            Submission::named("export", table("secret")),
            Submission::named("export", "no table"),
            Submission::named("compact", [0]),
            Submission::named("unheard-of", "anything").queue("ocr"),
        ])
        .await
    {
        refused.extend(outcome.err().map(|error| error.to_string()));
    }
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert_eq!(refused[0], "default may not see it.");
    assert!(refused[1].contains("none of the task `export`"), "{refused:?}");
    assert!(refused[2].contains("none of the task `compact`"), "{refused:?}");
    drain(Executor::new(&jobs).task(export)).await.expect("drained");
    assert_eq!(seen.prepared.load(Relaxed), 2, "not a second time");
}

/// Its arguments are stored as bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Compact(Vec<u8>);

impl Task for Compact {
    const NAME: &'static str = "compact";

    fn encode(&self) -> Result<Args<'static>, BoxError> {
        if self.0 == [0] {
            return Err("zero".into());
        }
        Ok(Args::bytes(&self.0))
    }

    fn decode(args: &Args<'_>) -> Result<Self, BoxError> {
        Ok(Self(args.to_bytes()?))
    }
}

async fn compact(_: Context, task: Compact) -> TaskResult<usize> {
    Ok(task.0.len())
}

async fn a_task_may_encode_its_arguments_in_its_own_way(world: &World) {
    let jobs = jobs_of(world);
    let id = jobs.submit(Compact(vec![1, 2, 3, 250])).await.expect("submitted").id;
    assert_eq!(jobs.get(id).await.expect("it is there").args, "\"AQID+g\"");
    let error = jobs.submit(Compact(vec![0])).await.expect_err("it cannot be encoded");
    assert!(error.to_string().contains("zero"), "{error}");
    let odd = jobs.submit_named("compact", 1).await.expect("submitted").id;
    drain(Executor::new(&jobs).task(compact)).await.expect("drained");
    assert_eq!(
        jobs.get(id)
            .await
            .expect("it is there")
            .result::<usize>()
            .expect("a number"),
        Some(4)
    );
    assert_eq!(jobs.get(odd).await.expect("it is there").state, State::Failed);
}

/// Fails in the way that it is told.
#[derive(Debug, Serialize, Deserialize)]
struct Fail(String);

impl Task for Fail {
    const NAME: &'static str = "fail";
    const RETRIES: u32 = 0;
}

async fn fail(_: Context, task: Fail) -> TaskResult {
    match task.0.as_str() {
        "number" => drop("x".parse::<u32>()?),
        "own" => return Err(TaskError::permanent("own").described("mine", "In my own words.")),
        "panic" => panic!("a panic"),
        other => return Err(other.into()),
    }
    Ok(())
}

async fn d46_d51_an_error_is_told_to_people_as_its_task_describes_it(world: &World) {
    let jobs = jobs_of(world);
    let mut ids = Vec::new();
    for how in ["number", "own", "panic", "other", "bomb"] {
        ids.push(jobs.submit(Fail(how.into())).await.expect("submitted").id);
    }
    let executor = Executor::new(&jobs).task(fail).describe_error::<Fail>(|failure| {
        if let crate::task::Failure::Error(error) = failure {
            assert_ne!(error.to_string(), "bomb", "describing it goes wrong");
        }
        failure
            .find::<std::num::ParseIntError>()
            .map(|_| Described::new("no-number", "That is not a number."))
    });
    drain(executor).await.expect("drained");
    let mut told = Vec::new();
    for id in ids {
        let job = jobs.get(id).await.expect("it is there");
        assert_eq!(job.state, State::Failed);
        told.push((job.error.expect("an error"), job.error_code, job.error_message));
    }
    let words = |code: &str, message: &str| (Some(code.to_owned()), Some(message.to_owned()));
    let described: Vec<_> = told
        .iter()
        .map(|(_, code, message)| (code.clone(), message.clone()))
        .collect();
    assert_eq!(told[0].0, "invalid digit found in string");
    assert_eq!(
        described,
        [
            words("no-number", "That is not a number."),
            words("mine", "In my own words."),
            words("panicked", "Something went wrong."),
            (None, None),
            (None, None),
        ]
    );
}

async fn hooks_need_a_handler_and_are_given_once(world: &World) {
    async fn hook(_: crate::HookContext) -> TaskResult {
        Ok(())
    }
    let jobs = jobs_of(world);
    let error = Executor::new(&jobs).task(echo).on_error::<Fail>(hook).start().await;
    let error = error.expect_err("there is no handler").to_string();
    assert!(error.contains("`fail`"), "{error}");
    let twice = Executor::new(&jobs)
        .task(fail)
        .on_error::<Fail>(hook)
        .on_error::<Fail>(hook);
    let error = twice.start().await.expect_err("one too many").to_string();
    assert!(error.contains("two were given"), "{error}");
}

cases![
    d45_arguments_are_completed_and_what_is_public_is_told,
    d46_a_job_that_its_task_refuses_is_not_stored,
    a_job_stands_though_its_description_or_the_hook_after_its_submit_fails,
    a_job_that_exists_already_is_not_announced_again,
    a_job_submitted_by_name_is_prepared_by_its_executor,
    a_job_submitted_by_name_is_prepared_at_once_where_its_task_is_known,
    a_task_may_encode_its_arguments_in_its_own_way,
    d46_d51_an_error_is_told_to_people_as_its_task_describes_it,
    hooks_need_a_handler_and_are_given_once,
];
