//! What is set for groups and tasks, over HTTP: who may look at it and change it, and what is refused.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::{Place, wait_for};
use crate::roles;
use crate::schedules::until;

/// The names in a list, in its order.
pub(crate) fn names(list: &Value, of: &str) -> Vec<String> {
    let name = |entry: &Value| entry[of].as_str().expect("a name").to_owned();
    list[format!("{of}s")]
        .as_array()
        .expect("a list")
        .iter()
        .map(name)
        .collect()
}

/// A job that runs until it is cancelled, and does.
pub(crate) fn long(api: &Caller, group: &str) -> String {
    let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 1000 }, "group": group }));
    api.until(&id, "running");
    id
}

/// A job that does nothing.
pub(crate) fn nap(group: &str) -> Value {
    json!({ "task": "sleep", "args": { "seconds": 0 }, "group": group })
}

pub(crate) fn what_is_set_for_a_group_is_told_and_changed_over_http(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let defaults = json!({ "weight": 1, "max_running": null, "max_unfinished": null, "paused": false });
    let has = |group: &Value, expected: &Value| {
        for (name, value) in expected.as_object().expect("settings") {
            assert_eq!(&group[name], value, "{name} of {group}");
        }
    };
    let untouched = api.get("/api/v1/groups/b").with(200);
    has(&untouched, &defaults);
    assert_eq!((&untouched["group"], &untouched["ready"]), (&json!("b"), &json!(0)));

    // Any part of it, and the rest stays.
    let set = api.patch("/api/v1/groups/b", &json!({ "weight": 3, "max_unfinished": 2 }));
    let expected = json!({ "weight": 3, "max_running": null, "max_unfinished": 2, "paused": false });
    let set = set.with(200);
    has(&set, &expected);
    assert_eq!(set["group"], "b");
    let set = api.patch("/api/v1/groups/b", &json!({ "max_running": 7, "paused": true }));
    let expected = json!({ "weight": 3, "max_running": 7, "max_unfinished": 2, "paused": true });
    has(&set.with(200), &expected);
    has(&api.patch("/api/v1/groups/b", &json!({})).with(200), &expected);

    // It holds: a third job is refused. Numbers are told beside it.
    for _ in 0..2 {
        api.submit(&nap("b"));
    }
    api.post("/api/v1/jobs", &nap("b")).problem(429, "too-many-jobs");
    // What took long to add up may be told again for a moment.
    let group = until(|| api.get("/api/v1/groups/b").with(200), |group| group["ready"] == 2);
    has(&group, &expected);

    // Groups without jobs are listed if something is set for them, each on one page; names may hold anything.
    api.submit(&nap("c"));
    for path in ["acme%2Fada", "d", "%C3%A9%20%3F%25%23"] {
        api.patch(&format!("/api/v1/groups/{path}"), &json!({ "weight": 2 }))
            .with(200);
    }
    let all = ["acme/ada", "b", "c", "d", "\u{e9} ?%#"];
    let list = api.get("/api/v1/groups").with(200);
    assert_eq!(names(&list, "group"), all);
    assert_eq!(list["next"], Value::Null);
    has(&list["groups"][1], &expected);
    assert_eq!(
        (&list["groups"][1]["ready"], &list["groups"][3]["ready"]),
        (&json!(2), &json!(0))
    );
    has(&list["groups"][2], &defaults);
    for limit in 1..=3 {
        let mut seen = Vec::new();
        let mut after = String::new();
        loop {
            let page = api.get(&format!("/api/v1/groups?limit={limit}{after}")).with(200);
            seen.extend(names(&page, "group"));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={}", next.replace('/', "%2F")),
                None => break,
            }
        }
        assert_eq!(seen, all, "limit {limit}");
    }
    assert_eq!(api.get("/api/v1/groups/acme%2Fada").with(200)["group"], "acme/ada");
    api.get("/api/v1/groups/acme/ada").problem(404, "not-found");

    // Undone, it is as if nothing had been set.
    let undo = json!({ "weight": null, "max_running": null, "max_unfinished": null, "paused": false });
    for path in ["b", "acme%2Fada"] {
        has(
            &api.patch(&format!("/api/v1/groups/{path}"), &undo).with(200),
            &defaults,
        );
    }
    let list = api.get("/api/v1/groups").with(200);
    assert_eq!(names(&list, "group"), all[1..], "one has jobs, the other nothing");
    api.submit(&nap("b"));

    // What was done is counted, and described.
    let numbers = api.get("/metrics").text;
    let line = "turnabout_http_requests_total{method=\"PATCH\",path=\"/api/v1/groups/{group}\",status=\"200\"} 8";
    assert!(numbers.contains(line), "{line} is not in:\n{numbers}");
    let document = api.get("/api/openapi.json").with(200);
    for path in ["/api/v1/groups/{group}", "/api/v1/tasks/{task}"] {
        assert!(document["paths"][path]["patch"].is_object(), "{path}");
    }
    let change = &document["components"]["schemas"]["GroupChange"];
    for field in ["weight", "max_running"] {
        assert_eq!(
            change["properties"][field]["type"],
            json!(["integer", "null"]),
            "{field}: {change}"
        );
    }
    assert_eq!(change["properties"]["paused"]["type"], "boolean", "no null: {change}");
    assert_eq!(change["required"], Value::Null, "{change}");
    assert_eq!(change["additionalProperties"], false, "{change}");
}

