//! Who may do what: each operation of the API's own description, by each role, by each scope alone and without a token; to
//! what is theirs, what is someone else's and what does not exist. An operation without a row fails the test.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::Place;
use crate::roles::hash;

/// For whom an operation is, beside the scope.
#[derive(Clone, Copy, Debug, PartialEq)]
enum For {
    /// Every role.
    All,
    /// Those that see all groups.
    Whole,
    /// Those that see a whole group.
    Groups,
    /// Those that make tokens for others: administrators and groups.
    Makers,
}
use For::{All, Groups, Makers, Whole};

/// What an operation is about, and so how it is answered if that is someone else's, and if it is not there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum About {
    /// Nothing that is anyone's.
    Nothing,
    /// A job, or an operation on jobs: `{id}`. What is foreign is not there.
    Id,
    /// A schedule: `{name}` of `{group}`. The same.
    Schedule,
    /// A group that is named: `{group}`. Any but the own one is refused.
    Group,
    /// An executor. There is none.
    Executor,
}
use About::{Executor, Group, Id, Nothing, Schedule};

/// Method, path, body, the scope that is needed ("": a token, "-": not even that), for whom, and about what.
type Row = (&'static str, &'static str, &'static str, &'static str, For, About);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("GET", "/healthz", "", "-", All, Nothing),
    ("GET", "/readyz", "", "-", All, Nothing),
    ("GET", "/api/info/version", "", "-", All, Nothing),
    ("GET", "/metrics", "", "metrics", Whole, Nothing),
    ("GET", "/api/v1/me", "", "", All, Nothing),

    ("POST", "/api/v1/jobs", r#"{"task":"x","group":"{group}"}"#, "submit", All, Group),
    ("POST", "/api/v1/jobs/batch", r#"{"jobs":[{"task":"x"}]}"#, "submit", All, Nothing),
    ("GET", "/api/v1/jobs?group={group}", "", "read", All, Group),
    ("POST", "/api/v1/jobs/find", r#"{"group":"{group}"}"#, "read", All, Group),
    ("POST", "/api/v1/jobs/bulk", r#"{"action":"cancel","filter":{"group":"{group}"},"dry_run":true}"#, "cancel", All, Group),
    ("POST", "/api/v1/jobs/bulk", r#"{"action":"delete","filter":{"group":"{group}"},"dry_run":true}"#, "cancel", All, Group),
    ("POST", "/api/v1/jobs/bulk", r#"{"action":"restart","filter":{"group":"{group}"},"dry_run":true}"#, "submit", All, Group),
    ("GET", "/api/v1/jobs/{id}", "", "read", All, Id),
    ("DELETE", "/api/v1/jobs/{id}", "", "cancel", All, Id),
    ("POST", "/api/v1/jobs/{id}/cancel", "", "cancel", All, Id),
    ("POST", "/api/v1/jobs/{id}/restart", "", "submit", All, Id),
    ("POST", "/api/v1/jobs/{id}/retry", "", "submit", All, Id),
    ("PUT", "/api/v1/jobs/{id}/priority", r#"{"priority":"low"}"#, "submit", All, Id),
    ("GET", "/api/v1/jobs/{id}/logs", "", "read", All, Id),
    ("GET", "/api/v1/jobs/{id}/logs?follow=true", "", "read", All, Id),
    ("GET", "/api/v1/jobs/{id}/attempts", "", "read", All, Id),
    ("GET", "/api/v1/jobs/{id}/result", "", "read", All, Id),
    ("GET", "/api/v1/jobs/{id}/explain", "", "read", All, Id),
    ("GET", "/api/v1/operations", "", "read", All, Nothing),
    ("GET", "/api/v1/operations/{id}", "", "read", All, Id),
    ("POST", "/api/v1/operations/{id}/stop", "", "submit or cancel", All, Id),
    ("GET", "/api/v1/events?group={group}", "", "read", All, Group),
    ("POST", "/api/v1/events", r#"{"group":"{group}"}"#, "read", All, Group),

    ("POST", "/api/v1/tokens", r#"{"group":"{group}"}"#, "read", Makers, Group),
    ("POST", "/api/v1/tokens/rotate", "", "admin", All, Nothing),

    ("GET", "/api/v1/summary?group={group}", "", "read", All, Group),
    ("GET", "/api/v1/trends", "", "read", Whole, Nothing),
    ("GET", "/api/v1/shares", "", "read", Groups, Nothing),
    ("GET", "/api/v1/failures?group={group}", "", "read", All, Group),
    ("GET", "/api/v1/doctor", "", "read", Whole, Nothing),
    ("GET", "/api/v1/audit?group={group}", "", "read", Groups, Group),

    ("GET", "/api/v1/settings", "", "read", Whole, Nothing),
    ("PATCH", "/api/v1/settings", r#"{"paused":false}"#, "operate", All, Nothing),
    ("GET", "/api/v1/groups", "", "read", All, Nothing),
    ("GET", "/api/v1/groups/{group}", "", "read", All, Group),
    ("PATCH", "/api/v1/groups/{group}", r#"{"paused":false}"#, "operate", All, Nothing),
    ("GET", "/api/v1/queues", "", "read", Whole, Nothing),
    ("GET", "/api/v1/queues/{queue}", "", "read", Whole, Nothing),
    ("PATCH", "/api/v1/queues/{queue}", r#"{"paused":false}"#, "operate", All, Nothing),
    ("GET", "/api/v1/tasks", "", "read", Whole, Nothing),
    ("GET", "/api/v1/tasks/{task}", "", "read", Whole, Nothing),
    ("PATCH", "/api/v1/tasks/{task}", r#"{"paused":false}"#, "operate", All, Nothing),

    ("GET", "/api/v1/schedules?group={group}", "", "read", All, Group),
    ("POST", "/api/v1/schedules/check", r#"{"expression":"@daily"}"#, "read", All, Nothing),
    ("GET", "/api/v1/schedules/{name}?group={group}", "", "read", All, Schedule),
    ("PUT", "/api/v1/schedules/new?group={group}", r#"{"task":"x","expression":"@yearly"}"#, "submit", All, Group),
    ("PATCH", "/api/v1/schedules/{name}?group={group}", r#"{"enabled":true}"#, "submit", All, Schedule),
    ("DELETE", "/api/v1/schedules/{name}?group={group}", "", "submit", All, Schedule),
    ("POST", "/api/v1/schedules/{name}/pause?group={group}", "{}", "submit", All, Schedule),
    ("POST", "/api/v1/schedules/{name}/resume?group={group}", "", "submit", All, Schedule),
    ("POST", "/api/v1/schedules/{name}/reset?group={group}", "", "submit", All, Schedule),
    ("POST", "/api/v1/schedules/{name}/run?group={group}", "{}", "submit", All, Schedule),
    ("POST", "/api/v1/schedules/{name}/backfill?group={group}", r#"{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}"#, "submit", All, Schedule),
    ("GET", "/api/v1/schedules/{name}/next?group={group}", "", "read", All, Schedule),
    ("GET", "/api/v1/schedules/{name}/history?group={group}", "", "read", All, Schedule),
    ("GET", "/api/v1/schedule-events?group={group}", "", "read", All, Group),

    ("GET", "/api/v1/executors", "", "read", Whole, Nothing),
    ("POST", "/api/v1/executors/{id}/drain", r#"{"drain":true}"#, "operate", All, Executor),
    ("POST", "/api/v1/notify", "", "operate", All, Nothing),
    ("GET", "/api/v1/running", "", "read", Whole, Nothing),
    // Nobody gets so far: the deadline makes no sense.
    ("POST", "/api/v1/shutdownAndExit?deadline=soon", "", "admin", All, Nothing),
];

/// Where tokens for browsers work.
const BROWSERS: [(&str, &str); 6] = [
    ("GET", "/api/v1/jobs"),
    ("POST", "/api/v1/jobs/find"),
    ("GET", "/api/v1/jobs/{id}"),
    ("POST", "/api/v1/jobs/{id}/cancel"),
    ("GET", "/api/v1/events"),
    ("POST", "/api/v1/events"),
];

/// A token: its name, its role and its scopes. Groups and owners are those of `acme`.
const CALLERS: &[(&str, &str, &[&str])] = &[
    (
        "admin",
        "admin",
        &["read", "submit", "cancel", "operate", "metrics", "admin"],
    ),
    (
        "operator",
        "operator",
        &["read", "submit", "cancel", "operate", "metrics"],
    ),
    ("viewer", "viewer", &["read", "metrics"]),
    ("group", "group", &["read", "submit", "cancel"]),
    ("owner", "owner", &["read", "submit", "cancel"]),
    ("admin-read", "admin", &["read"]),
    ("admin-submit", "admin", &["submit"]),
    ("admin-cancel", "admin", &["cancel"]),
    ("admin-operate", "admin", &["operate"]),
    ("admin-metrics", "admin", &["metrics"]),
    ("admin-admin", "admin", &["admin"]),
    ("group-read", "group", &["read"]),
    ("group-submit", "group", &["submit"]),
    ("group-cancel", "group", &["cancel"]),
    ("owner-read", "owner", &["read"]),
    ("owner-submit", "owner", &["submit"]),
    ("owner-cancel", "owner", &["cancel"]),
    ("browser", "browser", &["read"]),
    ("browser-cancel", "browser", &["read", "cancel"]),
    ("nobody", "", &[]),
];

/// Whose the object of a request is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whose {
    Own,
    Foreign,
    Absent,
}

fn plain(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// The code of the problem that a request has to be answered with. None: it is let in.
fn expected(role: &str, scopes: &[&str], row: &Row, whose: Whose) -> Option<&'static str> {
    let (method, path, _, needed, who, about) = *row;
    match role {
        "" if needed != "-" => return Some("unauthorized"),
        "browser" if !BROWSERS.contains(&(method, plain(path))) => return Some("forbidden"),
        _ => {}
    }
    if needed == "-" {
        return None;
    }
    if !needed.is_empty() && !needed.split(" or ").any(|scope| scopes.contains(&scope)) {
        return Some("missing-scope");
    }
    let sees_all = ["admin", "operator", "viewer"].contains(&role);
    let may = match who {
        All => true,
        Whole => sees_all,
        Groups => role != "owner",
        Makers => role == "admin" || role == "group",
    };
    match (about, whose) {
        _ if !may => Some("forbidden"),
        (Executor, _) | (Id | Schedule, Whose::Absent) => Some("not-found"),
        (Id | Schedule, Whose::Foreign) if !sees_all => Some("not-found"),
        (Group, Whose::Foreign | Whose::Absent) if !sees_all => Some("forbidden"),
        _ => None,
    }
}

/// What there is: of `acme`, and of `blue`.
struct Things {
    chief: Caller,
    /// A job and an operation of each group.
    jobs: [String; 2],
    operations: [String; 2],
}

const ABSENT: &str = "01a1e212-79a3-7000-a3d7-c4437b9fc681";

impl Things {
    fn new(chief: Caller, blue: &Caller, owner: &Caller) -> Self {
        let operation = |caller: &Caller| {
            let nothing = json!({ "action": "retry", "filter": { "task": "none" }, "background": true });
            let begun = caller.post("/api/v1/jobs/bulk", &nothing).with(202);
            begun["id"].as_str().expect("an id").to_owned()
        };
        let things = Self {
            jobs: ["acme", "blue"].map(|group| Self::job(&chief, group)),
            operations: [operation(owner), operation(blue)],
            chief,
        };
        things.schedules();
        things
    }

    /// A job that waits, and that nobody has touched.
    fn job(chief: &Caller, group: &str) -> String {
        chief.submit(&json!({ "task": "x", "group": group, "owner": "ada", "delay": "1 day" }))
    }

    /// Schedules as they were.
    fn schedules(&self) {
        for whose in ["group=acme", "group=acme&owner=ada", "group=blue"] {
            let schedule = json!({ "task": "x", "expression": "@yearly" }).to_string();
            let path = format!("/api/v1/schedules/nightly?{whose}");
            self.chief.call("PUT", &path, &[], &schedule).with(200);
        }
    }

    /// A request about one of these things.
    fn fill(&self, text: &str, row: &Row, whose: Whose, fresh: bool) -> String {
        let (_, path, _, _, _, about) = *row;
        let at = usize::from(whose == Whose::Foreign);
        let group = match (about, whose) {
            (_, Whose::Foreign) => "blue",
            (Group, Whose::Absent) => "green",
            _ => "acme",
        };
        let id = match whose {
            Whose::Absent => ABSENT.to_owned(),
            _ if about == Executor => ABSENT.to_owned(),
            _ if path.contains("operations") => self.operations[at].clone(),
            _ if fresh && text.contains("{id}") => Self::job(&self.chief, group),
            _ => self.jobs[at].clone(),
        };
        let name = if whose == Whose::Absent { "never" } else { "nightly" };
        text.replace("{id}", &id)
            .replace("{name}", name)
            .replace("{group}", group)
            .replace("{queue}", "default")
            .replace("{task}", "x")
    }
}

pub(crate) fn everyone_does_what_the_table_says_and_nothing_else(place: &Place) {
    let mut text = "[api]\nrate = 100000\nrate-burst = 100000\n\
                    signing-keys = [\"a key that is long enough for every one of us\"]\n"
        .to_owned();
    for (name, role, scopes) in CALLERS {
        let mine = match *role {
            "group" => "group = \"acme\"\n",
            "owner" => "group = \"acme\"\nowner = \"ada\"\n",
            "browser" | "" => continue,
            _ => "",
        };
        let hash = hash(name);
        let token = format!("[tokens.{name}]\nhash = \"{hash}\"\nrole = \"{role}\"\nscopes = {scopes:?}\n{mine}");
        text.push_str(&token);
    }
    let blue = hash("blue");
    let blue = format!("[tokens.blue]\nhash = \"{blue}\"\nrole = \"group\"\ngroup = \"blue\"\n");
    text.push_str(&blue);
    place.configure(&text);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let chief = nobody.with_token("admin");
    let things = Things::new(chief.clone(), &nobody.with_token("blue"), &nobody.with_token("owner"));
    every_operation_has_a_row(&chief);

    let mint = |cancel: bool| {
        let minted = chief.post("/api/v1/tokens", &json!({ "group": "acme", "cancel": cancel }));
        minted.with(201)["token"].as_str().expect("a token").to_owned()
    };
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (name, role, scopes) in CALLERS {
        let caller = match (*role, *name) {
            ("", _) => nobody.clone(),
            ("browser", _) => nobody.with_token(&mint(scopes.contains(&"cancel"))),
            (_, name) => nobody.with_token(name),
        };
        for row in TABLE {
            let all = [Whose::Own, Whose::Foreign, Whose::Absent];
            let those = if row.5 == Nothing { &all[..1] } else { &all[..] };
            for whose in those {
                let expected = expected(role, scopes, row, *whose);
                let changes = row.0 != "GET" && expected.is_none();
                let path = things.fill(row.1, row, *whose, changes);
                let body = things.fill(row.2, row, *whose, changes);
                let answer = caller.peek(row.0, &path, &body);
                let problem: Value = serde_json::from_str(&answer.text).unwrap_or_default();
                let refused = matches!(answer.status, 401 | 403 | 404).then(|| problem["code"].as_str().unwrap_or("?"));
                // Whoever lacks both scopes of bulk changes hears of the first.
                let either = row.1 == "/api/v1/jobs/bulk" && !scopes.contains(&"submit") && !scopes.contains(&"cancel");
                let lacks = problem["scope"].as_str();
                let right = refused == expected
                    && (answer.status < 500 || row.1 == "/api/v1/notify")
                    && lacks.is_none_or(|scope| row.3.contains(scope) || either && scope == "submit")
                    && (expected == Some("missing-scope")) == lacks.is_some();
                if !right {
                    let text = &answer.text[..answer.text.len().min(200)];
                    wrong.push(format!(
                        "{name}: {} {path} ({whose:?}): expected {expected:?}, was {}: {text}",
                        row.0, answer.status
                    ));
                }
                if changes && row.5 == Schedule {
                    things.schedules();
                }
                cases += 1;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // Whoever was refused has changed nothing.
    for id in &things.jobs {
        let job = chief.get(&format!("/api/v1/jobs/{id}")).with(200);
        assert_eq!((&job["state"], &job["priority"]), (&json!("waiting"), &json!("normal")));
    }
    nobody.get("/healthz").with(200);
}

/// What the API describes has to be in the table, and nothing else.
fn every_operation_has_a_row(api: &Caller) {
    let document = api.get("/api/openapi.json").with(200);
    let mut described = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("methods").keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let known = |path: &str| plain(path).replace("schedules/new", "schedules/{name}");
    let rows: BTreeSet<_> = TABLE.iter().map(|row| (row.0.to_owned(), known(row.1))).collect();
    let differ: Vec<_> = described.symmetric_difference(&rows).collect();
    assert!(differ.is_empty(), "without a row, or not described: {differ:?}");
}
