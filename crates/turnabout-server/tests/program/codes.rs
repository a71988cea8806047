//! Every code that a problem can have is met by someone: a code that no request provokes would be a promise that nobody
//! has tried.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::{Answer, Caller};
use crate::place::Place;
use crate::roles::hash;

/// The codes that were met, and those that there are.
struct Codes {
    met: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl Codes {
    /// Those of the API's own description.
    fn of(api: &Caller) -> Self {
        let document = api.get("/api/openapi.json").with(200);
        let words = document["components"]["schemas"]["Code"]["enum"].as_array();
        let words = words.expect("the codes").iter().filter_map(Value::as_str);
        Self {
            met: BTreeSet::new(),
            all: words.map(str::to_owned).collect(),
        }
    }

    /// An answer that has to be a problem with this status and code.
    fn meet(&mut self, answer: Answer, status: u16, code: &str) -> Value {
        self.met.insert(code.to_owned());
        answer.problem(status, code)
    }
}

pub(crate) fn every_code_of_a_problem_is_met(place: &Place) {
    place.configure("[groups.full]\nmax-unfinished = 1\n[groups.odd]\nmax-unknown-tasks = 1\n");
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    let mut codes = Codes::of(&api);
    let jobs = "/api/v1/jobs";
    let submit = |job: Value| api.post(jobs, &job);
    let raw = |kind: &str, body: &str| api.call("POST", jobs, &[("content-type", kind)], body);
    let none = Value::Null;

    let done = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
    api.ended(&done);
    let parked = api.submit(&json!({ "task": "sleep", "group": "full", "delay": "1 day" }));
    let too_many = submit(json!({ "task": "sleep", "group": "full" }));
    assert!(too_many.head.contains("retry-after:"), "{}", too_many.head);
    api.submit(&json!({ "task": "one name", "group": "odd" }));
    let nightly = json!({ "task": "sleep", "args": { "seconds": 3600 }, "expression": "@yearly" }).to_string();
    api.call("PUT", "/api/v1/schedules/nightly", &[], &nightly).with(200);
    api.post("/api/v1/schedules/nightly/run", &json!({})).with(200);
    let large = format!("\"{}\"", "a".repeat(9 << 20));
    for (answer, status, code) in [
        (submit(json!({ "task": "" })), 400, "invalid"),
        (
            submit(json!({ "task": "another name", "group": "odd" })),
            429,
            "too-many-unknown-tasks",
        ),
        (
            api.call("GET", jobs, &[("host", "evil.example")], ""),
            421,
            "wrong-host",
        ),
        (api.get("/api/v1/nothing"), 404, "not-found"),
        (api.call("DELETE", jobs, &[], ""), 405, "method-not-allowed"),
        (
            submit(json!({ "task": "x", "group": "other", "id": done })),
            409,
            "conflict",
        ),
        (
            api.post(&format!("{jobs}/{done}/cancel"), &none),
            409,
            "not-cancellable",
        ),
        (api.post(&format!("{jobs}/{parked}/restart"), &none), 409, "wrong-state"),
        (api.get(&format!("{jobs}/{parked}/result")), 409, "not-ended"),
        (api.post("/api/v1/schedules/nightly/run", &json!({})), 409, "still-runs"),
        (raw("application/json", &large), 413, "too-large"),
        (raw("text/plain", "{}"), 415, "unsupported-media-type"),
        (
            submit(json!({ "task": "sleep", "args": { "secnods": 1 } })),
            422,
            "refused",
        ),
        (too_many, 429, "too-many-jobs"),
    ] {
        codes.meet(answer, status, code);
    }

    // A second server, which needs tokens, and has neither patience nor an executor.
    let token = |name: &str, role: &str| format!("[tokens.{name}]\nhash = \"{}\"\n{role}\n", hash(name));
    let strict = place.file(
        "strict.toml",
        &[
            token("chief", "role = \"admin\""),
            token("acme", "role = \"group\"\ngroup = \"acme\""),
            "[api]\nrate = 1\nrate-burst = 5\ntimeout = \"200ms\"\n".to_owned(),
            "signing-keys = [\"a key that is long enough for every one of us\"]\n".to_owned(),
        ]
        .concat(),
    );
    let strict = place.serve(&["--no-executor", "--config", &strict]);
    let nobody = Caller::of(&strict);
    let [chief, acme] = ["chief", "acme"].map(|name| nobody.with_token(name));
    codes.meet(nobody.get(jobs), 401, "unauthorized");
    codes.meet(acme.get("/api/v1/running"), 403, "forbidden");
    codes.meet(acme.get("/metrics"), 403, "missing-scope");
    let answers = (0..10).map(|_| acme.get("/api/v1/running"));
    let limited = answers.into_iter().find(|answer| answer.status == 429);
    codes.meet(limited.expect("a limit"), 429, "rate-limited");
    codes.meet(chief.post("/api/v1/notify", &none), 503, "unavailable");
    codes.meet(chief.post("/api/v1/tokens/rotate", &none), 409, "configured");
    let stranger = place.stranger();
    stranger.is_in_the_way();
    codes.meet(chief.post(jobs, &json!({ "task": "x" })), 504, "timeout");
    stranger.does("rollback");

    // Someone makes off with a table. What the database says about that is for the log, not for the caller.
    stranger.does("alter table job_history rename to gone");
    let failed = codes.meet(api.get(jobs), 500, "internal");
    assert!(!failed["detail"].as_str().expect("words").contains("gone"), "{failed}");
    assert!(!failed.to_string().contains("no such table"), "{failed}");

    assert_eq!(codes.met, codes.all, "each code is met, and each is described");
}

pub(crate) fn arguments_that_a_task_cannot_take_are_refused_where_it_is_known(place: &Place) {
    place.configure("[tasks.say]\ncommand = [\"echo\", \"{args.words.0}\"]\n");
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let mut jobs = Vec::new();
    for (task, args, status, part) in [
        ("sleep", json!({ "seconds": -1 }), 422, "-1"),
        ("sleep", json!({ "duration": "90" }), 422, "units"),
        ("sleep", json!([]), 201, ""),
        ("say", json!({ "word": "x" }), 422, "words.0"),
        ("say", json!({ "words": ["a\0b"] }), 422, "NUL"),
        ("say", json!({ "words": ["x"] }), 201, ""),
        ("unknown", json!({ "anything": 1 }), 201, ""),
    ] {
        let job = json!({ "task": task, "args": args });
        let answer = api.post("/api/v1/jobs", &job).with(status);
        let why = answer["detail"].as_str().unwrap_or_default();
        assert!(why.contains(part), "{job}: {answer}");
        jobs.push((job, status));
    }
    // Many at once are told one by one.
    let (jobs, expected): (Vec<Value>, Vec<u16>) = jobs.into_iter().unzip();
    let batch = api.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
    let outcomes = batch["outcomes"].as_array().expect("outcomes");
    let statuses: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["status"]).collect();
    assert_eq!(statuses, expected);

    // Where nobody knows the task, nobody can tell: its executor says so when it is the job's turn.
    let blind = place.serve(&["--no-executor"]);
    let job = json!({ "task": "sleep", "args": { "seconds": -1 } });
    let id = Caller::of(&blind).submit(&job);
    assert_eq!(api.ended(&id)["reason"], "permanent");
}
