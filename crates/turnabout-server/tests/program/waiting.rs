//! Waiting for jobs, and following their logs: by what the server tells, or by looking.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;

pub(crate) fn whoever_waits_is_told_and_does_not_ask(place: &Place) {
    place.configure("[tasks.say]\ncommand = [\"printf\", \"one\\\\ntwo\\\\n7\"]\nresult = \"last-line\"\n");
    let server = place.serve(&["--pool-size", "2"]);
    let ask = |args: &[&str]| place.ask(&[args, &["--server", &server.url]].concat());
    let said = ask(&["submit", "say", "--wait"]);
    let lines: Vec<&str> = said.lines().collect();
    let [id, .., standing, result] = &lines[..] else {
        panic!("too few lines: {said}");
    };
    assert!(standing.starts_with("success") && *result == "7", "{said}");
    let log = ask(&["logs", id, "-f"]);
    assert!(log.contains("one") && log.contains("two"), "{log}");
    // How far it is: each step is told.
    let said = ask(&["submit", "sleep", r#"{"seconds": 2, "steps": 2}"#, "--wait"]);
    assert!(said.contains("running, 50 %") && said.contains("success"), "{said}");
    let jobs: Vec<Value> = (0..30)
        .map(|_| json!({ "task": "sleep", "args": { "seconds": 0 } }))
        .collect();
    let file = place.write("jobs", &jobs);
    let said = ask(&["submit", "--file", &file, "--wait", "--json"]);
    let states = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(states.filter(|job| job["state"] == "success").count(), 30, "{said}");

    let numbers = Caller::of(&server).get("/metrics").text;
    let asked = |method: &str, path: &str| {
        let line = format!("turnabout_http_requests_total{{method=\"{method}\",path=\"{path}\",status=\"200\"}} ");
        let found = numbers.lines().find_map(|known| known.strip_prefix(&line));
        found.map_or(0, |count| count.parse::<u32>().expect("a number"))
    };
    assert_eq!(asked("GET", "/api/v1/events"), 3);
    assert_eq!(asked("GET", "/api/v1/jobs/{id}/logs"), 1);
    assert_eq!(asked("GET", "/api/v1/jobs"), 0, "nobody looked again and again");
}

/// A way to a server by which no events come through.
fn without_events(server: &str) -> String {
    let server = server.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, server) = (stream.expect("a connection"), server.clone());
            std::thread::spawn(move || pass_on(stream, &server));
        }
    });
    format!("http://{address}")
}

/// Passes on one request, and its answer. Whoever wants events is cut off.
fn pass_on(stream: TcpStream, server: &str) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let before = head.len();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let line = head[before..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    if head.contains("/events?") || head.contains("follow=true") {
        return;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut upstream = TcpStream::connect(server).expect("the server");
    // Each request on a connection of its own.
    let head = head.replacen("\r\n\r\n", "\r\nconnection: close\r\n\r\n", 1);
    upstream.write_all(head.as_bytes()).expect("it reads");
    upstream.write_all(&body).expect("it reads");
    let _ = std::io::copy(&mut upstream, reader.get_mut());
}

pub(crate) fn whoever_is_told_nothing_looks_for_themselves(place: &Place) {
    place.configure(
        "[tasks.say]\ncommand = [\"printf\", \"one\\\\ntwo\\\\n\"]\n[tasks.no]\ncommand = [\"false\"]\nretries = 0\n",
    );
    let server = place.serve(&[]);
    let way = without_events(&server.url);
    let ask = |args: &[&str]| place.ask(&[args, &["--server", &way]].concat());
    let said = ask(&["submit", "say", "--wait"]);
    assert!(said.contains("success"), "{said}");
    let log = ask(&["logs", said.lines().next().expect("an id"), "-f"]);
    assert!(log.contains("one") && log.contains("two"), "{log}");
    let failed = place.run(&["submit", "no", "--wait", "--server", &way]);
    assert_eq!(failed.status.code(), Some(1));
}
