//! How the program ends: running jobs are waited for, the API answers until then, and executors can be ended from afar.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::{Place, wait_for};
use crate::roles::hash;

/// A task whose jobs run until there is a file `go`, and some settings.
fn configure(place: &Place, settings: &str) {
    let gate = place.file("gate.sh", "while [ ! -e \"$1\" ]; do sleep 0.02; done\n");
    let go = gate.replace("gate.sh", "go");
    place.configure(&format!(
        "[tasks.gated]\ncommand = [\"sh\", \"{gate}\", \"{go}\"]\n{settings}"
    ));
}

/// A job that runs.
fn running(place: &Place) -> String {
    let id = place.ask(&["submit", "gated", "{}"]);
    place.job_in(&id, "running");
    id
}

/// Lets the jobs end, and the server; it has waited for them.
fn finish(place: &Place, server: crate::Server, id: &str) {
    place.file("go", "");
    assert!(server.end().success());
    let job = place.ask_json(&["show", id, "--json"]);
    assert_eq!(
        (&job["state"], &job["interruptions"]),
        (&json!("success"), &json!(0)),
        "{job:#}"
    );
}

pub(crate) fn b30_a_call_to_exit_waits_for_all_running_jobs_and_the_api_answers_until_then(place: &Place) {
    configure(place, "[executor]\nshutdown-deadline = \"1ms\"\n");
    let server = place.serve(&[]);
    let id = running(place);
    let api = Caller::of(&server);
    api.post("/api/v1/shutdownAndExit?deadline=soon", &Value::Null)
        .problem(400, "invalid");
    assert_eq!(api.post("/api/v1/shutdownAndExit", &Value::Null).status, 202);
    let line = wait_for(&server.log, "waits for what still runs");
    assert!(
        line.contains(&id) && line.contains("gated") && line.contains("deadline=none"),
        "{line}"
    );
    assert_eq!(api.get(&format!("/api/v1/jobs/{id}")).with(200)["state"], "running");
    let ready = api.get("/readyz").with(503);
    assert_eq!(ready["troubles"]["server"], "it is shutting down");
    let later = api.submit(&json!({ "task": "gated" }));
    finish(place, server, &id);
    assert_eq!(place.ask_json(&["show", &later, "--json"])["state"], "waiting");
}

pub(crate) fn b30_a_shorter_deadline_of_a_later_call_counts(place: &Place) {
    configure(place, "");
    let server = place.serve(&[]);
    let id = running(place);
    let api = Caller::of(&server);
    assert_eq!(api.post("/api/v1/shutdownAndExit", &Value::Null).status, 202);
    wait_for(&server.log, "waits for what still runs");
    assert_eq!(
        api.post("/api/v1/shutdownAndExit?deadline=1ms", &Value::Null).status,
        202
    );
    assert!(server.end().success());
    let job = place.ask_json(&["show", &id, "--json"]);
    assert_eq!((&job["state"], &job["interruptions"]), (&json!("waiting"), &json!(1)));
}

pub(crate) fn b30_a_signal_without_a_deadline_waits_for_all_running_jobs(place: &Place) {
    configure(place, "[executor]\nshutdown-deadline = \"none\"\n");
    let server = place.serve(&[]);
    let id = running(place);
    server.terminate();
    let line = wait_for(&server.log, "waits for what still runs");
    assert!(line.contains(&id) && line.contains("deadline=none"), "{line}");
    finish(place, server, &id);
}

pub(crate) fn b32_an_executor_without_the_api_is_ended_over_http_with_a_token(place: &Place) {
    let tokens = format!(
        "[tokens.boss]\nhash = \"{}\"\nrole = \"admin\"\n[tokens.acme]\nhash = \"{}\"\nrole = \"group\"\ngroup = \"acme\"\n",
        hash("boss"),
        hash("acme")
    );
    configure(place, &tokens);
    let server = place.serve(&["--no-api", "--status-address", "127.0.0.1:0"]);
    let id = running(place);
    let anyone = Caller::of(&server);
    let path = "/api/v1/shutdownAndExit";
    anyone.post(path, &Value::Null).problem(401, "unauthorized");
    let group = Caller::of(&server).with_token("acme");
    group.post(path, &Value::Null).problem(403, "missing-scope");
    let boss = Caller::of(&server).with_token("boss");
    assert_eq!(boss.post(path, &Value::Null).status, 202);
    wait_for(&server.log, "waits for what still runs");
    finish(place, server, &id);
}

pub(crate) fn b32_an_executor_is_ended_by_its_name_from_elsewhere(place: &Place) {
    configure(
        place,
        "[executor]\nname = \"joex1\"\nheartbeat = \"50ms\"\nlease = \"10s\"\n",
    );
    let server = place.serve(&["--no-api"]);
    let id = running(place);
    let shown = place.ask(&["show", &id]);
    assert!(shown.contains("joex1 ("), "A18: which executor runs it: {shown}");
    assert!(place.ask(&["drain", "joex1", "--exit"]).contains("and ends"));
    wait_for(&server.log, "waits for what still runs");
    finish(place, server, &id);
    let job = place.ask_json(&["show", &id, "--json"]);
    assert_eq!(job["executor_name"], "joex1", "A18: also after it has left");
    assert_eq!(job["history"][0]["executor_name"], "joex1");
    assert!(place.ask(&["jobs"]).contains("joex1"));
}
