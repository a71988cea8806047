//! The operator's page: HTML, modules and a style sheet that are compiled in. It needs nothing but the API, so that what the
//! page can do, a program can do.
//!
//! The files hold no secret and need no token; everything that they show comes from the API, which does. Browsers keep them
//! and ask whether they have changed (`ETag`), so that a new version of the program never runs with half of an old page.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use super::state::App;
use super::types::{Code, Problem};

/// Where the files are, below the page itself.
const FOLDER: &str = "/dashboard/";

/// What browsers may load for the page: its own files, and nothing written inside of others. With `trusted-types` a text
/// cannot become HTML, not even by a mistake of ours.
pub(super) const POLICY: &str = "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; \
                                 form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Names the files once: each is compiled in and served under its name.
macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../../dashboard/", $name)).as_slice())),+]
    };
}

static FILES: LazyLock<HashMap<&'static str, File>> = LazyLock::new(|| {
    let files = files![
        "index.html",
        "style.css",
        "icon.svg",
        "api.js",
        "app.js",
        "bulk.js",
        "charts.js",
        "dialog.js",
        "filter.js",
        "format.js",
        "json.js",
        "live.js",
        "parts.js",
        "search.js",
        "session.js",
        "view.js",
        "pages/audit.js",
        "pages/executors.js",
        "pages/failures.js",
        "pages/fairness.js",
        "pages/group.js",
        "pages/groups.js",
        "pages/job.js",
        "pages/jobs.js",
        "pages/log.js",
        "pages/now.js",
        "pages/queues.js",
        "pages/schedule.js",
        "pages/schedules.js",
        "pages/signin.js",
        "pages/submit.js",
        "pages/task.js",
        "pages/tasks.js",
    ];
    files
        .into_iter()
        .map(|(name, bytes)| (name, File::new(bytes)))
        .collect()
});

/// A file of the page.
struct File {
    bytes: &'static [u8],
    /// Changes with the file.
    tag: String,
}

impl File {
    fn new(bytes: &'static [u8]) -> Self {
        let mut tag = String::from("\"");
        for byte in Sha256::digest(bytes).iter().take(16) {
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        Self { bytes, tag }
    }
}

/// Whether this path is the page's.
pub(super) fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with(FOLDER)
}

/// The page, and its files.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(async |headers: HeaderMap| file("index.html", &headers)))
        .route(
            "/dashboard/{*name}",
            get(async |Path(name): Path<String>, headers: HeaderMap| file(&name, &headers)),
        )
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.get(name) else {
        return Problem::new(Code::NotFound, "the operator's page has no such file").into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| tags.split(',').any(|tag| same(tag.trim(), &file.tag)));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, kind)], file.bytes).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Proxies that compress make a tag weak: it still names the same file.
fn same(given: &str, tag: &str) -> bool {
    given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, tag: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(tag) = tag {
            headers.insert(header::IF_NONE_MATCH, tag.parse().expect("a header"));
        }
        file(name, &headers)
    }

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let first = asked("app.js", None);
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        let tag = first.headers()[header::ETAG].to_str().expect("a text").to_owned();
        for tags in [tag.clone(), format!("W/{tag}"), format!("\"old\", {tag}")] {
            assert_eq!(
                asked("app.js", Some(&tags)).status(),
                StatusCode::NOT_MODIFIED,
                "{tags}"
            );
        }
        assert_eq!(asked("app.js", Some("\"old\"")).status(), StatusCode::OK);
        assert_eq!(asked("style.css", Some(&tag)).status(), StatusCode::OK, "another file");
        assert_eq!(asked("../Cargo.toml", None).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn every_module_that_is_named_by_another_is_compiled_in() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboard");
        for (name, file) in FILES.iter() {
            let text = std::str::from_utf8(file.bytes).expect("a text");
            let here = folder.join(name);
            for line in text
                .lines()
                .filter(|line| line.contains(" from \"") || line.starts_with("import \""))
            {
                let Some(named) = line.split('"').nth(1) else { continue };
                let path = here.parent().expect("a folder").join(named);
                let path = path
                    .canonicalize()
                    .unwrap_or_else(|error| panic!("{name}: {named}: {error}"));
                let full = folder.canonicalize().expect("a folder");
                let module = path.strip_prefix(full).expect("inside of the folder");
                assert!(FILES.contains_key(module.to_str().expect("a text")), "{name}: {named}");
            }
        }
    }

    #[test]
    fn the_page_asks_for_all_its_modules_at_once() {
        let page = std::str::from_utf8(FILES["index.html"].bytes).expect("a text");
        for name in FILES
            .keys()
            .filter(|name| std::path::Path::new(name).extension().is_some_and(|kind| kind == "js"))
        {
            assert!(page.contains(&format!("href=\"dashboard/{name}\"")), "{name}");
        }
        assert!(
            !page.contains("href=\"/") && !page.contains("src=\"/"),
            "no prefix would be kept"
        );
    }
}
