//! Parts of a request, with problems in place of plain texts where they are wrong.

use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

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
        let (parts, body) = request.into_parts();
        let again = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(again, state)
            .await
            .map_err(|rejection| of_bytes(&rejection))?;
        let request = Request::from_parts(parts, bytes.clone().into());
        match Json::<Object<T>>::from_request(request, state).await {
            Ok(Json(Object(body))) => Ok(Self(body)),
            // What is read as a word, and is a number, is said to be no JSON. It is.
            Err(JsonRejection::JsonSyntaxError(error)) if serde_json::from_slice::<IgnoredAny>(&bytes).is_ok() => {
                let text = error.body_text();
                let field = field(plain(&text)).unwrap_or("body");
                Err(Problem::invalid(
                    field,
                    format!("{field}: a text is expected here, in quotes"),
                ))
            }
            Err(rejection) => Err(of_body(&rejection)),
        }
    }
}

/// A JSON object, and nothing else. Otherwise a list would do too, its values taken for fields in an order that nobody has
/// promised.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        from.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Databases take no NUL in a text.
pub(super) fn no_nul(field: &str, text: &str) -> Result<(), Problem> {
    if text.contains('\0') {
        return Err(Problem::invalid(field, "it contains a NUL character"));
    }
    Ok(())
}

fn of_bytes(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::new(
            Code::TooLarge,
            "the body is larger than this server takes; send less at once (operators: `max-body` of [api])",
        );
    }
    Problem::invalid("body", plain(&rejection.body_text()))
}

fn of_body(rejection: &JsonRejection) -> Problem {
    let text = rejection.body_text();
    match (rejection.status(), rejection) {
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => Problem::new(
            Code::UnsupportedMediaType,
            "send the body with `Content-Type: application/json`",
        ),
        (_, JsonRejection::JsonSyntaxError(_)) => {
            Problem::invalid("body", format!("the body is not JSON: {}", plain(&text)))
        }
        _ => Problem::invalid(field(plain(&text)).unwrap_or("body"), in_words(plain(&text))),
    }
}

/// A complaint in words that do not depend on the language that this server is written in.
pub(super) fn in_words(complaint: &str) -> String {
    const WORDS: [(&str, &str); 13] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a borrowed string", "expected a text"),
        ("expected a string", "expected a text"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("invalid type: map", "invalid type: an object"),
        ("invalid type: sequence", "invalid type: a list"),
        ("invalid type: unit value", "invalid type: null"),
    ];
    let mut text = complaint.to_owned();
    for (theirs, ours) in WORDS {
        text = text.replace(theirs, ours);
    }
    // `expected struct Name`
    if let Some((before, after)) = text.split_once("expected struct ") {
        let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        text = format!("{before}expected an object{rest}");
    }
    text
}

/// What is wrong, without the words about who found it.
fn plain(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(_, rest)| rest)
}

/// The part of a request that a complaint is about, where it says so: `limit: invalid digit`, ``missing field `filter` ``.
pub(super) fn field(complaint: &str) -> Option<&str> {
    for beginning in ["missing field `", "unknown field `"] {
        if let Some(rest) = complaint.strip_prefix(beginning) {
            return rest.split('`').next();
        }
    }
    let (name, _) = complaint.split_once(": ")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'));
    is_name.then_some(name)
}

/// Lists may also be given by repeating their name, as in `states=waiting&states=stuck`: the same as `states=waiting,stuck`.
fn joined(uri: &Uri) -> Option<Uri> {
    const LISTS: [&str; 3] = ["ids", "state", "states"];
    let query = uri.query()?;
    let mut pairs: Vec<(&str, String)> = Vec::new();
    let mut repeated = false;
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match pairs
            .iter_mut()
            .find(|(known, _)| *known == name && LISTS.contains(&name))
        {
            Some((_, values)) => {
                repeated = true;
                values.push(',');
                values.push_str(value);
            }
            None => pairs.push((name, value.to_owned())),
        }
    }
    if !repeated {
        return None;
    }
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}?{}", uri.path(), query.join("&")).parse().ok()
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let uri = joined(&parts.uri);
        match Query::<T>::try_from_uri(uri.as_ref().unwrap_or(&parts.uri)) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let rejection: QueryRejection = rejection;
                let text = rejection.body_text();
                Err(Problem::invalid(
                    field(plain(&text)).unwrap_or("query"),
                    in_words(plain(&text)),
                ))
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
                let text = rejection.body_text();
                // Cannot parse `id` with value `x`: ...
                let name = text.split('`').nth(1).unwrap_or("path");
                Err(Problem::invalid(name, in_words(plain(&text))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_object_and_no_list_of_its_values() {
        use crate::api::types::{DrainRequest, SubmitRequest};
        let Object(DrainRequest { drain, .. }) = serde_json::from_str("{\"drain\":true}").expect("an object");
        assert!(drain);
        for text in ["[true]", "[]", "null", "true", "\"drain\""] {
            let error = serde_json::from_str::<Object<DrainRequest>>(text).err().expect(text);
            assert!(error.to_string().contains("expected a JSON object"), "{error}");
        }
        let text = r#"{"task":"x","args":{"n": 1.2345678901234567890123}}"#;
        let Object(job) = serde_json::from_str::<Object<SubmitRequest>>(text).expect("an object");
        assert_eq!(job.args.expect("arguments").get(), "{\"n\": 1.2345678901234567890123}");
    }

    #[test]
    fn complaints_name_no_types_of_ours() {
        for (theirs, ours) in [
            (
                "invalid type: string \"x\", expected u32 at line 1 column 9",
                "invalid type: string \"x\", expected a whole number from 0 to 4294967295 at line 1 column 9",
            ),
            (
                "filter: invalid type: sequence, expected struct ListQuery",
                "filter: invalid type: a list, expected an object",
            ),
            ("it makes no sense", "it makes no sense"),
        ] {
            assert_eq!(in_words(theirs), ours);
        }
    }

    #[test]
    fn a_list_may_be_given_by_repeating_its_name() {
        let joined = |uri: &'static str| joined(&Uri::from_static(uri)).map(|uri| uri.to_string());
        assert_eq!(
            joined("/jobs?states=!success&task=x&states=!failed").as_deref(),
            Some("/jobs?states=!success,!failed&task=x")
        );
        assert_eq!(joined("/jobs?states=!success"), None);
        assert_eq!(joined("/jobs?task=x&task=y"), None, "no list");
        assert_eq!(joined("/jobs"), None);
    }

    #[test]
    fn a_complaint_names_the_part_that_it_is_about() {
        for (complaint, part) in [
            ("limit: invalid digit found in string", Some("limit")),
            ("jobs[0].grop: unknown field `grop`", Some("jobs[0].grop")),
            ("missing field `filter` at line 1 column 19", Some("filter")),
            ("unknown field `grop`, expected `group`", Some("grop")),
            ("invalid type: sequence, expected a map", None),
            ("[0]: invalid type: integer `1`, expected a string", None),
            ("it makes no sense", None),
        ] {
            assert_eq!(field(complaint), part, "{complaint}");
        }
        assert_eq!(plain("Failed to do it: limit: no number"), "limit: no number");
    }
}
