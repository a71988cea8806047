//! A proxy may leave something before all paths (`api.prefix`): it is taken away on the way in, and put before addresses on
//! the way out. Paths without it work as well, for those who come past the proxy.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt as _;

/// Answers a request whose path may begin with the prefix.
pub(super) async fn answer(
    prefix: Arc<str>,
    router: Router,
    mut request: Request<Body>,
) -> Result<Response, Infallible> {
    match below(&prefix, request.uri()) {
        None => router.oneshot(request).await,
        Some(None) => {
            // The page names its files relative to its own folder.
            let folder = [(header::LOCATION, format!("{prefix}/"))];
            Ok((StatusCode::PERMANENT_REDIRECT, folder).into_response())
        }
        Some(Some(uri)) => {
            *request.uri_mut() = uri;
            let mut response = router.oneshot(request).await?;
            let location = response.headers().get(header::LOCATION);
            let location = location.and_then(|place| place.to_str().ok());
            if let Some(place) = location.filter(|place| place.starts_with('/'))
                && let Ok(place) = HeaderValue::from_str(&format!("{prefix}{place}"))
            {
                response.headers_mut().insert(header::LOCATION, place);
            }
            Ok(response)
        }
    }
}

/// What is meant by an address: None if it does not begin with the prefix, Some(None) if it is nothing else.
fn below(prefix: &str, uri: &Uri) -> Option<Option<Uri>> {
    if prefix.is_empty() {
        return None;
    }
    let rest = uri.path().strip_prefix(prefix)?;
    if rest.is_empty() {
        return Some(None);
    }
    if !rest.starts_with('/') {
        return None;
    }
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{rest}{query}")).ok()?);
    Some(Some(Uri::from_parts(parts).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_path_is_taken_away() {
        let meant = |prefix: &str, path: &str| {
            let uri: Uri = path.parse().expect("an address");
            below(prefix, &uri).map(|uri| uri.map(|uri| uri.to_string()))
        };
        assert_eq!(meant("", "/api/v1/jobs"), None);
        assert_eq!(meant("/t", "/api/v1/jobs"), None);
        assert_eq!(meant("/t", "/tea/v1"), None, "another folder");
        assert_eq!(meant("/t", "/t"), Some(None));
        assert_eq!(meant("/t", "/t/"), Some(Some("/".to_owned())));
        assert_eq!(
            meant("/t", "/t/api/v1/jobs?a=%2F"),
            Some(Some("/api/v1/jobs?a=%2F".to_owned()))
        );
        assert_eq!(meant("/a/b", "/a/b/x"), Some(Some("/x".to_owned())));
    }
}
