//! Tasks that call a URL: the job's arguments are sent to it by POST, and its answer decides what becomes of the job.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::value::RawValue;
use turnabout::{Context, TaskError, TaskResult};

use super::signature;
use crate::config::Task;

/// A result is no longer, in bytes of JSON; the library says the same.
const MAX_RESULT: usize = 1 << 20;
/// So much of an answer that is no success goes into the job's error.
const MAX_COMPLAINT: usize = 1000;
/// So much of it is looked at for what it says about itself.
const MAX_PROBLEM: usize = 16 << 10;
/// Nobody is obeyed who asks for more patience.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// An address to call, as the configuration says.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// The key of the signature.
    secret: Option<Vec<u8>>,
}

impl Endpoint {
    pub(crate) fn new(client: &Client, url: &str, task: &Task) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &task.headers {
            let wrong = || format!("`{name}` cannot be a header of a request");
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            headers.insert(header, value);
        }
        let secret = match (&task.secret, &task.secret_file) {
            (Some(secret), _) => Some(secret.0.clone().into_bytes()),
            (None, Some(file)) => {
                let text = std::fs::read(file).map_err(|error| format!("cannot read the secret in {file}: {error}"))?;
                // Editors end a file with a new line; no secret does.
                let secret = text.trim_ascii().to_vec();
                if secret.is_empty() {
                    return Err(format!("there is no secret in {file}"));
                }
                Some(secret)
            }
            (None, None) => None,
        };
        Ok(Self {
            client: client.clone(),
            url: url
                .parse()
                .map_err(|error| format!("`{url}` is not an address: {error}"))?,
            headers,
            secret,
        })
    }

    /// Calls it for one attempt.
    pub(crate) async fn call(&self, cx: Context, args: Box<RawValue>) -> TaskResult<Option<Box<RawValue>>> {
        let answer = async {
            let response = self.request(&cx, &args).send().await.map_err(|error| {
                // The address is known to those who read the log, and may hold a password.
                TaskError::retry(error.without_url())
            })?;
            judge(&cx, response).await
        };
        tokio::select! {
            answer = answer => answer,
            () = cx.cancelled() => Err("was told to stop before there was an answer".into()),
        }
    }

    fn request(&self, cx: &Context, args: &RawValue) -> reqwest::RequestBuilder {
        let body = args.get().to_owned();
        let job = cx.job().to_string();
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            // The same at each attempt: a receiver that has done the work can say so.
            .header("idempotency-key", &job)
            .header("turnabout-job", &job)
            .header("turnabout-task", cx.task())
            .header("turnabout-attempt", cx.attempt());
        // Names may be any text, headers may not.
        for (name, value) in [("turnabout-group", Some(cx.group())), ("turnabout-owner", cx.owner())] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok()) {
                request = request.header(name, value);
            }
        }
        if let Some(parent) = super::traceparent(cx) {
            request = request.header("traceparent", parent);
        }
        if let Some(secret) = &self.secret {
            let time = Timestamp::now().as_second();
            request = request.header(signature::HEADER, signature::sign(secret, time, body.as_bytes()));
        }
        request.headers(self.headers.clone()).body(body)
    }
}

/// What an answer means.
async fn judge(cx: &Context, response: Response) -> TaskResult<Option<Box<RawValue>>> {
    let status = response.status();
    let pause = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| retry_after(value.to_str().ok()?));
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let is_json = |kind: &String| kind.split(';').next().is_some_and(|kind| kind.trim().ends_with("json"));
    let json = kind.as_ref().is_some_and(is_json);
    if status.is_success() {
        cx.log().info(format_args!("the answer was {status}"));
        let body = read(response, MAX_RESULT + 1).await?;
        if body.trim_ascii().is_empty() {
            return Ok(None);
        }
        if json {
            return Ok(Some(result(&body)?));
        }
        // Many servers do not say what they send.
        let unsaid = if kind.is_none() { result(&body).ok() } else { None };
        if unsaid.is_none() {
            let kind = kind.as_deref().unwrap_or("none");
            cx.log().warn(format_args!(
                "the answer is not kept as the result: its content type is {kind}, and not application/json"
            ));
        }
        return Ok(unsaid);
    }
    // How it goes on is decided by the status alone; a complaint that breaks off is as good as none.
    let body = read(response, MAX_PROBLEM).await.unwrap_or_default();
    let complaint = String::from_utf8_lossy(&body[..body.len().min(MAX_COMPLAINT)]);
    let message = match complaint.trim() {
        "" => format!("the answer was {status}"),
        complaint => format!("the answer was {status}: {complaint}"),
    };
    let described = json.then(|| described(&body)).flatten();
    let error = match (status, pause) {
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, Some(pause)) => {
            TaskError::retry_after(pause.min(LONGEST_DELAY), message)
        }
        (StatusCode::TOO_MANY_REQUESTS, None) => TaskError::retry(message),
        _ if status.is_server_error() => TaskError::retry(message),
        _ if status.is_redirection() => TaskError::permanent(format!(
            "{message}; redirects are not followed: write the right address"
        )),
        _ => TaskError::permanent(message),
    };
    Err(match described {
        Some((code, message)) => error.described(code, message),
        None => error,
    })
}

