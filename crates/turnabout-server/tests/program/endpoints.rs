//! Every endpoint of the API: what it does when all is well, and each way in which it refuses.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;

fn nap(seconds: f64) -> Value {
    json!({ "task": "sleep", "args": { "seconds": seconds } })
}

pub(crate) fn a_job_is_submitted_looked_at_and_changed_over_http(place: &Place) {
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let answer = api.post(
        "/api/v1/jobs",
        &json!({ "task": "sleep", "args": { "seconds": 0.01 }, "group": "acme", "owner": "ada", "subject": "A short nap",
            "priority": "high", "items": 3, "meta": { "request": "1" }, "unique": "nap" }),
    );
    assert!(answer.head.contains("location: /api/v1/jobs/"), "{}", answer.head);
    let id = answer.with(201)["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/jobs/{id}");
    let job = api.ended(&id);
    for (name, value) in [
        ("state", json!("success")),
        ("group", json!("acme")),
        ("owner", json!("ada")),
        ("subject", json!("A short nap")),
        ("priority", json!("high")),
        ("items", json!(3)),
        ("attempts", json!(1)),
        ("progress", json!(100)),
        ("meta", json!({ "request": "1" })),
    ] {
        assert_eq!(job[name], value, "{name} of {job}");
    }
    assert_eq!(api.get(&format!("{path}/result")).with(200)["id"], id.as_str());
    let attempts = api.get(&format!("{path}/attempts")).with(200);
    assert_eq!(attempts["attempts"].as_array().map(Vec::len), Some(1), "{attempts}");
    let why = api.get(&format!("{path}/explain")).with(200);
    assert!(why["text"].as_str().expect("words").contains("has ended"), "{why}");
    api.get(&format!("{path}/logs")).with(200);
    api.post(&format!("{path}/cancel"), &Value::Null)
        .problem(409, "not-cancellable");
    let put = |body: &str| api.call("PUT", &format!("{path}/priority"), &[], body);
    put(r#"{"priority":"low"}"#).problem(409, "wrong-state");
    assert_eq!(
        api.post(&format!("{path}/restart"), &Value::Null).with(200)["id"],
        id.as_str()
    );
    api.ended(&id);
    assert_eq!(api.call("DELETE", &path, &[], "").status, 204);
    for what in ["", "/logs", "/attempts", "/result", "/explain"] {
        api.get(&format!("{path}{what}")).problem(404, "not-found");
    }

    let parked = api.submit(&json!({ "task": "sleep", "delay": "1 day" }));
    let path = format!("/api/v1/jobs/{parked}");
    let put = |body: &str| api.call("PUT", &format!("{path}/priority"), &[], body);
    assert_eq!(put(r#"{"priority":"low"}"#).with(200)["priority"], "low");
    put(r#"{"priority":"urgent"}"#).problem(400, "invalid");
    let why = api.get(&format!("{path}/explain")).with(200);
    assert!(
        why["parked"].as_f64().is_some_and(|seconds| seconds > 80_000.0),
        "{why}"
    );
    api.get(&format!("{path}/result")).problem(409, "not-ended");
    api.post(&format!("{path}/restart"), &Value::Null)
        .problem(409, "wrong-state");
    assert_eq!(
        api.post(&format!("{path}/cancel"), &Value::Null).with(200)["outcome"],
        "cancelled"
    );
    assert_eq!(
        api.post(&format!("{path}/cancel"), &Value::Null).with(200)["outcome"],
        "cancelled"
    );
    api.get(&format!("{path}/result")).problem(409, "wrong-state");

    let long = api.submit(&nap(1000.0));
    api.until(&long, "running");
    api.call("DELETE", &format!("/api/v1/jobs/{long}"), &[], "")
        .problem(409, "wrong-state");
    let path = format!("/api/v1/jobs/{long}");
    assert_eq!(
        api.post(&format!("{path}/cancel"), &Value::Null).with(200)["outcome"],
        "cancelling"
    );
    assert_eq!(api.ended(&long)["state"], "cancelled");
}

pub(crate) fn what_cannot_be_submitted_is_refused_and_said_why(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let post = |body: Value| api.post("/api/v1/jobs", &body);
    for (job, field) in [
        (json!({}), "task"),
        (json!({ "task": "" }), "task"),
        (json!({ "task": "a\u{7}b" }), "task"),
        (json!({ "task": "x", "group": "a//b" }), "group"),
        (json!({ "task": "x", "items": 0 }), "items"),
        (json!({ "task": "x", "delay": "soon" }), "delay"),
        (json!({ "task": "x", "expires": "-1s" }), "expires"),
        (
            json!({ "task": "x", "delay": "1s", "at": "2030-01-01T00:00:00Z" }),
            "at",
        ),
        (
            json!({ "task": "x", "id": "d9428888-122b-11e1-b85c-61cd3cbb3210" }),
            "id",
        ),
        (json!({ "task": "x", "nonsense": 1 }), "nonsense"),
        (json!({ "task": "x", "priority": "urgent" }), "priority"),
        (json!({ "task": 1 }), "task"),
        (json!([1]), "body"),
    ] {
        let problem = post(job.clone()).problem(400, "invalid");
        assert_eq!(problem["field"], field, "{job}: {problem}");
    }
    let raw = |kind: &str, body: &str| api.call("POST", "/api/v1/jobs", &[("content-type", kind)], body);
    raw("application/json", "{").problem(400, "invalid");
    raw("text/plain", "{}").problem(415, "unsupported-media-type");
    let large = format!(r#"{{"task":"x","args":"{}"}}"#, "a".repeat(9 << 20));
    raw("application/json", &large).problem(413, "too-large");
    let args = format!(r#"{{"task":"x","args":"{}"}}"#, "a".repeat(2 << 20));
    assert_eq!(raw("application/json", &args).problem(400, "invalid")["field"], "args");
    api.get("/api/v1/nothing").problem(404, "not-found");
    api.get("/api/v1/jobs/not-an-id").problem(400, "invalid");
    api.call("PATCH", "/api/v1/jobs", &[], "")
        .problem(405, "method-not-allowed");
    api.post("/api/v1/notify", &Value::Null).problem(503, "unavailable");
    assert_eq!(api.get("/api/v1/running").with(200)["executor"], false);

    // The same id and the same key are the same job; another group's are not told about.
    let first = post(json!({ "task": "x", "group": "a", "unique": "k" })).with(201);
    let again = post(json!({ "task": "x", "group": "a", "unique": "k" })).with(200);
    assert_eq!((&again["id"], &again["new"]), (&first["id"], &json!(false)));
    let same = post(json!({ "task": "x", "group": "a", "id": first["id"] })).with(200);
    assert_eq!(same["id"], first["id"]);
    post(json!({ "task": "x", "group": "b", "id": first["id"] })).problem(409, "conflict");
    let cancel = format!("/api/v1/jobs/{}/cancel", first["id"].as_str().expect("an id"));
    api.post(&cancel, &Value::Null).with(200);
    post(json!({ "task": "x", "group": "a", "unique": "k" })).with(201);
    let restart = cancel.replace("/cancel", "/restart");
    api.post(&restart, &Value::Null).problem(409, "conflict");

    let batch = api.post(
        "/api/v1/jobs/batch",
        &json!({ "jobs": [
            { "task": "x" }, { "task": "" }, { "task": "x", "group": "a", "unique": "k" }, { "task": "x", "nonsense": 1 },
            7,
        ] }),
    );
    let batch = batch.with(207);
    let statuses: Vec<&Value> = batch["outcomes"]
        .as_array()
        .expect("five")
        .iter()
        .map(|o| &o["status"])
        .collect();
    assert_eq!(statuses, [201, 400, 200, 400, 400]);
    assert_eq!((&batch["accepted"], &batch["refused"]), (&json!(2), &json!(3)));
    assert_eq!(batch["outcomes"][3]["problem"]["field"], "nonsense");
    assert_eq!(batch["outcomes"][1]["problem"]["code"], "invalid");
    api.post("/api/v1/jobs/batch", &json!({ "jobs": [] }))
        .problem(400, "invalid");
}

pub(crate) fn numbers_keep_their_digits(place: &Place) {
    const LARGE: &str = "123456789012345678901234567890";
    const EXACT: &str = "0.1000000000000000055511151231257827";
    place.configure("[tasks.copy]\ncommand = [\"cat\"]\nresult = \"last-line\"\n");
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let args = format!(r#"{{"large":{LARGE},"list":[{EXACT},1e2]}}"#);
    let post = |body: &str| api.call("POST", "/api/v1/jobs", &[], body);
    let submitted = post(&format!(r#"{{"task":"copy","args":{args}}}"#)).with(201);
    let id = submitted["id"].as_str().expect("an id");
    api.ended(id);
    let job = api.get(&format!("/api/v1/jobs/{id}")).text;
    assert!(job.contains(&format!("\"args\":{args}")), "{job}");
    // Read by a program, and written by it.
    assert!(job.contains(&format!("\"result\":{args}")), "{job}");
    assert!(api.get(&format!("/api/v1/jobs/{id}/result")).text.contains(&args));
    assert!(api.get("/api/v1/jobs?brief=false").text.contains(&args));
    let shown = place.ask(&["submit", "copy", &args, "--wait", "--json"]);
    assert_eq!(shown.matches(LARGE).count(), 2, "{shown}");
    let file = place.file("jobs", &format!("{{\"task\": \"copy\", \"args\": [{EXACT}]}}\n"));
    let shown = place.ask(&["submit", "--file", &file, "--wait", "--json"]);
    assert_eq!(shown.matches(EXACT).count(), 2, "{shown}");

    // What no program could read is not kept, whoever may have written it.
    for args in [r#""\ud800""#, "1e999", &"[".repeat(1000)] {
        let args = format!("{args}{}", "]".repeat(args.matches('[').count()));
        let problem = post(&format!(r#"{{"task":"x","args":{args}}}"#)).problem(400, "invalid");
        assert_eq!(problem["field"], "args", "{problem}");
    }
    // Nothing, and nothing said, are the same.
    for job in [r#"{"task":"x","args":null}"#, r#"{"task":"x"}"#] {
        let id = post(job).with(201)["id"].as_str().expect("an id").to_owned();
        assert_eq!(api.get(&format!("/api/v1/jobs/{id}")).with(200)["args"], json!({}));
    }
}

pub(crate) fn jobs_are_listed_counted_and_changed_by_filter(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let mut ids = Vec::new();
    for n in 0..12 {
        let (group, owner) = (["a", "b"][n % 2], ["ada", "bob", "eve"][n % 3]);
        let subject = format!("Import number {n}");
        ids.push(api.submit(&json!({ "task": "x", "group": group, "owner": owner, "subject": subject })));
    }
    let list = |query: &str| {
        let page = api.get(&format!("/api/v1/jobs?{query}")).with(200);
        let found = page["jobs"].as_array().expect("jobs").iter();
        found
            .map(|job| job["id"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(list(""), newest);
    assert_eq!(list("group=a&owner=ada"), [ids[6].clone(), ids[0].clone()]);
    assert_eq!(list("search=NUMBER%2011"), [ids[11].clone()]);
    assert_eq!(list("state=!waiting").len(), 0);
    assert_eq!(list("state=waiting,stuck&task=x&queue=default").len(), 12);
    assert_eq!(list("queue=ocr").len(), 0);
    assert_eq!(list("since=2030-01-01T00:00:00Z").len(), 0);
    assert_eq!(list("until=2030-01-01T00:00:00Z").len(), 12);
    let some = [ids[7].clone(), ids[2].clone(), ids[9].clone()];
    assert_eq!(list(&format!("ids={}", some.join(","))), some, "in the given order");
    let mut pages = Vec::new();
    let mut query = "limit=5&count=true".to_owned();
    loop {
        let page = api.get(&format!("/api/v1/jobs?{query}")).with(200);
        assert_eq!(page["count"], json!({ "jobs": 12, "more": false }));
        pages.extend(
            page["jobs"]
                .as_array()
                .expect("jobs")
                .iter()
                .map(|job| job["id"].clone()),
        );
        let Some(next) = page["next"].as_str() else { break };
        query = format!("limit=5&count=true&before={next}");
    }
    assert_eq!(pages, newest);
    for bad in [
        "limit=0",
        "limit=1001",
        "limit=many",
        "state=done",
        "before=x",
        "ids=x",
        "since=soon",
        "nonsense=1",
        "group=%00",
    ] {
        let problem = api.get(&format!("/api/v1/jobs?{bad}")).problem(400, "invalid");
        let (field, _) = bad.split_once('=').expect("a name");
        assert_eq!(problem["field"], field, "{problem}");
    }
    assert_eq!(
        api.get("/api/v1/groups?limit=0").problem(400, "invalid")["field"],
        "limit"
    );

    // Of those asked for by id, too, everything that is said must hold.
    let all = ids.join(",");
    assert_eq!(list(&format!("ids={all}&group=a")).len(), 6);
    assert_eq!(list(&format!("ids={all}&state=!waiting")).len(), 0);
    assert_eq!(list(&format!("ids={all}&search=number%201&owner=bob")).len(), 2);
    assert_eq!(list(&format!("ids={all}&limit=5")), ids[..5]);
    let page = api.get(&format!("/api/v1/jobs?ids={all}&limit=5&count=true")).with(200);
    assert_eq!(page["count"], json!({ "jobs": 12, "more": false }));
    api.get(&format!("/api/v1/jobs?ids={all}&limit=0"))
        .problem(400, "invalid");

    let bulk = |action: &str, filter: Value, dry: bool| {
        let mut request = json!({ "action": action, "dry_run": dry });
        let name = if filter == json!({}) { "all" } else { "filter" };
        request[name] = if name == "all" { json!(true) } else { filter };
        api.post("/api/v1/jobs/bulk", &request).with(200)
    };
    // Those that someone has picked, as far as they can be.
    let picked = |of: &[String]| json!({ "ids": of.join(","), "owner": "ada" });
    assert_eq!(bulk("delete", picked(&ids), true)["matched"], 0, "none has ended");
    assert_eq!(bulk("cancel", picked(&ids), true)["matched"], 4);
    assert_eq!(bulk("cancel", picked(&ids[..1]), false)["changed"], 1);
    assert_eq!(list("state=cancelled"), ids[..1]);
    assert_eq!(bulk("cancel", picked(&ids[..1]), false)["matched"], 0, "it has ended");
    assert_eq!(bulk("restart", picked(&ids), false)["changed"], 1);

    assert_eq!(bulk("cancel", json!({ "group": "a" }), true)["matched"], 6);
    assert_eq!(list("state=cancelled").len(), 0, "a dry run changes nothing");
    assert_eq!(bulk("cancel", json!({ "group": "a" }), false)["changed"], 6);
    assert_eq!(bulk("restart", json!({ "owner": "ada" }), false)["changed"], 2);
    assert_eq!(bulk("delete", json!({}), false)["changed"], 4);
    assert_eq!(list("").len(), 8);
    let refused = api.post(
        "/api/v1/jobs/bulk",
        &json!({ "action": "delete", "filter": { "limit": 1 } }),
    );
    refused.problem(400, "invalid");
    api.post("/api/v1/jobs/bulk", &json!({ "action": "delete" }))
        .problem(400, "invalid");
}

pub(crate) fn the_whole_is_seen_at_a_glance(place: &Place) {
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    let long = api.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "group": "a", "items": 5 }));
    api.until(&long, "running");
    let done = api.get("/api/v1/running").with(200);
    assert_eq!((&done["running"], &done["jobs"]), (&json!(1), &json!([long])));
    api.submit(&json!({ "task": "sleep", "group": "b", "items": 2 }));
    api.submit(&json!({ "task": "sleep", "group": "b", "items": 4, "delay": "1 day" }));

    let summary = api.get("/api/v1/summary").with(200);
    let of = |state: &str| {
        let tasks = summary["tasks"].as_array().expect("sums");
        tasks.iter().find(|sum| sum["state"] == state).cloned().expect("a sum")
    };
    let waiting = of("waiting");
    assert_eq!((&waiting["jobs"], &waiting["items"]), (&json!(2), &json!(6)));
    assert_eq!(waiting["average_items"], 3.0);
    let running = of("running");
    assert_eq!((&running["jobs"], &running["failures"]), (&json!(1), &json!(0)));
    assert!(running["first_reserved"].is_string() && running["oldest"].is_string());
    assert_eq!(summary["rate"]["submitted"], 3);
    assert_eq!(
        api.get("/api/v1/summary?group=a").with(200)["tasks"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    api.get("/api/v1/summary?window=2%20days").problem(400, "invalid");
    let groups = api.get("/api/v1/groups").with(200);
    let names: Vec<&Value> = groups["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| &group["group"])
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        (&groups["groups"][0]["held"], &groups["groups"][1]["parked"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(api.get("/api/v1/groups?after=a&limit=1").with(200)["next"], "b");

    let executors = api.get("/api/v1/executors").with(200);
    let executor = &executors["executors"][0];
    assert_eq!((&executor["slots"], &executor["held"]), (&json!(1), &json!(1)));
    let id = executor["id"].as_str().expect("an id");
    let drain = |id: &str, drain: bool| api.post(&format!("/api/v1/executors/{id}/drain"), &json!({ "drain": drain }));
    assert_eq!(drain(id, true).with(200)["draining"], true);
    assert_eq!(api.get("/api/v1/executors").with(200)["executors"][0]["draining"], true);
    drain("01a1e212-79a3-7000-a3d7-c4437b9fc681", true).problem(404, "not-found");
    drain(id, false).with(200);
    assert_eq!(api.post("/api/v1/notify", &Value::Null).status, 204);

    assert_eq!(api.get("/healthz").with(200)["ok"], true);
    assert_eq!(api.get("/readyz").with(200)["ok"], true);
    assert_eq!(api.get("/api/info/version").with(200)["name"], "turnabout");
    let document = api.get("/api/openapi.json").with(200);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(
        document["paths"]["/api/v1/jobs"]["get"]["security"],
        json!([{}, { "token": ["read"] }]),
        "who tries it out may give a token"
    );
    for schema in ["JobBrief", "Health", "JobResult"] {
        assert!(document["components"]["schemas"][schema].is_object(), "{schema}");
    }
    let docs = api.get("/api/docs/");
    if cfg!(feature = "viewer") {
        assert!(docs.status == 200 && docs.text.contains("swagger"), "{}", docs.text);
    } else {
        assert!(
            docs.status == 307 && docs.head.contains("location: /api/openapi.json"),
            "{}",
            docs.head
        );
    }
    let numbers = api.get("/metrics").text;
    for line in [
        "turnabout_jobs{task=\"sleep\",priority=\"normal\",state=\"running\"} 1",
        "turnabout_attempts_started_total{task=\"sleep\"} 1",
        "turnabout_job_wait_seconds_count{task=\"sleep\"} 1",
        "turnabout_executors 1",
        "turnabout_silent_executors 0",
        "turnabout_executor_healthy 1",
        "turnabout_http_requests_total{method=\"GET\",path=\"/api/v1/summary\",status=\"200\"} 2",
    ] {
        assert!(numbers.contains(line), "{line} is not in:\n{numbers}");
    }
    assert!(
        !numbers.contains("turnabout_group_jobs"),
        "not all groups are numbered unless asked for"
    );

    api.post("/api/v1/jobs/bulk", &json!({ "action": "cancel", "all": true }))
        .with(200);
    api.ended(&long);
    assert_eq!(api.post("/api/v1/shutdownAndExit", &Value::Null).status, 202);
    assert!(server.end().success());
}
