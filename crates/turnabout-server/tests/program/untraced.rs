//! A program without the feature `otel`: it sends no traces, and says so.

use crate::place::Place;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

pub(crate) fn without_opentelemetry_an_endpoint_is_refused_and_a_callers_trace_is_handed_on(place: &Place) {
    place.configure("[traces]\nendpoint = \"http://127.0.0.1:4318\"\n");
    let complaint = place.complaint(&["serve", "--address", "127.0.0.1:0"]);
    assert!(
        complaint.contains("without OpenTelemetry") && complaint.contains("--features otel"),
        "{complaint}"
    );
    place.configure("[tasks.parent]\ncommand = [\"sh\", \"-c\", \"printenv TRACEPARENT\"]\n");
    let server = place.serve(&[]);
    let submitted = place
        .command(&["submit", "parent", "--server", &server.url])
        .env("TRACEPARENT", PARENT)
        .output()
        .expect("it starts");
    let id = String::from_utf8(submitted.stdout).expect("text").trim().to_owned();
    assert_eq!(place.job_in(&id, "success")["meta"]["traceparent"], PARENT);
    let log = place.ask(&["logs", &id]);
    assert!(log.contains(PARENT), "{log}");
}
