//! Parts of a request, with problems in place of plain texts where they are wrong.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::types::{Code, Problem};

/// The body, as JSON.
pub(super) struct Body<T>(pub(super) T);

/// What follows the question mark.
pub(super) struct Ask<T>(pub(super) T);

/// A part of the path.
pub(super) struct Name<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(of_body(&rejection)),
        }
    }
}

/// Databases take no NUL in a text.
pub(super) fn no_nul(field: &str, text: &str) -> Result<(), Problem> {
    if text.contains('\0') {
        return Err(Problem::invalid(field, "it contains a NUL character"));
    }
    Ok(())
}

fn of_body(rejection: &JsonRejection) -> Problem {
    let text = rejection.body_text();
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(Code::TooLarge, text),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
            Code::UnsupportedMediaType,
            "send the body with `Content-Type: application/json`",
        ),
        _ => Problem::new(Code::Invalid, text).field("body"),
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let rejection: QueryRejection = rejection;
                Err(Problem::new(Code::Invalid, rejection.body_text()).field("query"))
            }
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Name<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => {
                let rejection: PathRejection = rejection;
                Err(Problem::new(Code::Invalid, rejection.body_text()).field("path"))
            }
        }
    }
}
