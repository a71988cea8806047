//! What web applications rely on beside minted tokens themselves: signing keys of their own.

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
