//! Schedules, from the command line, the file and the API to the job that runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;

/// Asks until the answer is right.
pub(crate) fn until(mut ask: impl FnMut() -> Value, right: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if right(&answer) {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it takes too long: {answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn fired(history: &Value) -> usize {
    let runs = history["runs"].as_array().expect("runs");
    runs.iter()
        .filter(|run| run["kind"] == "fired" && run["state"] == "success")
        .count()
}

pub(crate) fn a_schedule_of_the_file_runs_and_what_an_operator_sets_stays(place: &Place) {
    let file = "[schedules.tick]\nexpression = \"every 1 second\"\ntask = \"sleep\"\nargs = '{\"seconds\": 0}'\n\
                group = \"acme\"\n\n[schedules.night]\nexpression = \"0 2 * * *\"\nzone = \"Europe/Berlin\"\ntask = \"sleep\"\n";
    place.configure(file);
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let history = || api.get("/api/v1/schedules/tick/history?group=acme").with(200);
    until(history, |history| fired(history) >= 2);
    let page = api.get("/api/v1/schedules?limit=1").with(200);
    assert_eq!(
        page["schedules"][0]["name"], "night",
        "those of the system come first: {page}"
    );
    let next = page["next"].as_str().expect("another page");
    let page = api.get(&format!("/api/v1/schedules?limit=1&after={next}")).with(200);
    let tick = &page["schedules"][0];
    assert_eq!((&tick["name"], &tick["group"]), (&json!("tick"), &json!("acme")));
    assert_eq!(tick["declared_by"], "turnabout.toml");
    assert_eq!(tick["set_by_operator"], json!([]));

    // By hand: another time, and a pause with a note.
    let change = json!({ "expression": "0 4 * * *" });
    let changed = api
        .call("PATCH", "/api/v1/schedules/night", &[], &change.to_string())
        .with(200);
    assert_eq!(changed["set_by_operator"], json!(["expression"]));
    assert_eq!(changed["description"], "every day at 04:00, Berlin time");
    let note = json!({ "note": "too loud" });
    let paused = api.post("/api/v1/schedules/tick/pause?group=acme", &note).with(200);
    assert_eq!(
        (&paused["paused"]["note"], &paused["next"]),
        (&json!("too loud"), &Value::Null)
    );
    server.terminate();

    // The next deployment changes something else, and takes a schedule away.
    place.configure(&file.replace("task = \"sleep\"\n", "task = \"sleep\"\nsubject = \"sleeping\"\n"));
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let night = api.get("/api/v1/schedules/night").with(200);
    assert_eq!(
        (&night["expression"], &night["subject"]),
        (&json!("0 4 * * *"), &json!("sleeping"))
    );
    let tick = api.get("/api/v1/schedules/tick?group=acme").with(200);
    assert_eq!(tick["paused"]["note"], "too loud", "{tick}");
    let resumed = api
        .post("/api/v1/schedules/tick/resume?group=acme", &json!({}))
        .with(200);
    assert!(resumed["next"].is_string(), "{resumed}");
    let reset = api.post("/api/v1/schedules/night/reset", &json!({})).with(200);
    assert_eq!(reset["expression"], "0 2 * * *");
    place.configure("# nothing is declared any longer\n");
    let list = || api.get("/api/v1/schedules").with(200);
    until(list, |list| list["schedules"] == json!([]));
}

pub(crate) fn schedules_are_made_explained_and_run_from_the_command_line(place: &Place) {
    place.configure("");
    place.ask(&["migrate"]);
    let run = |args: &[&str]| place.ask(args);
    let made = run(&[
        "schedule",
        "set",
        "nightly",
        "--task",
        "sleep",
        "--at",
        "0 2 * * *",
        "--zone",
        "Europe/Berlin",
    ]);
    assert!(made.contains("every day at 02:00, Berlin time"), "{made}");
    let list = run(&["schedule", "list"]);
    assert!(list.contains("nightly") && list.contains("active"), "{list}");
    let explained = run(&[
        "schedule",
        "check",
        "Mon..Fri 15:00",
        "--zone",
        "Europe/Berlin",
        "--next",
        "3",
    ]);
    assert!(
        explained.starts_with("every weekday at 15:00, Berlin time"),
        "{explained}"
    );
    assert_eq!(explained.lines().count(), 4, "{explained}");
    let paused = run(&["schedule", "pause", "nightly", "--note", "too loud"]);
    assert!(paused.contains("paused: too loud"), "{paused}");
    let resumed = run(&["schedule", "resume", "nightly"]);
    assert!(resumed.contains("active"), "{resumed}");
    let changed = run(&["schedule", "set", "nightly", "--at", "0 3 * * *", "--overlap", "wait"]);
    assert!(changed.contains("03:00") && changed.contains("wait"), "{changed}");
    let next = run(&["schedule", "next", "nightly", "--count", "2"]);
    assert_eq!(next.lines().count(), 3, "{next}");
    let job = run(&["schedule", "run", "nightly"]);
    let shown = run(&["show", job.trim()]);
    assert!(shown.contains("sleep"), "{shown}");
    let refused = place.complaint(&["schedule", "run", "nightly"]);
    assert!(refused.contains("unfinished"), "{refused}");
    let from = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-04T00:00:00Z"];
    let filled = run(&[&["schedule", "backfill", "nightly"][..], &from[..]].concat());
    assert_eq!(filled.matches("fired").count(), 3, "{filled}");
    let history = run(&["schedule", "history", "nightly"]);
    assert!(
        history.contains("run by hand") && history.contains("backfill"),
        "{history}"
    );
    run(&["schedule", "delete", "nightly"]);
    let gone = place.complaint(&["schedule", "show", "nightly"]);
    assert!(gone.contains("there is no schedule `nightly`"), "{gone}");
    let wrong = place.complaint(&["schedule", "check", "61 * * * *"]);
    assert!(wrong.contains("61"), "{wrong}");
}

pub(crate) fn a_group_has_schedules_of_its_own_and_foreign_ones_do_not_exist(place: &Place) {
    crate::roles::configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    nobody.get("/api/v1/schedules").problem(401, "unauthorized");
    let [chief, acme, blue, ada, bob] = ["chief", "acme", "blue", "ada", "bob"].map(|name| nobody.with_token(name));
    let set = json!({ "task": "x", "expression": "@daily" }).to_string();
    let put = |caller: &Caller, path: &str| caller.call("PUT", &format!("/api/v1/schedules/{path}"), &[], &set);
    for caller in [&chief, &acme, &blue, &ada, &bob] {
        put(caller, "nightly").with(200);
    }
    put(&acme, "other?group=blue").problem(403, "forbidden");
    put(&ada, "other?owner=bob").problem(403, "forbidden");
    let forged = json!({ "task": "webhook:acme", "expression": "@daily" }).to_string();
    acme.call("PUT", "/api/v1/schedules/forged", &[], &forged)
        .problem(403, "forbidden");
    let sees = |caller: &Caller| {
        let page = caller.get("/api/v1/schedules").with(200);
        let schedules = page["schedules"].as_array().expect("schedules").clone();
        let whose = |schedule: &Value| format!("{}/{}", schedule["group"], schedule["owner"]).replace('"', "");
        schedules.iter().map(whose).collect::<Vec<_>>()
    };
    assert_eq!(
        sees(&chief),
        ["null/null", "acme/null", "acme/ada", "acme/bob", "blue/null"]
    );
    assert_eq!(sees(&acme), ["acme/null", "acme/ada", "acme/bob"]);
    assert_eq!(sees(&blue), ["blue/null"]);
    assert_eq!(sees(&ada), ["acme/ada"]);

    // A foreign schedule is answered as one that does not exist, by every path.
    put(&chief, "secret?group=blue").with(200);
    put(&chief, "secret?group=acme&owner=bob").with(200);
    for (caller, whose) in [
        (&acme, "?group=blue"),
        (&ada, "?group=acme&owner=bob"),
        (&ada, ""),
        (&bob, "?group=blue"),
    ] {
        for (method, what, body) in [
            ("GET", "", ""),
            ("DELETE", "", ""),
            ("PATCH", "", "{\"zone\":\"UTC\"}"),
            ("POST", "/pause", "{}"),
            ("POST", "/resume", ""),
            ("POST", "/reset", ""),
            ("POST", "/run", "{}"),
            (
                "POST",
                "/backfill",
                r#"{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}"#,
            ),
            ("GET", "/next", ""),
            ("GET", "/history", ""),
        ] {
            let path = |name: &str| format!("/api/v1/schedules/{name}{what}{whose}");
            let answer = |name: &str| {
                let answer = caller.call(method, &path(name), &[], body).problem(404, "not-found");
                answer.to_string().replace(name, "NAME")
            };
            assert_eq!(answer("secret"), answer("missing"), "{method} {what} {whose}");
        }
    }
    for whose in ["?group=blue", "?group=acme&owner=bob"] {
        chief.get(&format!("/api/v1/schedules/secret{whose}")).with(200);
    }
    acme.get("/api/v1/schedules?group=blue").problem(403, "forbidden");
    acme.get("/api/v1/schedule-events?group=blue").problem(403, "forbidden");
    // Within the group, its token may.
    acme.post("/api/v1/schedules/nightly/pause?owner=ada", &json!({}))
        .with(200);
    let hers = ada.get("/api/v1/schedules/nightly").with(200);
    assert_eq!(hers["paused"]["by"], "acme");

    let explained = ada
        .post(
            "/api/v1/schedules/check",
            &json!({ "expression": "every 2 hours", "next": 2 }),
        )
        .with(200);
    assert_eq!(explained["times"].as_array().map(Vec::len), Some(2), "{explained}");
    let wrong = ada
        .post("/api/v1/schedules/check", &json!({ "expression": "0 25 * * *" }))
        .problem(400, "invalid");
    assert_eq!(wrong["field"], "expression", "{wrong}");
    let long = "9".repeat(100_000);
    ada.post("/api/v1/schedules/check", &json!({ "expression": long }))
        .problem(400, "invalid");
}

pub(crate) fn what_happens_to_schedules_is_told(place: &Place) {
    crate::roles::configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [acme, blue] = ["acme", "blue"].map(|name| nobody.with_token(name));
    let mut told = acme.follow("/api/v1/schedule-events", None);
    let set = json!({ "task": "x", "expression": "@daily" }).to_string();
    blue.call("PUT", "/api/v1/schedules/theirs", &[], &set).with(200);
    acme.call("PUT", "/api/v1/schedules/ours", &[], &set).with(200);
    acme.post("/api/v1/schedules/ours/pause", &json!({ "note": "why not" }))
        .with(200);
    acme.call("DELETE", "/api/v1/schedules/ours", &[], "");
    let mut last = String::new();
    for (n, kind) in ["added", "paused", "deleted"].into_iter().enumerate() {
        let event = told.next().expect("an event");
        assert_eq!((event.name.as_str(), &event.data["kind"]), ("schedule", &json!(kind)));
        assert_eq!(
            (&event.data["name"], &event.data["group"]),
            (&json!("ours"), &json!("acme"))
        );
        if n == 0 {
            last = event.id.expect("an id");
        }
    }
    // Whoever comes back is told what happened meanwhile.
    let mut again = acme.follow("/api/v1/schedule-events", Some(&last));
    assert_eq!(again.next().expect("an event").data["kind"], "paused");
}
