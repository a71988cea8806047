//! Statements for drivers that the library does not know. Here rusqlite and tokio-postgres stand for them: SQL and one text are all
//! that diesel, `SeaORM` or any other needs.

use tokio_postgres::NoTls;

use super::*;

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connected");
    tokio::spawn(connection);
    client
}

fn path(file: &File) -> &str {
    file.url.strip_prefix("sqlite://").expect("a path")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_driver_of_postgres_submits_by_a_statement() {
    let server = Server::new().await;
    let jobs = Jobs::open(&server.url).await.expect("jobs");
    let mut client = client(&server.url).await;
    let statement = jobs
        .submit(mail("ADA@b"))
        .owner("ada")
        .unique("k")
        .statement()
        .await
        .expect("made");
    for _ in 0..2 {
        let tx = client.transaction().await.expect("begun");
        tx.execute(&statement.sql, &[&statement.parameter]).await.expect("run");
        assert_eq!(count(&jobs).await, 0);
        tx.rollback().await.expect("rolled back");
    }
    let id = JobId::new();
    let second = jobs
        .submit(mail("a@b"))
        .owner("ada")
        .id(id)
        .statement()
        .await
        .expect("made");
    let third = jobs.submit(mail("a@b")).owner("ada").statement().await.expect("made");
    let tx = client.transaction().await.expect("begun");
    for statement in [&statement, &statement, &second] {
        tx.execute(&statement.sql, &[&statement.parameter]).await.expect("run");
    }
    tx.commit().await.expect("committed");
    assert_eq!(count(&jobs).await, 2, "the key's second job is none");
    assert_eq!(
        jobs.get(id)
            .await
            .expect("it is there")
            .args::<Mail>()
            .expect("they decode")
            .to,
        "a@b"
    );
    let over = client
        .execute(&third.sql, &[&third.parameter])
        .await
        .expect_err("over its limit");
    let over = over.as_db_error().expect("by the server").message().to_owned();
    assert_eq!(over, "the owner has 2 unfinished jobs, which is its limit");
    drop(client);
    server.drop().await;
}

/// As a handler with another driver does it.
async fn by_hand(cx: Context<String>, _: Pay) -> TaskResult<()> {
    let statement = cx.finish_statement(&"by hand").await?;
    let mut connection = rusqlite::Connection::open(cx.state())?;
    let tx = connection.transaction()?;
    tx.execute("create table done (name text)", [])?;
    tx.execute(&statement.sql, [&statement.parameter])?;
    tx.commit()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_driver_of_sqlite_submits_and_finishes_by_a_statement() {
    let file = File::new().await;
    let jobs = Jobs::open(&file.url).await.expect("jobs");
    let mut connection = rusqlite::Connection::open(path(&file)).expect("opened");
    connection.busy_timeout(SOON).expect("set");
    let statement = jobs
        .submit(mail("ADA@b"))
        .owner("ada")
        .unique("k")
        .statement()
        .await
        .expect("made");
    let second = jobs.submit(mail("a@b")).owner("ada").statement().await.expect("made");
    let third = jobs.submit(mail("a@b")).owner("ada").statement().await.expect("made");
    let tx = connection.transaction().expect("begun");
    tx.execute(&statement.sql, [&statement.parameter]).expect("run");
    tx.rollback().expect("rolled back");
    let tx = connection.transaction().expect("begun");
    for statement in [&statement, &statement, &second] {
        tx.execute(&statement.sql, [&statement.parameter]).expect("run");
    }
    let over = tx
        .execute(&third.sql, [&third.parameter])
        .expect_err("over its limit")
        .to_string();
    assert!(over.contains("the owner has as many unfinished jobs"), "{over}");
    tx.commit().expect("committed");
    assert_eq!(count(&jobs).await, 2);

    let executor = Executor::with_state(&jobs, path(&file).to_owned()).task(by_hand);
    let running = executor.start().await.expect("it starts");
    let pay = Pay {
        name: "ada".to_owned(),
        fails: false,
    };
    let id = jobs.submit(pay).await.expect("submitted").id;
    let job = ended(&jobs, id).await;
    assert_eq!((job.state, job.attempts), (State::Success, 1), "{:?}", job.error);
    assert_eq!(job.result::<String>().expect("a text").as_deref(), Some("by hand"));
    connection
        .query_row("select count(*) from done", [], |_| Ok(()))
        .expect("its table is there");
    running.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_of_another_database_is_refused_with_what_to_do() {
    let (file, other, server) = (File::new().await, File::new().await, Server::new().await);
    let jobs = Jobs::open(&file.url).await.expect("jobs");
    let told = async |jobs: &Jobs, pool: &sqlx::PgPool| {
        let mut tx = pool.begin().await.expect("begun");
        jobs.submit(mail("a@b"))
            .within(&mut tx)
            .await
            .expect_err("refused")
            .to_string()
    };
    let pool = sqlx::PgPool::connect(&server.url).await.expect("a pool");
    let error = told(&jobs, &pool).await;
    assert!(
        error.contains("it is one of PostgreSQL, and the jobs are in SQLite"),
        "{error}"
    );

    let elsewhere = Server::new().await;
    let there = Jobs::open(&elsewhere.url).await.expect("jobs");
    let error = told(&there, &pool).await;
    assert!(error.contains("its database has no jobs in it"), "{error}");

    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path(&other))
        .create_if_missing(true);
    let other = sqlx::SqlitePool::connect_with(options).await.expect("a pool");
    let mut tx = other.begin_with("begin immediate").await.expect("begun");
    let error = jobs
        .submit(mail("a@b"))
        .within(&mut tx)
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.contains("its database has no jobs in it"), "{error}");

    // Both may have tables in one file, but not of the same name.
    let taken = File::new().await;
    let connection = rusqlite::Connection::open(path(&taken)).expect("made");
    connection
        .execute_batch("create table task (name text)")
        .expect("a table");
    let error = Jobs::open(&taken.url).await.expect_err("refused").to_string();
    assert!(error.contains("a table of a name that Turnabout needs"), "{error}");

    let memory = Jobs::open("sqlite::memory:").await.expect("jobs");
    let error = memory
        .submit(mail("a@b"))
        .statement()
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.contains("jobs in memory cannot be part"), "{error}");
    pool.close().await;
    drop(there);
    server.drop().await;
    elsewhere.drop().await;
}