pub(crate) fn what_is_set_for_a_task_is_told_and_changed_over_http(place: &Place) {
    place.configure(
        "[tasks.say]\ncommand = [\"true\"]\nqueue = \"default\"\npriority = \"high\"\nretries = 2\nretry-delay = \"90s\"\n\
         time-limit = \"1500ms\"\nmax-unfinished = 4\n",
    );
    let server = place.serve(&["--pool-size", "1"]);
    let api = Caller::of(&server);
    let running = long(&api, "a");
    api.submit(&nap("a"));
    api.submit(&json!({ "task": "unheard/of" }));

    let list = api.get("/api/v1/tasks").with(200);
    assert_eq!(names(&list, "task"), ["say", "sleep"]);
    let say = &list["tasks"][0];
    assert_eq!(
        (&say["waiting"], &say["held"], &say["paused"]),
        (&json!(0), &json!(0), &json!(false))
    );
    let said = &say["published"];
    assert_eq!(
        (&said["queue"], &said["priority"], &said["retries"]),
        (&json!("default"), &json!("high"), &json!(2))
    );
    assert_eq!(
        (&said["retry_delay_seconds"], &said["time_limit_seconds"]),
        (&json!(90.0), &json!(1.5))
    );
    assert_eq!(
        (&said["max_unfinished"], &said["restartable"]),
        (&json!(4), &json!(true))
    );
    let sleep = api.get("/api/v1/tasks/sleep").with(200);
    assert_eq!(sleep, list["tasks"][1]);
    assert_eq!(
        (&sleep["waiting"], &sleep["stuck"], &sleep["held"]),
        (&json!(1), &json!(0), &json!(1))
    );
    assert!(sleep["oldest"].is_string(), "{sleep}");

    // One of which there are only jobs, and one of which there is nothing.
    let unheard = api.get("/api/v1/tasks/unheard%2Fof").with(200);
    assert_eq!((&unheard["waiting"], &unheard["published"]), (&json!(1), &Value::Null));
    api.get("/api/v1/tasks/never").problem(404, "not-found");

    let kept = json!({ "success_seconds": null, "failed_seconds": null, "cancelled_seconds": null });
    let mut told = json!({
        "task": "sleep", "published": true, "paused": false, "retention": kept,
        "max_running": null, "max_running_each": null, "rate": null,
    });
    for (name, value) in [
        ("max_running", json!(3)),
        ("paused", json!(true)),
        ("max_running", Value::Null),
    ] {
        let set = api.patch("/api/v1/tasks/sleep", &json!({ name: value })).with(200);
        told[name] = value;
        assert_eq!(set, told);
    }
    assert_eq!(api.get("/api/v1/tasks/sleep").with(200)["paused"], true);
    // One that nobody knows yet: it is said, and listed, so that it can be undone.
    let set = api.patch("/api/v1/tasks/later", &json!({ "paused": true })).with(200);
    assert_eq!(set["published"], false);
    assert_eq!(
        names(&api.get("/api/v1/tasks").with(200), "task"),
        ["later", "say", "sleep"]
    );
    api.patch("/api/v1/tasks/later", &json!({ "paused": false })).with(200);
    assert_eq!(names(&api.get("/api/v1/tasks").with(200), "task"), ["say", "sleep"]);
    api.post(&format!("/api/v1/jobs/{running}/cancel"), &Value::Null)
        .with(200);
}

