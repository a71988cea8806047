//! Live events: nothing final is missed, nobody goes back, and nobody waits for a reader that does not read.

use std::collections::HashMap;
use std::thread;

use serde_json::{Value, json};

use crate::http::{Caller, Event};
use crate::place::Place;

/// What a reader knows of jobs, and that they never go back.
#[derive(Default)]
struct Known {
    states: HashMap<String, String>,
    last: Option<String>,
    /// Whether it has looked for itself.
    looked: bool,
}

/// How far a job is in its life: what is told later is never less.
fn rank(state: &Value) -> u32 {
    match state.as_str().expect("a state") {
        // An executor may give back what it has not started.
        "waiting" | "stuck" | "scheduled" => 0,
        "running" => 1,
        _ => 2,
    }
}

impl Known {
    fn take(&mut self, event: &Event) {
        self.last = event.id.clone().or(self.last.take());
        if event.name == "job" {
            let id = event.data["id"].as_str().expect("an id").to_owned();
            let state = &event.data["state"];
            if let Some(before) = self.states.get(&id) {
                let (before, now) = (rank(&json!(before)), rank(state));
                if self.looked && now < before {
                    return;
                }
                assert!(now >= before, "{id} went back to {state}");
            }
            self.states.insert(id, state.as_str().expect("a state").to_owned());
        }
    }

    /// Looks at all jobs. What is told from then on may be older than that, so what has ended stays as it is.
    fn look_up(&mut self, api: &Caller) {
        self.looked = true;
        let page = api.get("/api/v1/jobs?group=a&limit=1000").with(200);
        for job in page["jobs"].as_array().expect("jobs") {
            let [id, state] = [&job["id"], &job["state"]].map(|text| text.as_str().expect("a text").to_owned());
            self.states.insert(id, state);
        }
    }

    fn ended(&self) -> usize {
        self.states.values().filter(|state| rank(&json!(state)) == 2).count()
    }
}

fn batch(api: &Caller, jobs: usize, group: &str, seconds: f64) {
    for start in (0..jobs).step_by(500) {
        let jobs: Vec<Value> = (start..jobs.min(start + 500))
            .map(|_| json!({ "task": "sleep", "args": { "seconds": seconds }, "group": group }))
            .collect();
        let outcome = api.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
        assert_eq!(outcome["refused"], 0, "{outcome}");
    }
}

pub(crate) fn two_hundred_readers_end_with_every_final_state_and_one_never_reads(place: &Place) {
    const READERS: usize = 200;
    const JOBS: usize = 300;
    let server = place.serve(&["--pool-size", "8"]);
    let api = Caller::of(&server);
    let deaf = api.deaf("group=a");
    let (ready, begun) = std::sync::mpsc::channel();
    let readers: Vec<_> = (1..READERS)
        .map(|_| {
            let (api, ready) = (api.clone(), ready.clone());
            thread::spawn(move || {
                let mut events = api.events("group=a", None);
                let mut known = Known::default();
                while known.ended() < JOBS {
                    let event = events.next().expect("the stream goes on");
                    match event.name.as_str() {
                        "ready" => drop(ready.send(())),
                        // On a busy machine even this one may not keep up; then it looks for itself.
                        "resync" => known.look_up(&api),
                        _ => known.take(&event),
                    }
                }
                assert_eq!(known.states.len(), JOBS);
                assert!(known.states.values().all(|state| state == "success"));
            })
        })
        .collect();
    drop(ready);
    for _ in 1..READERS {
        begun.recv().expect("all readers begin");
    }
    batch(&api, JOBS, "a", 0.0);
    for reader in readers {
        reader.join().expect("a reader that knows everything");
    }
    drop(deaf);
    server.terminate();
    assert!(server.end().success(), "open streams do not keep it");
}

pub(crate) fn readers_go_on_where_they_left_off_after_a_restart(place: &Place) {
    const READERS: usize = 40;
    const JOBS: usize = 200;
    let server = place.serve(&["--pool-size", "4"]);
    let api = Caller::of(&server);
    let (ready, begun) = std::sync::mpsc::channel();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (api, ready) = (api.clone(), ready.clone());
            thread::spawn(move || {
                let mut events = api.events("group=a", None);
                let mut known = Known::default();
                while known.ended() < JOBS / 4 {
                    let event = events.next().expect("an event");
                    match event.name.as_str() {
                        "ready" => drop(ready.send(())),
                        "resync" => known.look_up(&api),
                        _ => {}
                    }
                    known.take(&event);
                }
                known
            })
        })
        .collect();
    drop(ready);
    for _ in 0..READERS {
        begun.recv().expect("all readers begin");
    }
    batch(&api, JOBS, "a", 0.05);
    let readers: Vec<Known> = readers
        .into_iter()
        .map(|reader| reader.join().expect("a reader"))
        .collect();
    // In the midst of it: what was read but not believed to be complete is told once more.
    server.signal("KILL");
    drop(server);
    let server = place.serve(&["--pool-size", "4"]);
    let api = Caller::of(&server);
    let readers: Vec<_> = readers
        .into_iter()
        .map(|mut known| {
            let api = api.clone();
            thread::spawn(move || {
                let mut events = api.events("group=a", known.last.as_deref());
                let mut resumed = true;
                while known.ended() < JOBS {
                    let event = events.next().expect("an event");
                    if event.name == "resync" {
                        // Who does not keep up, on a busy machine, looks for itself.
                        resumed = false;
                        known.look_up(&api);
                    }
                    // A job that was running when the server was killed begins anew.
                    if event.name == "job" && rank(&event.data["state"]) < 2 && !known.looked {
                        known.states.remove(event.data["id"].as_str().expect("an id"));
                    }
                    known.take(&event);
                }
                assert_eq!(known.states.len(), JOBS);
                assert!(known.states.values().all(|state| state == "success"));
                resumed
            })
        })
        .collect();
    let resumed = readers.into_iter().map(|reader| reader.join().expect("the truth"));
    assert!(resumed.filter(|resumed| *resumed).count() > 0, "it can be resumed");
    // From a place that nobody knows one begins anew, and is told so.
    let mut events = api.events("group=a", Some("0-1"));
    assert_eq!(events.next().expect("an event").name, "resync");
}

