//! One answer for many readers. Twenty open pages ask for the same things at the same time: whoever sends `Cache-Control:
//! max-age=N` can do with an answer that others were given up to N seconds ago. Whoever does not is always told how it is
//! now.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::answers::{Again, Answers};
use super::caller::Caller;
use crate::auth::Rights;

/// What is asked for again and again, and is found in the store.
const ROUTES: [&str; 13] = [
    "/api/v1/audit",
    "/api/v1/doctor",
    "/api/v1/executors",
    "/api/v1/failures",
    "/api/v1/groups",
    "/api/v1/groups/{group}",
    "/api/v1/queues",
    "/api/v1/schedules",
    "/api/v1/shares",
    "/api/v1/summary",
    "/api/v1/tasks",
    "/api/v1/tasks/{task}",
    "/api/v1/trends",
];
/// What took no longer is found anew for whoever comes after this time, but not for each of those who come within it: what
/// readers cost the store does not grow with their number.
const CHEAP: Duration = Duration::from_millis(5);
const LEAST: Duration = Duration::from_secs(1);
/// No answer is told again for longer than this, whatever a reader would take.
const OLDEST: Duration = Duration::from_secs(20);
/// Longer answers are not kept.
const LONGEST: u64 = 128 * 1024;

/// Who is told what: those with the same rights are told the same.
type Question = (&'static str, Arc<Rights>, String);

/// Answers that several are given.
pub(super) type Shared = Arc<Answers<Question, Told>>;

/// An answer without what belongs to one reader.
#[derive(Clone)]
pub(super) struct Told {
    kind: HeaderValue,
    body: Bytes,
}

pub(super) async fn share(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let Some((question, oldest)) = question(&request) else {
        return next.run(request).await;
    };
    // What is told once more may be twice as old.
    let oldest = oldest / 2;
    let again = Again {
        cheap: CHEAP,
        least: LEAST.min(oldest),
        oldest,
        worth: Duration::ZERO,
    };
    let answer = shared.get(question, again, async { keep(next.run(request).await).await });
    match answer.await {
        Ok(told) => ([(header::CONTENT_TYPE, told.kind)], told.body).into_response(),
        Err(response) => response,
    }
}

/// What is asked, if others may ask it too, and how old the answer may be.
fn question(request: &Request) -> Option<(Question, Duration)> {
    let route = request.extensions().get::<MatchedPath>()?;
    if request.method() != Method::GET || !ROUTES.contains(&route.as_str()) {
        return None;
    }
    let oldest = max_age(request.headers())?;
    let caller = request.extensions().get::<Caller>()?;
    // Those who see one group alone cost little, and there are many of them.
    caller.sees_all().ok()?;
    let asked = request.uri().path_and_query()?.as_str().to_owned();
    Some(((caller.role.word(), Arc::clone(&caller.rights), asked), oldest))
}

/// How old an answer may be, as a header says it.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::CACHE_CONTROL)?.to_str().ok()?;
    let seconds = value.split(',').find_map(|one| one.trim().strip_prefix("max-age="))?;
    let age = Duration::from_secs(seconds.parse().ok()?).min(OLDEST);
    (!age.is_zero()).then_some(age)
}

