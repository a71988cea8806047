//! What operators set for groups and tasks by command, and what comes of it.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::limits::{long, names, nap};
use crate::place::{PATIENCE, Place, Server, soon, wait_for};

pub(crate) fn a_group_that_is_paused_by_command_waits_says_why_and_goes_on(place: &Place) {
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    let ask = |args: &[&str]| place.ask(&[args, &["--server", &server.url]].concat());
    // The only slot is taken, and jobs of two groups wait; then one of them is paused, and the slot is free.
    let running = long(&api, "other");
    let noisy: Vec<String> = (0..3).map(|_| api.submit(&nap("noisy"))).collect();
    let quiet: Vec<String> = (0..3).map(|_| api.submit(&nap("quiet"))).collect();
    assert!(ask(&["group", "noisy", "--pause"]).contains("yes: no further job is taken"));
    assert!(ask(&["cancel", &running]).starts_with("cancelling"));
    // Between these jobs the other group would have had its turn.
    for id in &quiet {
        assert_eq!(api.ended(id)["state"], "success");
    }
    for id in &noisy {
        let shown = ask(&["show", id]);
        assert!(
            shown.contains("waiting") && shown.contains("The group `noisy` is paused."),
            "{shown}"
        );
    }
    let groups = ask(&["groups"]);
    let head = groups.lines().next().expect("a head");
    assert!(head.ends_with("PAUSED") && !head.contains("WEIGHT"), "{groups}");
    let line = groups
        .lines()
        .find(|line| line.starts_with("noisy"))
        .expect("the group");
    assert!(line.ends_with("yes"), "{groups}");

    assert!(ask(&["group", "noisy", "--resume"]).contains("no"));
    for id in &noisy {
        assert_eq!(api.ended(id)["state"], "success");
    }
    assert!(!ask(&["groups"]).contains("PAUSED"));
    // Who has done it is to be found in the server's log.
    server.terminate();
    let log: Vec<String> = server.log.iter().collect();
    let changes = log
        .iter()
        .filter(|line| line.contains("what is set for a group"))
        .count();
    assert_eq!(changes, 2, "{log:#?}");
}

/// What is shown, however wide its columns are.
fn words(shown: &str) -> String {
    shown.split_whitespace().collect::<Vec<&str>>().join(" ")
}

pub(crate) fn a_task_is_capped_by_command_and_freed_again(place: &Place) {
    let server = place.serve(&["--pool-size", "3"]);
    let api = Caller::of(&server);
    let ask = |args: &[&str]| place.ask(&[args, &["--server", &server.url]].concat());
    assert!(words(&ask(&["task", "sleep", "--max-running", "1"])).contains("max running 1 "));
    let first = long(&api, "a");
    let second = api.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "group": "b" }));
    let shown = ask(&["show", &second]);
    assert!(
        shown.contains("1 job of the task `sleep` is running, which is its limit"),
        "{shown}"
    );
    let tasks = ask(&["tasks"]);
    let line = tasks.lines().find(|line| line.starts_with("sleep")).expect("the task");
    assert!(
        tasks.lines().next().is_some_and(|head| head.ends_with("MAX RUNNING")),
        "{tasks}"
    );
    assert!(line.ends_with(" 1") && line.contains("default"), "{tasks}");

    assert!(words(&ask(&["task", "sleep", "--max-running", "none"])).contains("max running none "));
    api.until(&second, "running");
    // Those that run go on when their task is paused.
    assert!(words(&ask(&["task", "sleep", "--pause"])).contains("paused yes"));
    let third = api.submit(&nap("c"));
    assert!(ask(&["show", &third]).contains("The task `sleep` is paused."));
    // Sums may be a moment old.
    soon("all that is told of the task", || {
        let shown = words(&ask(&["task", "sleep"]));
        let told = ["waiting", "held 2", "time limit", "paused yes"];
        told.iter().all(|part| shown.contains(part)).then_some(())
    });
    ask(&["task", "sleep", "--resume"]);
    assert_eq!(api.ended(&third)["state"], "success");
    ask(&["cancel", &first, &second]);
}

