//! What every request passes on its way in and out: the right host, no foreign web page, a token, the rate limit, the
//! time limit; and headers that tell browsers to be careful.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use turnabout::store::audit::Deed;

use super::audit;
use super::caller::Caller;
use super::crowd::Permit;
use super::dashboard;
use super::needs;
use super::state::App;
use super::types::{Code, Problem};
use crate::auth::{Gate, Holder, Minted, minted};

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// What a minted token was found to allow, if anything.
type Verified = Result<Option<Minted>, Problem>;

/// What anyone may read: whether the server is alive, and how it is used.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/api/info/version", "/api/openapi.json"];

/// The documentation may load its own scripts and styles, and nothing else from anywhere.
const DOCS: &str = "/api/docs";

pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let path = request.uri().path();
    let policy = policy(path);
    let private = path.starts_with("/api/v1");
    let token = bearer(request.headers()).filter(|token| minted::is_minted(token));
    let minted = match token.map(str::to_owned) {
        Some(token) => Some(app.minting.verify(&app, &token).await),
        None => None,
    };
    let mut response = match admit(&app, &request, minted) {
        Ok(caller) => {
            let schedule = audit::of_schedule(&method, path);
            let permit = room(&app, path, caller.as_ref());
            if let Some(caller) = caller.clone() {
                request.extensions_mut().insert(caller);
            }
            let response = match permit {
                Ok(permit) => hold(answer(next.run(request), app.settings.timeout).await, permit),
                Err(problem) => problem.into_response(),
            };
            if let Some(((action, target), caller)) = schedule.zip(caller).filter(|_| response.status().is_success()) {
                let target = Some(target);
                app.note(Deed {
                    target,
                    ..caller.deed(&action)
                })
                .await;
            }
            response
        }
        Err(problem) => problem.into_response(),
    };
    protect(response.headers_mut(), policy, private);
    count(&method, matched.as_ref(), &response, begin);
    response
}

/// A place among the requests that are under way. Those that anyone may make are short, and always answered.
fn room(app: &App, path: &str, caller: Option<&Caller>) -> Result<Option<Permit>, Problem> {
    let caller = caller.filter(|_| !OPEN.contains(&path));
    caller.map(|caller| app.requests.enter(caller)).transpose()
}

/// A request is under way until its answer has been read. Streams are counted by themselves.
fn hold(mut response: Response, permit: Option<Permit>) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if let Some(permit) = permit.filter(|_| !stream) {
        response.extensions_mut().insert(Arc::new(permit));
    }
    response
}

/// Paths are counted as they are described, not as they are asked for: of those there are few.
fn count(method: &Method, path: Option<&MatchedPath>, response: &Response, begin: Instant) {
    let path = path.map_or("other", MatchedPath::as_str).to_owned();
    let status = response.status().as_u16().to_string();
    let method = match *method {
        Method::GET | Method::POST | Method::PUT | Method::PATCH | Method::DELETE | Method::HEAD | Method::OPTIONS => {
            method.as_str()
        }
        // Anything can be sent as a method.
        _ => "other",
    };
    metrics::counter!("turnabout_http_requests_total", "method" => method.to_owned(), "path" => path.clone(),
        "status" => status)
    .increment(1);
    metrics::histogram!("turnabout_http_request_seconds", "path" => path).record(begin.elapsed());
}

async fn answer(response: impl Future<Output = Response>, limit: Duration) -> Response {
    match tokio::time::timeout(limit, response).await {
        Ok(response) => response,
        Err(_) => Problem::new(
            Code::Timeout,
            format!("there was no answer within {limit:?}; try again"),
        )
        .into_response(),
    }
}

/// Whether a request may come in, and by whom it is made. None: by anyone, for what anyone may read.
fn admit(app: &App, request: &Request, minted: Option<Verified>) -> Result<Option<Caller>, Problem> {
    let headers = request.headers();
    let host = request
        .uri()
        .authority()
        .map(axum::http::uri::Authority::as_str)
        .or_else(|| headers.get(header::HOST)?.to_str().ok())
        .unwrap_or_default();
    let live = app.live();
    let open = live.gate.is_open();
    if open && !app.settings.mounted && !is_ours(host, &app.settings.hosts) {
        return Err(Problem::new(
            Code::WrongHost,
            "the Host header names neither this machine's loopback address nor a configured host",
        ));
    }
    if changes(request.method()) && is_foreign(headers, host, &app.settings.cors) {
        return Err(Problem::new(
            Code::Forbidden,
            "web pages of other sites may not change anything here",
        ));
    }
    let path = request.uri().path();
    // A browser's token allows no more where nobody needs one: what works there works elsewhere.
    if let Some(minted) = minted {
        return browser(app, request, minted).map(Some);
    }
    let address = request.extensions().get::<Peer>().map(|peer| peer.0);
    if open {
        return Ok(Some(Caller::anyone(&app.settings.nobody).at(address)));
    }
    let page = app.settings.dashboard && dashboard::is_page(path);
    if OPEN.contains(&path) || page || path.starts_with(DOCS) || (path == "/metrics" && app.settings.open_metrics) {
        return Ok(None);
    }
    let (token, holder) = identify(app, &live.gate, request)?;
    limit(app.limiter.take(&holder.key(), Instant::now()))?;
    let caller = Caller::with(holder, token).at(address);
    needs::check(&caller, request)?;
    Ok(Some(caller))
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn identify<'a>(app: &App, gate: &Gate, request: &'a Request) -> Result<(&'a str, Holder), Problem> {
    let Some(token) = bearer(request.headers()) else {
        return Err(Problem::new(Code::Unauthorized, "send `Authorization: Bearer TOKEN`"));
    };
    let holder = gate.holder(token).ok_or_else(|| unknown(app, request))?;
    Ok((token, holder))
}

