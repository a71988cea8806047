//! Bad days with the real program: what the doctor says, and that mistakes with many jobs do no harm.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Caller;
use crate::insight::soon;
use crate::limits::nap;
use crate::place::Place;

/// What the doctor found, without the disk of the machine that runs the tests: that one may really be nearly full.
fn findings(diagnosis: &Value) -> Vec<&Value> {
    let findings = diagnosis["findings"].as_array().expect("a list");
    findings.iter().filter(|finding| finding["code"] != "disk").collect()
}

/// The doctor's first finding, as soon as it has this code.
fn first(api: &Caller, code: &str) -> Value {
    let diagnosis = soon(api, "/api/v1/doctor", code, |diagnosis| {
        findings(diagnosis).first().is_some_and(|first| first["code"] == code)
    });
    let all = &diagnosis["findings"];
    assert_eq!(diagnosis["verdict"], all[0]["what"]);
    findings(&diagnosis)[0].clone()
}

fn well(api: &Caller) {
    let diagnosis = soon(api, "/api/v1/doctor", "well", |diagnosis| {
        findings(diagnosis).is_empty()
    });
    let verdict = diagnosis["verdict"].as_str().expect("words");
    assert!(
        verdict.starts_with("all is well") || diagnosis["findings"][0]["code"] == "disk",
        "{diagnosis}"
    );
}

pub(crate) fn the_doctor_names_the_cause_and_what_mends_it(place: &Place) {
    place.configure("[tasks.no]\ncommand = [\"false\"]\nretry-delay = \"1 hour\"\n");
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    well(&api);

    let unknown: Vec<String> = (0..3)
        .map(|_| api.submit(&json!({ "task": "ocr", "group": "a" })))
        .collect();
    let finding = first(&api, "unknown-task");
    assert_eq!(
        finding["what"], "no executor knows the task `ocr`: 3 jobs wait",
        "{finding}"
    );
    assert_eq!(finding["severity"], "critical");
    let output = place.run(&["doctor", "--server", &server.url]);
    assert_eq!(output.status.code(), Some(1), "a script can ask");
    assert!(String::from_utf8_lossy(&output.stdout).contains("mend: "));
    let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
    place.ask(&[&["cancel"][..], &unknown].concat());

    let elsewhere = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "queue": "gpu" }));
    assert!(
        first(&api, "unserved-queue")["what"]
            .as_str()
            .is_some_and(|what| what.contains("`gpu`"))
    );
    place.ask(&["cancel", &elsewhere]);

    place.ask(&[
        "group",
        "quiet",
        "--pause",
        "--note",
        "they move",
        "--server",
        &server.url,
    ]);
    let waits = api.submit(&nap("quiet"));
    let finding = first(&api, "paused");
    assert!(
        finding["evidence"]
            .as_str()
            .is_some_and(|text| text.contains("they move")),
        "{finding}"
    );
    let mend = finding["mend"].as_str().expect("a command");
    let words: Vec<&str> = mend.split(' ').skip(1).collect();
    place.ask(&words);
    assert_eq!(api.ended(&waits)["state"], "success");
    well(&api);

    let stuck: Vec<String> = (0..25)
        .map(|_| api.submit(&json!({ "task": "no", "group": "b" })))
        .collect();
    for id in &stuck {
        api.until(id, "stuck");
    }
    let finding = first(&api, "failing");
    assert!(
        finding["what"].as_str().is_some_and(|what| what.contains("25 jobs")),
        "{finding}"
    );
    place.ask(&["cancel", "--task", "no"]);

    place.configure("[tasks.no]\ncomand = [\"false\"]\n");
    let finding = first(&api, "configuration");
    assert!(
        finding["evidence"].as_str().is_some_and(|text| text.contains("comand")),
        "{finding}"
    );
    place.configure("");
    well(&api);
}

pub(crate) fn the_doctor_sees_that_nobody_runs_jobs_and_that_a_receiver_fails(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    api.submit(&nap("a"));
    let finding = first(&api, "no-executor");
    assert!(
        finding["evidence"]
            .as_str()
            .is_some_and(|text| text.contains("no executor is registered"))
    );
    server.terminate();
    assert!(server.end().success());

    // A port where nobody listens.
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("its address");
    place.configure(&format!("[webhooks.app]\nurl = \"http://{port}/\"\n"));
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    let id = api.submit(&nap("a"));
    api.ended(&id);
    let finding = first(&api, "webhook");
    assert!(
        finding["mend"]
            .as_str()
            .is_some_and(|mend| mend.contains("[webhooks.app]")),
        "{finding}"
    );
}