pub(crate) fn what_cannot_be_set_is_refused_and_changes_nothing(place: &Place) {
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    api.patch("/api/v1/groups/a", &json!({ "weight": 2, "max_running": 5 }))
        .with(200);
    api.patch("/api/v1/tasks/t", &json!({ "max_running": 5 })).with(200);
    // Beside what would be right, so that half of it could be done.
    for (change, field, said) in [
        (json!({ "weight": 0 }), "weight", "pause a group"),
        (json!({ "weight": 1001 }), "weight", "from 1 to 1000"),
        (json!({ "weight": -1 }), "weight", "a whole number from 1 to 1000"),
        (json!({ "weight": "2" }), "weight", "a whole number from 1 to 1000"),
        (json!({ "max_running": 0 }), "max_running", "use pause"),
        (json!({ "max_running": 1.5 }), "max_running", "or null for no limit"),
        (
            json!({ "max_running": 2_147_483_648_u64 }),
            "max_running",
            "take the limit away",
        ),
        (
            json!({ "max_running": 4_294_967_296_u64 }),
            "max_running",
            "or null for no limit",
        ),
        (json!({ "max_unfinished": 0 }), "max_unfinished", "at least 1"),
        (
            json!({ "max_unfinished": false }),
            "max_unfinished",
            "or null for no limit",
        ),
        (json!({ "paused": null }), "paused", "boolean"),
        (json!({ "paused": "yes" }), "paused", "boolean"),
        (json!({ "wieght": 2 }), "wieght", "expected one of `weight`"),
        (json!({ "group": "b" }), "group", "unknown field"),
    ] {
        let mut both = json!({ "paused": true, "max_running": 9 });
        both.as_object_mut()
            .expect("a change")
            .extend(change.as_object().cloned().expect("a change"));
        let problem = api.patch("/api/v1/groups/a", &both).problem(400, "invalid");
        assert_eq!(problem["field"], field, "{problem}");
        assert!(
            problem["detail"].as_str().is_some_and(|detail| detail.contains(said)),
            "{problem}"
        );
        if matches!(field, "max_running" | "paused") {
            api.patch("/api/v1/tasks/t", &both).problem(400, "invalid");
        }
    }
    let problem = api.patch("/api/v1/tasks/t", &json!({ "paused": true, "weight": 2 }));
    assert_eq!(problem.problem(400, "invalid")["field"], "weight", "tasks have none");
    for body in ["", "[]", "null", "{\"paused\": tru"] {
        let json = [("content-type", "application/json")];
        api.call("PATCH", "/api/v1/groups/a", &json, body)
            .problem(400, "invalid");
    }
    let long = "x".repeat(201);
    for name in ["a%2F%2Fb", "%2Fa", "a%00", "a%0A", "%FF", &long] {
        for path in [format!("/api/v1/groups/{name}"), format!("/api/v1/tasks/{name}")] {
            let odd_for_a_group_only = path.contains("tasks") && path.contains("%2F");
            if !odd_for_a_group_only {
                let problem = api.patch(&path, &json!({ "paused": true })).problem(400, "invalid");
                let field = if path.contains("tasks") { "task" } else { "group" };
                assert_eq!(problem["field"], field, "{path}: {problem}");
            }
        }
        api.get(&format!("/api/v1/groups/{name}")).problem(400, "invalid");
    }
    api.call("PUT", "/api/v1/groups/a", &[], "{}")
        .problem(405, "method-not-allowed");
    let foreign = [("origin", "http://evil.example"), ("content-type", "application/json")];
    api.call("PATCH", "/api/v1/groups/a", &foreign, "{\"paused\":true}")
        .problem(403, "forbidden");

    let list = api.get("/api/v1/groups").with(200);
    assert_eq!(names(&list, "group"), ["a"]);
    let group = &list["groups"][0];
    assert_eq!(
        (
            &group["weight"],
            &group["max_running"],
            &group["max_unfinished"],
            &group["paused"]
        ),
        (&json!(2), &json!(5), &Value::Null, &json!(false))
    );
    let list = api.get("/api/v1/tasks").with(200);
    assert_eq!(names(&list, "task"), ["t"]);
    assert_eq!(
        (&list["tasks"][0]["max_running"], &list["tasks"][0]["paused"]),
        (&json!(5), &json!(false))
    );
}

