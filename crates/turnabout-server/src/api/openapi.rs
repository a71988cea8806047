//! The routes, and their description: `OpenAPI` 3.1, generated from the code.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::needs::Need;
use super::state::App;
use super::types::{BriefView, Code, Problem, ScheduleEventView};
use super::{
    audit, dashboard, described, doctor, events, executors, failures, global, groups, guard, info, jobs, me, metrics,
    needs, operations, queues, schedules, shared, shares, summary, tasks, tokens,
};
use crate::auth::Scope;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Turnabout",
        description = "Runs background jobs, and is fair to all groups. Errors are problems (RFC 9457) with a `code` \
                       that does not change. On other addresses than loopback a token is needed: \
                       `Authorization: Bearer TOKEN`.",
    ),
    components(schemas(Problem, BriefView, ScheduleEventView)),
    tags(
        (name = "jobs", description = "Submit jobs, look at them, change them"),
        (name = "events", description = "What becomes of jobs, live"),
        (name = "tokens", description = "Short-lived tokens for browsers"),
        (name = "summary", description = "How the whole is doing"),
        (name = "settings", description = "What is set for everything"),
        (name = "queues", description = "Which executors take which jobs, and which queues are paused"),
        (name = "groups", description = "Whose turn it is: their jobs, and what is set for them"),
        (name = "tasks", description = "What executors run, and what is set for it"),
        (name = "schedules", description = "Jobs that are submitted again and again, by the calendar"),
        (name = "executors", description = "Who runs jobs"),
        (name = "info", description = "The program itself"),
    )
)]
struct Description;

/// All routes that are described.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(jobs::submit, jobs::list))
        .routes(routes!(jobs::find))
        .routes(routes!(jobs::submit_batch))
        .routes(routes!(jobs::bulk))
        .routes(routes!(jobs::get, jobs::delete))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::restart))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::priority))
        .routes(routes!(jobs::logs))
        .routes(routes!(jobs::attempts))
        .routes(routes!(jobs::result))
        .routes(routes!(jobs::explain))
        .routes(routes!(operations::list))
        .routes(routes!(operations::get))
        .routes(routes!(operations::stop))
        .routes(routes!(events::events, events::events_of))
        .routes(routes!(tokens::mint))
        .routes(routes!(tokens::rotate))
        .routes(routes!(summary::summary))
        .routes(routes!(shares::trends))
        .routes(routes!(shares::shares))
        .routes(routes!(failures::failures))
        .routes(routes!(doctor::doctor))
        .routes(routes!(audit::audit))
        .routes(routes!(global::get, global::change))
        .routes(routes!(groups::list))
        .routes(routes!(groups::get, groups::change))
        .routes(routes!(queues::list))
        .routes(routes!(queues::get, queues::change))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::get, tasks::change))
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::check))
        .routes(routes!(
            schedules::get,
            schedules::set,
            schedules::change,
            schedules::delete
        ))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::reset))
        .routes(routes!(schedules::run))
        .routes(routes!(schedules::backfill))
        .routes(routes!(schedules::next))
        .routes(routes!(schedules::history))
        .routes(routes!(schedules::events))
        .routes(routes!(executors::list))
        .routes(routes!(executors::drain))
        .routes(routes!(executors::notify))
        .routes(routes!(executors::running))
        .routes(routes!(executors::shutdown_and_exit))
        .routes(routes!(me::me))
        .merge(status())
}

/// Those for whoever looks after the process.
fn status() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(info::version))
        .routes(routes!(info::healthz))
        .routes(routes!(info::readyz))
        .routes(routes!(metrics::metrics))
}