/// A task that is tried again after a minute, unless something else is known of its failure.
#[derive(serde::Serialize, serde::Deserialize)]
struct Locked;

impl turnabout::Task for Locked {
    const NAME: &'static str = "locked";
}

/// Finds the file locked at its first attempt. The state: a pool that waits for others, and one that does not.
async fn locked(cx: Context<[sqlx::SqlitePool; 2]>, _: Locked) -> TaskResult<()> {
    let [patient, hasty] = cx.state();
    let _other = match cx.attempt() {
        1 => Some(patient.begin_with("begin immediate").await?),
        _ => None,
    };
    hasty.begin_with("begin immediate").await?.commit().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_finds_the_file_locked_is_tried_again_soon() {
    let file = File::new().await;
    let jobs = Jobs::open(&file.url).await.expect("jobs");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path(&file));
    let hasty = options.clone().busy_timeout(Duration::ZERO);
    let patient = sqlx::SqlitePool::connect_with(options).await.expect("a pool");
    let hasty = sqlx::SqlitePool::connect_with(hasty).await.expect("a pool");
    let executor = Executor::with_state(&jobs, [patient, hasty]).task(locked);
    let running = executor.start().await.expect("it starts");
    let id = jobs.submit(Locked).await.expect("submitted").id;
    let job = ended(&jobs, id).await;
    assert_eq!((job.state, job.attempts >= 2), (State::Success, true), "{job:?}");
    running.shutdown(Duration::ZERO).await;
}
