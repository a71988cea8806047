//! The command line: the same on a server and on a database.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::Place;

pub(crate) fn the_same_commands_work_on_a_server_and_on_a_database(place: &Place) {
    let server = place.serve(&["--name", "one"]);
    for target in [&["--server", &server.url][..], &[]] {
        let ask = |args: &[&str]| place.ask(&[args, target].concat());
        let ask_json = |args: &[&str]| place.ask_json(&[args, &["--json"], target].concat());
        let complaint = |args: &[&str]| place.complaint(&[args, target].concat());
        let group = if target.is_empty() { "database" } else { "server" };

        let id = ask(&["submit", "sleep", r#"{"seconds": 0}"#, "--group", group, "--wait"]);
        let id = id.lines().next().expect("the job's id").to_owned();
        let shown = ask(&["show", &id]);
        assert!(shown.contains("success") && shown.contains(group), "{shown}");
        let listed = ask(&["jobs", "--group", group, "--state", "success"]);
        assert!(listed.contains(&id), "{listed}");
        assert_eq!(
            ask_json(&["jobs", "--group", group, "--state", "not-success"])["jobs"],
            json!([])
        );
        assert_eq!(ask_json(&["jobs", &id])["jobs"][0]["id"], json!(id));
        assert_eq!(ask(&["logs", &id, "--follow"]), "");

        let parked = ask(&["submit", "sleep", "--delay", "1 hour", "--group", group]);
        assert!(ask(&["show", &parked]).contains("parked"));
        assert_eq!(ask(&["priority", "high", &parked]), "high");
        assert_eq!(ask_json(&["show", &parked])["priority"], "high");
        assert!(complaint(&["restart", &parked]).contains("cancel it first"));
        assert_eq!(ask(&["cancel", &parked]), "cancelled");
        assert!(complaint(&["cancel", &id]).contains("cannot be cancelled"));
        assert_eq!(ask(&["restart", &id]), "restarted");
        place.job_in(&id, "success");
        assert_eq!(ask(&["delete", &parked]), "deleted");
        assert!(complaint(&["show", &parked]).contains("there is no job"));
        assert!(complaint(&["cancel"]).contains("say which jobs"));

        let waits = ask(&["submit", "sleep", "--delay", "1 hour", "--group", group]);
        let groups = ask(&["groups"]);
        assert!(groups.lines().any(|line| line.starts_with(group)), "{groups}");
        let summary = ask(&["summary"]);
        assert!(summary.contains("sleep") && summary.contains("waiting"), "{summary}");
        assert!(ask(&["cancel", "--group", group, "--dry-run"]).starts_with("1 "));
        assert!(ask(&["cancel", "--group", group]).starts_with("1 "));
        assert_eq!(ask_json(&["show", &waits])["state"], "cancelled");

        let executors = ask_json(&["executors"]);
        assert_eq!(executors["executors"][0]["name"], "one", "{executors}");
        assert!(ask(&["executors"]).contains("sleep"));
        assert!(complaint(&["drain", "two"]).contains("no executor `two`"));
        assert!(complaint(&["jobs", "--limit", "0"]).contains("limit: 0 is not from 1 to 1000"));
        let said = place.run(&[&["submit", "slep", "--group", group][..], target].concat());
        let said = String::from_utf8(said.stderr).expect("text");
        assert!(said.contains("known tasks: sleep"), "{said}");
    }
    assert!(
        place
            .complaint(&["jobs", "--server", "http://127.0.0.1:9"])
            .contains("cannot reach")
    );
    assert!(
        place
            .complaint(&["jobs", "--server", "localhost"])
            .contains("http://127.0.0.1:7878")
    );
    assert!(place.ask(&["drain", "one"]).starts_with("draining"));
    let waits = place.ask(&["submit", "sleep", "--delay", "1 hour"]);
    assert!(place.ask(&["show", &waits]).contains("No live executor takes jobs"));
    assert!(place.ask(&["executors"]).contains("drains"));
    assert!(place.ask(&["drain", "one", "--undo"]).contains("again"));
}

pub(crate) fn jobs_are_submitted_from_a_file_and_from_standard_input(place: &Place) {
    let lines: Vec<Value> = (0..1200)
        .map(|n| json!({ "task": "sleep", "args": { "seconds": 0 }, "group": format!("g{}", n % 7) }))
        .collect();
    let file = place.write("jobs.jsonl", &lines);
    place.ask(&["migrate"]);
    let ids = place.ask(&["submit", "--file", &file]);
    assert_eq!(ids.lines().count(), 1200);

    let mut child = place
        .command(&[
            "submit",
            "--file",
            "-",
            "--group",
            "usual",
            "--priority",
            "low",
            "--json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let text = "{\"task\": \"sleep\"}\n\n[{\"task\": \"sleep\",\n \"group\": \"own\"}, {\"task\": \"\"}]\n";
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(text.as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success(), "one was refused");
    let told: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told[2]["status"], 400);
    for (told, group) in told.iter().zip(["usual", "own"]) {
        let job = place.ask_json(&["show", told["id"].as_str().expect("an id"), "--json"]);
        assert_eq!((&job["group"], &job["priority"]), (&json!(group), &json!("low")));
    }
    // Of a file with a mistake in it nothing is stored, so that it can be mended and sent again.
    place.file("bad.jsonl", "{\"task\": \"sleep\"}\n{\"task\": sleep}\n");
    let before = place.ask_json(&["summary", "--json"]);
    let complaint = place.complaint(&["submit", "--file", "bad.jsonl"]);
    assert!(complaint.contains("line 2 is not JSON"), "{complaint}");
    assert!(complaint.contains("nothing was stored"), "{complaint}");
    assert_eq!(place.ask_json(&["summary", "--json"])["tasks"], before["tasks"]);
    // One that cannot be understood does not touch the others.
    place.file(
        "odd.jsonl",
        "{\"task\": \"sleep\", \"grop\": \"x\"}\n{\"task\": \"sleep\", \"group\": \"odd\"}\n",
    );
    let said = place.complaint(&["submit", "--file", "odd.jsonl"]);
    assert!(said.contains("job 1 was refused") && said.contains("grop"), "{said}");
    let stored = place.ask_json(&["jobs", "--group", "odd", "--json"]);
    assert_eq!(stored["jobs"].as_array().map(Vec::len), Some(1), "{stored}");
}

pub(crate) fn the_exit_code_of_a_wait_tells_how_the_job_ended(place: &Place) {
    place.configure("[tasks.no]\ncommand = [\"false\"]\nretries = 0\n");
    let server = place.serve(&[]);
    let code = |args: &[&str]| {
        place
            .run(&[&["submit", "--server", &server.url][..], args].concat())
            .status
            .code()
    };
    assert_eq!(
        code(&["sleep", r#"{"duration": "10ms", "steps": 2}"#, "--wait"]),
        Some(0)
    );
    assert_eq!(code(&["no", "--wait", "--json"]), Some(1));
    assert_eq!(code(&["no"]), Some(0), "nobody waits");
    let waiting = place
        .command(&["submit", "sleep", "--delay", "1h", "--unique", "x", "--wait"])
        .spawn();
    let mut waiting = waiting.expect("it starts");
    let id = place.ask(&["submit", "sleep", "--delay", "1h", "--unique", "x"]);
    place.ask(&["cancel", &id]);
    assert_eq!(crate::place::ended(&mut waiting).code(), Some(3));
}

#[test]
fn tokens_are_made_and_needed() {
    let place = Place::on_sqlite();
    let made = place.ask_json(&["token", "ops", "--json"]);
    let group = place.ask_json(&["token", "acme", "--role", "group", "--group", "acme", "--json"]);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    place.configure(&format!(
        "[tokens.ops]\nhash = \"{}\"\nrole = \"admin\"\n[tokens.acme]\nhash = \"{}\"\nrole = \"group\"\ngroup = \"acme\"\n",
        text(&made["hash"]),
        text(&group["hash"])
    ));
    let server = place.serve(&["--no-executor"]);
    let run = |token: Option<&str>, args: &[&str]| {
        let mut command = place.command(&[args, &["--server", &server.url]].concat());
        if let Some(token) = token {
            command.env("TURNABOUT_TOKEN", token);
        }
        let output = command.output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (ok, _, said) = run(None, &["jobs"]);
    assert!(!ok && said.contains("TURNABOUT_TOKEN"), "{said}");
    let (ok, foreign, said) = run(Some(&text(&made["token"])), &["submit", "sleep", "--group", "blue"]);
    assert!(ok, "{said}");
    place.file("token", &format!("{}\n", text(&group["token"])));
    let (ok, own, said) = run(None, &["submit", "sleep", "--token-file", "token"]);
    assert!(ok, "{said}");
    let (_, listed, _) = run(None, &["jobs", "--token-file", "token"]);
    assert!(listed.contains(&own) && !listed.contains(&foreign), "{listed}");
    let (ok, _, said) = run(None, &["show", &foreign, "--token-file", "token"]);
    assert!(!ok && said.contains("there is no job"), "{said}");
    assert!(place.complaint(&["token", "--role", "group"]).contains("needs a group"));

    // What it is told to print is what the server understands.
    let narrow: &[&str] = &[
        "token",
        "few",
        "--role",
        "group",
        "--group",
        "acme",
        "--expires",
        "90 days",
    ];
    let narrow = [
        narrow,
        &[
            "--scopes",
            "submit,read",
            "--tasks",
            "mail,report:*",
            "--queues",
            "default",
        ],
    ]
    .concat();
    let output = place.command(&narrow).output().expect("it starts");
    let (token, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let entry = said.split_once("\n\n").expect("an entry").1;
    let server = {
        drop(server);
        place.configure(entry);
        place.serve(&["--no-executor"])
    };
    let api = crate::http::Caller::of(&server).with_token(token.trim());
    let me = api.get("/api/v1/me").with(200);
    assert_eq!(me["scopes"], serde_json::json!(["read", "submit"]), "{me}\n{entry}");
    assert_eq!(me["tasks"], serde_json::json!(["mail", "report:*"]), "{me}");
    assert_eq!(me["queues"], serde_json::json!(["default"]), "{me}");
    assert!(entry.contains("\nexpires = \"20"), "{entry}");
    for (flags, said) in [
        (["--scopes", "everything"], "none of the scopes"),
        (["--scopes", "metrics"], "has no scope `metrics`"),
        (["--tasks", "*mail"], "stands for the end"),
        (["--expires", "soon"], "nor a duration"),
        (["--expires", "2020-01-01T00:00:00Z"], "has passed"),
    ] {
        let complaint = place.complaint(&[&["token", "--role", "group", "--group", "acme"][..], &flags].concat());
        assert!(complaint.contains(said), "{flags:?}: {complaint}");
    }
    let refused = place.complaint(&["serve", "--address", "0.0.0.0:0", "--config", "/dev/null"]);
    assert!(refused.contains("turnabout token"), "{refused}");
}

#[test]
fn small_commands_do_what_they_say() {
    let place = Place::on_sqlite();
    assert!(place.ask(&["completions", "bash"]).contains("turnabout"));
    assert!(place.ask(&["migrate"]).contains("up to date"));
    assert!(
        place
            .complaint(&["migrate", "--server", "http://127.0.0.1:1"])
            .contains("--database")
    );
    assert!(place.ask(&["jobs", "--json"]).contains("jobs"));
}

#[test]
fn the_first_job_is_made_as_the_readme_says() {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme
        .split_once("from nothing to a finished job:\n\n```sh\n")
        .expect("the first steps");
    let (steps, _) = rest.split_once("\n```").expect("their end");
    let (serve, curls) = steps.split_once('\n').expect("two parts");
    assert!(serve.starts_with("cargo run --release -- serve "), "{serve}");
    let place = Place::on_sqlite();
    let server = place.serve(&[]);
    let at = curls.rfind("curl").expect("a second request");
    let run = |step: &str| {
        // All but the port is as it stands there.
        let step = step.replace("http://127.0.0.1:7878", &server.url);
        let output = std::process::Command::new("sh")
            .args(["-c", &step])
            .output()
            .expect("a shell");
        assert!(
            output.status.success(),
            "{step}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let submitted = run(&curls[..at]);
    assert_eq!(submitted["new"], true, "{submitted}");
    let id = submitted["id"].as_str().expect("an id");
    place.job_in(id, "success");
    let listed = run(&curls[at..]);
    assert_eq!(
        (&listed["jobs"][0]["id"], &listed["jobs"][0]["state"]),
        (&json!(id), &json!("success"))
    );
}

#[test]
fn the_demonstration_shows_that_quiet_groups_do_not_wait_for_the_flood() {
    let place = Place::on_sqlite();
    let told = |args: &[&str]| {
        let fast = [
            "demo", "--groups", "10", "--flood", "300", "--job", "1ms", "--slots", "2",
        ];
        place.ask(&[&fast[..], args].concat())
    };
    let turns = told(&[]);
    assert!(
        turns.contains("27 of 27 jobs of the quiet groups were started"),
        "{turns}"
    );
    let fifo = told(&["--fifo"]);
    assert!(
        fifo.contains("27 of 27") && fifo.contains("The flood had 300 jobs done by then"),
        "{fifo}"
    );
    assert!(place.read("turnabout.db").is_none(), "it has a store of its own");
}

#[test]
fn the_demonstration_ends_cleanly_when_it_is_interrupted() {
    let place = Place::on_sqlite();
    let mut child = place
        .command(&["demo", "--for", "1 hour", "--groups", "10", "--flood", "300"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let begun = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("waiting"));
    assert!(begun, "it shows how it stands");
    let kill = format!("kill -INT {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .expect("a shell")
            .success()
    );
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(crate::place::ended(&mut child).success());
    assert!(
        rest.join("\n").contains("jobs of the quiet groups were started"),
        "{rest:?}"
    );
}
