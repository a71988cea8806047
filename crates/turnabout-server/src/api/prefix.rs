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
        Meant::Elsewhere => router.oneshot(request).await,
        Meant::Folder => {
            // The page names its files relative to its own folder.
            let folder = [(header::LOCATION, format!("{prefix}/"))];
            Ok((StatusCode::PERMANENT_REDIRECT, folder).into_response())
        }
        Meant::Path(uri) => {
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

/// What is meant by an address.
#[derive(Debug, PartialEq)]
enum Meant {
    /// Nothing below the prefix.
    Elsewhere,
    /// The prefix itself.
    Folder,
    /// What follows it.
    Path(Uri),
}

fn below(prefix: &str, uri: &Uri) -> Meant {
    match uri.path().strip_prefix(prefix) {
        Some("") if !prefix.is_empty() => Meant::Folder,
        Some(rest) if !prefix.is_empty() && rest.starts_with('/') => {
            without(uri, rest).map_or(Meant::Elsewhere, Meant::Path)
        }
        _ => Meant::Elsewhere,
    }
}

/// The same address with another path.
fn without(uri: &Uri, path: &str) -> Option<Uri> {
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{path}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_path_is_taken_away() {
        let meant = |prefix: &str, path: &str| {
            let uri: Uri = path.parse().expect("an address");
            below(prefix, &uri)
        };
        let path = |path: &str| Meant::Path(path.parse().expect("an address"));
        assert_eq!(meant("", "/api/v1/jobs"), Meant::Elsewhere);
        assert_eq!(meant("/t", "/api/v1/jobs"), Meant::Elsewhere);
        assert_eq!(meant("/t", "/tea/v1"), Meant::Elsewhere, "another folder");
        assert_eq!(meant("/t", "/t"), Meant::Folder);
        assert_eq!(meant("/t", "/t/"), path("/"));
        assert_eq!(meant("/t", "/t/api/v1/jobs?a=%2F"), path("/api/v1/jobs?a=%2F"));
        assert_eq!(meant("/a/b", "/a/b/x"), path("/x"));
    }
}
