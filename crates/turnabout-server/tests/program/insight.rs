//! What operators see: shares, the last hour, failures, the audit log, the doctor; and who may see it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Caller;
use crate::limits::{long, nap};
use crate::place::{PATIENCE, Place};
use crate::roles;

/// The answer of a path, as soon as it is as it should be.
pub(crate) fn soon(api: &Caller, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    loop {
        let answer = api.get(path).with(200);
        if is_so(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < PATIENCE, "not {what}: {answer:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn row<'a>(shares: &'a Value, group: &str) -> Option<&'a Value> {
    shares["groups"].as_array()?.iter().find(|row| row["group"] == group)
}

pub(crate) fn shares_tell_who_holds_slots_and_who_waits(place: &Place) {
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    api.patch("/api/v1/groups/late", &json!({ "paused": true, "note": "they move" }))
        .with(200);
    for _ in 0..2 {
        long(&api, "big");
    }
    for _ in 0..3 {
        api.submit(&nap("small"));
    }
    api.submit(&nap("late"));
    let shares = soon(&api, "/api/v1/shares?minutes=1", "all seen", |shares| {
        row(shares, "small").is_some_and(|row| row["ready"] == 3)
            && shares["observed_seconds"]
                .as_f64()
                .is_some_and(|seconds| seconds >= 1.0)
    });
    assert_eq!((&shares["minutes"], &shares["slots"]), (&json!(1), &json!(2)));
    let big = row(&shares, "big").expect("it holds slots");
    assert_eq!((&big["running"], &big["weight"]), (&json!(2), &json!(1)), "{big}");
    assert!(big["used"].as_f64().is_some_and(|used| used > 0.9), "{big}");
    let small = row(&shares, "small").expect("it waits");
    assert!(
        small["waiting_ms"].is_u64() && small["oldest_ready_ms"].is_u64(),
        "{small}"
    );
    assert!(small["entitled"].as_f64().is_some_and(|share| share > 0.0), "{small}");
    let late = row(&shares, "late").expect("it is paused");
    assert_eq!((&late["paused"], &late["ready"]), (&json!(true), &json!(1)), "{late}");
    assert_eq!(late["set"]["note"], "they move", "{late}");

    let one = api.get("/api/v1/shares?minutes=10&limit=1&sort=used").with(200);
    assert_eq!(one["groups"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["rest"]["groups"], 2, "{one}");
    let oldest = &one["oldest"];
    assert!(
        oldest["group"] == "small" && oldest["ready_ms"].is_u64(),
        "also if it is not shown: {one}"
    );
    let found = api.get("/api/v1/shares?search=SMA&sort=group").with(200);
    assert_eq!(found["groups"].as_array().map(Vec::len), Some(1), "{found}");
    for query in ["minutes=5", "limit=0", "limit=1001", "sort=colour", "x=1"] {
        api.get(&format!("/api/v1/shares?{query}")).problem(400, "invalid");
    }
    let trends = api.get("/api/v1/trends").with(200);
    assert_eq!(trends["step_seconds"], 10);
    let point = &trends["points"][0];
    for name in ["ready", "running", "slots", "started", "ended", "failed"] {
        assert!(point[name].is_u64(), "{name} of {trends}");
    }
    assert!(point["at"].is_string());
    let drawn = place.ask(&["top", "--once", "--server", &server.url]);
    assert!(drawn.contains("ENTITLED") && drawn.contains("big"), "{drawn}");
    // The same on the database itself, where nobody has looked before.
    let drawn = place.ask_json(&["top", "--json"]);
    assert!(row(&drawn, "big").is_some_and(|big| big["running"] == 2), "{drawn}");
}

pub(crate) fn why_a_job_waits_says_who_has_the_slots_and_when_it_starts(place: &Place) {
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    for _ in 0..10 {
        let id = api.submit(&nap("a"));
        api.ended(&id);
    }
    long(&api, "big");
    let id = api.submit(&nap("a"));
    // After so many short jobs the executor may have taken it already. It gives it back within a moment.
    let mut waiting = api.events(&format!("ids={id}"), None);
    let mut why = api.get(&format!("/api/v1/jobs/{id}/explain")).with(200);
    while why["state"] == "scheduled" {
        waiting.next().expect("an event");
        why = api.get(&format!("/api/v1/jobs/{id}/explain")).with(200);
    }
    assert_eq!(why["taken_by"], json!([{ "group": "big", "jobs": 1 }]), "{why}");
    let text = why["text"].as_str().expect("words");
    assert!(text.contains("taken: 1 by `big`"), "{text}");
    let predicted = &why["predicted"];
    let moment = |name: &str| {
        predicted[name]
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok())
    };
    assert!(
        moment("earliest").expect("when") <= moment("latest").expect("when"),
        "{why}"
    );
    assert!(
        predicted["basis"].as_str().is_some_and(|basis| basis.contains("turn")),
        "{why}"
    );
    assert!(
        place
            .ask(&["show", &id, "--server", &server.url])
            .contains("1 by `big`")
    );
}

pub(crate) fn failures_are_told_by_kind(place: &Place) {
    place.configure(
        "[tasks.bad]\ncommand = [\"sh\", \"-c\", \"echo row $RANDOM is bad >&2; exit 1\"]\nretries = 0\n\
         [tasks.later]\ncommand = [\"false\"]\nretry-delay = \"1 hour\"\n",
    );
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let ids: Vec<String> = (0..3)
        .map(|_| api.submit(&json!({ "task": "bad", "group": "a" })))
        .collect();
    for id in &ids {
        assert_eq!(api.ended(id)["state"], "failed");
    }
    let stuck = api.submit(&json!({ "task": "later", "group": "b" }));
    api.until(&stuck, "stuck");
    let all = api.get("/api/v1/failures").with(200);
    let kinds = all["failures"].as_array().expect("kinds");
    let of = |task: &str| kinds.iter().find(|kind| kind["task"] == task).expect("a kind");
    assert_eq!(of("bad")["count"], 3, "{all}");
    assert!(ids.iter().any(|id| of("bad")["example"] == id.as_str()), "{all}");
    assert_eq!(
        (&of("later")["count"], &of("later")["stuck"]),
        (&json!(0), &json!(1)),
        "{all}"
    );
    let some = api.get("/api/v1/failures?group=a&window=1%20hour").with(200);
    assert_eq!(some["failures"].as_array().map(Vec::len), Some(1), "{some}");
    let told = place.ask(&["failures", "--server", &server.url]);
    assert!(told.contains("bad") && told.contains("later"), "{told}");
    for query in ["window=99%20days", "limit=0", "owner=ada"] {
        api.get(&format!("/api/v1/failures?{query}")).problem(400, "invalid");
    }

    // After a fix: the one that is stuck is tried at once, and counts its attempts on.
    place.ask(&["retry", &stuck, "--server", &server.url]);
    place.job_when(&stuck, "tried again", |job| job["attempts"] == 2);
    api.until(&stuck, "stuck");
    assert!(
        place
            .ask(&["retry", "--state", "stuck", "--server", &server.url])
            .contains("1 job was retried")
    );
    place.job_when(&stuck, "tried again", |job| job["attempts"] == 3);
    let ended = api.post(&format!("/api/v1/jobs/{}/retry", ids[0]), &Value::Null);
    ended.problem(409, "wrong-state");
}

pub(crate) fn who_did_what_is_kept_in_the_store(place: &Place) {
    roles::configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [chief, acme, blue, ada] = ["chief", "acme", "blue", "ada"].map(|name| nobody.with_token(name));
    let hers = ada.submit(&json!({ "task": "x" }));
    let theirs = blue.submit(&json!({ "task": "x" }));
    chief
        .patch("/api/v1/groups/acme", &json!({ "weight": 4, "note": "they pay" }))
        .with(200);
    chief.patch("/api/v1/tasks/x", &json!({ "paused": true })).with(200);
    ada.post(&format!("/api/v1/jobs/{hers}/cancel"), &Value::Null).with(200);
    acme.post(&format!("/api/v1/jobs/{hers}/restart"), &Value::Null)
        .with(200);
    let bulk = json!({ "action": "cancel", "filter": { "group": "blue" }, "note": "they asked" });
    chief.post("/api/v1/jobs/bulk", &bulk).with(200);

    let audit = |caller: &Caller, query: &str| {
        let page = caller.get(&format!("/api/v1/audit?{query}")).with(200);
        page["entries"].as_array().expect("entries").clone()
    };
    let all = audit(&chief, "");
    let told: Vec<(&str, &str)> = all
        .iter()
        .map(|entry| {
            (
                entry["by"].as_str().unwrap_or(""),
                entry["action"].as_str().unwrap_or(""),
            )
        })
        .collect();
    let expected = [
        ("chief", "cancel"),
        ("acme", "restart"),
        ("ada", "cancel"),
        ("chief", "set-task"),
        ("chief", "set-group"),
    ];
    assert_eq!(told, expected, "{all:#?}");
    assert_eq!(all[0]["filter"], json!({ "group": "blue" }));
    assert_eq!((&all[0]["count"], &all[0]["note"]), (&json!(1), &json!("they asked")));
    assert_eq!(
        (&all[1]["role"], &all[1]["target"]),
        (&json!("group"), &json!(format!("job:{hers}")))
    );
    assert_eq!(all[1]["before"]["state"], "cancelled", "{:#?}", all[1]);
    assert_eq!(all[1]["address"], "127.0.0.1");
    assert_eq!(
        (&all[4]["before"]["weight"], &all[4]["after"]["weight"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(chief.get("/api/v1/groups/acme").with(200)["set"]["note"], "they pay");
    assert_eq!(chief.get("/api/v1/tasks/x").with(200)["set"]["by"], "chief");

    // By page and by filter; and everyone sees what was done to what is theirs.
    assert_eq!(audit(&chief, "action=cancel&by=ada").len(), 1);
    assert_eq!(audit(&chief, &format!("target=job:{hers}")).len(), 2);
    let page = chief.get("/api/v1/audit?limit=2").with(200);
    let next = page["next"].as_i64().expect("more");
    assert_eq!(audit(&chief, &format!("before={next}")), all[2..]);
    let own = audit(&acme, "");
    assert_eq!(own.len(), 3, "{own:#?}");
    assert!(
        own.iter()
            .all(|entry| entry["group"] == "acme" && entry["address"].is_null()),
        "{own:#?}"
    );
    acme.get("/api/v1/audit?group=blue").problem(403, "forbidden");
    ada.get("/api/v1/audit").problem(403, "forbidden");
    assert!(!theirs.is_empty());

    // On the command line, and from it.
    place.ask(&["group", "blue", "--pause", "--note", "on the line"]);
    let told = place.ask(&["audit", "--target", "group:blue"]);
    assert!(
        told.contains("on the command line") && told.contains("on the line"),
        "{told}"
    );
    let shown = place.ask(&["group", "blue"]);
    assert!(shown.contains("set by"), "{shown}");
}

pub(crate) fn a_group_sees_its_share_and_failures_and_nothing_of_others(place: &Place) {
    roles::configure(place);
    let server = place.serve(&["--pool-size", "1"]);
    let nobody = Caller::of(&server);
    let [chief, acme, ada] = ["chief", "acme", "ada"].map(|name| nobody.with_token(name));
    let other = chief.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "group": "blue" }));
    chief.until(&other, "running");
    let own = acme.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
    let shares = soon(&acme, "/api/v1/shares?minutes=1", "seen", |shares| {
        row(shares, "acme").is_some()
    });
    assert_eq!(shares["groups"].as_array().map(Vec::len), Some(1), "{shares}");
    for hidden in ["slots", "jain", "busy"] {
        assert!(shares[hidden].is_null(), "{hidden} of {shares}");
    }
    assert_eq!(shares["rest"], json!({ "groups": 0, "used": 0.0 }));
    assert!(!shares.to_string().contains("blue"), "{shares}");
    let why = acme.get(&format!("/api/v1/jobs/{own}/explain")).with(200);
    assert!(!why.to_string().contains("blue"), "{why}");
    assert!(
        why["text"]
            .as_str()
            .is_some_and(|text| text.contains("1 by other groups")),
        "{why}"
    );
    let bad = chief.submit(&json!({ "task": "sleep", "args": { "seconds": 1 }, "group": "blue", "queue": "none" }));
    chief
        .post(&format!("/api/v1/jobs/{bad}/cancel"), &Value::Null)
        .with(200);
    assert_eq!(acme.get("/api/v1/failures").with(200)["failures"], json!([]));
    acme.get("/api/v1/failures?group=blue").problem(403, "forbidden");
    for path in ["/api/v1/trends", "/api/v1/doctor"] {
        acme.get(path).problem(403, "forbidden");
        ada.get(path).problem(403, "forbidden");
    }
    ada.get("/api/v1/shares").problem(403, "forbidden");
    ada.get("/api/v1/failures").with(200);

    // Operations are their own, too.
    let all = json!({ "action": "cancel", "all": true, "background": true });
    let operation = chief.post("/api/v1/jobs/bulk", &all).with(202);
    let id = operation["id"].as_str().expect("an id");
    acme.get(&format!("/api/v1/operations/{id}")).problem(404, "not-found");
    acme.post(&format!("/api/v1/operations/{id}/stop"), &Value::Null)
        .problem(404, "not-found");
    assert_eq!(acme.get("/api/v1/operations").with(200)["operations"], json!([]));
    soon(&chief, &format!("/api/v1/operations/{id}"), "done", |operation| {
        operation["state"] == "done"
    });
}
