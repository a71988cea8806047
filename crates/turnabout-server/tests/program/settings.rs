//! Where settings come from, as the program tells it.

use serde_json::json;

use crate::http::Caller;
use crate::place::{PATIENCE, Place, wait_for};
use crate::roles::hash;
use crate::webhooks;

#[test]
fn the_settings_in_force_are_told_with_where_they_came_from() {
    let place = Place::on_sqlite();
    place.configure("[executor]\npool-size = 3\n[tasks.ocr]\ncommand = [\"ocr\", \"{args.path}\"]\n");
    let told = place.ask(&["config", "--deadline", "5s"]);
    for line in [
        ("pool-size = 3", "turnabout.toml, line 2"),
        ("shutdown-deadline = \"5 seconds\"", "flag --deadline"),
        ("retries = 5", "default"),
        ("command = [\"ocr\", \"{args.path}\"]", "turnabout.toml, line 4"),
    ] {
        assert!(
            told.lines()
                .any(|said| said.starts_with(line.0) && said.contains(line.1)),
            "{line:?}: {told}"
        );
    }
    let mut command = place.command(&["config", "--json"]);
    let output = command
        .env("TURNABOUT_EXECUTOR_POOL_SIZE", "4")
        .output()
        .expect("it starts");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["executor.pool-size"]["value"], 4);
    assert_eq!(
        told["executor.pool-size"]["origin"],
        "environment variable TURNABOUT_EXECUTOR_POOL_SIZE"
    );

    place.configure("[executor]\npool-sise = 3\n");
    for command in ["config", "serve", "jobs"] {
        let said = place.complaint(&[command]);
        assert!(
            said.contains("line 2") && said.contains("did you mean `pool-size`?"),
            "{said}"
        );
    }
    assert!(
        place
            .complaint(&["config", "--config", "none.toml"])
            .contains("none.toml")
    );
    assert!(
        place
            .ask(&["config", "--reference"])
            .contains("#counting-scheme = \"4,2,1\"")
    );
}

pub(crate) fn tasks_and_groups_change_while_the_server_runs(place: &Place) {
    let first = "[executor]\nretry-delay = \"1ms\"\n[tasks.say]\ncommand = [\"echo\", \"1\"]\nresult = \"last-line\"\n";
    place.configure(first);
    let server = place.serve(&[]);
    let said = |task: &str| {
        let id = place.ask(&["submit", task]);
        place.job_in(&id, "success")["result"].clone()
    };
    assert_eq!(said("say"), 1);

    // Saved, and noticed: another command, another task, a group that is paused.
    let second = first.replace("\"1\"]", "\"2\"]")
        + "[tasks.more]\ncommand = [\"true\"]\n[groups.quiet]\npaused = true\nweight = 3\n";
    place.configure(&second);
    wait_for(&server.log, "was read again");
    assert_eq!(said("say"), 2);
    assert_eq!(said("more"), serde_json::Value::Null);
    let waits = place.ask(&["submit", "say", "--group", "quiet"]);
    assert!(place.ask(&["show", &waits]).contains("paused"));

    // A mistake changes nothing.
    place.configure(&second.replace("paused", "pausd"));
    wait_for(&server.log, "stays as it was");
    place.configure(&second);
    wait_for(&server.log, "was read again");
    assert_eq!(said("say"), 2);

    // The group is as any other again; a task is gone; what needs a start is named.
    place.configure(&(first.to_owned() + "[api]\nopen-metrics = true\n"));
    server.signal("HUP");
    wait_for(&server.log, "`api.open-metrics` has changed");
    wait_for(&server.log, "was read again");
    assert_eq!(place.job_in(&waits, "success")["result"], 1);
    let unknown = place.ask(&["submit", "more"]);
    assert!(place.ask(&["show", &unknown]).contains("No live executor"));
}

pub(crate) fn tokens_and_webhooks_change_while_the_server_runs(place: &Place) {
    let token = |name: &str| format!("[tokens.{name}]\nhash = \"{}\"\n", hash(name));
    let (address, calls) = webhooks::receiver();
    place.configure(&token("old"));
    let server = place.serve(&[]);
    let nobody = Caller::of(&server);
    let [old, new] = ["old", "new"].map(|name| nobody.with_token(name));
    new.get("/api/v1/jobs").problem(401, "unauthorized");
    let before = old.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "acme" }));
    old.ended(&before);

    let hook = format!("[webhooks.acme]\nurl = \"http://{address}/\"\n");
    place.configure(&(token("new") + &hook + "group = \"acme\"\n"));
    wait_for(&server.log, "was read again");
    old.get("/api/v1/jobs").problem(401, "unauthorized");
    let job = json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "acme" });
    let told = |id: &str| {
        loop {
            let (_, body) = calls.recv_timeout(PATIENCE).expect("a call");
            if body.contains(id) {
                return body;
            }
        }
    };
    let id = new.submit(&job);
    assert!(told(&id).contains("final"));

    // Another group's jobs instead.
    place.configure(&(token("new") + &hook + "group = \"blue\"\n"));
    server.signal("HUP");
    wait_for(&server.log, "was read again");
    let blue = json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "blue" });
    assert!(told(&new.submit(&blue)).contains("blue"));
    let untold = new.submit(&job);
    new.ended(&untold);
    told(&new.submit(&blue));
    let page = new
        .get(&format!("/api/v1/jobs?group=webhooks&search={untold}"))
        .with(200);
    assert_eq!(page["jobs"], json!([]));

    // Nobody is let in by mistake.
    place.configure(&token("new").replace("sha256", "sha255"));
    wait_for(&server.log, "stays as it was");
    nobody.get("/api/v1/jobs").problem(401, "unauthorized");
    new.get("/api/v1/jobs").with(200);
}

#[test]
fn the_examples_can_be_used_as_they_stand() {
    let place = Place::on_sqlite();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for file in ["documents/turnabout.toml", "systemd/turnabout.toml"] {
        place.ask(&["config", "--config", &format!("{examples}/{file}")]);
    }
    let config = format!("{examples}/documents/turnabout.toml");
    for script in ["checksum.sh", "archive.sh"] {
        let text = std::fs::read_to_string(format!("{examples}/documents/{script}")).expect("a script");
        place.file(script, &text);
    }
    let _server = place.serve(&["--config", &config]);
    let path = place.file("letter", "Dear Ada\n");
    let args = serde_json::json!({ "path": path }).to_string();
    let id = place.ask(&["submit", "checksum", &args, "--group", "acme"]);
    let job = place.job_in(&id, "success");
    assert_eq!(job["result"]["bytes"], 9, "{job}");
    let folder = path.trim_end_matches("/letter");
    let args = serde_json::json!({ "folder": folder, "archive": format!("{folder}/archive") }).to_string();
    let id = place.ask(&["submit", "archive", &args]);
    let job = place.job_in(&id, "success");
    assert!(job["result"]["files"].as_u64().is_some_and(|files| files >= 3), "{job}");
    assert!(place.read("archive/letter.gz").is_some());
    let id = place.ask(&["submit", "checksum", r#"{"path": "/no/such/file"}"#]);
    assert_eq!(place.job_in(&id, "failed")["reason"], "permanent");
}
