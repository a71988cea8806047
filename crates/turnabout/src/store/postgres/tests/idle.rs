//! An executor that has nothing to do leaves the server alone, and hears when there is something.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::*;
use crate::context::Context;
use crate::executor::Executor;
use crate::job::State;
use crate::jobs::Jobs;
use crate::task::{Task, TaskResult};

cases![
    a_submit_by_sql_wakes_an_idle_executor,
    an_idle_executor_makes_fewer_than_two_statements_a_second,
];

#[derive(Serialize, Deserialize)]
struct Nothing {}

impl Task for Nothing {
    const NAME: &'static str = "work";
}

async fn nothing(_: Context<()>, _: Nothing) -> TaskResult<()> {
    Ok(())
}

async fn a_submit_by_sql_wakes_an_idle_executor(place: &Place) {
    let jobs = Jobs::on(place.open().await);
    let client = place.client().await;
    // Neither its heartbeat nor its own looks would find the job in time.
    let executor = Executor::new(&jobs)
        .task(nothing)
        .lease(Duration::from_mins(10), Duration::from_hours(1))
        .start()
        .await
        .expect("it starts");
    let asleep = "select count(*) from pg_locks where locktype = 'advisory' and classid = hashtext('turnabout')::oid and objid = 3";
    let began = Instant::now();
    while place.number(&client, asleep).await == 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not fall asleep");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Its last look comes five seconds after the first.
    tokio::time::sleep(Duration::from_secs(6)).await;
    for _ in 0..3 {
        let id = place.submit(&client, "'work'").await.expect("submitted");
        let ended = tokio::time::timeout(Duration::from_secs(10), jobs.watch(id).ended()).await;
        assert_eq!(ended.expect("woken").expect("it ends").state, State::Success);
    }
    executor.shutdown(Duration::ZERO).await;
}

/// Stands between a store and its server and counts the statements that pass, as the protocol has them: simple queries
/// and executions of prepared ones.
fn counted(url: &str) -> (String, Arc<AtomicUsize>) {
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let server = match &config.get_hosts()[0] {
        tokio_postgres::config::Host::Tcp(host) => format!("{host}:{port}"),
        other @ tokio_postgres::config::Host::Unix(_) => panic!("{other:?} is not a TCP address"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let here = listener.local_addr().expect("its address").to_string();
    let url = url.replace(&server, &here);
    assert!(url.contains(&here), "the URL names the port");
    // What is encrypted could not be read.
    let url = format!("{url}{}sslmode=disable", if url.contains('?') { '&' } else { '?' });
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    // Threads that end with their connections; the one that accepts ends with the test.
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(std::io::Result::ok) {
            let server = TcpStream::connect(&server).expect("the server answers");
            for stream in [&client, &server] {
                stream.set_nodelay(true).expect("no delay");
            }
            let (mut from, mut to) = (
                server.try_clone().expect("a handle"),
                client.try_clone().expect("a handle"),
            );
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let counter = counter.clone();
            std::thread::spawn(move || pass_on(client, server, &counter));
        }
    });
    (url, count)
}

/// Passes on what a client says, message by message. Only the first one has no type.
fn pass_on(mut client: TcpStream, mut server: TcpStream, count: &AtomicUsize) -> std::io::Result<()> {
    let mut begun = false;
    loop {
        let mut head = vec![0; if begun { 5 } else { 4 }];
        if client.read_exact(&mut head).is_err() {
            return server.shutdown(Shutdown::Both);
        }
        let (kind, length) = head.split_at(head.len() - 4);
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        let mut body = vec![0; length - 4];
        client.read_exact(&mut body)?;
        if matches!(kind, b"Q" | b"E") {
            count.fetch_add(1, Ordering::Relaxed);
        }
        server.write_all(&[head, body].concat())?;
        begun = true;
    }
}

/// Without waiting for it in real time, this could only be believed.
async fn an_idle_executor_makes_fewer_than_two_statements_a_second(place: &Place) {
    let (url, count) = counted(&place.url);
    let jobs = Jobs::open(url).schema(&place.schema).await.expect("the store opens");
    let executor = Executor::new(&jobs).task(nothing).start().await.expect("it starts");
    // Falling asleep takes a few looks, the last after five seconds; then it is quiet.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let before = count.load(Ordering::Relaxed);
    assert!(before > 0, "they are counted");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let statements = count.load(Ordering::Relaxed) - before;
    println!("{before} statements in 8 s, {statements} in the next 10 s");
    assert!(statements < 20, "{statements} statements in 10 s");
    assert!(executor.is_idle() && executor.health().is_good());
    executor.shutdown(Duration::ZERO).await;
}