/// An answer that can be told again. Any other is for whoever asked.
async fn keep(response: Response) -> Result<Told, Response> {
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    let length = response.body().size_hint().exact();
    let (Some(kind), StatusCode::OK, Some(0..=LONGEST)) = (kind, response.status(), length) else {
        return Err(response);
    };
    let (parts, body) = response.into_parts();
    match to_bytes(body, LONGEST as usize).await {
        Ok(body) => Ok(Told { kind, body }),
        // It was at hand as a whole.
        Err(_) => Err(Response::from_parts(parts, Body::empty())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;
    use crate::auth::{Holder, Role};

    #[test]
    fn only_whoever_says_so_is_told_an_older_answer() {
        let age = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
            max_age(&headers)
        };
        assert_eq!(max_age(&HeaderMap::new()), None);
        for none in [
            "no-cache",
            "max-age=0",
            "max-age=-1",
            "max-age=x",
            "no-store, max-age=",
            "",
        ] {
            assert_eq!(age(none), None, "{none}");
        }
        assert_eq!(age("max-age=2"), Some(Duration::from_secs(2)));
        assert_eq!(age("private, max-age=3"), Some(Duration::from_secs(3)));
        assert_eq!(age("max-age=86400"), Some(OLDEST));
    }

    #[tokio::test]
    async fn an_answer_is_shared_by_those_who_may_see_the_same_and_can_do_with_an_older_one() {
        use axum::Extension;
        use axum::middleware::from_fn_with_state;
        use axum::routing::get;
        use tower::ServiceExt as _;

        let found = Arc::new(AtomicU32::new(0));
        let find = async move || {
            // Told again for fifty times as long, and no longer than five seconds.
            std::thread::sleep(Duration::from_millis(100));
            (found.fetch_add(1, SeqCst) + 1).to_string()
        };
        let routes = axum::Router::new()
            .route("/api/v1/doctor", get(find.clone()))
            .route("/api/v1/jobs", get(find));
        let routes = routes.layer(from_fn_with_state(Shared::default(), share));
        let ask = async |role: Role, path: &str, age: &'static str| {
            let caller = Caller::new(Holder::new("t", "t", role));
            let request = Request::get(path).header(header::CACHE_CONTROL, age);
            let request = request.body(Body::empty()).expect("it is one");
            let answer = routes.clone().layer(Extension(caller)).oneshot(request).await;
            let body = to_bytes(answer.expect("it answers").into_body(), 100)
                .await
                .expect("short");
            String::from_utf8(body.to_vec()).expect("digits")
        };
        let doctor = "/api/v1/doctor";
        let group = || Role::Group("a".to_owned());
        assert_eq!(ask(Role::Admin, doctor, "max-age=10").await, "1");
        assert_eq!(ask(Role::Admin, doctor, "max-age=10").await, "1", "told again");
        assert_eq!(ask(Role::Admin, doctor, "no-cache").await, "2", "as it is now");
        assert_eq!(ask(Role::Viewer, doctor, "max-age=10").await, "3", "another role");
        assert_eq!(
            ask(Role::Admin, "/api/v1/doctor?a", "max-age=10").await,
            "4",
            "another question"
        );
        assert_eq!(ask(group(), doctor, "max-age=10").await, "5", "one group");
        assert_eq!(ask(group(), doctor, "max-age=10").await, "6", "one group");
        assert_eq!(
            ask(Role::Admin, "/api/v1/jobs", "max-age=10").await,
            "7",
            "never shared"
        );
        assert_eq!(
            ask(Role::Admin, "/api/v1/jobs", "max-age=10").await,
            "8",
            "never shared"
        );
        assert_eq!(ask(Role::Admin, doctor, "max-age=10").await, "1");
    }

    #[tokio::test]
    async fn short_good_answers_are_kept_and_others_passed_on() {
        let answer = |status: StatusCode, body: Body| {
            let mut response = Response::new(body);
            *response.status_mut() = status;
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        };
        let kept = keep(answer(StatusCode::OK, Body::from("{}"))).await;
        assert_eq!(kept.map(|told| told.body).ok().as_deref(), Some(&b"{}"[..]));
        let long = vec![b' '; LONGEST as usize + 1];
        assert!(keep(answer(StatusCode::OK, Body::from(long))).await.is_err());
        let problem = keep(answer(StatusCode::FORBIDDEN, Body::from("no"))).await;
        let problem = problem.err().expect("it is passed on");
        assert_eq!(problem.status(), StatusCode::FORBIDDEN);
        assert_eq!(to_bytes(problem.into_body(), 10).await.expect("as it was"), "no");
    }
}
