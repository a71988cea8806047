//! A server that is killed, and one that is started after it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::Place;

/// How many jobs are in this state, or in any other.
fn count(place: &Place, state: &str, is: bool) -> u64 {
    let summary = place.ask_json(&["summary", "--json"]);
    let parts = summary["tasks"].as_array().expect("a list").iter();
    let meant = parts.filter(|part| (part["state"] == state) == is);
    meant.map(|part| part["jobs"].as_u64().expect("a number")).sum()
}

/// Waits until so many jobs have succeeded.
fn wait_for_success(place: &Place, jobs: u64) {
    let begin = Instant::now();
    loop {
        let done = count(place, "success", true);
        if done >= jobs {
            return;
        }
        assert!(
            begin.elapsed() < Duration::from_mins(3),
            "only {done} of {jobs} have succeeded"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_is_killed_in_the_midst_of_many_jobs_ends_them_all_once_it_is_started_again() {
    const JOBS: usize = 10_000;
    let place = Place::on_sqlite();
    place.configure("[executor]\nheartbeat = \"1s\"\nlease = \"3s\"\n");
    let lines: Vec<Value> = (0..JOBS)
        .map(|n| json!({ "task": "sleep", "args": { "seconds": 0, "steps": 1 }, "group": format!("g{}", n % 10) }))
        .collect();
    place.write("jobs.jsonl", &lines);
    place.ask(&["submit", "--file", "jobs.jsonl"]);
    let server = place.serve(&[]);
    wait_for_success(&place, 500);
    server.signal("KILL");
    server.end();
    let done = count(&place, "success", true);
    assert!(done < JOBS as u64, "it was killed too late to show anything");
    let _server = place.serve(&[]);
    wait_for_success(&place, JOBS as u64);
    assert_eq!(count(&place, "success", false), 0);
}
