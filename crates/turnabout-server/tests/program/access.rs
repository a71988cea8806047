//! Ways in that have to be opened first: tokens that someone else makes, web pages of other sites, and a look at an
//! executor. What is stored where makes no difference here.

use serde_json::{Value, json};

use crate::http::{Caller, jwt};
use crate::place::{PATIENCE, Place, wait_for};

const SECRET: &str = "a secret that is long enough for us";

fn sign(claims: &Value) -> String {
    jwt(&json!({ "alg": "HS256" }), claims, SECRET)
}

#[test]
fn keys_of_jwts_are_replaced_while_the_server_runs() {
    let place = Place::on_sqlite();
    // Two secrets, as a JWKS document has them: base64url.
    let [old, new] = [
        (
            "old",
            "a secret that is long enough, 001",
            "YSBzZWNyZXQgdGhhdCBpcyBsb25nIGVub3VnaCwgMDAx",
        ),
        (
            "new",
            "a secret that is long enough, 002",
            "YSBzZWNyZXQgdGhhdCBpcyBsb25nIGVub3VnaCwgMDAy",
        ),
    ];
    let document = |keys: &[(&str, &str, &str)]| {
        let keys: Vec<Value> = keys
            .iter()
            .map(|(id, _, value)| json!({ "kty": "oct", "kid": id, "k": value }))
            .collect();
        place.file("jwks.json", &json!({ "keys": keys }).to_string());
    };
    document(&[old]);
    place.configure("[api]\njwt-keys-file = \"jwks.json\"\n");
    let server = place.serve(&["--no-executor"]);
    let caller = |(id, secret, _): (&str, &str, &str)| {
        let claims = json!({ "role": "viewer", "exp": jiff::Timestamp::now().as_second() + 600 });
        let token = jwt(&json!({ "alg": "HS256", "kid": id }), &claims, secret);
        Caller::of(&server).with_token(&token)
    };
    let status = || [old, new].map(|key| caller(key).get("/api/v1/me").status);
    assert_eq!(status(), [200, 401]);
    for (keys, expected) in [(vec![old, new], [200, 200]), (vec![new], [401, 200])] {
        document(&keys);
        server.signal("HUP");
        wait_for(&server.log, "was read again");
        assert_eq!(status(), expected);
    }
    // What cannot be read changes nothing.
    place.file("jwks.json", "{}");
    server.signal("HUP");
    wait_for(&server.log, "stays as it was");
    assert_eq!(status(), [401, 200]);
    place.configure("[api]\njwt-key-file = \"jwt.key\"\njwt-keys-file = \"jwks.json\"\n");
    let said = place.complaint(&["config"]);
    assert!(said.contains("one of them is enough"), "{said}");
}

#[test]
fn a_jwt_is_as_good_as_a_token_while_it_lasts() {
    let place = Place::on_sqlite();
    place.file("jwt.key", &format!("{SECRET}\n"));
    place.configure("[api]\njwt-key-file = \"jwt.key\"\njwt-issuer = \"login\"\n");
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    nobody.get("/api/v1/jobs").problem(401, "unauthorized");
    let soon = jiff::Timestamp::now().as_second() + 600;
    let caller = |claims: Value| {
        let mut all = json!({ "iss": "login", "exp": soon });
        for (name, value) in claims.as_object().expect("claims") {
            all[name] = value.clone();
        }
        nobody.with_token(&sign(&all))
    };
    let ada = caller(json!({ "sub": "ada", "role": "owner", "group": "acme", "owner": "ada" }));
    let blue = caller(json!({ "role": "group", "group": "blue" }));
    let chief = caller(json!({ "role": "admin" }));
    let id = ada.submit(&json!({ "task": "x" }));
    let path = format!("/api/v1/jobs/{id}");
    let job = chief.get(&path).with(200);
    assert_eq!((&job["group"], &job["owner"]), (&json!("acme"), &json!("ada")));
    blue.get(&path).problem(404, "not-found");
    ada.get("/api/v1/executors").problem(403, "forbidden");
    for bad in [
        json!({ "role": "admin", "exp": soon - 7200 }),
        json!({ "role": "admin", "exp": null }),
        json!({ "role": "admin", "iss": "someone" }),
        json!({ "role": "king" }),
    ] {
        caller(bad).get(&path).problem(401, "unauthorized");
    }
}

#[test]
fn web_pages_call_the_api_if_their_origin_is_configured() {
    const OURS: &str = "https://app.example";
    let place = Place::on_sqlite();
    place.configure(&format!("[api]\ncors-origins = [\"{OURS}\"]\n"));
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    let asked = |origin: &str| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        api.call("OPTIONS", "/api/v1/jobs", &headers, "")
    };
    let allowed = format!("access-control-allow-origin: {OURS}\r\n");
    let answer = asked(OURS);
    assert_eq!(answer.status, 200);
    for part in [
        allowed.as_str(),
        "access-control-allow-headers: authorization",
        "access-control-max-age",
    ] {
        assert!(answer.head.contains(part), "{part} is not in {}", answer.head);
    }
    let submit = |origin: &str| api.call("POST", "/api/v1/jobs", &[("origin", origin)], r#"{"task":"x"}"#);
    let answer = submit(OURS);
    assert!(answer.head.contains(&allowed), "{}", answer.head);
    assert!(
        answer
            .head
            .contains("access-control-expose-headers: location,retry-after"),
        "{}",
        answer.head
    );
    answer.with(201);
    assert!(!asked("https://evil.example").head.contains("allow-origin"));
    let answer = submit("https://evil.example");
    assert!(!answer.head.contains("allow-origin"), "{}", answer.head);
    answer.problem(403, "forbidden");
}

#[test]
fn an_executor_without_the_api_tells_how_it_is_if_it_is_told_where() {
    let place = Place::on_sqlite();
    let server = place.serve(&["--no-api", "--status-address", "127.0.0.1:0"]);
    let id = place.ask(&["submit", "sleep", r#"{"seconds": 0}"#]);
    place.job_in(&id, "success");
    let api = Caller::of(&server);
    assert_eq!(api.get("/healthz").with(200)["ok"], true);
    assert_eq!(api.get("/readyz").with(200)["ok"], true);
    // That it has run is counted a moment after it is written.
    let begin = std::time::Instant::now();
    let mut numbers = api.get("/metrics").text;
    while !numbers.contains("turnabout_job_run_seconds_count") && begin.elapsed() < PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(10));
        numbers = api.get("/metrics").text;
    }
    for line in [
        "turnabout_attempts_started_total{task=\"sleep\"} 1",
        "turnabout_job_wait_seconds_count{task=\"sleep\"} 1",
        "turnabout_job_run_seconds_count{task=\"sleep\"} 1",
        "turnabout_executor_healthy 1",
    ] {
        assert!(numbers.contains(line), "{line} is not in:\n{numbers}");
    }
    assert!(!numbers.contains("turnabout_jobs{"), "the store's are told by the API");
    let problem = api.get("/api/v1/jobs").problem(404, "not-found");
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("no API")),
        "{problem}"
    );
    api.get("/api/openapi.json").problem(404, "not-found");
    let taken = server.url.trim_start_matches("http://");
    let said = place.complaint(&["executor", "--status-address", taken]);
    assert!(said.contains("`--status-address` takes another"), "{said}");
    server.terminate();
    assert!(server.end().success());
}