pub(crate) fn a_receiver_that_never_answers_takes_nobodys_slots(place: &Place) {
    // It is connected to, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address");
    let (told, calls) = crate::webhooks::receiver();
    place.configure(&format!(
        "[webhooks.dead]\nurl = \"http://{address}/\"\n[webhooks.well]\nurl = \"http://{told}/\"\n\
         [executor]\nretry-delay = \"100 ms\"\n"
    ));
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    // Three groups, each more jobs than there are slots: all of them are told of, and would wait for the receiver.
    let begin = Instant::now();
    let ids: Vec<String> = (0..12).map(|n| api.submit(&nap(["a", "b", "c"][n % 3]))).collect();
    for id in &ids {
        assert_eq!(api.ended(id)["state"], "success");
    }
    let id = api.submit(&nap("newcomer"));
    assert_eq!(api.ended(&id)["state"], "success");
    assert!(
        begin.elapsed() < Duration::from_secs(25),
        "less than the receiver's time"
    );
    // And the other receiver hears of all of them.
    let mut heard = std::collections::HashSet::new();
    while heard.len() < 13 {
        let (_, body) = calls.recv_timeout(Duration::from_mins(1)).expect("a call");
        let payload: Value = serde_json::from_str(&body).expect("JSON");
        heard.insert(payload["job"]["id"].as_str().expect("an id").to_owned());
    }
    let running = api.get("/api/v1/jobs?state=running&task=webhook:dead").with(200);
    let running = running["jobs"].as_array().map_or(0, Vec::len);
    assert!(running <= 4, "{running}");
    // Slots of webhooks are nobody's share.
    let shares = soon(&api, "/api/v1/shares?minutes=1", "seen", |shares| shares["slots"] == 2);
    assert!(!shares.to_string().contains("webhook"), "{shares}");
}

