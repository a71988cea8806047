//! What users of other systems expect of single jobs and of lists, over HTTP and on the command line.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;

pub(crate) fn d2_submit_and_cancel_answer_with_the_whole_job(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let answer = api
        .post(
            "/api/v1/jobs",
            &json!({ "task": "x", "args": { "n": 1 }, "unique": "k" }),
        )
        .with(201);
    let job = &answer["job"];
    assert_eq!((&answer["id"], &answer["new"]), (&job["id"], &json!(true)));
    assert_eq!((&job["state"], &job["args"]["n"]), (&json!("waiting"), &json!(1)));
    let again = api
        .post("/api/v1/jobs", &json!({ "task": "x", "unique": "k" }))
        .with(200);
    assert_eq!((&again["new"], &again["job"]["id"]), (&json!(false), &job["id"]));
    let batch = json!({ "jobs": [{ "task": "x", "items": 3 }, { "task": "" }] });
    let outcomes = api.post("/api/v1/jobs/batch", &batch).with(207);
    assert_eq!(outcomes["outcomes"][0]["job"]["items"], 3);
    assert!(outcomes["outcomes"][1]["job"].is_null());
    let minimal = [("prefer", "return=minimal"), ("content-type", "application/json")];
    let answer = api.call("POST", "/api/v1/jobs", &minimal, "{\"task\":\"x\"}").with(201);
    assert!(answer["id"].is_string() && answer.get("job").is_none(), "{answer}");
    let path = format!("/api/v1/jobs/{}/cancel", job["id"].as_str().expect("an id"));
    let cancelled = api.post(&path, &Value::Null).with(200);
    assert_eq!(cancelled["outcome"], "cancelled");
    assert_eq!(cancelled["job"]["state"], "cancelled");
}

pub(crate) fn c37_d53_lists_are_brief_unless_more_is_asked_for_and_words_name_states(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let long = "x".repeat(10_000);
    let waits = api.submit(&json!({ "task": "x", "args": long }));
    let ended = api.submit(&json!({ "task": "x", "args": long }));
    api.post(&format!("/api/v1/jobs/{ended}/cancel"), &Value::Null)
        .with(200);
    for query in ["", "brief=true", &format!("ids={waits},{ended}")] {
        let page = api.get(&format!("/api/v1/jobs?{query}"));
        assert!(page.text.len() < 5_000, "{}", page.text.len());
        let page = page.with(200);
        let jobs = page["jobs"].as_array().expect("jobs");
        assert!(jobs.len() == 2 && jobs.iter().all(|job| job["args"].is_null()));
    }
    for query in ["brief=false", &format!("brief=false&ids={waits},{ended}")] {
        let page = api.get(&format!("/api/v1/jobs?{query}"));
        assert!(page.text.len() > 20_000, "arguments are there if they are asked for");
    }
    for (word, id) in [("unfinished", &waits), ("ended", &ended), ("!unfinished", &ended)] {
        let page = api.get(&format!("/api/v1/jobs?state={word}")).with(200);
        let ids: Vec<&Value> = page["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(|job| &job["id"])
            .collect();
        assert_eq!(ids, [&json!(id)], "{word}");
    }
    assert_eq!(api.get("/api/v1/jobs?state=active").with(200)["jobs"], json!([]));
    let problem = api.get("/api/v1/jobs?state=done").problem(400, "invalid");
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|text| text.contains("unfinished, ended, active"))
    );
    assert!(place.ask(&["jobs", "--state", "unfinished"]).contains(&waits));
    let listed = place.ask(&["jobs", "--state", "not-unfinished"]);
    assert!(listed.contains(&ended) && !listed.contains(&waits), "{listed}");
}

