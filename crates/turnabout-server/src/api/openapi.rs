//! The routes, and their description: OpenAPI 3.1, generated from the code.

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::state::App;
use super::types::Problem;
use super::{info, jobs};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Turnabout",
        description = "Runs background jobs, and is fair to all groups. Errors are problems (RFC 9457) with a `code` \
                       that does not change. On other addresses than loopback a token is needed: \
                       `Authorization: Bearer TOKEN`.",
    ),
    components(schemas(Problem)),
    tags(
        (name = "jobs", description = "Submit jobs, look at them, change them"),
        (name = "info", description = "The program itself"),
    )
)]
struct Description;

/// All routes that are described.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(jobs::submit, jobs::list))
        .routes(routes!(jobs::submit_batch))
        .routes(routes!(jobs::get))
        .routes(routes!(jobs::cancel))
        .routes(routes!(info::version))
}

/// Adds what holds for every operation: problems, and the token.
pub(super) fn complete(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let problem = ResponseBuilder::new()
        .description("What went wrong, and what to do")
        .content(
            "application/problem+json",
            Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem")))),
        )
        .build();
    for item in api.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ];
        for operation in operations.into_iter().flatten() {
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
    api
}
