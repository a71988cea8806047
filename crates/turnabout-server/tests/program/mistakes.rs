//! Mistakes that people make, and what they are told.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Caller;
use crate::insight::soon;
use crate::place::{Place, Server, submit_and_see_running, wait_for};

pub(crate) fn what_could_only_be_a_mistake_is_refused_and_said_why(place: &Place) {
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    for (job, field, words) in [
        (json!({ "task": "x", "group": " acme" }), "group", "blank"),
        (json!({ "task": "x", "group": "  " }), "group", "blank"),
        (
            json!({ "task": "x", "owner": "ada\u{200b}" }),
            "owner",
            "nobody can see",
        ),
        (json!({ "task": "x", "queue": "a\tb" }), "queue", "control"),
        (json!({ "task": "x", "group": "webhooks" }), "group", "server's own"),
        (json!({ "task": "x", "group": "webhooks/a" }), "group", "server's own"),
        (
            json!({ "task": "x", "items": 2_147_483_648_u32 }),
            "items",
            "at most 2147483647",
        ),
        (
            json!({ "task": "x", "delay": "1h", "expires": "1m" }),
            "expires",
            "before it may start",
        ),
        (json!({ "task": "x", "priority": 5 }), "priority", "a text is expected"),
        (json!({ "task": "x", "items": "many" }), "items", "a whole number"),
        (json!({ "task": ["x"] }), "task", "expected a text"),
    ] {
        let problem = api.post("/api/v1/jobs", &job).problem(400, "invalid");
        assert_eq!(problem["field"], field, "{problem}");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(words), "{detail}");
        for leak in ["u32", "struct", "not JSON"] {
            assert!(!detail.contains(leak), "{detail}");
        }
    }
    let answer = api.call("POST", "/api/v1/jobs", &[], "{\"task\": }");
    assert!(answer.text.contains("not JSON"), "{}", answer.text);
    api.submit(&json!({ "task": "x", "items": 2_147_483_647_u32, "group": "acme ltd" }));
    // What a server refuses is refused by a command straight on the database.
    let complaint = place.complaint(&["submit", "sleep", "{\"secnods\": 1}"]);
    assert!(complaint.contains("secnods"), "{complaint}");
    let complaint = place.complaint(&["group", "nl\nname", "--pause", "--server", &server.url]);
    assert!(complaint.contains("control"), "{complaint}");
    assert!(!place.ask(&["groups"]).contains("nlname"));
}

pub(crate) fn a_thousand_jobs_are_asked_for_by_their_ids(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let jobs = vec![json!({ "task": "x" }); 1000];
    let batch = api.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
    let outcomes = batch["outcomes"].as_array().expect("outcomes").iter();
    let ids: Vec<&str> = outcomes.map(|outcome| outcome["id"].as_str().expect("an id")).collect();
    let query = json!({ "ids": ids.join(","), "brief": true, "limit": 1000 });
    let page = api.post("/api/v1/jobs/find", &query).with(200);
    let found = page["jobs"].as_array().expect("jobs").iter();
    let found: Vec<&str> = found.map(|job| job["id"].as_str().expect("an id")).collect();
    assert_eq!(found, ids);
    let page = api
        .post("/api/v1/jobs/find", &json!({ "task": "x", "limit": 3 }))
        .with(200);
    assert_eq!(
        page["jobs"].as_array().map(Vec::len),
        Some(3),
        "all that a list can be asked"
    );
    api.post("/api/v1/jobs/find", &json!({ "grop": "x" }))
        .problem(400, "invalid");
}