pub(crate) fn a_receiver_that_fails_is_tried_with_one_message_while_the_others_wait(place: &Place) {
    // Nobody listens there yet.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr();
    let address = port.expect("its address");
    place.configure(&format!(
        "[webhooks.app]\nurl = \"http://{address}/\"\n[executor]\nretry-delay = \"100 ms\"\nretries = 50\n"
    ));
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let run = |count: u32| {
        let ids: Vec<String> = (0..count).map(|_| api.submit(&nap("a"))).collect();
        for id in &ids {
            assert_eq!(api.ended(id)["state"], "success");
        }
    };
    // So many fail that the receiver is left alone; what comes then is not even tried.
    run(6);
    let waiting = "/api/v1/jobs?group=webhooks&state=waiting&limit=1";
    let begin = Instant::now();
    loop {
        run(1);
        let page = api.get(waiting).with(200);
        let Some(id) = page["jobs"][0]["id"].as_str() else {
            continue;
        };
        let why = api.get(&format!("/api/v1/jobs/{id}/explain")).with(200);
        let text = why["text"].as_str().expect("a text");
        if text.contains("The receiver of the webhook `app` does not take messages at present") {
            assert_eq!(why["predicted"], Value::Null, "{why}");
            break;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{why}");
    }
    run(10);
    let all = api.get("/api/v1/jobs?group=a&limit=1000").with(200);
    let all = all["jobs"].as_array().map_or(0, Vec::len);
    soon(&api, "/api/v1/jobs?group=webhooks&limit=1000", "all kept", |page| {
        page["jobs"].as_array().is_some_and(|jobs| jobs.len() == all)
    });
    let page = api.get("/api/v1/jobs?group=webhooks&limit=1000").with(200);
    let jobs = page["jobs"].as_array().expect("jobs");
    let untried = jobs.iter().filter(|job| job["attempts"] == 0).count();
    assert!(untried >= 5, "{untried} of {all} were not tried");
    // It is well again: all messages come by themselves.
    let (_, calls) = crate::webhooks::receiver_on(TcpListener::bind(address).expect("its port"));
    let mut heard = std::collections::HashSet::new();
    while heard.len() < all {
        let (_, body) = calls.recv_timeout(Duration::from_mins(2)).expect("a call");
        let payload: Value = serde_json::from_str(&body).expect("JSON");
        heard.insert(payload["job"]["id"].as_str().expect("an id").to_owned());
    }
}

pub(crate) fn nothing_is_done_to_all_jobs_unless_all_is_said(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let ids: Vec<String> = ["a", "b"].iter().map(|group| api.submit(&nap(group))).collect();
    for filter in [
        json!({ "group": null }),
        json!({ "state": "" }),
        json!({ "state": "," }),
        json!({ "task": "" }),
        json!({ "owner": null, "group": "a" }),
        json!({}),
        json!({ "before": ids[0] }),
        Value::Null,
    ] {
        let request = json!({ "action": "cancel", "filter": filter });
        api.post("/api/v1/jobs/bulk", &request).problem(400, "invalid");
    }
    api.post("/api/v1/jobs/bulk", &json!({ "action": "cancel" }))
        .problem(400, "invalid");
    let both = json!({ "action": "cancel", "filter": { "group": "a" }, "all": true });
    api.post("/api/v1/jobs/bulk", &both).problem(400, "invalid");
    let live = api.get("/api/v1/jobs?state=waiting&count=true").with(200);
    assert_eq!(live["count"]["jobs"], 2, "nothing was cancelled");
    let dry = json!({ "action": "cancel", "all": true, "dry_run": true });
    assert_eq!(api.post("/api/v1/jobs/bulk", &dry).with(200)["matched"], 2);
    assert!(place.complaint(&["cancel"]).contains("--all"));
    assert!(place.ask(&["cancel", "--all"]).contains("2 jobs were cancelled"));
}

pub(crate) fn what_is_too_much_for_one_call_goes_on_in_the_background_and_is_waited_for(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let jobs: Vec<Value> = (0..1000).map(|_| json!({ "task": "sleep" })).collect();
    for _ in 0..11 {
        api.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
    }
    let said = place.ask(&["cancel", "--task", "sleep", "--server", &server.url]);
    assert!(said.contains("11000 jobs were cancelled"), "{said}");
    let operations = api.get("/api/v1/operations").with(200);
    let rest = &operations["operations"][0];
    assert_eq!(
        (&rest["state"], &rest["changed"]),
        (&json!("done"), &json!(1000)),
        "{rest}"
    );
    // The same without a server.
    let jobs = place.ask(&["restart", "--state", "cancelled"]);
    assert!(jobs.contains("11000 jobs were restarted"), "{jobs}");
}

pub(crate) fn a_restart_of_what_fails_again_restarts_each_job_once(place: &Place) {
    place.configure("[tasks.gone]\ncommand = [\"false\"]\nretries = 0\n");
    let server = place.serve(&["--pool-size", "8"]);
    let api = Caller::of(&server);
    let jobs: Vec<Value> = (0..60).map(|_| json!({ "task": "gone" })).collect();
    api.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
    let failed = "/api/v1/jobs?state=failed&count=true&limit=1";
    soon(&api, failed, "all failed", |page| page["count"]["jobs"] == 60);
    // Two at a time and slowly, so that those of before have failed again long before the end.
    let request = json!({ "action": "restart", "filter": { "state": "failed" }, "background": true, "pace": 20 });
    let operation = api.post("/api/v1/jobs/bulk", &request).with(202);
    assert_eq!(
        (&operation["matched"], &operation["state"]),
        (&json!(60), &json!("running")),
        "{operation}"
    );
    let path = format!("/api/v1/operations/{}", operation["id"].as_str().expect("an id"));
    let done = soon(&api, &path, "done", |operation| operation["state"] == "done");
    assert_eq!((&done["changed"], &done["skipped"]), (&json!(60), &json!(0)), "{done}");
    soon(&api, failed, "all failed again", |page| page["count"]["jobs"] == 60);
    let page = api.get("/api/v1/jobs?limit=1000").with(200);
    for job in page["jobs"].as_array().expect("jobs") {
        let attempts = api
            .get(&format!("/api/v1/jobs/{}/attempts", job["id"].as_str().expect("an id")))
            .with(200);
        assert_eq!(
            attempts["attempts"].as_array().map(Vec::len),
            Some(2),
            "once more, and no more: {attempts}"
        );
    }

    // Stopped half way, exactly what is told is restarted.
    let slow = json!({ "action": "delete", "filter": { "state": "failed" }, "background": true, "pace": 10 });
    let operation = api.post("/api/v1/jobs/bulk", &slow).with(202);
    let path = format!("/api/v1/operations/{}", operation["id"].as_str().expect("an id"));
    soon(&api, &path, "on its way", |operation| {
        operation["changed"].as_u64() >= Some(10)
    });
    api.post(&format!("{path}/stop"), &Value::Null).with(200);
    let stopped = soon(&api, &path, "stopped", |operation| operation["state"] == "stopped");
    let changed = stopped["changed"].as_u64().expect("a number");
    assert!((10..60).contains(&changed), "{stopped}");
    let left = api.get("/api/v1/jobs?count=true&limit=1").with(200);
    assert_eq!(left["count"]["jobs"], 60 - changed);
    let audit = soon(&api, "/api/v1/audit?action=delete", "written", |audit| {
        audit["entries"][0]["count"] == changed
    });
    assert_eq!(audit["entries"][0]["after"]["state"], "stopped", "{audit}");
}

pub(crate) fn reading_makes_no_tables_and_migrates_nothing(place: &Place) {
    // SQLite refuses a file that does not exist; an empty database has no tables.
    for command in [&["jobs"][..], &["doctor"], &["groups"], &["cancel", "--all"]] {
        let complaint = place.complaint(command);
        assert!(complaint.contains("turnabout serve"), "{command:?}: {complaint}");
    }
    let status = place.run(&["migrate", "--status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&status.stdout).contains("no tables"));
    assert!(place.ask(&["migrate", "--dry-run"]).contains("no tables"));
    assert!(
        place.complaint(&["jobs"]).contains("turnabout serve"),
        "a dry run makes none"
    );
    assert!(
        place
            .ask(&["migrate"])
            .contains("had no tables, and has tables of version 1 now")
    );
    assert!(place.ask(&["migrate", "--status"]).contains("up to date"));
    assert!(place.ask(&["migrate"]).contains("up to date"));
    place.ask(&["jobs"]);
}

pub(crate) fn with_manual_migrations_a_server_makes_no_tables(place: &Place) {
    place.configure("migrate = \"manual\"\n");
    let complaint = place.complaint(&["serve", "--address", "127.0.0.1:0"]);
    assert!(complaint.contains("turnabout migrate"), "{complaint}");
    place.ask(&["migrate"]);
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let id = api.submit(&nap("a"));
    assert_eq!(api.ended(&id)["state"], "success");
}
