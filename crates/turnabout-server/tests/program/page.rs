//! The operator's page as a server serves it: to whom, below which path, and with which headers. What happens in a browser is
//! tested in `tests/dashboard`. What is stored where makes no difference here.

use serde_json::json;

use crate::http::{Answer, Caller};
use crate::place::Place;

/// The hash of the token `secret`.
const HASH: &str = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

/// A header of an answer.
fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let mut lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(given, _)| *given == name).map(|(_, value)| value.trim())
}

#[test]
fn the_page_needs_no_token_and_tells_nothing_and_may_load_nothing_foreign() {
    let place = Place::on_sqlite();
    place.configure(&format!(
        "[tokens.ops]\nhash = \"{HASH}\"\n[links]\njob = \"https://logs.example/{{id}}\"\n"
    ));
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    for path in [
        "/",
        "/dashboard/app.js",
        "/dashboard/pages/now.js",
        "/dashboard/style.css",
    ] {
        let answer = nobody.get(path);
        assert_eq!(answer.status, 200, "{path}");
        let policy = header(&answer, "content-security-policy").expect("a policy").to_owned();
        assert!(
            policy.contains("default-src 'self'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
        let tag = header(&answer, "etag").expect("a tag").to_owned();
        let again = nobody.call("GET", path, &[("if-none-match", &tag)], "");
        assert_eq!((again.status, again.text.len()), (304, 0), "{path}");
    }
    nobody.get("/dashboard/../Cargo.toml").problem(404, "not-found");
    nobody.get("/dashboard/types.d.ts").problem(404, "not-found");
    nobody.get("/api/v1/me").problem(401, "unauthorized");
    let me = nobody.with_token("secret").get("/api/v1/me").with(200);
    assert_eq!(
        (&me["name"], &me["role"], &me["group"]),
        (&json!("ops"), &json!("admin"), &json!(null))
    );
    assert_eq!(me["links"]["job"], "https://logs.example/{id}");
}

#[test]
fn there_is_no_page_where_it_is_turned_off() {
    let place = Place::on_sqlite();
    place.configure("[api]\ndashboard = false\n");
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    api.get("/").problem(404, "not-found");
    api.get("/dashboard/app.js").problem(404, "not-found");
    api.get("/api/v1/me").with(200);
}

#[test]
fn everything_works_below_the_prefix_of_a_proxy_and_without_it() {
    let place = Place::on_sqlite();
    place.configure("[api]\nprefix = \"/tools/jobs/\"\n");
    let server = place.serve(&["--no-executor"]);
    let api = Caller::of(&server);
    for path in [
        "/",
        "/tools/jobs/",
        "/tools/jobs/dashboard/app.js",
        "/tools/jobs/api/v1/me",
        "/healthz",
    ] {
        assert_eq!(api.get(path).status, 200, "{path}");
    }
    let bare = api.get("/tools/jobs");
    assert_eq!((bare.status, header(&bare, "location")), (308, Some("/tools/jobs/")));
    let made = api.post("/tools/jobs/api/v1/jobs", &json!({ "task": "x" }));
    let place = header(&made, "location").expect("an address").to_owned();
    assert!(place.starts_with("/tools/jobs/api/v1/jobs/"), "{place}");
    api.get(&place).with(200);
    api.get("/tools/jobsearch").problem(404, "not-found");
}

#[test]
fn settings_of_the_page_that_make_no_sense_are_refused() {
    let place = Place::on_sqlite();
    for (text, part) in [
        ("[links]\njob = \"javascript:alert(1)\"\n", "http://"),
        ("[api]\nprefix = \"turnabout\"\n", "begins with `/`"),
        ("[api]\nprefix = \"/a b\"\n", "begins with `/`"),
    ] {
        place.configure(text);
        let said = place.complaint(&["config"]);
        assert!(said.contains(part), "{text}: {said}");
    }
}
