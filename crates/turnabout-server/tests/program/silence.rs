//! Callers who say nothing, read nothing, or are too many: nobody else notices.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::http::Caller;
use crate::place::{PATIENCE, Place, Server, wait_for};
use crate::roles::hash;

/// Connections over which these bytes were sent, and nothing since.
fn silent(server: &Server, many: usize, said: &[u8]) -> Vec<TcpStream> {
    let address = server.url.trim_start_matches("http://");
    let open = || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // One that has been refused already cannot be written to.
        let _ = stream.write_all(said);
        stream
    };
    (0..many).map(|_| open()).collect()
}

/// How long the server takes to say that it is alive, mostly.
fn usual(server: &Server) -> Duration {
    let api = Caller::of(server);
    let ask = || {
        let begin = Instant::now();
        api.get("/healthz").with(200);
        begin.elapsed()
    };
    median((0..5).map(|_| ask()).collect())
}

/// A single one may be late on a busy machine.
fn median<T: Ord + Copy>(mut times: Vec<T>) -> T {
    times.sort_unstable();
    times[times.len() / 2]
}

pub(crate) fn whoever_says_nothing_keeps_nobody_out(place: &Place) {
    place.configure("[api]\nconnections = 40\nconnections-per-address = 30\n");
    for args in [&[][..], &["--no-api", "--status-address", "127.0.0.1:0"]] {
        let server = place.serve(args);
        for said in [&b""[..], b"PRI * HTTP/2.0\r\n", b"GET /healthz HTTP/1.1\r\n"] {
            let held = silent(&server, 100, said);
            let usual = usual(&server);
            assert!(
                usual < Duration::from_secs(5),
                "{args:?}, {said:?}: {usual:?}, well before the first of them is told to go"
            );
            drop(held);
        }
    }
}

/// How many connections this process can hold, with so many at the most.
fn room(most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let files = getrlimit(Resource::Nofile).current;
    files.map_or(most, |files| most.min(usize::try_from(files).unwrap_or(most) / 2))
}

pub(crate) fn thousands_who_say_nothing_or_read_half_keep_nobody_out(place: &Place) {
    // As usual, but that all of them come from one address.
    place.configure("[api]\nconnections-per-address = 1000000\n");
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let held = silent(&server, room(4096), b"");
    let before = usual(&server);
    let half = || {
        let mut answer = api.unread("/api/openapi.json");
        // Some have to make room for others.
        let _ = answer.read_exact(&mut [0; 12]);
        answer
    };
    let unread: Vec<_> = (0..room(1000)).map(|_| half()).collect();
    let after = usual(&server);
    // A second is what scripts/attack asks for, alone on a machine.
    let second = Duration::from_secs(5);
    assert!(before < second && after < second, "{before:?}, {after:?}");
    api.ended(&api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } })));
    drop((held, unread));
}

pub(crate) fn connections_that_are_not_used_are_closed(place: &Place) {
    place.configure("[api]\ntimeout = \"1 second\"\n");
    let server = place.serve(&["--no-executor"]);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let used = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for said in [&b""[..], b"PRI * HT", b"GET /heal", preface, used] {
        for mut stream in silent(&server, 2, said) {
            // Whatever it answers, it ends.
            let mut answer = Vec::new();
            let begin = Instant::now();
            let ended = stream.read_to_end(&mut answer);
            assert!(
                ended.is_ok() || begin.elapsed() < PATIENCE / 2,
                "{said:?}: {ended:?} after {:?}",
                begin.elapsed()
            );
        }
    }
}

pub(crate) fn programs_wait_until_there_are_files_for_them(place: &Place) {
    place.configure("[tasks.nap]\ncommand = [\"sleep\", \"0.3\"]\nretries = 0\n");
    // Three pipes and more for each program: they do not all fit.
    let server = place.serve_within("ulimit -n 64", &["--pool-size", "24"]);
    let api = Caller::of(&server);
    // The limit is shared out: connections do not take it all.
    let held = silent(&server, 60, b"");
    let ids: Vec<String> = (0..48).map(|_| api.submit(&json!({ "task": "nap" }))).collect();
    wait_for(&server.log, "cannot be started at present");
    for id in &ids {
        let job = place.job_when(id, "ended", |job| {
            matches!(job["state"].as_str(), Some("success" | "failed"))
        });
        assert_eq!(job["state"], "success", "{job:#}");
    }
    drop(held);
}

/// Two groups with a token each, and one of all.
fn tokens(more: &str) -> String {
    let token = |name: &str| {
        let hash = hash(name);
        format!("[tokens.{name}]\nhash = \"{hash}\"\nrole = \"group\"\ngroup = \"{name}\"\n")
    };
    format!("{}{}{more}", token("acme"), token("blue"))
}