pub(crate) fn c66_c21_d37_a_job_is_thrown_away_runs_once_or_expires(place: &Place) {
    place.configure("expires = \"1 day\"\n[tasks.no]\ncommand = [\"false\"]\nexpires = \"none\"\n");
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let parked = api.submit(&json!({ "task": "no", "delay": "1 hour" }));
    let path = format!("/api/v1/jobs/{parked}");
    assert_eq!(api.call("DELETE", &path, &[], "").status, 204, "C66: one call");
    api.get(&path).problem(404, "not-found");
    let once = place.ask(&["submit", "no", "{}", "--restartable", "false"]);
    let job = place.job_in(&once, "failed");
    assert_eq!(
        (&job["attempts"], &job["restartable"]),
        (&json!(1), &json!(false)),
        "C21"
    );
    assert!(job["meta"].as_object().is_some_and(serde_json::Map::is_empty), "{job}");
    assert!(job["expires"].is_null(), "D37: its task says so");
    let other = api.post("/api/v1/jobs", &json!({ "task": "nobody-knows" })).with(201);
    let moment = |name: &str| {
        other["job"][name]
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok())
    };
    let (submitted, expires) = (
        moment("submitted").expect("when"),
        moment("expires").expect("D37: by default"),
    );
    assert_eq!(expires.duration_since(submitted), jiff::SignedDuration::from_hours(24));
}

pub(crate) fn c20_items_a_minute_are_told_by_task(place: &Place) {
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    for items in [30, 90] {
        let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "items": items }));
        api.ended(&id);
    }
    let summary = api.get("/api/v1/summary?window=2%20minutes").with(200);
    let task = &summary["tasks"][0];
    assert_eq!((&task["task"], &task["state"]), (&json!("sleep"), &json!("success")));
    assert_eq!((&task["items"], &task["items_per_minute"]), (&json!(120), &json!(60.0)));
    assert!(place.ask(&["summary"]).contains("ITEMS/MIN"));
    let numbers = api.get("/metrics").text;
    for line in [
        "turnabout_items_per_minute{task=\"sleep\",state=\"success\"} 120",
        "turnabout_items_ended_total{task=\"sleep\",state=\"success\"} 120",
    ] {
        assert!(numbers.contains(line), "{line} is not in:\n{numbers}");
    }
}

pub(crate) fn c47_failed_jobs_are_counted_for_as_long_as_they_are_kept_and_cancels_are_no_failures(place: &Place) {
    place.configure("[tasks.no]\ncommand = [\"false\"]\nretries = 0\n");
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let failed = api.submit(&json!({ "task": "no", "items": 6 }));
    assert_eq!(api.ended(&failed)["state"], "failed");
    let cancelled = api.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 } }));
    api.until(&cancelled, "running");
    api.post(&format!("/api/v1/jobs/{cancelled}/cancel"), &Value::Null)
        .with(200);
    assert_eq!(api.ended(&cancelled)["state"], "cancelled");
    let told = |window: &str| {
        let summary = api.get(&format!("/api/v1/summary?window={window}")).with(200);
        let tasks = summary["tasks"].as_array().expect("sums").clone();
        let brief = |sum: &Value| {
            let part = ["task", "state", "jobs", "in_window", "failures", "items_per_minute"];
            part.map(|name| sum[name].clone())
        };
        tasks.iter().map(brief).collect::<Vec<_>>()
    };
    let no = |lately: u32, rate: Value| [json!("no"), json!("failed"), json!(1), json!(lately), json!(1), rate];
    let sleep = [
        json!("sleep"),
        json!("cancelled"),
        json!(1),
        json!(1),
        json!(0),
        json!(0.5),
    ];
    assert_eq!(told("2%20minutes"), [no(1, json!(3.0)), sleep]);
    assert_eq!(
        told("0s"),
        [no(0, Value::Null)],
        "what failed is counted whenever that was"
    );
}

pub(crate) fn d51_d57_a_program_says_why_it_failed_and_how_far_it_came(place: &Place) {
    let script = "echo ::progress 40 page 2; printf '::error no-pages The file has no pages.'; exit 3";
    place.configure(&format!(
        "[tasks.scan]\ncommand = [\"sh\", \"-c\", \"{script}\"]\npermanent-codes = [3]\n"
    ));
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "scan", "{}"]);
    let job = place.job_in(&id, "failed");
    assert_eq!(job["error_code"], "no-pages");
    assert_eq!(job["error_message"], "The file has no pages.");
    assert_eq!((&job["progress"], &job["step"]), (&json!(40), &json!("page 2")));
    let shown = place.ask(&["show", &id]);
    assert!(shown.contains("40 % (page 2)"), "{shown}");
}
