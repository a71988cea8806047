//! Traces: a job's run belongs to the trace in which it was submitted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use crate::place::{PATIENCE, Place};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Takes what is sent to it, as a collector would.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.expect("a connection"));
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                let small = line.to_lowercase();
                if let Some(value) = small.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the body");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).expect("it listens");
            let _ = sender.send(body);
        }
    });
    (url, receiver)
}

fn holds(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

pub(crate) fn a_run_belongs_to_the_trace_in_which_its_job_was_submitted(place: &Place) {
    let (url, received) = collector();
    place.configure(&format!(
        "[traces]\nendpoint = \"{url}\"\n\
         [tasks.parent]\ncommand = [\"sh\", \"-c\", \"echo \\\"\\\\\\\"$TRACEPARENT\\\\\\\"\\\"\"]\nresult = \"last-line\"\n"
    ));
    // Submitted at one server, run by another process.
    let server = place.serve(&["--no-executor"]);
    let executor = place.serve(&["--no-api"]);
    let submitted = place
        .command(&["submit", "parent", "--server", &server.url])
        .env("TRACEPARENT", format!("00-{TRACE}-00f067aa0ba902b7-01"))
        .output()
        .expect("it starts");
    let id = String::from_utf8(submitted.stdout).expect("text").trim().to_owned();
    let job = place.job_in(&id, "success");
    let noted = job["meta"]["traceparent"].as_str().expect("it is noted");
    assert!(
        noted.starts_with(&format!("00-{TRACE}-")) && !noted.contains("00f067aa0ba902b7"),
        "{noted}"
    );
    let told = job["result"].as_str().expect("the program was told");
    assert!(told.starts_with(&format!("00-{TRACE}-")) && told != noted, "{told}");

    // Both end, and send what they have.
    executor.terminate();
    assert!(executor.end().success());
    server.terminate();
    assert!(server.end().success());
    let trace: Vec<u8> = (0..16)
        .map(|n| u8::from_str_radix(&TRACE[2 * n..2 * n + 2], 16).expect("a byte"))
        .collect();
    let span = |text: &str| -> Vec<u8> {
        let id = text.split('-').nth(2).expect("an id");
        (0..8)
            .map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).expect("a byte"))
            .collect()
    };
    let (mut submit, mut run) = (false, false);
    while !(submit && run) {
        let body = received.recv_timeout(PATIENCE).expect("all spans are sent");
        submit |= holds(&body, b"submit") && holds(&body, &trace) && holds(&body, &span(noted));
        // The run is the child of the submit.
        run |= holds(&body, b"run parent")
            && holds(&body, &trace)
            && holds(&body, &span(told))
            && holds(&body, &span(noted));
    }
}
