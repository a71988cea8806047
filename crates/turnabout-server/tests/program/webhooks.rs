//! Webhooks: other programs are told, with a signature, until they have heard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;

/// A receiver that fails the first time. What it was sent: head and body.
pub(crate) fn receiver() -> (String, Receiver<(String, String)>) {
    receiver_on(TcpListener::bind("127.0.0.1:0").expect("a port"))
}

pub(crate) fn receiver_on(listener: TcpListener) -> (String, Receiver<(String, String)>) {
    let address = listener.local_addr().expect("its address").to_string();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut reader = BufReader::new(stream.expect("a connection"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let before = head.len();
                if reader.read_line(&mut head).unwrap_or(0) == 0 || head[before..].trim().is_empty() {
                    break;
                }
                if let Some((name, value)) = head[before..].split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().expect("a length");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let status = if n == 0 {
                "503 Busy\r\nRetry-After: 1"
            } else {
                "204 Heard"
            };
            let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            reader.get_mut().write_all(answer.as_bytes()).expect("an answer");
            let _ = sender.send((head.to_ascii_lowercase(), String::from_utf8(body).expect("text")));
        }
    });
    (address, receiver)
}

pub(crate) fn a_webhook_is_told_what_becomes_of_jobs_until_it_has_heard(place: &Place) {
    let (address, calls) = receiver();
    place.configure(&format!(
        "[webhooks.acme]\nurl = \"http://{address}/hook\"\nsecret = \"a secret\"\ngroup = \"acme\"\n\
         on = [\"submitted\", \"final\"]\n"
    ));
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "other" }));
    let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "acme" }));
    let mut told: Vec<String> = Vec::new();
    // Two events, of which one is sent twice since it was not heard the first time.
    for _ in 0..3 {
        let (head, body) = calls.recv_timeout(Duration::from_mins(1)).expect("a call");
        let payload: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(payload["job"]["id"], id.as_str(), "{payload}");
        told.push(payload["event"].as_str().expect("an event").to_owned());
        let signature = head
            .lines()
            .find_map(|line| line.strip_prefix("turnabout-signature: "))
            .expect("a signature");
        let (time, mac) = signature.split_once(",v1=").expect("its parts");
        let time = time.trim_start_matches("t=");
        let mut openssl = std::process::Command::new("openssl")
            .args(["dgst", "-sha256", "-hmac", "a secret"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("openssl");
        let mut input = openssl.stdin.take().expect("its input");
        input.write_all(format!("{time}.{body}").as_bytes()).expect("it reads");
        drop(input);
        let output = openssl.wait_with_output().expect("it ends");
        let expected = String::from_utf8(output.stdout).expect("text");
        assert!(expected.trim().ends_with(mac), "{signature} is not {expected}");
        assert!(head.contains("idempotency-key:"), "{head}");
    }
    told.sort();
    told.dedup();
    assert_eq!(told, ["final", "submitted"]);
    // They are jobs of their own, and nobody is told of those.
    let page = api.get("/api/v1/jobs?group=webhooks").with(200);
    assert_eq!(page["jobs"].as_array().map(Vec::len), Some(2), "{page}");
    assert!(!page.to_string().contains("a secret"));
    // Whoever looks at the job finds who was told of it.
    let children = api.get(&format!("/api/v1/jobs?parent={id}")).with(200);
    let ids = |page: &Value| -> Vec<Value> {
        let jobs = page["jobs"].as_array().expect("jobs");
        jobs.iter().map(|job| job["id"].clone()).collect()
    };
    assert_eq!(ids(&children), ids(&page));
    assert!(calls.recv_timeout(Duration::from_millis(300)).is_err());

    // A server that is started again looks at the last minutes once more, and tells nothing twice.
    server.terminate();
    assert!(server.end().success());
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "acme" }));
    for _ in 0..2 {
        let (_, body) = calls.recv_timeout(Duration::from_mins(1)).expect("a call");
        assert!(body.contains(&id), "{body}");
    }
}

pub(crate) fn a_webhook_is_told_of_an_attempt_that_has_failed(place: &Place) {
    let (address, calls) = receiver();
    place.configure(&format!(
        "[webhooks.all]\nurl = \"http://{address}/hook\"\non = [\"stuck\"]\n\
         [tasks.no]\ncommand = [\"false\"]\nretry-delay = \"1 hour\"\n"
    ));
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
    let id = api.submit(&json!({ "task": "no" }));
    // Not heard the first time, and sent again.
    for _ in 0..2 {
        let (_, body) = calls.recv_timeout(Duration::from_mins(1)).expect("a call");
        let payload: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(
            (&payload["event"], &payload["webhook"]),
            (&json!("stuck"), &json!("all"))
        );
        let job = &payload["job"];
        assert_eq!(
            (&job["id"], &job["state"], &job["attempts"]),
            (&json!(id), &json!("stuck"), &json!(1))
        );
        assert!(
            job["error"].as_str().is_some_and(|error| error.contains("exit code 1")),
            "{job}"
        );
    }
}