pub(crate) fn final_states_are_told_of_jobs_that_are_not_kept(place: &Place) {
    place.configure("retention = \"0 seconds\"\n[tasks.no]\ncommand = [\"false\"]\nretries = 0\n");
    let server = place.serve(&["--pool-size", "4"]);
    let api = Caller::of(&server);
    let mut events = api.events("group=a", None);
    while events.next().expect("an event").name != "ready" {}
    batch(&api, 20, "a", 0.0);
    let failing = api.submit(&json!({ "task": "no", "group": "a" }));
    let mut known = Known::default();
    while known.ended() < 21 {
        let event = events.next().expect("an event");
        assert_ne!(event.name, "gone", "its end is told");
        if event.data["id"] == failing.as_str() && event.data["state"] == "failed" {
            assert!(
                event.data["error"].as_str().is_some_and(|error| !error.is_empty()),
                "{}",
                event.data
            );
        }
        known.take(&event);
    }
    assert_eq!(known.states.remove(&failing).as_deref(), Some("failed"));
    assert!(known.states.values().all(|state| state == "success"));
    api.get(&format!("/api/v1/jobs/{failing}")).problem(404, "not-found");
}

pub(crate) fn a_log_is_followed_to_its_jobs_end(place: &Place) {
    place.configure("[tasks.say]\ncommand = [\"sh\", \"-c\", \"echo one; sleep 0.3; echo two; echo three\"]\n");
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let id = api.submit(&json!({ "task": "say" }));
    let path = format!("/api/v1/jobs/{id}/logs?follow=true");
    let answer = api.get(&path);
    assert!(answer.head.contains("text/event-stream"), "{}", answer.head);
    let told = |text: &str| -> Vec<String> {
        let parts = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let parts = parts.map(|data| serde_json::from_str::<Value>(data).expect("JSON"));
        parts
            .filter_map(|line| line["message"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(told(&answer.text), ["one", "two", "three"]);
    assert!(answer.text.contains("event: end"), "{}", answer.text);
    // Whoever has lost the connection goes on where it was.
    let again = api.call("GET", &path, &[("last-event-id", "2")], "");
    assert_eq!(told(&again.text), ["three"]);
}

/// Submit at one, watch at the other, cancel from the third; and end one while it is busy.
pub(crate) fn servers_and_executors_share_one_database(place: &Place) {
    let first = place.serve(&["--no-executor"]);
    let second = place.serve(&["--no-executor"]);
    let executors: Vec<_> = (0..4)
        .map(|n| {
            let name = format!("worker-{n}");
            place.serve(&["--no-api", "--pool-size", "2", "--name", &name])
        })
        .collect();
    let third = place.serve(&["--no-executor"]);
    let [submits, watches, cancels] = [&first, &second, &third].map(Caller::of);
    let mut events = watches.events("group=a", None);
    while events.next().expect("an event").name != "ready" {}
    let long = submits.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "group": "a" }));
    loop {
        let event = events.next().expect("an event");
        if event.data["id"] == long.as_str() && event.data["state"] == "running" {
            break;
        }
    }
    let cancel = cancels
        .post(&format!("/api/v1/jobs/{long}/cancel"), &Value::Null)
        .with(200);
    assert_eq!(cancel["outcome"], "cancelling");
    loop {
        let event = events.next().expect("an event");
        if event.data["state"] == "cancelled" {
            break;
        }
    }

    let jobs: Vec<Value> = (0..400)
        .map(|_| json!({ "task": "sleep", "args": { "seconds": 0.02 }, "group": "a" }))
        .collect();
    submits.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
    let mut known = Known::default();
    let mut executors = executors.into_iter();
    while known.ended() < 400 {
        let event = events.next().expect("an event");
        if event.data["id"] == long.as_str() {
            continue;
        }
        // What was given back by a shutdown begins anew.
        if event.name == "job" && rank(&event.data["state"]) < 2 {
            known.states.remove(event.data["id"].as_str().expect("an id"));
        }
        known.take(&event);
        if known.ended() > 50
            && executors.len() == 4
            && let Some(executor) = executors.next()
        {
            executor.terminate();
            assert!(executor.end().success());
        }
    }
    assert!(known.states.values().all(|state| state == "success"));
    let left = cancels.get("/api/v1/jobs?group=a&state=!success,!cancelled").with(200);
    assert_eq!(left["jobs"], json!([]), "nothing is lost");
}
