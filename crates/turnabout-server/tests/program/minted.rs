//! Tokens for browsers: what they allow, and everything that they do not.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;
use crate::roles::configure;

fn mint(caller: &Caller, request: &Value) -> String {
    let minted = caller.post("/api/v1/tokens", request).with(201);
    minted["token"].as_str().expect("a token").to_owned()
}

/// Every operation of the API's own description: method and path, with an id in its place.
pub(crate) fn operations(api: &Caller, id: &str) -> Vec<(String, String)> {
    let document = api.get("/api/openapi.json").with(200);
    let paths = document["paths"].as_object().expect("paths");
    let mut found = Vec::new();
    for (path, item) in paths {
        for method in ["get", "put", "post", "patch", "delete"] {
            if item.get(method).is_some() {
                let mut path = path.replace("{id}", id);
                for name in ["{group}", "{task}", "{name}"] {
                    path = path.replace(name, "x");
                }
                found.push((method.to_uppercase(), path));
            }
        }
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

pub(crate) fn minted_tokens_do_nothing_beyond_their_jobs(place: &Place) {
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [chief, acme, blue, ada, bob] = ["chief", "acme", "blue", "ada", "bob"].map(|name| nobody.with_token(name));
    let hers = ada.submit(&json!({ "task": "x", "args": { "secret": 1 }, "meta": { "trace": "t" } }));
    let other = ada.submit(&json!({ "task": "x" }));
    let his = bob.submit(&json!({ "task": "x" }));
    let theirs = blue.submit(&json!({ "task": "x", "owner": "ada" }));
    let all = [&hers, &other, &his, &theirs];

    // Who may mint, and what for.
    for (caller, request) in [
        (&ada, json!({ "group": "acme", "owner": "ada" })),
        (&ada, json!({ "jobs": [hers] })),
        (&acme, json!({ "group": "blue" })),
    ] {
        caller.post("/api/v1/tokens", &request).problem(403, "forbidden");
    }
    for request in [json!({ "jobs": [theirs] }), json!({ "jobs": [hers, theirs] })] {
        acme.post("/api/v1/tokens", &request).problem(404, "not-found");
    }
    let wrong_owner = json!({ "jobs": [his], "group": "acme", "owner": "ada" });
    chief.post("/api/v1/tokens", &wrong_owner).problem(404, "not-found");
    for request in [
        json!({}),
        json!({ "owner": "ada" }),
        json!({ "group": "webhooks" }),
        json!({ "group": "acme", "lifetime": "2 days" }),
        json!({ "group": "acme", "lifetime": "0 seconds" }),
        json!({ "group": "acme", "lifetime": "soon" }),
        json!({ "group": "acme", "role": "admin" }),
        json!({ "jobs": vec![hers.clone(); 101] }),
    ] {
        chief.post("/api/v1/tokens", &request).problem(400, "invalid");
    }
    nobody.post("/api/v1/tokens", &json!({})).problem(401, "unauthorized");

    // The matrix: which of the jobs each token sees, by each of the ways in.
    let tokens = [
        (mint(&acme, &json!({ "jobs": [hers] })), vec![&hers], false),
        (
            mint(&chief, &json!({ "jobs": [hers, theirs], "cancel": true })),
            vec![&hers, &theirs],
            true,
        ),
        (mint(&acme, &json!({ "owner": "ada" })), vec![&hers, &other], false),
        (mint(&acme, &json!({ "cancel": true })), vec![&hers, &other, &his], true),
        (
            mint(&chief, &json!({ "group": "blue", "owner": "ada" })),
            vec![&theirs],
            false,
        ),
    ];
    let ids = all.map(String::as_str).join(",");
    for (token, sees, cancels) in &tokens {
        let browser = nobody.with_token(token);
        for id in all {
            let answer = browser.get(&format!("/api/v1/jobs/{id}"));
            if !sees.contains(&id) {
                answer.problem(404, "not-found");
                continue;
            }
            let job = answer.with(200);
            assert_eq!(
                (&job["args"], &job["meta"]),
                (&Value::Null, &json!({})),
                "not for browsers: {job}"
            );
        }
        for query in ["", &format!("ids={ids}"), "states=!success&states=!failed"] {
            let page = browser.get(&format!("/api/v1/jobs?{query}")).with(200);
            let mut found: Vec<&str> = page["jobs"]
                .as_array()
                .expect("jobs")
                .iter()
                .filter_map(|job| job["id"].as_str())
                .collect();
            let mut expected: Vec<&str> = sees.iter().map(|id| id.as_str()).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{query}");
        }
        let mut events = browser.events(&format!("ids={ids}"), None);
        let mut told: Vec<(String, String)> = Vec::new();
        loop {
            let event = events.next().expect("an event");
            if event.name == "ready" {
                break;
            }
            told.push((event.name, event.data["id"].as_str().expect("an id").to_owned()));
        }
        assert_eq!(told.len(), all.len(), "{told:?}");
        for (name, id) in &told {
            assert_eq!(name == "job", sees.contains(&id), "{told:?}");
        }
        // By itself the stream is about its jobs, and no others.
        let mut events = browser.events("", None);
        let mut told = 0;
        loop {
            let event = events.next().expect("an event");
            if event.name == "ready" {
                break;
            }
            assert!(sees.iter().any(|id| event.data["id"] == json!(id)), "{}", event.data);
            told += 1;
        }
        assert_eq!(told, sees.len());
        // A token for jobs of two groups is for no group, and so none is foreign: there is just nothing to be seen.
        if sees.len() == 2 && sees.contains(&&theirs) {
            let page = browser.get("/api/v1/jobs?group=green").with(200);
            assert_eq!(page["jobs"], json!([]));
        } else {
            browser.get("/api/v1/events?group=green").problem(403, "forbidden");
            browser.get("/api/v1/jobs?group=green").problem(403, "forbidden");
        }

        let found = browser.post("/api/v1/jobs/find", &json!({})).with(200);
        assert_eq!(found["jobs"].as_array().map(Vec::len), Some(sees.len()), "{found}");

        // Nothing else works, whatever there is.
        for (method, path) in operations(&chief, &hers) {
            let ways_in = ["/api/v1/jobs", "/api/v1/events", &format!("/api/v1/jobs/{hers}")];
            let cancel = path.ends_with("/cancel") && *cancels;
            let follow = path == "/api/v1/events" || path == "/api/v1/jobs/find";
            let open = ["/healthz", "/readyz", "/api/info/version"].contains(&path.as_str());
            if cancel || follow || open || (method == "GET" && ways_in.contains(&path.as_str())) {
                continue;
            }
            let body = if method == "GET" || method == "DELETE" {
                ""
            } else {
                "{}"
            };
            let code = if path.ends_with("/cancel") {
                "missing-scope"
            } else {
                "forbidden"
            };
            browser.call(&method, &path, &[], body).problem(403, code);
        }
    }
    for id in all {
        assert_eq!(
            chief.get(&format!("/api/v1/jobs/{id}")).with(200)["state"],
            "waiting",
            "nothing was changed"
        );
    }

    // Cancel: only with a token that allows it, and only what it sees.
    let reads = nobody.with_token(&tokens[2].0);
    reads
        .post(&format!("/api/v1/jobs/{hers}/cancel"), &Value::Null)
        .problem(403, "missing-scope");
    let cancels = nobody.with_token(&tokens[1].0);
    cancels
        .post(&format!("/api/v1/jobs/{his}/cancel"), &Value::Null)
        .problem(404, "not-found");
    let done = cancels
        .post(&format!("/api/v1/jobs/{hers}/cancel"), &Value::Null)
        .with(200);
    assert_eq!(done["outcome"], "cancelled");

    // Owners do not see arguments; groups do.
    let shown = |caller: &Caller| caller.get(&format!("/api/v1/jobs/{hers}")).with(200)["args"].clone();
    assert_eq!((shown(&ada), shown(&acme)), (Value::Null, json!({ "secret": 1 })));
}

pub(crate) fn minted_tokens_end_and_are_revoked_with_their_streams(place: &Place) {
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let (chief, acme) = (nobody.with_token("chief"), nobody.with_token("acme"));
    let id = acme.submit(&json!({ "task": "x", "owner": "ada" }));
    let path = format!("/api/v1/jobs/{id}");

    let short = mint(&acme, &json!({ "owner": "ada", "lifetime": "2 seconds" }));
    let browser = nobody.with_token(&short);
    browser.get(&path).with(200);
    let mut events = browser.events(&format!("ids={id}"), None);
    while events.next().is_some() {}
    browser.get(&path).problem(401, "unauthorized");

    let long = mint(&acme, &json!({ "owner": "ada", "lifetime": "1 day" }));
    let browser = nobody.with_token(&long);
    let mut events = browser.events("", None);
    while events.next().expect("an event").name != "ready" {}
    acme.post("/api/v1/tokens/rotate", &Value::Null)
        .problem(403, "missing-scope");
    chief.post("/api/v1/tokens/rotate", &Value::Null).with(204);
    browser.get(&path).problem(401, "unauthorized");
    while events.next().is_some() {}
    let audit = chief.get("/api/v1/audit?action=rotate-tokens").with(200);
    assert_eq!(audit["entries"][0]["by"], "chief", "{audit}");
    let new = mint(&acme, &json!({ "owner": "ada" }));
    nobody.with_token(&new).get(&path).with(200);

    // The command line mints and revokes, too, also on the database; and another server knows what this one has minted.
    let token = place.ask(&["token", "mint", &id, "--lifetime", "1 hour"]);
    nobody.with_token(&token).get(&path).with(200);
    let second = place.serve(&["--no-executor"]);
    Caller::of(&second).with_token(&new).get(&path).with(200);
    place.ask(&["token", "rotate"]);
    Caller::of(&place.serve(&["--no-executor"]))
        .with_token(&token)
        .get(&path)
        .problem(401, "unauthorized");
    assert!(
        place
            .complaint(&["token", "mint"])
            .contains("say what the token is for")
    );

    // No token is in any log.
    server.terminate();
    let logged: Vec<String> = std::iter::from_fn(|| server.log.recv().ok()).collect();
    let logged = logged.join("\n");
    for token in [short, long, new, token] {
        let signature = token.rsplit('.').next().expect("a signature").to_owned();
        assert!(!logged.contains(&token) && !logged.contains(&signature), "{logged}");
    }
}

pub(crate) fn a_submit_returns_a_token_for_its_job(place: &Place) {
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let (acme, ada) = (nobody.with_token("acme"), nobody.with_token("ada"));
    let submit = |owner: &str| {
        let job = json!({ "task": "x", "owner": owner, "unique": "one", "token": true, "public": { "file": "a.pdf" } });
        acme.post("/api/v1/jobs", &job)
    };
    let submitted = submit("ada").with(201);
    let path = format!("/api/v1/jobs/{}", submitted["id"].as_str().expect("an id"));
    let browser = nobody.with_token(submitted["token"].as_str().expect("a token"));
    let job = browser.get(&path).with(200);
    assert_eq!(job["public"], json!({ "file": "a.pdf" }));
    assert_eq!(acme.get(&path).with(200)["meta"], json!({}), "it stands once");
    let again = submit("ada").with(200);
    assert!(
        again["token"].is_string() && again["token_expires"].is_string(),
        "{again}"
    );
    let foreign = submit("bob").with(200);
    assert_eq!(foreign["token"], Value::Null, "the job is someone else's");
    ada.post("/api/v1/jobs", &json!({ "task": "x", "token": true }))
        .problem(403, "forbidden");
    let batch = json!({ "jobs": [{ "task": "x", "token": true }, { "task": "x" }] });
    let outcomes = acme.post("/api/v1/jobs/batch", &batch).with(207)["outcomes"].clone();
    assert!(
        outcomes[0]["token"].is_string() && outcomes[1]["token"].is_null(),
        "{outcomes}"
    );
    assert_eq!(
        browser.post(&format!("{path}/cancel"), &Value::Null).with(200)["outcome"],
        "cancelled"
    );
    let long = json!({ "task": "x", "public": { "a": "b".repeat(3000) } });
    acme.post("/api/v1/jobs", &long).problem(400, "invalid");
}

pub(crate) fn d45_d46_a_task_says_what_is_public_and_how_its_errors_are_told(place: &Place) {
    place.configure(
        "[tasks.convert]\ncommand = [\"sh\", \"-c\", \"echo '::error no-pages The file has no pages.'; exit 3\"]\n\
         permanent-codes = [3]\npublic = [\"file\", \"pages\"]\nstatuses = { no-pages = 422 }\n\
         [tasks.sleep]\nretries = 0\n",
    );
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let args = json!({ "file": "a.pdf", "pages": [1, 2], "password": "secret" });
    let id = api.submit(&json!({ "task": "convert", "args": args, "group": "acme", "owner": "ada" }));
    let job = api.ended(&id);
    assert_eq!(job["public"], json!({ "file": "a.pdf", "pages": [1, 2] }));
    assert_eq!(
        (&job["error_code"], &job["error_message"]),
        (&json!("no-pages"), &json!("The file has no pages."))
    );
    let problem = api
        .get(&format!("/api/v1/jobs/{id}/result"))
        .problem(422, "wrong-state");
    assert_eq!(
        (&problem["error_code"], &problem["error_message"]),
        (&job["error_code"], &job["error_message"])
    );

    // A browser is told so in the stream, and nothing else.
    let token = mint(&api, &json!({ "jobs": [id] }));
    let mut events = api.with_token(&token).events("", None);
    let told = events.next().expect("an event").data;
    assert_eq!(
        (&told["public"], &told["error_message"]),
        (&job["public"], &job["error_message"])
    );
    assert_eq!(told["error"], Value::Null);
    assert!(
        job["error"].as_str().is_some_and(|error| error.contains("exit code 3")),
        "{job}"
    );

    // Without words of the task a browser gets plain ones.
    let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0, "fail": 9 }, "group": "acme" }));
    assert_eq!(api.ended(&id)["state"], "failed");
    let token = mint(&api, &json!({ "jobs": [id], "cancel": true }));
    let browser = api.with_token(&token);
    let job = browser.get(&format!("/api/v1/jobs/{id}")).with(200);
    assert_eq!(
        (&job["error"], &job["error_message"]),
        (&Value::Null, &json!("Something went wrong."))
    );
    let complaint = "`no-pages`: the status of an error";
    place.configure("[tasks.a]\nurl = \"http://localhost\"\nstatuses = { no-pages = 200 }\n");
    assert!(place.complaint(&["config"]).contains(complaint));
}