/// On two servers, as two operators would, each changes something else of one group: every answer tells one's own change,
/// and the end holds all.
pub(crate) fn operators_at_once_undo_nothing_of_each_other(place: &Place) {
    let servers = [place.serve(&["--no-executor"]), place.serve(&["--no-executor"])];
    let [one, other] = [0, 1].map(|at: usize| Caller::of(&servers[at]));
    std::thread::scope(|scope| {
        // All settings share one version, so that those of another group are in the way, too.
        for (caller, group, field) in [
            (&one, "a", "weight"),
            (&one, "a", "max_running"),
            (&other, "a", "max_unfinished"),
            (&other, "b", "weight"),
        ] {
            scope.spawn(move || {
                for value in 1..=20 {
                    let set = caller.patch(&format!("/api/v1/groups/{group}"), &json!({ field: value }));
                    assert_eq!(set.with(200)[field], value);
                }
            });
        }
    });
    let group = one.get("/api/v1/groups/a").with(200);
    for field in ["weight", "max_running", "max_unfinished"] {
        assert_eq!(group[field], 20, "{group}");
    }
    assert_eq!(other.get("/api/v1/groups/b").with(200)["weight"], 20);
}

pub(crate) fn only_an_administrator_sees_tasks_and_changes_what_is_set(place: &Place) {
    roles::configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [chief, acme, blue, ada] = ["chief", "acme", "blue", "ada"].map(|name| nobody.with_token(name));
    let hers = chief.submit(&json!({ "task": "x", "group": "acme", "owner": "ada" }));
    chief.submit(&json!({ "task": "x", "group": "acme" }));
    for group in ["acme", "blue", "acme%2Fada"] {
        chief
            .patch(&format!("/api/v1/groups/{group}"), &json!({ "weight": 4 }))
            .with(200);
    }
    chief.patch("/api/v1/tasks/x", &json!({ "max_running": 4 })).with(200);
    let nobodys = json!({ "action": "cancel", "filter": { "group": "acme/ada" } });
    acme.post(
        "/api/v1/jobs/bulk",
        &json!({ "action": "cancel", "filter": { "task": "never" } }),
    )
    .with(200);
    chief.post("/api/v1/jobs/bulk", &nobodys).with(200);
    let picked = json!({ "action": "restart", "filter": { "ids": hers } });
    ada.post("/api/v1/jobs/bulk", &picked).with(200);
    // The log says who did so.
    for (said, name) in [
        ("what is set for a group was changed", "chief"),
        ("what is set for a task was changed", "chief"),
        ("many jobs were changed", "acme"),
        ("many jobs were changed", "chief"),
        ("many jobs were changed", "ada"),
    ] {
        let line = wait_for(&server.log, said);
        assert!(line.contains(&format!("by=\"{name}\"")), "{line}");
    }

    // Their own group, with their own jobs in it; of others nothing, whether they exist or not.
    assert_eq!(names(&acme.get("/api/v1/groups").with(200), "group"), ["acme"]);
    let listed = blue.get("/api/v1/groups").with(200);
    assert_eq!(
        (names(&listed, "group"), &listed["groups"][0]["weight"]),
        (vec!["blue".to_owned()], &json!(4))
    );
    let own = acme.get("/api/v1/groups/acme").with(200);
    assert_eq!((&own["ready"], &own["weight"]), (&json!(2), &json!(4)));
    assert_eq!(ada.get("/api/v1/groups/acme").with(200)["ready"], 1);
    let change = json!({ "weight": 9, "paused": true });
    for caller in [&acme, &ada] {
        for foreign in ["blue", "never", "acme%2Fada"] {
            caller
                .get(&format!("/api/v1/groups/{foreign}"))
                .problem(403, "forbidden");
        }
        for group in ["acme", "blue", "never"] {
            caller
                .patch(&format!("/api/v1/groups/{group}"), &change)
                .problem(403, "missing-scope");
        }
        for task in ["x", "never"] {
            caller.get(&format!("/api/v1/tasks/{task}")).problem(403, "forbidden");
            caller
                .patch(&format!("/api/v1/tasks/{task}"), &json!({ "paused": true }))
                .problem(403, "missing-scope");
        }
        caller.get("/api/v1/tasks").problem(403, "forbidden");
    }
    for path in ["/api/v1/groups/acme", "/api/v1/tasks", "/api/v1/tasks/x"] {
        nobody.get(path).problem(401, "unauthorized");
    }
    for path in ["/api/v1/groups/acme", "/api/v1/tasks/x"] {
        nobody
            .patch(path, &json!({ "paused": true }))
            .problem(401, "unauthorized");
    }
    for group in chief.get("/api/v1/groups").with(200)["groups"]
        .as_array()
        .expect("groups")
    {
        assert_eq!(
            (&group["weight"], &group["paused"]),
            (&json!(4), &json!(false)),
            "{group}"
        );
    }
    let task = chief.get("/api/v1/tasks/x").with(200);
    assert_eq!((&task["max_running"], &task["paused"]), (&json!(4), &json!(false)));
}
