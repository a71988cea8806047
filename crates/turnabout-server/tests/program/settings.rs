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

pub(crate) fn what_holds_for_all_groups_changes_while_the_server_runs(place: &Place) {
    let first = "[executor]\npool-size = 4\n[tasks.say]\ncommand = [\"true\"]\n[groups.own]\nmax-unfinished = 2\n";
    let all = "[group-defaults]\nweight = 2\nmax-running = \"50 %\"\nmax-unfinished = 5\nrate = \"1000/s\"\n";
    place.configure(&(first.to_owned() + all));
    let told = place.ask(&["config"]);
    assert!(
        told.contains("[group-defaults]") && told.contains("max-running = \"50 %\""),
        "{told}"
    );
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let limits = |group: &str| {
        let told = api.get(&format!("/api/v1/groups/{group}")).with(200);
        ["weight", "max_running", "max_share", "max_unfinished", "rate"].map(|key| told[key].clone())
    };
    let rate = || json!("1000/s");
    assert_eq!(limits("any"), [json!(2), json!(null), json!(50), json!(5), rate()]);
    assert_eq!(limits("own"), [json!(2), json!(null), json!(50), json!(2), rate()]);
    assert_eq!(
        limits("webhooks")[2..4],
        [json!(100), json!(2_147_483_647)],
        "the server's own"
    );
    // An operator's word wins, and two ways to say one thing do not meet.
    api.patch("/api/v1/groups/any", &json!({ "max_running": 3 })).with(200);
    assert_eq!(limits("any"), [json!(2), json!(3), json!(null), json!(5), rate()]);
    assert!(place.ask(&["group", "own"]).contains("50 %"));
    for (weight, holds) in [(json!(5), 5), (json!(null), 2)] {
        api.patch("/api/v1/groups/own", &json!({ "weight": weight })).with(200);
        assert_eq!(limits("own")[0], json!(holds), "{weight}");
    }

    // Two of four slots, and others have the rest.
    let long = |group: &str| json!({ "task": "sleep", "args": { "seconds": 60 }, "group": group });
    let hogs: Vec<_> = (0..5).map(|_| api.submit(&long("hog"))).collect();
    api.post("/api/v1/jobs", &long("hog")).problem(429, "too-many-jobs");
    api.ended(&api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 }, "group": "victim" })));
    place.job_in(&hogs[1], "running");
    let why = api
        .get(&format!("/api/v1/jobs/{}/explain", hogs[4]))
        .with(200)
        .to_string();
    assert!(why.contains("50 % of the slots of each executor"), "{why}");

    // Taken back, at once.
    place.configure(first);
    wait_for(&server.log, "was read again");
    assert_eq!(
        limits("other"),
        [json!(1), json!(null), json!(null), json!(null), json!(null)]
    );
    place.job_in(&hogs[3], "running");

    for (wrong, said) in [
        ("max-running = \"0 %\"", "from 1 to 100"),
        ("max-running = \"half\"", "50 %"),
        ("max-running = 0", "never let a job run"),
        ("weight = 0", "from 1 to 1000"),
        ("paused = true", "paused"),
    ] {
        place.configure(&format!("[group-defaults]\n{wrong}\n"));
        let complaint = place.complaint(&["config"]);
        assert!(
            complaint.contains(said) && complaint.contains("line 2"),
            "{wrong}: {complaint}"
        );
    }
}

pub(crate) fn nobody_sleeps_where_that_is_not_allowed(place: &Place) {
    for (said, there) in [("sleep = false", false), ("pool-size = 1", true)] {
        place.configure(&format!("[executor]\n{said}\n[tasks.say]\ncommand = [\"true\"]\n"));
        let server = place.serve(&[]);
        let api = Caller::of(&server);
        let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
        if there {
            api.ended(&id);
            continue;
        }
        assert_eq!(api.get("/api/v1/tasks/sleep").json()["published"], json!(null));
        let why = api.get(&format!("/api/v1/jobs/{id}/explain")).with(200).to_string();
        assert!(why.contains("knows the task `sleep`"), "{why}");
    }
    place.configure("[executor]\nsleep = false\n");
    let complaint = place.complaint(&["serve", "--address", "127.0.0.1:0"]);
    assert!(complaint.contains("[tasks.NAME]"), "{complaint}");
}