/// What an answer says about its error, for programs and for people: `code`, and `message`. In a problem (RFC 9457) the last
/// part of `type` is the code if there is no other, and `detail` or `title` is the message.
fn described(body: &[u8]) -> Option<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Complaint {
        code: Option<String>,
        message: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
        title: Option<String>,
        detail: Option<String>,
    }
    let complaint: Complaint = serde_json::from_slice(body).ok()?;
    let message = complaint.message.or(complaint.detail).or(complaint.title)?;
    let kind = complaint.kind.filter(|kind| kind != "about:blank");
    let part = |kind: String| {
        let part = kind.trim_end_matches('/').rsplit(['/', ':', '#']).next();
        part.filter(|part| !part.is_empty()).map(str::to_owned)
    };
    Some((complaint.code.or_else(|| kind.and_then(part))?, message))
}

/// The body, but no more than this.
async fn read(mut response: Response, most: usize) -> TaskResult<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(portion) = response
        .chunk()
        .await
        .map_err(|error| TaskError::retry(error.without_url()))?
    {
        let room = most - body.len();
        body.extend_from_slice(&portion[..portion.len().min(room)]);
        if body.len() == most {
            break;
        }
    }
    Ok(body)
}

fn result(body: &[u8]) -> TaskResult<Box<RawValue>> {
    if body.len() > MAX_RESULT {
        return Err(TaskError::permanent(format!(
            "the answer was a success, but it is longer than the {MAX_RESULT} bytes that a result may have"
        )));
    }
    serde_json::from_slice(body).map_err(|error| {
        TaskError::permanent(format!(
            "the answer was a success, but not the JSON that it says it is: {error}"
        ))
    })
}

/// `Retry-After`: seconds, or a date as HTTP writes it.
fn retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_describe_its_error() {
        let pair = |code: &str, message: &str| Some((code.to_owned(), message.to_owned()));
        assert_eq!(described(b"{\"code\":\"a\",\"message\":\"B.\"}"), pair("a", "B."));
        assert_eq!(described(b"{\"code\":\"a\",\"detail\":\"B.\"}"), pair("a", "B."));
        let problem =
            br#"{"type":"https://example.org/problems/out-of-credit","title":"T","detail":"No money.","status":403}"#;
        assert_eq!(described(problem), pair("out-of-credit", "No money."));
        let bare = br#"{"type":"urn:problem:no-pages","title":"It has no pages."}"#;
        assert_eq!(described(bare), pair("no-pages", "It has no pages."));
        assert_eq!(described(br#"{"type":"about:blank","title":"Not Found"}"#), None);
        assert_eq!(described(b"{\"error\":\"a\"}"), None);
        assert_eq!(described(b"["), None);
    }

    #[test]
    fn a_pause_is_given_in_seconds_or_as_a_date() {
        assert_eq!(retry_after("120"), Some(Duration::from_mins(2)));
        assert_eq!(retry_after("Fri, 31 Dec 1999 23:59:59 GMT"), Some(Duration::ZERO));
        assert!(retry_after("Fri, 31 Dec 2100 23:59:59 GMT").is_some_and(|pause| pause > LONGEST_DELAY));
        assert_eq!(retry_after("soon"), None);
    }
}
