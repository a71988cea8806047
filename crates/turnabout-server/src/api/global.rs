//! What is set for everything.

use axum::Json;
use axum::extract::State;
use turnabout::store::audit::Deed;

use super::audit;
use super::caller::Caller;
use super::extract::Body;
use super::state::App;
use super::types::{GlobalChange, GlobalView, Problem};

/// What is set for everything
///
/// Groups and tasks may say otherwise.
#[utoipa::path(get, path = "/api/v1/settings", tag = "settings", operation_id = "settings",
    responses((status = 200, body = GlobalView, description = "What holds where neither group nor task says otherwise")))]
pub(super) async fn get(State(app): State<App>, caller: Caller) -> Result<Json<GlobalView>, Problem> {
    caller.sees_all()?;
    Ok(Json(app.jobs.settings().await?.global.into()))
}

/// Change what is set for everything
///
/// At once, for all executors; what is left out stays as it is, whatever others change at the same time.
#[utoipa::path(patch, path = "/api/v1/settings", tag = "settings", operation_id = "setSettings",
    request_body = GlobalChange,
    responses((status = 200, body = GlobalView, description = "It is set")))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Body(change): Body<GlobalChange>,
) -> Result<Json<GlobalView>, Problem> {
    let note = audit::checked(change.note.clone())?;
    let before = app.jobs.settings().await?.global;
    let mut set = app.jobs.global();
    for (state, time) in change.retention.unwrap_or_default().said()? {
        set = set.keep(state, time);
    }
    set = match change.paused {
        Some(true) => set.pause(),
        Some(false) => set.resume(),
        None => set,
    };
    let settings = set.await?;
    tracing::info!(by = caller.name, ?settings, "what is set for everything was changed");
    let deed = Deed {
        target: Some("settings".to_owned()),
        before: audit::json(&GlobalView::from(before)),
        after: audit::json(&GlobalView::from(settings)),
        note,
        ..caller.deed("set-global")
    };
    app.note(deed).await;
    Ok(Json(settings.into()))
}