/// A token that is not known, which nobody may try often.
fn unknown(app: &App, request: &Request) -> Problem {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.to_string());
    let guessed = app.guesses.take(&peer.unwrap_or_default(), Instant::now());
    limit(guessed)
        .err()
        .unwrap_or_else(|| Problem::new(Code::Unauthorized, "the token is not known, or has expired"))
}

/// Whoever was given a minted token, if it is good, and if this is one of the few requests that such tokens are for.
fn browser(app: &App, request: &Request, minted: Verified) -> Result<Caller, Problem> {
    let Some(token) = minted? else {
        return Err(unknown(app, request));
    };
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let may = matches!(
        (request.method().as_str(), route),
        (
            "GET" | "HEAD",
            Some("/api/v1/jobs" | "/api/v1/jobs/{id}" | "/api/v1/events")
        ) | (
            "POST",
            Some("/api/v1/events" | "/api/v1/jobs/find" | "/api/v1/jobs/{id}/cancel")
        )
    );
    let caller = Caller::browser(token);
    limit(app.limiter.take(&caller.name, Instant::now()))?;
    if may {
        needs::check(&caller, request)?;
        return Ok(caller);
    }
    Err(Problem::new(
        Code::Forbidden,
        "a minted token is for the events, lists and single jobs that it was minted for, and for cancel where that was \
         allowed; send another token for anything else",
    ))
}

fn limit(taken: Result<(), Duration>) -> Result<(), Problem> {
    taken.map_err(|wait| {
        let seconds = wait.as_secs_f64().ceil() as u64;
        Problem::new(Code::RateLimited, "too many requests in a short time; slow down").retry_after(seconds.max(1))
    })
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The name in a Host header, without its port.
fn name(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Whether a Host header names this machine's loopback: otherwise some web page's name may have been made to point at it.
fn is_ours(host: &str, allowed: &[String]) -> bool {
    let name = name(host).to_ascii_lowercase();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        || allowed.iter().any(|host| host.eq_ignore_ascii_case(&name))
}

/// Whether a web page of another site makes this request.
fn is_foreign(headers: &HeaderMap, host: &str, allowed: &[String]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return headers
            .get("sec-fetch-site")
            .is_some_and(|site| site == "cross-site" || site == "same-site");
    };
    let origin = origin.to_str().unwrap_or_default();
    let own = origin.split_once("://").is_some_and(|(_, name)| name == host);
    !own && !allowed.iter().any(|allowed| allowed == origin)
}

/// What browsers may load for what is under this path.
fn policy(path: &str) -> &'static str {
    if path.starts_with(DOCS) {
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    } else if dashboard::is_page(path) {
        dashboard::POLICY
    } else {
        "default-src 'none'; frame-ancestors 'none'"
    }
}

fn protect(headers: &mut HeaderMap, policy: &'static str, private: bool) {
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if private {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_ours() {
        let allowed = ["jobs.internal".to_owned()];
        for ours in [
            "localhost",
            "localhost:7878",
            "LOCALHOST:1",
            "127.0.0.1:7878",
            "127.3.2.1",
            "[::1]:7878",
            "[::1]",
            "jobs.internal:80",
        ] {
            assert!(is_ours(ours, &allowed), "{ours}");
        }
        for theirs in [
            "",
            "evil.example",
            "evil.example:7878",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
        ] {
            assert!(!is_ours(theirs, &allowed), "{theirs}");
        }
    }

    #[test]
    fn web_pages_of_other_sites_are_foreign() {
        let with = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            is_foreign(&headers, "localhost:7878", &["https://app.example".to_owned()])
        };
        assert!(!is_foreign(&HeaderMap::new(), "localhost:7878", &[]), "no browser");
        assert!(!with("origin", "http://localhost:7878"));
        assert!(!with("origin", "https://app.example"));
        assert!(!with("sec-fetch-site", "same-origin"));
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "http://localhost:8080"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
        ] {
            assert!(with(name, value), "{name}: {value}");
        }
    }
}
