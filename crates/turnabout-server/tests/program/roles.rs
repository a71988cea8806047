//! Who may see and do what.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::http::Caller;
use crate::minted::operations;
use crate::place::{Place, ended};

const HASH: &str = "printf %s";

/// The hash of a token, as another tool computes it.
pub(crate) fn hash(token: &str) -> String {
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{HASH} {token} | sha256sum")])
        .output()
        .expect("a shell");
    let text = String::from_utf8(output.stdout).expect("text");
    format!("sha256:{}", text.split(' ').next().expect("a hash"))
}

pub(crate) fn configure(place: &Place) {
    let token = |name: &str, more: &str| format!("[tokens.{name}]\nhash = \"{}\"\n{more}\n", hash(name));
    place.configure(
        &[
            token("chief", "role = \"admin\""),
            token("acme", "role = \"group\"\ngroup = \"acme\""),
            token("blue", "role = \"group\"\ngroup = \"blue\""),
            token("ada", "role = \"owner\"\ngroup = \"acme\"\nowner = \"ada\""),
            token("bob", "role = \"owner\"\ngroup = \"acme\"\nowner = \"bob\""),
            "[api]\nrate = 1000\nrate-burst = 1000\n".to_owned(),
        ]
        .concat(),
    );
}

pub(crate) fn a_group_sees_and_changes_nothing_of_another_and_neither_does_an_owner(place: &Place) {
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    nobody.get("/api/v1/jobs").problem(401, "unauthorized");
    nobody
        .with_token("eve")
        .get("/api/v1/jobs")
        .problem(401, "unauthorized");
    nobody.get("/healthz").with(200);
    nobody.get("/readyz").with(200);
    nobody.get("/metrics").problem(401, "unauthorized");
    let [chief, acme, blue, ada, bob] = ["chief", "acme", "blue", "ada", "bob"].map(|name| nobody.with_token(name));

    // Whose job it is follows from who submits it; nobody can submit for others.
    let hers = ada.submit(&json!({ "task": "x" }));
    let his = bob.submit(&json!({ "task": "x" }));
    let theirs = blue.submit(&json!({ "task": "x", "owner": "ada" }));
    let job = chief.get(&format!("/api/v1/jobs/{hers}")).with(200);
    assert_eq!((&job["group"], &job["owner"]), (&json!("acme"), &json!("ada")));
    for (caller, job) in [
        (&acme, json!({ "task": "x", "group": "blue" })),
        (&ada, json!({ "task": "x", "owner": "bob" })),
        (&ada, json!({ "task": "x", "group": "blue", "owner": "ada" })),
    ] {
        caller.post("/api/v1/jobs", &job).problem(403, "forbidden");
    }
    // Nor can anyone make the server tell others what has not happened.
    let forged = json!({ "task": "webhook:acme", "args": { "event": "final" } });
    acme.post("/api/v1/jobs", &forged).problem(403, "forbidden");
    // An id of another group's job is in use, and no more is said.
    let conflict = blue
        .post("/api/v1/jobs", &json!({ "task": "x", "id": hers }))
        .problem(409, "conflict");
    assert!(!conflict.to_string().contains("acme"), "{conflict}");

    // A child of a job that one does not see: as if there were none.
    let child = |parent: &str| json!({ "task": "x", "parent": parent });
    ada.post("/api/v1/jobs", &child(&his)).problem(400, "invalid");
    blue.post("/api/v1/jobs", &child(&hers)).problem(400, "invalid");
    let batch = ada
        .post("/api/v1/jobs/batch", &json!({ "jobs": [child(&his)] }))
        .with(207);
    assert_eq!(batch["outcomes"][0]["status"], 400, "{batch}");

    let sees = |caller: &Caller| {
        let page = caller.get("/api/v1/jobs?count=true").with(200);
        assert_eq!(page["count"]["jobs"], page["jobs"].as_array().map_or(0, Vec::len));
        let mut ids: Vec<String> = page["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(|job| job["id"].as_str().expect("an id").to_owned())
            .collect();
        ids.reverse();
        ids
    };
    assert_eq!(sees(&chief), [hers.clone(), his.clone(), theirs.clone()]);
    assert_eq!(sees(&acme), [hers.clone(), his.clone()]);
    assert_eq!(sees(&blue), std::slice::from_ref(&theirs));
    assert_eq!(sees(&ada), std::slice::from_ref(&hers));
    acme.get("/api/v1/jobs?group=blue").problem(403, "forbidden");
    let all = format!("ids={hers},{his},{theirs}");
    let found = ada.get(&format!("/api/v1/jobs?{all}")).with(200);
    assert_eq!(found["jobs"].as_array().map(Vec::len), Some(1), "{found}");

    // A foreign job is answered as one that does not exist, by every path.
    let missing = "01a1e212-79a3-7000-a3d7-c4437b9fc681";
    for (caller, foreign) in [
        (&blue, &hers),
        (&acme, &theirs),
        (&ada, &his),
        (&bob, &hers),
        (&ada, &theirs),
    ] {
        for (method, what, body) in [
            ("GET", "", ""),
            ("DELETE", "", ""),
            ("POST", "/cancel", ""),
            ("POST", "/restart", ""),
            ("POST", "/retry", ""),
            ("PUT", "/priority", r#"{"priority":"low"}"#),
            ("GET", "/logs", ""),
            ("GET", "/logs?follow=true", ""),
            ("GET", "/attempts", ""),
            ("GET", "/result", ""),
            ("GET", "/explain", ""),
        ] {
            let answer = |id: &str| {
                let problem = caller
                    .call(method, &format!("/api/v1/jobs/{id}{what}"), &[], body)
                    .problem(404, "not-found");
                problem.to_string().replace(id, "ID")
            };
            assert_eq!(answer(foreign), answer(missing), "{method} {what}");
        }
        let mut events = caller.events(&format!("ids={foreign}"), None);
        assert_eq!(events.next().expect("an event").name, "gone");
    }
    assert_eq!(
        chief.get(&format!("/api/v1/jobs/{hers}")).with(200)["state"],
        "waiting",
        "nobody cancelled it"
    );

    // All that match means: all of one's own.
    let all = |caller: &Caller| caller.post("/api/v1/jobs/bulk", &json!({ "action": "cancel", "all": true }));
    let bulk = |caller: &Caller, filter: Value| {
        caller.post("/api/v1/jobs/bulk", &json!({ "action": "cancel", "filter": filter }))
    };
    assert_eq!(all(&blue).with(200)["changed"], 1);
    bulk(&blue, json!({ "group": "acme" })).problem(403, "forbidden");
    assert_eq!(all(&ada).with(200)["changed"], 1);
    assert_eq!(chief.get(&format!("/api/v1/jobs/{his}")).with(200)["state"], "waiting");
    let sum = |caller: &Caller| {
        let summary = caller.get("/api/v1/summary").with(200);
        summary["tasks"]
            .as_array()
            .expect("sums")
            .iter()
            .map(|sum| sum["jobs"].as_u64().unwrap_or(0))
            .sum::<u64>()
    };
    assert_eq!((sum(&chief), sum(&acme), sum(&blue), sum(&bob)), (3, 2, 1, 1));
    let groups = acme.get("/api/v1/groups").with(200);
    assert_eq!(groups["groups"].as_array().map(Vec::len), Some(1), "{groups}");
    for (method, path) in [
        ("GET", "/api/v1/executors"),
        ("GET", "/api/v1/running"),
        ("POST", "/api/v1/notify"),
        ("POST", "/api/v1/shutdownAndExit"),
        ("GET", "/metrics"),
    ] {
        for caller in [&acme, &ada] {
            let code = match path {
                "/api/v1/executors" | "/api/v1/running" => "forbidden",
                _ => "missing-scope",
            };
            caller.call(method, path, &[], "").problem(403, code);
        }
    }

    // One's own events, and no others'.
    let mut events = ada.events("", None);
    while events.next().expect("an event").name != "ready" {}
    let not_hers = bob.submit(&json!({ "task": "x" }));
    let next = ada.submit(&json!({ "task": "x" }));
    loop {
        // Perhaps once more what became of hers before.
        let event = events.next().expect("an event");
        assert_eq!((event.name.as_str(), &event.data["owner"]), ("job", &json!("ada")));
        assert_ne!(event.data["id"], json!(not_hers));
        if event.data["id"] == json!(next) {
            break;
        }
    }
    ada.get("/api/v1/events?group=blue").problem(403, "forbidden");
}

/// Each operation of the API's own description, so that a new one is among them.
pub(crate) fn an_operator_does_all_but_tokens_and_the_end_and_a_viewer_changes_nothing(place: &Place) {
    let token = |role: &str| format!("[tokens.{role}]\nhash = \"{}\"\nrole = \"{role}\"\n", hash(role));
    let roles = ["admin", "operator", "viewer"];
    let rate = "[api]\nrate = 1000\nrate-burst = 1000\n";
    place.configure(&(roles.map(token).concat() + rate));
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [admin, operator, viewer] = roles.map(|name| nobody.with_token(name));
    let id = admin.submit(&json!({ "task": "x", "group": "acme" }));
    for (caller, role) in [(&operator, "operator"), (&viewer, "viewer")] {
        let me = caller.get("/api/v1/me").with(200);
        assert_eq!((&me["role"], &me["group"]), (&json!(role), &Value::Null));
    }
    let absent = "01a1e212-79a3-7000-a3d7-c4437b9fc681";
    for (method, path) in operations(&admin, absent) {
        let asks = method == "GET" || ["/api/v1/schedules/check", "/api/v1/jobs/find"].contains(&path.as_str());
        let alone = path.starts_with("/api/v1/tokens") || path == "/api/v1/shutdownAndExit";
        // Streams, which do not end.
        if path.ends_with("events") {
            continue;
        }
        let status = |caller: &Caller| caller.call(&method, &path, &[], "{}").status;
        assert_eq!(status(&viewer) == 403, !asks, "viewer: {method} {path}");
        assert_eq!(status(&operator) == 403, alone, "operator: {method} {path}");
    }
    // What is there is seen, and still as it was.
    assert_eq!(viewer.get(&format!("/api/v1/jobs/{id}")).with(200)["state"], "waiting");
    viewer
        .call("DELETE", &format!("/api/v1/jobs/{id}"), &[], "")
        .problem(403, "missing-scope");
    let paused = operator
        .patch("/api/v1/groups/acme", &json!({ "paused": true }))
        .with(200);
    assert_eq!(paused["paused"], true);
    operator
        .post(&format!("/api/v1/jobs/{id}/cancel"), &json!({}))
        .with(200);
}

pub(crate) fn nobody_gets_around_the_guard(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    // A web page whose name was made to point here.
    api.call("GET", "/api/v1/jobs", &[("host", "evil.example")], "")
        .problem(421, "wrong-host");
    // A web page of another site.
    let foreign = [("origin", "http://evil.example")];
    api.call("POST", "/api/v1/shutdownAndExit", &foreign, "")
        .problem(403, "forbidden");
    let answer = api.call("GET", "/api/v1/jobs", &foreign, "");
    assert!(!answer.head.contains("access-control-allow-origin"), "{}", answer.head);
    for header in [
        "x-content-type-options: nosniff",
        "content-security-policy:",
        "cache-control: no-store",
    ] {
        assert!(answer.head.contains(header), "{}", answer.head);
    }
    let long = "a".repeat(100_000);
    let answer = api.call("GET", "/api/v1/jobs", &[("x-long", &long)], "");
    assert!(matches!(answer.status, 400 | 431), "{}", answer.status);

    place.configure(&format!(
        "[tokens.one]\nhash = \"{}\"\nrole = \"admin\"\n[api]\nrate = 1\nrate-burst = 3\n",
        hash("one")
    ));
    let server = place.serve(&["--no-executor"]);
    let one = Caller::of(&server).with_token("one");
    let answers: Vec<_> = (0..10).map(|_| one.get("/api/v1/jobs")).collect();
    let limited = answers
        .into_iter()
        .find(|answer| answer.status == 429)
        .expect("a limit");
    assert!(limited.head.contains("retry-after:"), "{}", limited.head);
    limited.problem(429, "rate-limited");
    let other = Caller::of(&server).with_token("guess");
    let guesses: Vec<u16> = (0..30).map(|_| other.get("/api/v1/jobs").status).collect();
    assert!(guesses.contains(&429), "{guesses:?}");
    // What is wrong with a token, or what it is, is in no log.
    server.terminate();
    let mut lines = Vec::new();
    while let Ok(line) = server.log.recv() {
        lines.push(line);
    }
    assert!(!lines.join("\n").contains("guess"), "{lines:?}");
}

pub(crate) fn a_server_that_others_can_reach_needs_tokens(place: &Place) {
    let mut child = place
        .command(&["serve", "--address", "0.0.0.0:0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let status = ended(&mut child);
    assert!(!status.success());
    let mut complaint = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("its log"), &mut complaint).expect("text");
    assert!(complaint.contains("no tokens are configured"), "{complaint}");
    configure(place);
    let mut child = place
        .command(&["serve", "--address", "0.0.0.0:0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let log = BufReader::new(child.stderr.take().expect("its log"));
    let serving = log.lines().map_while(Result::ok).any(|line| line.contains("serving"));
    assert!(serving, "with tokens it may");
    child.kill().expect("it runs");
    ended(&mut child);
}