pub(crate) fn settings_are_shown_and_changed_on_a_server_and_on_a_database(place: &Place) {
    let server = place.serve(&[]);
    for target in [&["--server", &server.url][..], &[]] {
        let ask = |args: &[&str]| place.ask(&[args, target].concat());
        let ask_json = |args: &[&str]| place.ask_json(&[args, &["--json"], target].concat());
        let complaint = |args: &[&str]| place.complaint(&[args, target].concat());
        let group = if target.is_empty() { "data/base ?" } else { "ser/ver ?" };

        let set = ask_json(&[
            "group",
            group,
            "--weight",
            "2",
            "--max-running",
            "3",
            "--max-unfinished",
            "4",
        ]);
        let kept = json!({ "success_seconds": null, "failed_seconds": null, "cancelled_seconds": null });
        let expected = json!({ "group": group, "weight": 2, "max_running": 3, "max_share": null, "max_unfinished": 4,
            "max_unknown_tasks": 1000,
            "paused": false, "rate": null, "retention": &kept });
        assert_eq!(set, expected);
        let set = ask_json(&[
            "group",
            group,
            "--max-running",
            "none",
            "--max-unfinished",
            "none",
            "--pause",
        ]);
        assert_eq!(set["max_running"], Value::Null);
        let shown = ask(&["group", group]);
        let shown = words(&shown);
        for part in [group, "ready 0", "weight 2", "max running none", "paused yes"] {
            assert!(shown.contains(part), "{part} is not in:\n{shown}");
        }
        assert_eq!(ask_json(&["group", group])["paused"], true);
        let groups = ask(&["groups"]);
        assert!(
            groups.contains(group) && groups.contains("WEIGHT") && !groups.contains("MAX"),
            "{groups}"
        );
        ask(&["group", group, "--weight", "none", "--resume"]);
        assert!(!ask(&["groups"]).contains(group));

        for (args, said) in [
            (&["group", group, "--weight", "0"][..], "pause a group"),
            (&["group", group, "--weight", "many"], "--weight"),
            (&["group", group, "--max-running", "0"], "use pause"),
            (
                &["group", group, "--max-running", "many"],
                "neither a whole number nor `none`",
            ),
            (&["group", group, "--pause", "--resume"], "cannot be used with"),
            (&["group", group, "--keep-failed", "soon"], "--keep-failed"),
            (&["settings", "--keep-success", "73000 days"], "100 years"),
            (&["group", "a//b", "--pause"], "acme/alice"),
            (&["group", "", "--pause"], "empty"),
            (&["task", "", "--pause"], "empty"),
            (&["task", "never"], "there is no task `never`"),
            (&["task", "sleep", "--max-running", "0"], "use pause"),
        ] {
            let complaint = complaint(args);
            assert!(complaint.contains(said), "{args:?}: {complaint}");
        }

        assert_eq!(names(&ask_json(&["tasks"]), "task"), ["sleep"]);
        assert!(!ask(&["tasks"]).contains("PAUSED"));
        let set = ask_json(&["task", "sleep", "--max-running", "2", "--pause"]);
        assert_eq!(
            set,
            json!({ "task": "sleep", "max_running": 2, "max_running_each": null, "rate": null, "paused": true, "published": true,
                "retention": kept })
        );
        assert_eq!(ask_json(&["task", "sleep"])["max_running"], 2);
        ask(&["task", "sleep", "--max-running", "none", "--resume"]);
        let output = place.run(&[&["task", "slep", "--pause"][..], target].concat());
        let warned = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success() && warned.contains("known yet"), "{warned}");
        ask(&["task", "slep", "--resume"]);
    }
}

pub(crate) fn what_an_operator_has_set_outlives_the_server_unless_its_file_says_otherwise(place: &Place) {
    place.configure("[groups.acme]\nweight = 2\n[tasks.say]\ncommand = [\"true\"]\nmax-running = 3\n");
    let server = place.serve(&[]);
    place.ask(&["group", "acme", "--weight", "5", "--max-running", "6", "--pause"]);
    place.ask(&["group", "blue", "--weight", "7"]);
    place.ask(&["task", "say", "--max-running", "4", "--pause"]);
    let ended = |server: Server| {
        server.terminate();
        assert!(server.end().success());
    };
    ended(server);
    let server = place.serve(&[]);
    let group = place.ask_json(&["group", "acme", "--json"]);
    assert_eq!(
        (&group["weight"], &group["max_running"], &group["paused"]),
        (&json!(2), &json!(6), &json!(true)),
        "the weight stands in the file"
    );
    assert_eq!(place.ask_json(&["group", "blue", "--json"])["weight"], 7);
    let task = place.ask_json(&["task", "say", "--json"]);
    assert_eq!((&task["max_running"], &task["paused"]), (&json!(3), &json!(true)));

    // What is taken out of the file while a server runs is as by default again; what never stood there stays.
    place.configure("[groups.acme]\nmax-running = 1\n[tasks.say]\ncommand = [\"true\"]\n");
    server.signal("HUP");
    wait_for(&server.log, "was read again");
    let group = place.ask_json(&["group", "acme", "--json"]);
    assert_eq!(
        (&group["weight"], &group["max_running"], &group["paused"]),
        (&json!(1), &json!(1), &json!(true))
    );
    let task = place.ask_json(&["task", "say", "--json"]);
    assert_eq!((&task["max_running"], &task["paused"]), (&Value::Null, &json!(true)));
    ended(server);
}

pub(crate) fn c33_successes_go_at_once_and_failures_stay_as_the_file_and_the_command_say(place: &Place) {
    place.configure("retention-success = \"0 seconds\"\n[tasks.no]\ncommand = [\"false\"]\nretries = 0\n");
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    let ask = |args: &[&str]| place.ask(&[args, &["--server", &server.url]].concat());
    assert!(ask(&["settings"]).contains("success 0s"));
    let gone = |id: &str| {
        let begin = std::time::Instant::now();
        while api.get(&format!("/api/v1/jobs/{id}")).status != 404 {
            assert!(begin.elapsed() < PATIENCE, "{id} is still there");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    let failed = api.submit(&json!({ "task": "no", "group": "a" }));
    assert_eq!(api.ended(&failed)["state"], "failed");
    let success = api.submit(&nap("a"));
    gone(&success);
    // A group's word counts more, and a task's counts at once for what has ended already.
    assert!(ask(&["group", "b", "--keep-success", "1 day"]).contains("success 24h"));
    let kept = api.submit(&nap("b"));
    assert_eq!(api.ended(&kept)["state"], "success");
    assert!(ask(&["task", "no", "--keep-failed", "0s"]).contains("failed 0s"));
    gone(&failed);
    assert_eq!(api.ended(&kept)["state"], "success", "it is still there");
    let group = api.get("/api/v1/groups/b").json();
    assert_eq!(group["retention"]["success_seconds"], json!(86400.0));
    assert_eq!(group["retention"]["failed_seconds"], Value::Null);
    let wrong = json!({ "retention": { "success_seconds": -1 } });
    api.patch("/api/v1/settings", &wrong).problem(400, "invalid");
}
