//! Jobs inside transactions of sqlx, on real databases of both kinds; and by a statement of any other driver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use turnabout::{Context, Error, Executor, ExecutorHandle, Job, JobId, Jobs, State, TaskResult};
use turnabout_example_sqlx::{Mail, Pay};

/// Nothing takes so long, and an idle executor looks by itself much less often.
const SOON: Duration = Duration::from_secs(20);

fn mail(to: &str) -> Mail {
    Mail { to: to.to_owned() }
}

async fn greet(_: Context<()>, task: Mail) -> TaskResult<String> {
    Ok(task.to)
}

async fn ended(jobs: &Jobs, id: JobId) -> Job {
    let ended = tokio::time::timeout(SOON, jobs.watch(id).ended()).await;
    ended.expect("it ends soon").expect("it is there")
}

async fn count(jobs: &Jobs) -> usize {
    jobs.list().limit(100).await.expect("a list").jobs.len()
}

/// An executor that has nothing to do, and heartbeats too seldom to find something by them.
async fn asleep(jobs: &Jobs) -> ExecutorHandle {
    let executor = Executor::new(jobs)
        .task(greet)
        .lease(Duration::from_mins(1), Duration::from_mins(3));
    let running = executor.start().await.expect("it starts");
    let first = jobs.submit(mail("first@example.org")).await.expect("submitted").id;
    ended(jobs, first).await;
    // After its last job it looks for more by itself, for five seconds: this is not about those looks.
    tokio::time::sleep(Duration::from_secs(6)).await;
    running
}

/// A `PostgreSQL` database of its own, gone at the end.
struct Server {
    url: String,
    name: String,
    admin: sqlx::PgPool,
}

impl Server {
    async fn new() -> Self {
        let server = std::env::var("TURNABOUT_TEST_POSTGRES").expect(
            "TURNABOUT_TEST_POSTGRES is not set: run scripts/test, which starts a PostgreSQL server for the tests",
        );
        let admin = sqlx::PgPool::connect(&server).await.expect("a server");
        let name = format!("sqlx_{}", uuid::Uuid::new_v4().simple());
        let create = sqlx::AssertSqlSafe(format!("create database {name}"));
        sqlx::query(create).execute(&admin).await.expect("a database");
        let (base, query) = server
            .split_once('?')
            .map_or((server.as_str(), String::new()), |(base, query)| {
                (base, format!("?{query}"))
            });
        let (base, _) = base.rsplit_once('/').expect("a URL that names a database");
        let url = format!("{base}/{name}{query}");
        Self { url, name, admin }
    }

    async fn drop(self) {
        let drop = sqlx::AssertSqlSafe(format!("drop database {} with (force)", self.name));
        sqlx::query(drop).execute(&self.admin).await.expect("it goes");
    }
}

/// A `SQLite` file of its own.
struct File {
    url: String,
    _folder: tempfile::TempDir,
}

#[expect(clippy::unused_async, reason = "as for a server")]
impl File {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("app.db").display());
        Self { url, _folder: folder }
    }

    async fn drop(self) {}
}

