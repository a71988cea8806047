//! What went wrong (RFC 9457), with a code that programs can rely on.

use serde::{Deserialize, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::auth::Scope;

/// Defines the codes: one list gives the name, the status and the title.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $status:literal $word:literal $title:literal),+ $(,)?) => {
        /// What went wrong, for programs. These words do not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) enum Code { $($(#[$doc])* #[serde(rename = $word)] $name),+ }

        impl Code {
            /// All words.
            const WORDS: &[&str] = &[$($word),+];

            /// The status of a response.
            pub(crate) const fn status(self) -> u16 { match self { $(Self::$name => $status),+ } }

            /// A few words that are always the same.
            pub(crate) const fn title(self) -> &'static str { match self { $(Self::$name => $title),+ } }

            /// The word.
            pub(crate) const fn as_str(self) -> &'static str { match self { $(Self::$name => $word),+ } }
        }
    };
}

codes! {
    /// The request cannot be understood, or says something that cannot be.
    Invalid = 400 "invalid" "The request is not valid",
    /// No token, or one that is not known or has expired.
    Unauthorized = 401 "unauthorized" "A valid token is needed",
    /// What the token is for does not include this.
    Forbidden = 403 "forbidden" "The token does not allow this",
    /// The token lacks a scope; `scope` says which.
    MissingScope = 403 "missing-scope" "The token lacks a scope",
    /// The Host header names another machine: perhaps a web page that tries to reach this one.
    WrongHost = 421 "wrong-host" "The request was meant for another host",
    /// There is no such job (or not for this caller).
    NotFound = 404 "not-found" "There is no such thing",
    /// This path does not take such requests.
    MethodNotAllowed = 405 "method-not-allowed" "This path does not take such requests",
    /// The id or the unique key is in use.
    Conflict = 409 "conflict" "It is already in use",
    /// The job has succeeded or failed already.
    NotCancellable = 409 "not-cancellable" "The job has ended",
    /// The job's state does not allow this.
    WrongState = 409 "wrong-state" "The job's state does not allow this",
    /// The configuration says this, and has to be changed.
    Configured = 409 "configured" "The configuration has to be changed",
    /// The job has not ended yet.
    NotEnded = 409 "not-ended" "The job has not ended",
    /// A job of the schedule is unfinished.
    StillRuns = 409 "still-runs" "A job of the schedule is unfinished",
    /// The body is too large.
    TooLarge = 413 "too-large" "The request is too large",
    /// The body is not JSON, or does not say so.
    UnsupportedMediaType = 415 "unsupported-media-type" "The body must be JSON",
    /// The job's task refuses its arguments.
    Refused = 422 "refused" "The task refuses these arguments",
    /// Too many requests by this token.
    RateLimited = 429 "rate-limited" "Too many requests",
    /// Too many unfinished jobs.
    TooMany = 429 "too-many-jobs" "Too many unfinished jobs",
    /// Too many tasks that nobody knows.
    TooManyUnknownTasks = 429 "too-many-unknown-tasks" "Too many unknown tasks",
    /// A fault of the server.
    Internal = 500 "internal" "The server failed",
    /// The store cannot be reached, or there is no executor here.
    Unavailable = 503 "unavailable" "It is out of reach at present",
    /// It took too long.
    Timeout = 504 "timeout" "It took too long",
}

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What went wrong, for programs. These words do not change."))
            .enum_values(Some(Self::WORDS.iter().copied()))
            .into()
    }
}

impl ToSchema for Code {}

/// What went wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Problem {
    /// Names the kind of problem: `urn:turnabout:problem:` and the code.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// A few words that are the same for every problem of this kind.
    pub(crate) title: String,
    /// The status of the response.
    pub(crate) status: u16,
    /// The kind for programs.
    pub(crate) code: Code,
    /// What happened here, and what to do.
    pub(crate) detail: String,
    /// The part of the request that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// The scope that the token lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<Scope>,
    /// What its task calls the error, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_code: Option<String>,
    /// What its task says about the error, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_message: Option<String>,
    /// Seconds after which it may be worth trying again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<u64>,
}
