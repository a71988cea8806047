//! Errors as responses: RFC 9457, and never more than the caller may know.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use turnabout::Error;

use super::types::{Code, Problem};

/// Seconds after which a full store is worth another try.
const TRY_AGAIN: u64 = 5;

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:turnabout:problem:{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status(),
            code,
            detail: detail.into(),
            field: None,
            scope: None,
            error_code: None,
            error_message: None,
            retry_after: None,
        }
    }

    pub(crate) fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail).field(field)
    }

    pub(crate) fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// A fault of ours: the log says what, the caller only that.
    pub(super) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(Code::Internal, "the server's log says more")
    }
}

/// What the API calls what the library speaks of.
fn named(what: &'static str) -> &'static str {
    match what {
        "page size" => "limit",
        "job id" => "id",
        "job ids" => "ids",
        "arguments" => "args",
        "schedule" => "name",
        other => other,
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if error.is_transient() {
            tracing::warn!(error = %error.chain(), "the store is out of reach");
        }
        Self::untold(error)
    }
}

impl Problem {
    /// As from the error, without a word in the log about a store that is out of reach: someone has said so for all of a batch.
    pub(super) fn untold(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid { what, why } => Self::invalid(named(what), why),
            Error::Refused {
                ref code,
                ref message,
                status,
            } => {
                let problem = Self::new(Code::Refused, text);
                Self {
                    status: status.unwrap_or(problem.status),
                    error_code: Some(code.clone()),
                    error_message: Some(message.clone()),
                    ..problem
                }
            }
            Error::NotFound(_) | Error::NoSchedule(_) => Self::new(Code::NotFound, text),
            Error::StillRuns { .. } => Self::new(Code::StillRuns, text),
            Error::Conflict(what) => Self::new(Code::Conflict, text).field(what),
            Error::NotCancellable { .. } => Self::new(Code::NotCancellable, text),
            Error::WrongState { .. } => Self::new(Code::WrongState, text),
            Error::TooMany { .. } => Self::new(Code::TooMany, text).retry_after(TRY_AGAIN),
            Error::TooManyUnknownTasks { .. } => Self::new(Code::TooManyUnknownTasks, text).field("task"),
            error if error.is_transient() => {
                Self::new(Code::Unavailable, "the store is out of reach; try again").retry_after(TRY_AGAIN)
            }
            error => Self::internal(&error.chain()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
