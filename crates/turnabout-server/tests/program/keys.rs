//! Rates of jobs that were submitted with the same key.

use serde_json::json;

use crate::http::Caller;
use crate::place::Place;
use crate::roles;

pub(crate) fn jobs_of_one_key_start_only_so_often(place: &Place) {
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    let keyed = json!({ "task": "sleep", "args": { "seconds": 0 }, "rate": "1/h for smtp" });
    let first = api.submit(&keyed);
    assert_eq!(api.ended(&first)["rate"], "1/h for smtp");
    let job = place.ask(&[
        "submit",
        "sleep",
        "{\"seconds\":0}",
        "--group",
        "b",
        "--rate",
        "1/h for smtp",
    ]);
    let mut seen = api.events(&format!("ids={job}"), None);
    let mut why = api.get(&format!("/api/v1/jobs/{job}/explain")).with(200);
    while why["parked"].is_null() {
        seen.next().expect("an event");
        why = api.get(&format!("/api/v1/jobs/{job}/explain")).with(200);
    }
    let text = why["text"].as_str().expect("words");
    assert!(
        text.contains("(rate-limited)") && text.contains("with the key `smtp` start at most 1/h"),
        "{text}"
    );
    let told = api.get(&format!("/api/v1/jobs/{job}")).with(200);
    assert_eq!(
        (&told["reason"], &told["attempts"]),
        (&json!("rate-limited"), &json!(0))
    );
    assert_eq!((&told["meta"], &told["rate"]), (&json!({}), &json!("1/h for smtp")));
    for rate in ["1/h", "smtp", "1/h for ", "0/h for smtp"] {
        api.post("/api/v1/jobs", &json!({ "task": "sleep", "rate": rate }))
            .problem(400, "invalid");
    }
    let sly = json!({ "task": "sleep", "meta": { "turnabout-rate": "1/h for smtp" } });
    api.post("/api/v1/jobs", &sly).problem(400, "invalid");
    drop(server);
    // A group's keys are its own.
    place.configure(&format!(
        "[tokens.acme]\nhash = \"{}\"\nrole = \"group\"\ngroup = \"acme\"\n",
        roles::hash("acme")
    ));
    let server = place.serve(&[]);
    let acme = Caller::of(&server).with_token("acme");
    let own = acme.submit(&keyed);
    assert_eq!(acme.ended(&own)["rate"], "1/h for acme: smtp");
}
