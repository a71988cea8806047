//! Tasks: what executors have made known of them, and what operators set beside that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::Json;
use axum::extract::State;
use turnabout::State as JobState;
use turnabout::group::TaskLimits;
use turnabout::jobs::{Sum, Whose};
use turnabout::store::audit::Deed;
use turnabout::store::insight::HeldBy;
use turnabout::store::overview::Member;
use turnabout::task::TaskSettings;

use super::audit;
use super::caller::Caller;
use super::extract::{Body, Name};
use super::state::App;
use super::summary::WINDOW;
use super::types::{Code, Limit, Problem, RateLimit, RetentionView, TaskChange, TaskSet, TaskUse, TaskView, Tasks};

/// List tasks
///
/// Those that executors have made known, and those for which something is set.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", operation_id = "tasks",
    responses((status = 200, body = Tasks, description = "All of them, by name")))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Tasks>, Problem> {
    caller.sees_all()?;
    let all = All::look(&app).await?;
    let names: BTreeSet<&String> = all.published.keys().chain(all.limits.keys()).collect();
    let tasks = names.into_iter().map(|name| all.view(name)).collect();
    Ok(Json(Tasks { tasks }))
}

/// One task
#[utoipa::path(get, path = "/api/v1/tasks/{task}", tag = "tasks", operation_id = "task",
    params(("task" = String, Path, description = "The task; a `/` in its name is written as `%2F`")),
    responses((status = 200, body = TaskView, description = "What is known of it, and what is set for it")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(task): Name<String>,
) -> Result<Json<TaskView>, Problem> {
    caller.sees_all()?;
    let all = All::look(&app).await?;
    if !all.knows(&task) && !has_jobs(&app, &task).await? {
        return Err(Problem::new(
            Code::NotFound,
            format!(
                "there is no task `{task}`: no executor has made it known, nothing is set for it, and no job of it is \
                 unfinished"
            ),
        ));
    }
    let mut view = all.view(&task);
    if all.limits.contains_key(&task) {
        let set = app.jobs.audit().newest(&[format!("task:{task}")]).await?;
        view.set = set.into_iter().next().map(Into::into);
    }
    Ok(Json(view))
}

/// Change what is set for a task
///
/// All of it at once, and at once for jobs that wait already; what is left out stays as it is, whatever others change at
/// the same time. A task need not be known yet: what is set holds as soon as it is.
#[utoipa::path(patch, path = "/api/v1/tasks/{task}", tag = "tasks", operation_id = "setTask",
    params(("task" = String, Path, description = "The task; a `/` in its name is written as `%2F`")),
    request_body = TaskChange,
    responses((status = 200, body = TaskSet, description = "It is set")))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Name(task): Name<String>,
    Body(change): Body<TaskChange>,
) -> Result<Json<TaskSet>, Problem> {
    let note = audit::checked(change.note.clone())?;
    let before = app.jobs.settings().await?.task(&task);
    let mut set = app.jobs.task_limits(&task);
    if let Some(Limit(jobs)) = change.max_running {
        set = set.max_running(jobs);
    }
    if let Some(Limit(jobs)) = change.max_running_each {
        set = set.max_running_each(jobs);
    }
    if let Some(RateLimit(rate)) = change.rate {
        set = set.rate(rate);
    }
    set = match change.paused {
        Some(true) => set.pause(),
        Some(false) => set.resume(),
        None => set,
    };
    for (state, time) in change.retention.unwrap_or_default().said()? {
        set = set.keep(state, time);
    }
    // First what can fail without having changed anything.
    let published = app.jobs.tasks().await?.iter().any(|known| known.name == task);
    let limits = set.await?;
    tracing::info!(by = caller.name, task, ?limits, "what is set for a task was changed");
    let deed = Deed {
        target: Some(format!("task:{task}")),
        before: audit::json(&limits_told(before)),
        after: audit::json(&limits_told(limits)),
        note,
        ..caller.deed("set-task")
    };
    app.note(deed).await;
    Ok(Json(TaskSet {
        task,
        max_running: limits.max_running,
        max_running_each: limits.max_running_each,
        rate: limits.rate,
        paused: limits.paused,
        retention: limits.retention.into(),
        published,
    }))
}

/// What is set for a task, as the audit tells it.
pub(crate) fn limits_told(limits: TaskLimits) -> serde_json::Value {
    serde_json::json!({
        "max_running": limits.max_running,
        "max_running_each": limits.max_running_each,
        "rate": limits.rate,
        "paused": limits.paused,
        "retention": RetentionView::from(limits.retention),
    })
}