pub(crate) fn pages_of_long_jobs_end_early_and_cost_little(place: &Place) {
    place.configure(&tokens(""));
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let acme = api.with_token("acme");
    let long = "x".repeat(1_000_000);
    let job = json!({ "task": "x", "args": long });
    let mut ids = Vec::new();
    for _ in 0..10 {
        let batch = acme
            .post("/api/v1/jobs/batch", &json!({ "jobs": vec![&job; 7] }))
            .with(207);
        let outcomes = batch["outcomes"].as_array().expect("outcomes");
        ids.extend(
            outcomes
                .iter()
                .map(|outcome| outcome["id"].as_str().expect("an id").to_owned()),
        );
    }
    let before = server.memory();
    // Pages end early, whatever is asked for.
    let mut seen = 0;
    let mut cursor = String::new();
    loop {
        let page = acme.get(&format!("/api/v1/jobs?limit=1000&brief=false{cursor}"));
        assert!(page.text.len() < 4_000_000, "{}", page.text.len());
        let page = page.with(200);
        seen += page["jobs"].as_array().map_or(0, Vec::len);
        match page["next"].as_str() {
            Some(next) => cursor = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ids.len());
    acme.get(&format!("/api/v1/jobs?brief=false&ids={}", ids.join(",")))
        .problem(413, "too-large");
    let more = server.memory().saturating_sub(before);
    assert!(more < 150, "{more} MiB");
}

pub(crate) fn an_answer_that_nobody_reads_counts_until_it_is_given_up(place: &Place) {
    place.configure(&tokens("[api]\nrequests-per-token = 1\ntimeout = \"10 seconds\"\n"));
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let (acme, blue) = (api.with_token("acme"), api.with_token("blue"));
    let job = json!({ "task": "x", "args": "x".repeat(1_000_000) });
    let batch = acme
        .post("/api/v1/jobs/batch", &json!({ "jobs": vec![&job; 7] }))
        .with(207);
    let outcomes = batch["outcomes"].as_array().expect("outcomes").iter();
    let ids: Vec<&str> = outcomes.map(|outcome| outcome["id"].as_str().expect("an id")).collect();
    // More than sockets hold. It has begun before anybody else asks: there is place for one.
    let mut held = acme.unread(&format!("/api/v1/jobs?brief=false&ids={}", ids.join(",")));
    let mut begin = [0; 12];
    held.read_exact(&mut begin).expect("an answer");
    assert_eq!(&begin[9..], b"200");
    let until = |status: u16| {
        let begin = Instant::now();
        loop {
            let answer = acme.get("/api/v1/jobs?limit=1");
            if answer.status == status {
                return answer;
            }
            assert!(begin.elapsed() < PATIENCE, "{} {}", answer.status, answer.text);
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let problem = until(429).problem(429, "rate-limited");
    assert_eq!(problem["retry_after"], 1, "{problem}");
    blue.get("/api/v1/jobs").with(200);
    // It is given up, although its connection is still open on this side.
    until(200);
    drop(held);
}

pub(crate) fn streams_are_counted_and_end_with_their_token(place: &Place) {
    let limits = "[api]\nstreams = 4\nstreams-per-token = 2\n";
    place.configure(&tokens(limits));
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let (acme, blue) = (api.with_token("acme"), api.with_token("blue"));
    let mut streams: Vec<_> = (0..2).map(|_| acme.events("", None)).collect();
    acme.get("/api/v1/events").problem(429, "rate-limited");
    let id = acme.submit(&json!({ "task": "x" }));
    acme.get(&format!("/api/v1/jobs/{id}/logs?follow=true"))
        .problem(429, "rate-limited");
    let others: Vec<_> = (0..2).map(|_| blue.events("", None)).collect();
    drop(streams.pop());
    // The head is enough: the stream goes on.
    let begin = Instant::now();
    while acme.head("/api/v1/events") != 200 {
        assert!(begin.elapsed() < PATIENCE, "one has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(others);

    // Without its token, a stream ends.
    let mut stream = streams.pop().expect("one is left");
    place.configure(&format!("[tokens.boss]\nhash = \"{}\"\n{limits}", hash("boss")));
    server.signal("HUP");
    while stream.next().is_some() {}
    acme.get("/api/v1/jobs").problem(401, "unauthorized");
    api.with_token("boss").get(&format!("/api/v1/jobs/{id}")).with(200);
}

pub(crate) fn streams_that_nobody_reads_cost_little_and_delay_nobody(place: &Place) {
    place.configure(&tokens("[api]\nstreams-per-token = 300\n"));
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let (acme, blue) = (api.with_token("acme"), api.with_token("blue"));
    let before = server.memory();
    let deaf: Vec<_> = (0..300).map(|_| acme.deaf("")).collect();
    let jobs: Vec<_> = (0..1000)
        .map(|n| json!({ "task": "unheard-of", "subject": format!("job {n}") }))
        .collect();
    let once = || {
        acme.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
        let id = blue.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
        let job = blue.ended(&id);
        let moment = |name: &str| job[name].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let (submitted, started) = (moment("submitted").expect("a time"), moment("started").expect("a time"));
        started.duration_since(submitted)
    };
    let waited = median((0..8).map(|_| once()).collect());
    assert!(waited < jiff::SignedDuration::from_secs(5), "{waited:?}");
    let more = server.memory().saturating_sub(before);
    assert!(more < 100, "{more} MiB");
    drop(deaf);
}

#[test]
fn files_with_jobs_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::on_sqlite();
    let server = place.serve_within("umask 022", &["--no-executor"]);
    Caller::of(&server).submit(&json!({ "task": "x" }));
    for name in ["turnabout.db", "turnabout.db-wal", "turnabout.db-shm"] {
        let file = std::fs::metadata(place.path(name)).expect(name);
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
    }
}