pub(crate) fn an_executor_that_shuts_down_is_none_that_takes_jobs(place: &Place) {
    let server = place.serve(&["--deadline", "1 hour"]);
    let other = place.serve(&["--no-executor"]);
    let (_, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    server.terminate();
    wait_for(&server.log, "waits for what still runs");
    let api = Caller::of(&other);
    let diagnosis = soon(&api, "/api/v1/doctor", "no-executor", |diagnosis| {
        diagnosis["findings"][0]["code"] == "no-executor"
    });
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["severity"], "warning", "nothing waits: {finding}");
    assert!(
        finding["evidence"]
            .as_str()
            .is_some_and(|text| text.contains("shuts down")),
        "{finding}"
    );
    api.submit(&json!({ "task": "sleep" }));
    soon(&api, "/api/v1/doctor", "critical", |diagnosis| {
        diagnosis["findings"][0]["severity"] == "critical"
    });
    waiting.kill().expect("it still waits");
    crate::place::ended(&mut waiting);
}

pub(crate) fn a_job_that_succeeded_in_the_end_does_not_look_as_if_it_had_failed(place: &Place) {
    let script = "test -e tried || { touch tried; echo not yet >&2; exit 1; }";
    place.configure(&format!(
        "[tasks.second]\ncommand = [\"sh\", \"-c\", \"{}\"]\nretry-delay = \"50 ms\"\n",
        script.replace('{', "{{").replace('}', "}}")
    ));
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "second"]);
    let job = place.job_in(&id, "success");
    assert_eq!(job["attempts"], 2);
    let shown = place.ask(&["show", &id]);
    let state = shown.lines().find(|line| line.starts_with("state")).expect("a state");
    assert!(
        state.contains("success, attempt 2; last error, of attempt 1:"),
        "{state}"
    );
}

pub(crate) fn a_flag_goes_before_the_environment(place: &Place) {
    place.ask(&["migrate"]);
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command
            .env("TURNABOUT_SERVER", "http://127.0.0.1:9")
            .output()
            .expect("it runs")
    };
    assert!(!run(&["jobs"]).status.success(), "nobody is there");
    let output = run(&["jobs", "--database", "sqlite://turnabout.db"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn what_a_server_would_refuse_the_command_config_refuses(place: &Place) {
    for (config, words) in [
        (
            "[tasks.mail]\nurl = \"http://localhost/\"\nsecret-file = \"missing\"\n",
            "missing",
        ),
        ("database = \"mysql://host/db\"\n", "mysql"),
        ("[tasks.sleep]\ncommand = [\"true\"]\n", "sleep"),
        (
            "[webhooks.app]\nurl = \"http://localhost/\"\nsecret-file = \"missing\"\n",
            "missing",
        ),
    ] {
        place.configure(config);
        let complaint = place.complaint(&["config"]);
        assert!(complaint.contains(words), "{config}: {complaint}");
        let complaint = place.complaint(&["serve", "--address", "127.0.0.1:0"]);
        assert!(complaint.contains(words), "{config}: {complaint}");
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("a file");
    let (_, rest) = readme.split_once("```toml\n").expect("a configuration");
    let (example, _) = rest.split_once("```").expect("its end");
    assert!(example.contains("[tasks."), "{example}");
    place.configure(example);
    place.ask(&["config"]);
}

pub(crate) fn a_server_whose_address_is_in_use_leaves_nothing_behind(place: &Place) {
    let server = place.serve(&[]);
    let address = server.url.trim_start_matches("http://").to_owned();
    let fresh = Place::on_sqlite();
    fresh.configure("[schedules.tick]\nexpression = \"every 1 hour\"\ntask = \"sleep\"\n");
    let complaint = fresh.complaint(&["serve", "--address", &address]);
    assert!(complaint.contains("cannot listen"), "{complaint}");
    let schedules = fresh.ask_json(&["schedule", "list", "--json"]);
    assert!(!schedules.to_string().contains("tick"), "{schedules}");
}

pub(crate) fn two_signals_in_the_same_moment_are_one(place: &Place) {
    let server: Server = place.serve(&["--deadline", "1 hour"]);
    let (id, mut waiting, _lines) = submit_and_see_running(place, r#"{"seconds": 1000}"#);
    server.terminate();
    server.terminate();
    wait_for(&server.log, "waits for what still runs");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(
        place.ask_json(&["show", &id, "--json"])["state"],
        Value::from("running")
    );
    server.terminate();
    assert_eq!(server.end().code(), Some(130));
    waiting.kill().expect("it still waits");
    crate::place::ended(&mut waiting);
}

pub(crate) fn waiting_jobs_are_delayed_moved_and_given_other_arguments(place: &Place) {
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let stray = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "queue": "gpu" }));
    let many: Vec<String> = (0..3)
        .map(|_| api.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "queue": "gpu", "group": "a" })))
        .collect();
    let told = place.ask(&["edit", &stray, "--to-queue", "default", "--server", &server.url]);
    assert_eq!(told, "1 job was changed");
    assert_eq!(api.ended(&stray)["state"], "success");
    let complaint = place.complaint(&["edit", &stray, "--delay", "1h"]);
    assert!(complaint.contains("wait or are stuck"), "{complaint}");

    let edit = |args: &[&str]| place.ask(&[&["edit", "--group", "a", "--server", &server.url], args].concat());
    assert_eq!(edit(&["--delay", "1 hour"]), "3 jobs were changed");
    assert!(api.get(&format!("/api/v1/jobs/{}", many[0])).with(200)["due"].is_string());
    assert_eq!(
        edit(&["--args", "{\"seconds\": 0}", "--task", "sleep"]),
        "3 jobs were changed"
    );
    let complaint = place.complaint(&[
        "edit",
        "--group",
        "a",
        "--args",
        "{\"secnods\": 0}",
        "--task",
        "sleep",
        "--server",
        &server.url,
    ]);
    assert!(complaint.contains("secnods"), "{complaint}");
    let complaint = place.complaint(&["edit", "--group", "a", "--args", "{}"]);
    assert!(complaint.contains("name it in the filter"), "{complaint}");
    assert_eq!(edit(&["--to-queue", "default"]), "3 jobs were changed");
    place.ask(&["retry", "--group", "a", "--server", &server.url]);
    for id in &many {
        assert_eq!(api.ended(id)["state"], "success");
    }
    let audit = place.ask(&["audit", "--json"]);
    for action in ["delay", "set-queue", "set-args"] {
        assert!(audit.contains(action), "{action} is not in {audit}");
    }
}

