//! Who asks: what a page has to know of its reader before it shows anything.

use axum::Json;
use axum::extract::State;

use super::caller::Caller;
use super::state::App;
use super::types::Me;

/// Who asks
///
/// The name, the role and the scopes of the token, and what pages show beside jobs: addresses of other programs, from the configuration.
#[utoipa::path(get, path = "/api/v1/me", tag = "info", operation_id = "me",
    responses((status = 200, body = Me, description = "The caller, as this server knows them")))]
pub(super) async fn me(State(app): State<App>, caller: Caller) -> Json<Me> {
    Json(Me {
        role: caller.role.word().to_owned(),
        scopes: caller.rights.scopes.clone(),
        tasks: caller.rights.tasks.clone(),
        queues: caller.rights.queues.clone(),
        group: caller.group().map(ToOwned::to_owned),
        owner: caller.owner().map(ToOwned::to_owned),
        name: caller.name,
        token: !app.live().gate.is_open(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        time: jiff::Timestamp::now(),
        links: app.settings.links.clone(),
    })
}
