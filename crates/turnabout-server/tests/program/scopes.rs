//! Tokens that allow less than their role: scopes, tasks and queues.

use serde_json::{Value, json};

use crate::http::{self, Caller};
use crate::place::{Place, soon, wait_for};
use crate::roles::hash;

const SECRET: &str = "a secret that is long enough for us";

/// Tokens by name, with what is said of each, and room for many requests.
fn configure(place: &Place, tokens: &[(&str, &str)]) {
    let token = |(name, more): &(&str, &str)| format!("[tokens.{name}]\nhash = \"{}\"\n{more}\n", hash(name));
    let tokens: String = tokens.iter().map(token).collect();
    place.file("jwt.key", SECRET);
    place.configure(&format!(
        "[api]\nrate = 1000\nrate-burst = 1000\njwt-key-file = \"jwt.key\"\n{tokens}"
    ));
}

/// A JWT with these claims, for ten minutes.
fn jwt(mut claims: Value) -> String {
    claims["exp"] = json!(jiff::Timestamp::now().as_second() + 600);
    http::jwt(&json!({ "alg": "HS256" }), &claims, SECRET)
}

const GROUP: &str = "role = \"group\"\ngroup = \"acme\"\n";

pub(crate) fn a_token_does_what_its_scopes_say_and_no_more_than_its_role(place: &Place) {
    let narrow = |scopes: &str| format!("{GROUP}scopes = {scopes}");
    configure(
        place,
        &[
            ("chief", "role = \"admin\""),
            ("reader", &narrow("[\"read\"]")),
            ("writer", &narrow("[\"submit\"]")),
            ("ender", &narrow("[\"cancel\"]")),
            ("prometheus", "role = \"viewer\"\nscopes = [\"metrics\"]"),
        ],
    );
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [chief, reader, writer, ender, prometheus] =
        ["chief", "reader", "writer", "ender", "prometheus"].map(|name| nobody.with_token(name));
    let as_jwt = |claims: Value| nobody.with_token(&jwt(claims));
    let from_elsewhere = |scopes: Value| as_jwt(json!({ "role": "group", "group": "acme", "scopes": scopes }));

    // Whoever may not look learns no more than they said.
    let job = json!({ "task": "x", "args": { "secret": 1 } });
    let submitted = writer.post("/api/v1/jobs", &job).with(201);
    assert_eq!(submitted["job"], Value::Null, "{submitted}");
    let path = format!("/api/v1/jobs/{}", submitted["id"].as_str().expect("an id"));
    let lacks = |caller: &Caller, method: &str, path: &str, body: &str, scope: &str| {
        let problem = caller.call(method, path, &[], body).problem(403, "missing-scope");
        assert_eq!(problem["scope"], scope, "{problem}");
        assert!(problem["detail"].as_str().expect("a text").contains(scope), "{problem}");
    };
    for caller in [
        &writer,
        &ender,
        &prometheus,
        &from_elsewhere(json!(["submit", "cancel"])),
    ] {
        lacks(caller, "GET", &path, "", "read");
        assert_eq!(caller.call("HEAD", &path, &[], "").status, 403);
    }
    for caller in [&reader, &ender, &from_elsewhere(json!(["read", "cancel", "operate"]))] {
        lacks(caller, "POST", "/api/v1/jobs", &job.to_string(), "submit");
        lacks(caller, "POST", &format!("{path}/restart"), "", "submit");
        lacks(caller, "PUT", "/api/v1/schedules/a", "{}", "submit");
    }
    for caller in [&reader, &writer, &from_elsewhere(json!(["read", "submit", "admin"]))] {
        lacks(caller, "POST", &format!("{path}/cancel"), "", "cancel");
        lacks(caller, "DELETE", &path, "", "cancel");
    }
    for caller in [
        &reader,
        &writer,
        &ender,
        &from_elsewhere(json!(["operate", "metrics", "admin"])),
    ] {
        lacks(caller, "PATCH", "/api/v1/groups/acme", "{}", "operate");
        lacks(caller, "GET", "/metrics", "", "metrics");
        lacks(caller, "POST", "/api/v1/shutdownAndExit", "", "admin");
    }
    // Of many jobs, what is done decides.
    let bulk = |action: &str| json!({ "action": action, "all": true, "dry_run": true }).to_string();
    lacks(&reader, "POST", "/api/v1/jobs/bulk", &bulk("cancel"), "submit");
    lacks(&writer, "POST", "/api/v1/jobs/bulk", &bulk("cancel"), "cancel");
    lacks(&ender, "POST", "/api/v1/jobs/bulk", &bulk("restart"), "submit");
    ender.call("POST", "/api/v1/jobs/bulk", &[], &bulk("cancel")).with(200);

    // What is left works.
    assert_eq!(reader.get(&path).with(200)["args"], json!({ "secret": 1 }));
    prometheus.get("/metrics").text.find("turnabout_").expect("numbers");
    let me = prometheus.get("/api/v1/me").with(200);
    assert_eq!((&me["role"], &me["scopes"]), (&json!("viewer"), &json!(["metrics"])));
    let moved = writer
        .call("PUT", &format!("{path}/priority"), &[], r#"{"priority":"low"}"#)
        .with(200);
    assert_eq!((&moved["priority"], &moved["args"]), (&json!("low"), &Value::Null));
    let over = ender.post(&format!("{path}/cancel"), &Value::Null).with(200);
    assert_eq!((&over["outcome"], &over["job"]), (&json!("cancelled"), &Value::Null));

    // A token is minted for no more than its maker may do.
    let mint = |caller: &Caller, request: Value| caller.post("/api/v1/tokens", &request);
    mint(&writer, json!({})).problem(403, "missing-scope");
    mint(&reader, json!({ "cancel": true })).problem(403, "missing-scope");
    mint(&reader, json!({})).with(201);
    let with_token = json!({ "task": "x", "token": true });
    writer.post("/api/v1/jobs", &with_token).problem(403, "missing-scope");
    let few = from_elsewhere(json!(["read", "submit"]));
    let submitted = few.post("/api/v1/jobs", &with_token).with(201);
    let browser = nobody.with_token(submitted["token"].as_str().expect("a token"));
    let path = format!("/api/v1/jobs/{}", submitted["id"].as_str().expect("an id"));
    browser.get(&path).with(200);
    lacks(&browser, "POST", &format!("{path}/cancel"), "", "cancel");

    // Scopes that nobody knows are no scopes: such a token is nobody's.
    for wrong in [json!(["look"]), json!("read"), json!(7)] {
        from_elsewhere(wrong).get("/api/v1/me").problem(401, "unauthorized");
    }
    lacks(&from_elsewhere(json!([])), "GET", "/api/v1/jobs", "", "read");
    chief.get("/api/v1/me").with(200);

    for (wrong, complaint) in [
        (
            "role = \"viewer\"\nscopes = [\"submit\"]",
            "the role `viewer` has no scope `submit`",
        ),
        ("scopes = [\"look\"]", "none of the scopes read, submit"),
        ("scopes = []", "allows nothing"),
    ] {
        configure(place, &[("one", wrong)]);
        let said = place.complaint(&["config"]);
        assert!(said.contains(complaint), "{said}");
    }
}

pub(crate) fn a_token_submits_only_its_tasks_to_its_queues(place: &Place) {
    let narrow = |more: &str| format!("{GROUP}{more}");
    configure(
        place,
        &[
            ("acme", GROUP),
            ("mail", &narrow("tasks = [\"mail\", \"report:*\"]")),
            ("ocr", &narrow("queues = [\"ocr\"]")),
            ("two", &narrow("queues = [\"ocr\", \"default\"]")),
        ],
    );
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [acme, mail, ocr, two] = ["acme", "mail", "ocr", "two"].map(|name| nobody.with_token(name));
    let same = json!({ "role": "group", "group": "acme", "tasks": ["mail", "report:*"] });
    let from_elsewhere = nobody.with_token(&jwt(same));
    let other = acme.submit(&json!({ "task": "other", "delay": "1 day" }));
    let queue = |caller: &Caller, job: Value| {
        let id = caller.submit(&job);
        acme.get(&format!("/api/v1/jobs/{id}")).with(200)["queue"].clone()
    };
    let only = |caller: &Caller, method: &str, path: &str, body: &str, field: &str| {
        let problem = caller.call(method, path, &[], body).problem(403, "forbidden");
        assert_eq!(problem["field"], field, "{problem}");
    };
    for caller in [&mail, &from_elsewhere] {
        assert_eq!(queue(caller, json!({ "task": "mail" })), "default");
        assert_eq!(queue(caller, json!({ "task": "report:daily", "queue": "any" })), "any");
        only(caller, "POST", "/api/v1/jobs", r#"{"task":"other"}"#, "task");
        let batch = json!({ "jobs": [{ "task": "other" }, { "task": "mail" }] });
        let outcomes = caller.post("/api/v1/jobs/batch", &batch).with(207)["outcomes"].clone();
        assert_eq!(
            (&outcomes[0]["status"], &outcomes[1]["status"]),
            (&json!(403), &json!(201))
        );
        // Nor are others made to run.
        only(caller, "POST", &format!("/api/v1/jobs/{other}/retry"), "", "task");
        only(caller, "POST", &format!("/api/v1/jobs/{other}/restart"), "", "task");
        only(
            caller,
            "PUT",
            &format!("/api/v1/jobs/{other}/priority"),
            r#"{"priority":"low"}"#,
            "task",
        );
        let bulk = |filter: Value| json!({ "action": "retry", "filter": filter, "dry_run": true }).to_string();
        for filter in [
            json!({ "ids": other }),
            json!({ "task": "other" }),
            json!({ "task": "!mail" }),
        ] {
            only(caller, "POST", "/api/v1/jobs/bulk", &bulk(filter), "task");
        }
        let named = bulk(json!({ "task": "mail" }));
        caller.call("POST", "/api/v1/jobs/bulk", &[], &named).with(200);
        // A schedule could submit anything.
        let schedule = json!({ "task": "mail", "expression": "@daily" }).to_string();
        caller
            .call("PUT", "/api/v1/schedules/a", &[], &schedule)
            .problem(403, "forbidden");
        caller
            .post("/api/v1/schedules/a/run", &json!({}))
            .problem(403, "forbidden");
    }
    assert_eq!(mail.get("/api/v1/me").with(200)["tasks"], json!(["mail", "report:*"]));

    assert_eq!(queue(&ocr, json!({ "task": "any" })), "ocr");
    assert_eq!(queue(&two, json!({ "task": "any", "queue": "default" })), "default");
    only(&two, "POST", "/api/v1/jobs", r#"{"task":"any"}"#, "queue");
    for caller in [&ocr, &two] {
        only(
            caller,
            "POST",
            "/api/v1/jobs",
            r#"{"task":"any","queue":"inner"}"#,
            "queue",
        );
        let moved = json!({ "action": "queue", "queue": "inner", "filter": { "queue": "ocr" } });
        only(caller, "POST", "/api/v1/jobs/bulk", &moved.to_string(), "queue");
    }
    only(&ocr, "POST", &format!("/api/v1/jobs/{other}/retry"), "", "queue");
    let left = acme.get(&format!("/api/v1/jobs/{other}")).with(200);
    assert_eq!(
        (&left["state"], &left["priority"]),
        (&json!("waiting"), &json!("normal"))
    );
}

pub(crate) fn a_token_ends_and_is_replaced_without_a_gap(place: &Place) {
    let now = jiff::Timestamp::now();
    let ends = |seconds: i64| format!("expires = \"{}\"", now + jiff::SignedDuration::from_secs(seconds));
    let configure = |shop: &str, old: &str| {
        place.configure(&format!(
            "[tokens.chief]\nhash = \"{}\"\n\
             [tokens.shop]\nhash = {shop}\nrole = \"group\"\ngroup = \"acme\"\n{}\n\
             [tokens.gone]\nhash = \"{}\"\n{}\n\
             [tokens.short]\nhash = \"{}\"\n{old}\n",
            hash("chief"),
            ends(7 * 24 * 3600),
            hash("gone"),
            ends(-1),
            hash("short"),
        ));
    };
    let both = format!("[\"{}\", \"{}\"]", hash("old"), hash("new"));
    configure(&both, &ends(2));
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [chief, old, new, gone, short] = ["chief", "old", "new", "gone", "short"].map(|name| nobody.with_token(name));

    // Both are the same token, by its name.
    for caller in [&old, &new] {
        assert_eq!(caller.get("/api/v1/me").with(200)["name"], "shop");
        let id = caller.submit(&json!({ "task": "x" }));
        caller
            .post(&format!("/api/v1/jobs/{id}/cancel"), &Value::Null)
            .with(200);
    }
    let audit = chief.get("/api/v1/audit?action=cancel").with(200);
    assert_eq!(
        (&audit["entries"][0]["by"], &audit["entries"][1]["by"]),
        (&json!("shop"), &json!("shop"))
    );

    // One that has ended is nobody's.
    gone.get("/api/v1/me").problem(401, "unauthorized");
    soon("the token ends", || {
        (short.get("/api/v1/me").status == 401).then_some(())
    });

    // Operators hear of it before.
    let doctor = chief.get("/api/v1/doctor").with(200);
    let findings = doctor["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["code"] == "token-ends");
    let evidence = found.expect("a finding")["evidence"].as_str().expect("a text");
    assert!(
        ["`gone`", "`shop`", "`short`"]
            .iter()
            .all(|name| evidence.contains(name)),
        "{doctor}"
    );
    assert!(!evidence.contains("chief"), "{doctor}");

    // The old one goes while the server runs.
    configure(&format!("\"{}\"", hash("new")), "");
    let warned = ["gone", "shop"].map(|name| (wait_for(&server.log, "ends soon").contains(name), name));
    assert!(warned.iter().all(|(is_named, _)| *is_named), "{warned:?}");
    wait_for(&server.log, "was read again");
    old.get("/api/v1/me").problem(401, "unauthorized");
    new.get("/api/v1/me").with(200);
    short.get("/api/v1/me").with(200);

    for wrong in ["[]", "\"\"", "[\"sha256:00\"]"] {
        configure(wrong, "");
        let said = place.complaint(&["config"]);
        assert!(said.contains("not the hash of a token"), "{said}");
    }
}