pub(crate) fn jobs_are_found_by_their_meta_and_by_what_they_are_not(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let one = api.submit(&json!({ "task": "x", "group": "a", "meta": { "order": "1", "shop": "b" } }));
    let two = api.submit(&json!({ "task": "y", "group": "b", "meta": { "order": "2" } }));
    let found = |query: &str| -> Vec<String> {
        let page = api.get(&format!("/api/v1/jobs?{query}")).with(200);
        let jobs = page["jobs"].as_array().expect("jobs").iter();
        jobs.map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(found("meta=order%3D1"), std::slice::from_ref(&one));
    assert_eq!(found("meta=order%3D1,shop%3Db"), std::slice::from_ref(&one));
    assert!(found("meta=order%3D2,shop%3Db").is_empty());
    assert_eq!(found("task=!x"), std::slice::from_ref(&two));
    assert_eq!(found("group=!b"), std::slice::from_ref(&one));
    assert_eq!(found("reason=!lost&queue=!gpu&owner=!ada").len(), 2);
    api.get("/api/v1/jobs?meta=order").problem(400, "invalid");
    api.get("/api/v1/jobs?reason=!late").problem(400, "invalid");
    let listed = place.ask(&["jobs", "--meta", "order=2", "--group", "!a"]);
    assert!(listed.contains(&two) && !listed.contains(&one), "{listed}");
    assert_eq!(
        place.ask(&["cancel", "--task", "!y", "--dry-run"]),
        "1 job would be cancelled"
    );
}
