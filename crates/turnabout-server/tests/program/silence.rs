//! Callers who say nothing, read nothing, or are too many: nobody else notices.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::Caller;
use crate::place::{PATIENCE, Place, Server, wait_for};

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

/// How long the server takes to say that it is alive, at the most of a few times.
fn slowest(server: &Server) -> Duration {
    let api = Caller::of(server);
    let ask = || {
        let begin = Instant::now();
        api.get("/healthz").with(200);
        begin.elapsed()
    };
    (0..5).map(|_| ask()).max().unwrap_or_default()
}

pub(crate) fn whoever_says_nothing_keeps_nobody_out(place: &Place) {
    place.configure("[api]\nconnections = 40\nconnections-per-address = 30\n");
    for args in [&[][..], &["--no-api", "--status-address", "127.0.0.1:0"]] {
        let server = place.serve(args);
        for said in [&b""[..], b"PRI * HTTP/2.0\r\n", b"GET /healthz HTTP/1.1\r\n"] {
            let held = silent(&server, 100, said);
            let slowest = slowest(&server);
            assert!(
                slowest < Duration::from_secs(5),
                "{args:?}, {said:?}: {slowest:?}, well before the first of them is told to go"
            );
            drop(held);
        }
    }
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
