//! Queues: who serves them, and what operators set for them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use turnabout::store::audit::Deed;

use super::audit;
use super::caller::Caller;
use super::extract::{Body, Name};
use super::sampler::is_own;
use super::state::App;
use super::types::{Problem, QueueChange, QueueSet, QueueView, Queues};

/// List queues
///
/// Those that executors serve, that tasks put their jobs into, and for which something is set.
#[utoipa::path(get, path = "/api/v1/queues", tag = "queues", operation_id = "queues",
    responses((status = 200, body = Queues, description = "All of them, by name")))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Queues>, Problem> {
    caller.sees_all()?;
    let queues = look(&app).await?.into_values().collect();
    Ok(Json(Queues { queues }))
}

/// One queue
///
/// Every name is a queue's: one that nobody has used yet has no executors, and nothing is set for it.
#[utoipa::path(get, path = "/api/v1/queues/{queue}", tag = "queues", operation_id = "queue",
    params(("queue" = String, Path, description = "The queue; a `/` in its name is written as `%2F`")),
    responses((status = 200, body = QueueView, description = "Who serves it, and what is set for it")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(queue): Name<String>,
) -> Result<Json<QueueView>, Problem> {
    caller.sees_all()?;
    let mut view = look(&app)
        .await?
        .remove(&queue)
        .unwrap_or_else(|| QueueView::new(&queue));
    if view.paused {
        let set = app.jobs.audit().newest(&[format!("queue:{queue}")]).await?;
        view.set = set.into_iter().next().map(Into::into);
    }
    Ok(Json(view))
}

/// Pause a queue, or resume it
///
/// At once, for all executors and for jobs that wait already. Those that run go on.
#[utoipa::path(patch, path = "/api/v1/queues/{queue}", tag = "queues", operation_id = "setQueue",
    params(("queue" = String, Path, description = "The queue; a `/` in its name is written as `%2F`")),
    request_body = QueueChange,
    responses((status = 200, body = QueueSet, description = "It is set")))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Name(queue): Name<String>,
    Body(change): Body<QueueChange>,
) -> Result<Json<QueueSet>, Problem> {
    let note = audit::checked(change.note.clone())?;
    let before = app.jobs.settings().await?.queue(&queue);
    let set = app.jobs.queue(&queue);
    let settings = match change.paused {
        Some(true) => set.pause().await?,
        Some(false) => set.resume().await?,
        None => set.await?,
    };
    tracing::info!(
        by = caller.name,
        queue,
        ?settings,
        "what is set for a queue was changed"
    );
    let told = |settings| audit::json(&QueueSet::new(queue.clone(), settings));
    let deed = Deed {
        target: Some(format!("queue:{queue}")),
        before: told(before),
        after: told(settings),
        note,
        ..caller.deed("set-queue")
    };
    app.note(deed).await;
    Ok(Json(QueueSet::new(queue, settings)))
}

/// All queues that are known, but for those of the server itself.
async fn look(app: &App) -> Result<BTreeMap<String, QueueView>, Problem> {
    let insight = app.jobs.insight();
    let (executors, tasks, settings, held) = tokio::try_join!(
        app.jobs.executors(),
        app.jobs.tasks(),
        app.jobs.settings(),
        insight.held()
    )?;
    let mut queues: BTreeMap<String, QueueView> = BTreeMap::new();
    let mut of = |name: &str, add: &dyn Fn(&mut QueueView)| {
        if !is_own(name) {
            add(queues.entry(name.to_owned()).or_insert_with(|| QueueView::new(name)));
        }
    };
    for member in &executors {
        for queue in &member.info.queues {
            of(queue, &|view| {
                if !member.draining {
                    view.executors += 1;
                    view.slots += u64::from(member.info.slots);
                }
            });
        }
    }
    for task in &tasks {
        of(&task.queue, &|view| view.tasks.push(task.name.clone()));
    }
    for (queue, set) in &settings.queues {
        of(queue, &|view| view.paused = set.paused);
    }
    for held in &held {
        of(&held.queue, &|view| view.held += held.jobs);
    }
    Ok(queues)
}
