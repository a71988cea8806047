//! What the program does for its users, on either store.

use serde_json::Value;

use crate::place::{Place, ended, submit_and_see_running, wait_for};

pub(crate) fn a_job_is_submitted_run_shown_and_listed_and_the_server_stops_when_told(place: &Place) {
    let server = place.serve(&["--slots", "2"]);
    let args = [
        "submit",
        "sleep",
        r#"{"seconds": 0.01}"#,
        "--group",
        "acme",
        "--owner",
        "ada",
    ];
    let job = place.ask_json(&[&args[..], &["--priority", "high", "--wait", "--json"][..]].concat());
    assert_eq!(job["state"], "success");
    assert_eq!(job["group"], "acme");
    assert_eq!(job["args"]["seconds"], 0.01);

    let id = job["id"].as_str().expect("an id");
    let shown = place.ask(&["show", id]);
    for part in [id, "acme", "ada", "high", "success"] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    assert_eq!(place.ask_json(&["show", id, "--json"])["attempts"], 1);
    assert!(place.ask(&["list"]).contains(id));
    let none = place.ask_json(&["list", "--state", "failed", "--json"]);
    assert_eq!(none["jobs"], Value::Array(Vec::new()));

    server.terminate();
    assert!(server.end().success());
}

pub(crate) fn a_job_that_fails_is_tried_again(place: &Place) {
    let _server = place.serve(&[]);
    let job = place.ask_json(&["submit", "sleep", r#"{"seconds": 0, "fail": 1}"#, "--wait", "--json"]);
    assert_eq!(job["state"], "success");
    assert_eq!(job["attempts"], 2);
}

pub(crate) fn a_job_submitted_by_another_process_starts_when_it_is_due(place: &Place) {
    let _server = place.serve(&[]);
    let submit = [
        "submit",
        "sleep",
        r#"{"seconds": 0}"#,
        "--delay",
        "200 ms",
        "--wait",
        "--json",
    ];
    let job = place.ask_json(&submit);
    assert_eq!(job["state"], "success");
    let moment = |name: &str| job[name].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let (submitted, started) = (moment("submitted").expect("when"), moment("started").expect("when"));
    let late = started.duration_since(submitted) - jiff::SignedDuration::from_millis(200);
    assert!(late >= jiff::SignedDuration::ZERO, "it started too early");
    // A server that only looked now and then, every few seconds, would be later than that.
    assert!(
        late < jiff::SignedDuration::from_secs(3),
        "it started {late:#} too late"
    );
}

pub(crate) fn arguments_that_make_no_sense_fail_for_good_and_say_why(place: &Place) {
    let _server = place.serve(&[]);
    let other = place.serve(&["--no-executor"]);
    for (args, why) in [(r#"{"secnods": 1}"#, "secnods"), (r#"{"seconds": -1}"#, "-1")] {
        // Whoever knows the task does not take them; this one does not.
        let output = place.run(&["submit", "sleep", args, "--wait", "--json", "--server", &other.url]);
        assert!(!output.status.success());
        let job: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(job["state"], "failed");
        assert_eq!(job["reason"], "permanent");
        assert!(job["error"].as_str().expect("an error").contains(why), "{job}");
    }
}

pub(crate) fn a_waiting_job_says_why_it_waits_and_can_be_cancelled(place: &Place) {
    place.ask(&["migrate"]);
    let id = place.ask(&["submit", "sleep", "--group", "acme", "--unique", "nap"]);
    let again = place.ask_json(&["submit", "sleep", "--group", "acme", "--unique", "nap", "--json"]);
    assert_eq!(
        (again["id"].as_str(), &again["new"]),
        (Some(id.as_str()), &Value::Bool(false))
    );

    let shown = place.ask(&["show", &id]);
    assert!(shown.contains("No live executor"), "{shown}");
    assert!(place.ask(&["cancel", &id]).starts_with("cancelled"));
    assert_eq!(place.ask_json(&["cancel", &id, "--json"])["outcome"], "cancelled");
    assert_eq!(place.ask_json(&["show", &id, "--json"])["state"], "cancelled");

    let parked = place.ask(&["submit", "sleep", "--delay", "1 day"]);
    let shown = place.ask(&["show", &parked]);
    assert!(shown.contains("parked"), "{shown}");
}

pub(crate) fn a_running_job_is_told_to_stop_when_it_is_cancelled(place: &Place) {
    let _server = place.serve(&[]);
    let (id, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    assert!(place.ask(&["cancel", &id]).starts_with("cancelling"));
    assert!(!ended(&mut waiting).success(), "it did not succeed");
    assert_eq!(place.ask_json(&["show", &id, "--json"])["state"], "cancelled");
}

pub(crate) fn a_shutdown_past_its_deadline_gives_running_jobs_back(place: &Place) {
    let server = place.serve(&["--deadline", "0s"]);
    let (id, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    server.terminate();
    assert!(server.end().success());
    let job = place.ask_json(&["show", &id, "--json"]);
    assert_eq!(job["state"], "waiting");
    assert_eq!(job["reason"], "interrupted");
    assert_eq!(job["attempts"], 0, "an interruption is no attempt");

    place.ask(&["cancel", &id]);
    assert!(!ended(&mut waiting).success());
}

pub(crate) fn a_server_that_was_told_to_stop_leaves_nothing_claimed(place: &Place) {
    let server = place.serve(&["--deadline", "0s", "--slots", "2"]);
    let (_, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    for group in ["acme", "blue", "corp", "dune"] {
        place.ask(&["submit", "sleep", r#"{"seconds": 1000}"#, "--group", group]);
    }
    server.terminate();
    assert!(server.end().success());
    let claimed = place.ask_json(&["list", "--state", "running", "--state", "scheduled", "--json"]);
    assert_eq!(claimed["jobs"], Value::Array(Vec::new()));
    let left = place.ask_json(&["list", "--state", "waiting", "--json"]);
    assert_eq!(left["jobs"].as_array().map(Vec::len), Some(5), "{left}");
    waiting.kill().expect("it still waits");
    ended(&mut waiting);
}

pub(crate) fn a_second_signal_ends_the_server_at_once(place: &Place) {
    let server = place.serve(&["--deadline", "1 hour"]);
    let (_, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    server.terminate();
    wait_for(&server.log, "a second signal");
    // Two in the same moment are one: `timeout` sends one to the program and one to its group.
    std::thread::sleep(std::time::Duration::from_millis(150));
    server.terminate();
    assert_eq!(server.end().code(), Some(130));
    waiting.kill().expect("it still waits");
    ended(&mut waiting);
}