macro_rules! suite {
    ($module:ident, $place:ident, $pool:ty) => {
        mod $module {
            use turnabout_example_sqlx::$module::{BEGIN, customers, pay, prepare, sign_up};

            use super::*;

            async fn on_a_place(case: impl AsyncFnOnce(&Jobs, &$pool)) {
                let place = $place::new().await;
                let jobs = Jobs::open(&place.url).await.expect("jobs");
                let pool = <$pool>::connect(&place.url).await.expect("a pool");
                prepare(&pool).await.expect("a table");
                case(&jobs, &pool).await;
                pool.close().await;
                place.drop().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_row_and_its_job_are_there_together_or_not_at_all() {
                on_a_place(async |jobs, pool| {
                    let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                    sqlx::query("insert into customer (name) values ('bob')")
                        .execute(&mut *tx)
                        .await
                        .expect("inserted");
                    let mail = jobs.submit(mail("BOB@example.org")).owner("bob").items(3).meta("locale", "en");
                    let mail = mail.within(&mut tx).await.expect("submitted");
                    assert!(mail.new);
                    assert_eq!(count(jobs).await, 0, "nobody sees it yet");
                    tx.rollback().await.expect("rolled back");
                    assert_eq!((count(jobs).await, customers(pool).await.expect("rows").len()), (0, 0));

                    let mail = sign_up(jobs, pool, "ada", "ADA@example.org").await.expect("signed up");
                    let job = jobs.get(mail.id).await.expect("it is there");
                    assert_eq!((job.group.as_str(), job.state), ("acme", State::Waiting));
                    assert_eq!(job.args::<Mail>().expect("they decode").to, "ada@example.org", "as prepared");
                    assert_eq!(customers(pool).await.expect("rows"), [("ada".to_owned(), None)]);

                    // The customer exists: neither it nor a mail is stored again.
                    sign_up(jobs, pool, "ada", "ada@example.org").await.expect_err("no second one");
                    assert_eq!(count(jobs).await, 1);
                })
                .await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_commit_wakes_an_executor_that_sleeps() {
                on_a_place(async |jobs, pool| {
                    let running = asleep(jobs).await;
                    let begin = Instant::now();
                    let mail = sign_up(jobs, pool, "ada", "ada@example.org").await.expect("signed up");
                    let job = ended(jobs, mail.id).await;
                    assert_eq!((job.state, job.attempts), (State::Success, 1));
                    println!("from the transaction's begin to the job's end: {:?}", begin.elapsed());
                    running.shutdown(Duration::ZERO).await;
                })
                .await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn many_transactions_and_an_executor_are_not_in_each_others_way() {
                on_a_place(async |jobs, pool| {
                    let executor = Executor::new(jobs).task(greet).slots(4);
                    let running = executor.start().await.expect("it starts");
                    let transactions = (0..60).map(|n: u32| {
                        let (jobs, pool) = (jobs.clone(), pool.clone());
                        tokio::spawn(async move {
                            let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                            let submit = jobs.submit(mail("a@b")).owner(format!("o{n}")).group(format!("g{}", n % 3));
                            let mail = submit.within(&mut tx).await.expect("submitted");
                            if n % 4 == 0 {
                                tx.rollback().await.expect("rolled back");
                                return None;
                            }
                            tx.commit().await.expect("committed");
                            Some(mail.id)
                        })
                    });
                    let mut stored = 0;
                    for transaction in transactions.collect::<Vec<_>>() {
                        if let Some(id) = transaction.await.expect("no panic") {
                            let job = ended(jobs, id).await;
                            assert_eq!((job.state, job.attempts), (State::Success, 1));
                            stored += 1;
                        }
                    }
                    assert_eq!((stored, count(jobs).await), (45, 45));
                    let counts = jobs.counts().await.expect("counted");
                    assert_eq!((counts.ready, counts.held, counts.ended), (0, 0, 45));
                    running.shutdown(Duration::ZERO).await;
                })
                .await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_refused_outside_is_refused_inside_and_the_transaction_goes_on() {
                on_a_place(async |jobs, pool| {
                    let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                    let refused = jobs.submit(mail("nowhere")).within(&mut tx).await.expect_err("no address");
                    assert!(matches!(&refused, Error::Refused { code, .. } if code == "no-address"), "{refused}");
                    let refused = jobs.submit(mail("a@b")).group("").within(&mut tx).await.expect_err("no group");
                    assert!(matches!(refused, Error::Invalid { what: "group", .. }));

                    let first = jobs.submit(mail("a@b")).owner("ada").unique("k").within(&mut tx).await.expect("new");
                    let same = jobs.submit(mail("a@b")).owner("ada").unique("k").within(&mut tx).await.expect("known");
                    assert_eq!((first.new, same.new, same.id), (true, false, first.id));
                    let id = JobId::new();
                    for new in [true, false] {
                        let submit = jobs.submit(mail("a@b")).owner("ada").id(id);
                        assert_eq!(submit.within(&mut tx).await.expect("stored").new, new);
                    }
                    let over = jobs.submit(mail("a@b")).owner("ada").within(&mut tx).await.expect_err("full");
                    assert!(matches!(&over, Error::TooMany { limit: 2, .. }), "{over}");
                    assert!(over.to_string().contains("the owner `ada`, of the task `mail`"), "{over}");
                    let same = jobs.submit(mail("a@b")).owner("ada").unique("k").within(&mut tx).await.expect("known");
                    assert!(!same.new, "a job that exists needs no room");
                    let later = jobs.submit(mail("a@b")).owner("bob").delay(Duration::from_hours(1));
                    let later = later.expires(Duration::from_hours(2)).within(&mut tx).await.expect("another owner");
                    tx.commit().await.expect("it goes on");
                    assert_eq!(count(jobs).await, 3);
                    let later = jobs.get(later.id).await.expect("it is there");
                    let hours = later.due.expect("parked").duration_since(later.submitted).as_secs_f64() / 3600.0;
                    assert!((hours - 1.0).abs() < 0.01, "{hours}");

                    jobs.group("small").max_unfinished(Some(1)).await.expect("set");
                    let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                    jobs.submit_named("x", ()).group("small").within(&mut tx).await.expect("the first");
                    let over = jobs.submit_named("x", ()).group("small").within(&mut tx).await.expect_err("full");
                    assert!(matches!(over, Error::TooMany { limit: 1, .. }), "{over}");
                    tx.rollback().await.expect("rolled back");

                    // What holds for all groups holds here, too.
                    jobs.group_defaults().max_unfinished(Some(2)).await.expect("set");
                    jobs.group("odd").max_unfinished(Some(9)).max_unknown_tasks(Some(2)).await.expect("set");
                    let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                    for _ in 0..2 {
                        jobs.submit_named("x", ()).group("usual").within(&mut tx).await.expect("the first two");
                    }
                    let over = jobs.submit_named("x", ()).group("usual").within(&mut tx).await.expect_err("full");
                    assert!(matches!(over, Error::TooMany { limit: 2, .. }), "{over}");
                    for name in ["x", "y", "x"] {
                        jobs.submit_named(name, ()).group("odd").within(&mut tx).await.expect("two names");
                    }
                    let over = jobs.submit_named("z", ()).group("odd").within(&mut tx).await.expect_err("a third");
                    assert!(matches!(&over, Error::TooManyUnknownTasks { limit: 2, .. }), "{over}");
                    jobs.submit_named("y", ()).group("odd").within(&mut tx).await.expect("it goes on");
                    tx.commit().await.expect("committed");
                    jobs.group_defaults().max_unfinished(None).await.expect("set");
                    let mut tx = pool.begin_with(BEGIN).await.expect("begun");
                    let taken = jobs.submit(mail("a@b")).group("other").id(id).within(&mut tx).await;
                    assert!(matches!(taken, Err(Error::Conflict(_))), "{taken:?}");
                    tx.rollback().await.expect("rolled back");
                })
                .await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_handler_ends_its_job_together_with_what_it_wrote() {
                on_a_place(async |jobs, pool| {
                    jobs.group("default").max_running(Some(1)).await.expect("set");
                    for name in ["ada", "bob"] {
                        sign_up(jobs, pool, name, "a@b").await.expect("signed up");
                    }
                    let executor = Executor::with_state(jobs, pool.clone()).task(pay);
                    let running = executor.start().await.expect("it starts");
                    let submit = async |name: &str, fails: bool| {
                        let name = name.to_owned();
                        jobs.submit(Pay { name, fails }).await.expect("submitted").id
                    };
                    let (good, bad, next) = (submit("ada", false).await, submit("bob", true).await, submit("ada", false).await);
                    let job = ended(jobs, good).await;
                    assert_eq!((job.state, job.attempts, job.reason), (State::Success, 1, None));
                    assert_eq!(job.result::<String>().expect("a text").as_deref(), Some("paid"), "as it was said there");
                    assert!(job.started.is_some() && job.finished >= job.started, "{job:?}");
                    assert_eq!(ended(jobs, bad).await.state, State::Failed);
                    assert_eq!(ended(jobs, next).await.state, State::Success, "its place under the cap was given back");
                    running.shutdown(Duration::ZERO).await;
                    assert_eq!(running.health().held, 0);
                    let rows = customers(pool).await.expect("rows");
                    assert_eq!(rows, [("ada".to_owned(), Some(next.to_string())), ("bob".to_owned(), None)]);
                    let children = jobs.list().task("mail").limit(100).await.expect("a list").jobs;
                    let parents: Vec<JobId> = children.iter().filter_map(|job| job.parent).collect();
                    assert_eq!((parents.len(), parents.contains(&bad)), (2, false), "the failed one has no child");
                })
                .await;
            }

            /// A handler that is cancelled right before its end.
            async fn late(cx: Context<(Arc<tokio::sync::Barrier>, $pool)>, task: Pay) -> TaskResult<()> {
                let (cancelled, pool) = cx.state();
                cancelled.wait().await;
                cancelled.wait().await;
                let mut tx = pool.begin_with(BEGIN).await?;
                sqlx::query("insert into customer (name) values ($1)").bind(task.name).execute(&mut *tx).await?;
                let refused = cx.finish_within(&mut tx, &()).await.expect_err("it is being cancelled");
                assert!(refused.to_string().contains("is being cancelled"), "{refused}");
                tx.rollback().await?;
                Err(refused.into())
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_cancelled_job_cannot_be_finished() {
                on_a_place(async |jobs, pool| {
                    let barrier = Arc::new(tokio::sync::Barrier::new(2));
                    let executor = Executor::with_state(jobs, (barrier.clone(), pool.clone())).task(late);
                    let running = executor.start().await.expect("it starts");
                    let pay = Pay { name: "ada".to_owned(), fails: false };
                    let id = jobs.submit(pay).await.expect("submitted").id;
                    barrier.wait().await;
                    jobs.cancel(id).await.expect("told");
                    barrier.wait().await;
                    assert_eq!(ended(jobs, id).await.state, State::Cancelled);
                    assert_eq!(customers(pool).await.expect("rows"), []);
                    running.shutdown(Duration::ZERO).await;
                })
                .await;
            }
        }
    };
}

suite!(postgres, Server, sqlx::PgPool);
suite!(sqlite, File, sqlx::SqlitePool);

mod others;
