//! API and dashboard as a part of another axum application: what `turnabout_server::router` gives.

use std::error::Error;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use axum::routing::get;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use turnabout::{Jobs, Refused, Submitting, Task};
use turnabout_server::Access;

/// As `turnabout token` would make one.
const ADMIN: &str = "turnabout_0123456789abcdef0123456789abcdef";
const ACME: &str = "turnabout_fedcba9876543210fedcba9876543210";

#[derive(Serialize, Deserialize)]
struct Resize {
    image: String,
    width: u32,
}

impl Task for Resize {
    const NAME: &'static str = "resize";
    const QUEUE: &'static str = "images";

    fn describe(&self) -> Option<String> {
        Some(format!("{} to {} pixels", self.image, self.width))
    }

    async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
        if self.width == 0 {
            return Err(Refused::new("no-width", "An image must be at least one pixel wide."));
        }
        self.width = self.width.min(4096);
        Ok(())
    }
}

async fn jobs() -> Result<Jobs, Box<dyn Error>> {
    Ok(Jobs::open("sqlite::memory:").await?.with_task::<Resize>())
}

/// An application with a page of its own.
fn application(mounted: Router) -> Router {
    Router::new()
        .route("/", get(|| async { "the application" }))
        .merge(mounted)
}

async fn tokens() -> Result<(Router, Jobs), Box<dyn Error>> {
    let jobs = jobs().await?;
    let mounted = turnabout_server::router(&jobs)
        .token("operations", Access::Admin, ADMIN)
        .token("acme", Access::Group("acme".to_owned()), ACME)
        .build()?;
    Ok((application(mounted), jobs))
}

struct Answer {
    status: StatusCode,
    text: String,
    location: Option<String>,
}

impl Answer {
    fn json(&self) -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_str(&self.text)?)
    }
}

async fn ask(
    app: &Router,
    method: Method,
    path: &str,
    token: &str,
    body: Option<Value>,
) -> Result<Answer, Box<dyn Error>> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "app.example.org");
    if !token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let answer = app.clone().oneshot(request.body(body)?).await?;
    let location = answer.headers().get(header::LOCATION);
    Ok(Answer {
        status: answer.status(),
        location: location.map(|place| place.to_str().map(str::to_owned)).transpose()?,
        text: String::from_utf8(to_bytes(answer.into_body(), 1 << 20).await?.to_vec())?,
    })
}

#[tokio::test]
async fn api_and_dashboard_stand_beside_the_pages_of_the_application() -> Result<(), Box<dyn Error>> {
    let (app, _) = tokens().await?;
    let page = ask(&app, Method::GET, "/", "", None).await?;
    assert_eq!(page.text, "the application");
    let folder = ask(&app, Method::GET, "/turnabout", "", None).await?;
    assert_eq!(folder.location.as_deref(), Some("/turnabout/"), "{}", folder.status);
    let dashboard = ask(&app, Method::GET, "/turnabout/", "", None).await?;
    assert!(dashboard.text.contains("<html"), "{}", dashboard.text);
    let script = ask(&app, Method::GET, "/turnabout/dashboard/app.js", "", None).await?;
    assert_eq!(script.status, StatusCode::OK);
    let mine = ask(&app, Method::GET, "/turnabout/api/v1/me", ADMIN, None).await?;
    assert_eq!(mine.status, StatusCode::OK, "{}", mine.text);
    let elsewhere = ask(&app, Method::GET, "/api/v1/me", ADMIN, None).await?;
    assert_eq!(elsewhere.status, StatusCode::NOT_FOUND);
    Ok(())
}

#[tokio::test]
async fn a_job_that_comes_over_http_is_prepared_when_it_is_submitted() -> Result<(), Box<dyn Error>> {
    let (app, jobs) = tokens().await?;
    let submit = async |args: Value| {
        let job = json!({ "task": "resize", "group": "acme", "args": args });
        ask(&app, Method::POST, "/turnabout/api/v1/jobs", ADMIN, Some(job)).await
    };
    let refused = submit(json!({ "image": "a.png", "width": 0 })).await?;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    assert!(refused.text.contains("at least one pixel wide"), "{}", refused.text);
    let none = submit(json!({ "picture": "a.png" })).await?;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", none.text);
    assert_eq!(jobs.counts().await?.ready, 0, "nothing was stored");

    let good = submit(json!({ "image": "a.png", "width": 5000 })).await?;
    assert_eq!(good.status, StatusCode::CREATED, "{}", good.text);
    let id = good.json()?["id"].as_str().ok_or("it has an id")?.parse()?;
    let job = jobs.get(id).await?;
    assert_eq!(
        job.args, r#"{"image":"a.png","width":4096}"#,
        "as the task completed it"
    );
    assert_eq!(
        (job.queue.as_str(), job.subject.as_deref()),
        ("images", Some("a.png to 4096 pixels"))
    );
    let place = good.location.ok_or("it says where the job is")?;
    assert_eq!(place, format!("/turnabout/api/v1/jobs/{id}"));
    assert_eq!(
        ask(&app, Method::GET, &place, ADMIN, None).await?.status,
        StatusCode::OK
    );
    Ok(())
}

#[tokio::test]
async fn nobody_comes_in_without_a_token_and_each_token_allows_what_was_said() -> Result<(), Box<dyn Error>> {
    let (app, _) = tokens().await?;
    for wrong in ["", "turnabout_guessed"] {
        let refused = ask(&app, Method::GET, "/turnabout/api/v1/jobs", wrong, None).await?;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let executors = ask(&app, Method::GET, "/turnabout/api/v1/executors", ACME, None).await?;
    assert_eq!(executors.status, StatusCode::FORBIDDEN, "{}", executors.text);
    let pause = json!({ "paused": true });
    let paused = ask(&app, Method::PATCH, "/turnabout/api/v1/groups/acme", ACME, Some(pause)).await?;
    assert_eq!(paused.status, StatusCode::FORBIDDEN, "{}", paused.text);
    let own = ask(&app, Method::GET, "/turnabout/api/v1/jobs", ACME, None).await?;
    assert_eq!(own.status, StatusCode::OK, "{}", own.text);
    Ok(())
}

#[tokio::test]
async fn without_tokens_the_application_decides_who_comes_in() -> Result<(), Box<dyn Error>> {
    let jobs = jobs().await?;
    let app = application(turnabout_server::router(&jobs).without_tokens().at("/jobs/").build()?);
    let all = ask(&app, Method::GET, "/jobs/api/v1/jobs", "", None).await?;
    assert_eq!(
        all.status,
        StatusCode::OK,
        "whatever the application is called: {}",
        all.text
    );
    let end = ask(&app, Method::POST, "/jobs/api/v1/shutdownAndExit", "", None).await?;
    assert_eq!(end.status, StatusCode::NOT_FOUND, "the application ends in its own way");
    Ok(())
}

#[tokio::test]
async fn mistakes_are_told_when_it_is_built() -> Result<(), Box<dyn Error>> {
    let jobs = jobs().await?;
    let mount = || turnabout_server::router(&jobs);
    for (mount, hint) in [
        (mount(), "say who may come"),
        (
            mount().without_tokens().token("ops", Access::Admin, ADMIN),
            "say who may come",
        ),
        (mount().token("ops", Access::Admin, "secret"), "turnabout token"),
        (mount().without_tokens().at("jobs"), "begins with `/`"),
        (mount().without_tokens().at("/"), "a path of their own"),
    ] {
        let error = mount.build().expect_err(hint).to_string();
        assert!(error.contains(hint), "{error}");
    }
    Ok(())
}
