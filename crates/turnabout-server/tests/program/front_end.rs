//! What web applications rely on beside minted tokens themselves: signing keys of their own, many ids in one request, and
//! statuses that a task chooses for its errors.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::{Place, Server, wait_for};
use crate::roles::configure;

const OLD: &str = "an old key that is long enough for us";
const NEW: &str = "a new key that is long enough for us, too";

/// The configuration of the other tests, with more about the API.
fn configure_with(place: &Place, more: &str) {
    configure(place);
    let before = String::from_utf8(place.read("turnabout.toml").expect("a file")).expect("text");
    place.configure(&format!("{before}{more}\n"));
}

fn read_again(server: &Server) {
    server.signal("HUP");
    wait_for(&server.log, "was read again");
}

fn mint(caller: &Caller) -> String {
    let minted = caller
        .post("/api/v1/tokens", &json!({ "owner": "ada", "lifetime": "1 day" }))
        .with(201);
    minted["token"].as_str().expect("a token").to_owned()
}

pub(crate) fn signing_keys_of_the_configuration_are_rotated_and_revoke(place: &Place) {
    // A token of before, signed with a key of the store.
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let acme = Caller::of(&server).with_token("acme");
    let id = acme.submit(&json!({ "task": "x", "owner": "ada" }));
    let path = format!("/api/v1/jobs/{id}");
    let of_the_store = mint(&acme);
    server.terminate();
    server.end();

    place.file("signing.keys", &format!("{OLD}\n"));
    configure_with(place, "signing-keys-file = \"signing.keys\"");
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let (chief, acme) = (nobody.with_token("chief"), nobody.with_token("acme"));
    let ask = |token: &str| nobody.with_token(token).get(&path);
    ask(&of_the_store).problem(401, "unauthorized");
    let old = mint(&acme);
    ask(&old).with(200);

    // Rotated: a new key signs, and what the old one has signed is still good, also for servers that only know the new order.
    place.file("signing.keys", &format!("# the new key\n{NEW}\n{OLD}\n"));
    read_again(&server);
    let new = mint(&acme);
    ask(&old).with(200);
    ask(&new).with(200);
    let mut events = nobody.with_token(&old).events("", None);
    while events.next().expect("an event").name != "ready" {}

    // Revoked: the old key is gone, and with it its tokens and their streams.
    place.file("signing.keys", &format!("{NEW}\n"));
    read_again(&server);
    ask(&old).problem(401, "unauthorized");
    while events.next().is_some() {}
    ask(&new).with(200);

    // A key that cannot be used changes nothing.
    place.file("signing.keys", "short\n");
    server.signal("HUP");
    let refused = wait_for(&server.log, "stays as it was");
    assert!(
        refused.contains("at least 32") && !refused.contains("short"),
        "{refused}"
    );
    ask(&new).with(200);
    place.file("signing.keys", &format!("{NEW}\n"));

    // They are replaced where they stand, not in the store.
    let why = chief
        .post("/api/v1/tokens/rotate", &Value::Null)
        .problem(409, "configured");
    assert!(
        why["detail"]
            .as_str()
            .is_some_and(|text| text.contains("api.signing-keys")),
        "{why}"
    );
    assert!(place.complaint(&["token", "rotate"]).contains("api.signing-keys"));
    ask(&place.ask(&["token", "mint", &id])).with(200);

    // A server with the same key in its configuration knows the tokens, and shows the key to nobody.
    configure_with(place, &format!("signing-keys = [\"{NEW}\"]"));
    let second = place.serve(&["--no-executor"]);
    Caller::of(&second).with_token(&new).get(&path).with(200);
    for shown in [place.ask(&["config"]), place.ask(&["config", "--json"])] {
        assert!(shown.contains("(secret)") && !shown.contains(NEW), "{shown}");
    }
    server.terminate();
    let logged: Vec<String> = std::iter::from_fn(|| server.log.recv().ok()).collect();
    let logged = logged.join("\n");
    for secret in [OLD, NEW, &old, &new] {
        assert!(!logged.contains(secret), "{logged}");
    }
}

pub(crate) fn five_hundred_jobs_are_asked_for_at_once_and_foreign_ones_are_left_out(place: &Place) {
    configure(place);
    let server = place.serve(&["--no-executor"]);
    let nobody = Caller::of(&server);
    let [acme, blue, ada] = ["acme", "blue", "ada"].map(|name| nobody.with_token(name));
    let submit = |caller: &Caller, owner: &str, many: usize| -> Vec<String> {
        let jobs = vec![json!({ "task": "x", "owner": owner }); many];
        let batch = caller.post("/api/v1/jobs/batch", &json!({ "jobs": jobs })).with(207);
        let outcomes = batch["outcomes"].as_array().expect("outcomes").iter();
        outcomes
            .map(|outcome| outcome["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let hers = submit(&acme, "ada", 498);
    let foreign = [submit(&acme, "bob", 1), submit(&blue, "ada", 1)].concat();
    ada.post(&format!("/api/v1/jobs/{}/cancel", hers[0]), &Value::Null)
        .with(200);
    let all = [foreign, hers.clone()].concat();
    assert_eq!(all.len(), 500);
    let token = mint(&acme);
    for caller in [&ada, &nobody.with_token(&token)] {
        let found = |states: &str| -> Vec<String> {
            let page = caller
                .get(&format!("/api/v1/jobs?ids={}{states}", all.join(",")))
                .with(200);
            let jobs = page["jobs"].as_array().expect("jobs").iter();
            jobs.map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
        };
        assert_eq!(found(""), hers, "in the order that was asked for");
        assert_eq!(found("&states=!success"), hers);
        assert_eq!(found("&states=!success&states=!cancelled"), hers[1..]);
        assert_eq!(found("&states=cancelled"), hers[..1]);
    }
}

pub(crate) fn a_task_chooses_the_status_of_its_errors_at_a_submit(place: &Place) {
    place.configure(
        "[tasks.convert]\ncommand = [\"true\", \"{args.file}\"]\nstatuses = { refused = 400 }\n\
         [tasks.plain]\ncommand = [\"true\", \"{args.file}\"]\n",
    );
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    for (task, status) in [("convert", 400), ("plain", 422)] {
        let job = json!({ "task": task, "args": { "path": "a.pdf" } });
        api.post("/api/v1/jobs", &job).problem(status, "refused");
        let batch = api.post("/api/v1/jobs/batch", &json!({ "jobs": [job] })).with(207);
        assert_eq!(batch["outcomes"][0]["status"], status, "{batch}");
    }
}