/// Whether a task has unfinished jobs, where sums may be of a while ago.
async fn has_jobs(app: &App, task: &str) -> Result<bool, Problem> {
    let found = app.jobs.list().task(task).states(JobState::UNFINISHED).limit(1).await?;
    Ok(!found.jobs.is_empty())
}

/// All that there is to know of tasks.
struct All {
    published: BTreeMap<String, TaskSettings>,
    limits: HashMap<String, TaskLimits>,
    /// Unfinished jobs.
    sums: Vec<Sum>,
    executors: Vec<Member>,
    /// What these hold, by task.
    held: Vec<HeldBy>,
}

impl All {
    async fn look(app: &App) -> Result<Self, Problem> {
        let everyones = Whose::default();
        let (published, settings, mut sums, executors, held) = tokio::try_join!(
            app.jobs.tasks(),
            app.jobs.settings(),
            // Also those that have ended, since these sums are kept ready.
            app.task_sums(&everyones, WINDOW),
            app.jobs.executors(),
            app.jobs.insight().held_by(),
        )?;
        sums.retain(|sum| !sum.state.is_final());
        Ok(Self {
            published: published.into_iter().map(|task| (task.name.clone(), task)).collect(),
            limits: settings.tasks.clone(),
            sums,
            executors,
            held,
        })
    }

    fn knows(&self, task: &str) -> bool {
        self.published.contains_key(task)
            || self.limits.contains_key(task)
            || self.sums.iter().any(|sum| sum.task == task)
    }

    /// The executors that run a task.
    fn uses(&self, task: &str, limits: TaskLimits) -> Vec<TaskUse> {
        let knows = |member: &&Member| member.info.tasks.iter().any(|known| known == task);
        let of = |member: &Member| {
            let held = (self.held.iter()).filter(|held| held.task == task && held.executor == member.info.incarnation);
            let slots = u64::from(member.info.slots);
            TaskUse {
                executor: member.info.name.clone(),
                held: held.map(|held| held.jobs).sum(),
                most: limits.max_running_each.map_or(slots, |most| slots.min(most.into())),
            }
        };
        self.executors.iter().filter(knows).map(of).collect()
    }

    fn view(&self, task: &str) -> TaskView {
        let limits = self.limits.get(task).copied().unwrap_or_default();
        let executors = self.uses(task, limits);
        let mut view = TaskView {
            task: task.to_owned(),
            waiting: 0,
            stuck: 0,
            held: 0,
            oldest: None,
            max_running: limits.max_running,
            max_running_each: limits.max_running_each,
            rate: limits.rate,
            effective: effective(&executors, limits),
            executors,
            paused: limits.paused,
            retention: limits.retention.into(),
            set: None,
            published: self.published.get(task).cloned().map(Into::into),
        };
        for sum in self.sums.iter().filter(|sum| sum.task == task) {
            match sum.state {
                JobState::Waiting => view.waiting += sum.jobs,
                JobState::Stuck => view.stuck += sum.jobs,
                _ => view.held += sum.jobs,
            }
            view.oldest = [view.oldest, sum.oldest].into_iter().flatten().min();
        }
        view
    }
}

/// How many jobs of a task can run at a time.
fn effective(executors: &[TaskUse], limits: TaskLimits) -> u64 {
    if limits.paused {
        return 0;
    }
    let slots = executors.iter().map(|one| one.most).sum();
    limits.max_running.map_or(slots, |most| slots.min(most.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c49_what_can_run_is_what_limits_and_slots_allow() {
        let uses = |most: &[u64]| -> Vec<TaskUse> {
            let one = |most: &u64| TaskUse {
                executor: "one".to_owned(),
                held: 0,
                most: *most,
            };
            most.iter().map(one).collect()
        };
        let limits = |max_running, paused| {
            let mut limits = TaskLimits::default();
            limits.max_running = max_running;
            limits.paused = paused;
            limits
        };
        assert_eq!(effective(&uses(&[8, 2]), limits(None, false)), 10);
        assert_eq!(effective(&uses(&[8, 2]), limits(Some(3), false)), 3);
        assert_eq!(effective(&uses(&[2]), limits(Some(3), false)), 2);
        assert_eq!(effective(&uses(&[]), limits(Some(3), false)), 0, "nobody runs it");
        assert_eq!(effective(&uses(&[8]), limits(None, true)), 0);
    }
}