/// All routes, and what every request passes.
pub(super) fn router(app: &App) -> anyhow::Result<Router> {
    let router = if app.settings.status_only {
        let (router, _) = status().routes(routes!(executors::shutdown_and_exit)).split_for_parts();
        router.with_state(Arc::clone(app)).fallback(only_status)
    } else {
        let (router, document) = routes().split_for_parts();
        let described = described::routes(&complete(document)?, &app.settings.prefix)?;
        let page = if app.settings.dashboard {
            dashboard::routes()
        } else {
            Router::new()
        };
        let router = router.merge(page).with_state(Arc::clone(app));
        router.merge(described).fallback(nothing_here)
    };
    let mut router = router
        .method_not_allowed_fallback(not_so)
        .layer(DefaultBodyLimit::max(app.settings.max_body))
        .layer(from_fn_with_state(shared::Shared::default(), shared::share))
        .layer(from_fn_with_state(Arc::clone(app), guard::guard))
        .layer(CatchPanicLayer::custom(panicked));
    if !app.settings.cors.is_empty() {
        router = router.layer(cors(&app.settings.cors)?);
    }
    Ok(router)
}

/// Web pages of these origins may call the API with a token.
fn cors(origins: &[String]) -> anyhow::Result<CorsLayer> {
    let origins: Vec<HeaderValue> = origins
        .iter()
        .map(|origin| origin.parse().with_context(|| format!("`{origin}` is not an origin")))
        .collect::<anyhow::Result<_>>()?;
    Ok(CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CACHE_CONTROL,
            header::CONTENT_TYPE,
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("traceparent"),
        ])
        .expose_headers([header::LOCATION, header::RETRY_AFTER])
        .max_age(Duration::from_hours(1)))
}

async fn nothing_here() -> Problem {
    Problem::new(
        Code::NotFound,
        "there is nothing under this path; /api/docs lists all paths",
    )
}

async fn only_status() -> Problem {
    Problem::new(
        Code::NotFound,
        "this executor has no API, only /healthz, /readyz and /metrics",
    )
}

async fn not_so() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "this path takes other methods; /api/docs lists them",
    )
}

#[expect(clippy::needless_pass_by_value, reason = "so the layer calls it")]
fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked");
    Problem::internal(&text).into_response()
}

/// Adds what holds for every operation: problems, and the token with the scope that is needed.
fn complete(mut api: utoipa::openapi::OpenApi) -> anyhow::Result<utoipa::openapi::OpenApi> {
    let problem = ResponseBuilder::new()
        .description("What went wrong, and what to do")
        .content(
            "application/problem+json",
            Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem")))),
        )
        .build();
    for (path, item) in &mut api.paths.paths {
        let operations = [
            ("GET", &mut item.get),
            ("PUT", &mut item.put),
            ("POST", &mut item.post),
            ("DELETE", &mut item.delete),
            ("PATCH", &mut item.patch),
        ];
        for (method, operation) in operations {
            let Some(operation) = operation else { continue };
            let need = needs::of(method, path).with_context(|| format!("what {method} {path} needs is not said"))?;
            operation.security = Some(required(need));
            let responses = &mut operation.responses.responses;
            responses
                .entry("default".to_owned())
                .or_insert_with(|| RefOr::T(problem.clone()));
        }
    }
    let components = api.components.get_or_insert_default();
    components.security_schemes.insert(
        "token".to_owned(),
        RefOr::T(SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer))),
    );
    Ok(api)
}

/// Either nothing, on loopback, or a token with one of the scopes: without this nobody who reads the document would send one.
fn required(need: Need) -> Vec<SecurityRequirement> {
    let token = |scopes: &[Scope]| SecurityRequirement::new("token", scopes.iter().map(|scope| scope.as_str()));
    let mut all = vec![SecurityRequirement::default()];
    match need {
        Need::Nothing => {}
        Need::Token => all.push(token(&[])),
        need => all.extend(need.scopes().into_iter().map(|scope| token(&[scope]))),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_said_of_every_operation_and_of_nothing_else() {
        let document = complete(routes().split_for_parts().1).expect("each has a row");
        let methods = |item: &utoipa::openapi::PathItem| {
            let all = [&item.get, &item.put, &item.post, &item.delete, &item.patch];
            all.into_iter().flatten().count()
        };
        let operations: usize = document.paths.paths.values().map(methods).sum();
        assert_eq!(operations, needs::TABLE.len(), "there are rows of what is no operation");
    }
}
