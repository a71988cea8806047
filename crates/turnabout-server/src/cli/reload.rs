//! What stands in the configuration about groups and limits is written to the store; and what changes in the file while the
//! program runs takes effect, as far as it can.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use turnabout::group::Rate;
use turnabout::jobs::SetGroup;
use turnabout::store::audit::Deed;
use turnabout::{Executor, ExecutorHandle, Jobs, State};

use super::serve;
use super::signals::Hangups;
use super::webhooks::Webhooks;
use crate::api::types::{GlobalView, GroupSet, QueueSet};
use crate::api::{Control, Exit, WEBHOOK_GROUP, Wait, as_json, limits_told, weigh};
use crate::config::{Config, GroupDefaults, Origin, Running, Sources};
use crate::tasks;

/// The file is looked at so often.
const LOOKS: Duration = Duration::from_secs(1);
/// A file that has not changed for so long is written to its end: many programs empty it first.
const SETTLED: Duration = Duration::from_millis(200);

/// Reads the configuration again when it should be.
pub(super) struct Reloader {
    pub(super) sources: Sources,
    pub(super) config: Config,
    pub(super) jobs: Jobs,
    pub(super) executor: Option<Arc<ExecutorHandle>>,
    /// The executors of webhooks.
    pub(super) webhooks: Webhooks,
    /// The API beside it, if there is one.
    pub(super) control: Option<Control>,
    pub(super) hangups: Hangups,
    /// Asked if the program should end, because its terminal is gone.
    pub(super) exit: Exit,
}

/// Two looks at a file that has not changed give the same.
type Look = Option<(SystemTime, u64)>;

fn look(file: &Path) -> Look {
    let data = std::fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// A look at the configuration's file, and at those with certificates, which other programs replace.
fn look_at_all(sources: &Sources, config: &Config) -> Vec<Look> {
    let tls = config.api.tls_files().into_iter().flatten();
    std::iter::once(&*sources.file).chain(tls).map(look).collect()
}

impl Reloader {
    /// For as long as the program runs. The configuration's file was seen before it was read.
    pub(super) async fn run(mut self, file: Look) {
        let mut seen = look_at_all(&self.sources, &self.config);
        seen[0] = file;
        loop {
            tokio::select! {
                ours = self.hangups.next() => {
                    if !ours {
                        self.exit.ask(Wait::For(self.config.executor.shutdown_deadline));
                        return;
                    }
                    seen = look_at_all(&self.sources, &self.config);
                }
                () = tokio::time::sleep(LOOKS) => {
                    let now = look_at_all(&self.sources, &self.config);
                    if now == seen {
                        continue;
                    }
                    tokio::time::sleep(SETTLED).await;
                    if look_at_all(&self.sources, &self.config) != now {
                        continue;
                    }
                    seen = now;
                }
            }
            let refused = match self.reload().await {
                Ok(()) => {
                    tracing::info!("the configuration was read again");
                    None
                }
                Err(error) => {
                    tracing::error!("the configuration stays as it was: {error:#}");
                    Some(format!("{error:#}"))
                }
            };
            let outcome = if refused.is_some() { "refused" } else { "taken" };
            metrics::counter!("turnabout_config_reloads_total", "outcome" => outcome).increment(1);
            if let Some(control) = &self.control {
                control.reloaded(refused);
            }
        }
    }

    pub(super) fn seen(sources: &Sources) -> Look {
        look(&sources.file)
    }

    async fn reload(&mut self) -> anyhow::Result<()> {
        let new = self.sources.read()?;
        // First what can be refused.
        let settings = serve::api_settings(&new, self.executor.is_some())?;
        let change = self.control.as_ref().map(|control| control.prepare(&settings));
        let change = change.transpose()?;
        if let Some(executor) = &self.executor {
            let known = tasks::add_all(Executor::new(&self.jobs), &new)?;
            Webhooks::check(&self.jobs, &new)?;
            executor.replace_tasks(known).await?;
            self.webhooks.serve(&self.jobs, &new, &executor.health().name).await?;
        }
        apply(&self.jobs, &new, &self.config).await?;
        if let Some(change) = change {
            change.take_effect();
        }
        for name in self.config.differing(&new) {
            tracing::warn!("`{name}` has changed; that takes effect when the program is started again");
        }
        self.config = new;
        Ok(())
    }
}

/// The settings that say how long ended jobs are kept, and the states that they are about.
const KEPT: [&str; 3] = ["retention-success", "retention-failed", "retention-cancelled"];
const FINAL: [State; 3] = [State::Success, State::Failed, State::Cancelled];

/// Writes to the store what is set for groups and tasks, setting by setting. What was said by the former configuration and
/// is not any longer becomes as it is by default; what neither says stays as it is: a group that someone has paused by hand
/// does not run again because a server is started whose file gives it a weight.
pub(super) async fn apply(jobs: &Jobs, new: &Config, former: &Config) -> turnabout::Result<()> {
    let said = |name: String| {
        [new, former]
            .iter()
            .any(|config| *config.origin(&name) != Origin::Default)
    };
    apply_to_groups(jobs, new, former).await?;
    let mut names: Vec<&String> = new.groups.keys().chain(former.groups.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let said = |key: &str| said(format!("groups.{name}.{key}"));
        if ![
            "weight",
            "max-running",
            "max-unfinished",
            "max-unknown-tasks",
            "rate",
            "paused",
        ]
        .into_iter()
        .chain(KEPT)
        .any(said)
        {
            continue;
        }
        let wanted = new.groups.get(name).cloned().unwrap_or_default();
        let limits = GroupDefaults {
            weight: wanted.weight,
            max_running: wanted.max_running,
            max_unfinished: wanted.max_unfinished,
            max_unknown_tasks: wanted.max_unknown_tasks,
            rate: wanted.rate,
        };
        let mut set = limited(jobs.group(name), &limits, said);
        if said("paused") {
            set = if wanted.paused { set.pause() } else { set.resume() };
        }
        let times = [
            wanted.retention_success,
            wanted.retention_failed,
            wanted.retention_cancelled,
        ];
        for ((key, state), time) in KEPT.into_iter().zip(FINAL).zip(times) {
            if said(key) {
                set = set.keep(state, time);
            }
        }
        let before = jobs.settings().await?.group(name);
        let after = set.await?;
        if before != after {
            note(
                jobs,
                "set-group",
                format!("group:{name}"),
                Some(name),
                [before, after].map(|set| GroupSet::new(name.clone(), set)),
            )
            .await?;
        }
    }
    let mut names: Vec<&String> = new.tasks.keys().chain(former.tasks.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let said = |key: &str| said(format!("tasks.{name}.{key}"));
        if !["max-running", "max-running-each", "rate", "paused"]
            .into_iter()
            .chain(KEPT)
            .any(said)
        {
            continue;
        }
        let wanted = new.tasks.get(name).cloned().unwrap_or_default();
        let mut set = jobs.task_limits(name);
        if said("max-running") {
            set = set.max_running(wanted.max_running);
        }
        if said("max-running-each") {
            set = set.max_running_each(wanted.max_running_each);
        }
        if said("rate") {
            set = set.rate(wanted.rate);
        }
        if said("paused") {
            set = if wanted.paused { set.pause() } else { set.resume() };
        }
        let times = [
            wanted.retention_success,
            wanted.retention_failed,
            wanted.retention_cancelled,
        ];
        for ((key, state), time) in KEPT.into_iter().zip(FINAL).zip(times) {
            if said(key) {
                set = set.keep(state, time);
            }
        }
        let before = jobs.settings().await?.task(name);
        let after = set.await?;
        if before != after {
            note(
                jobs,
                "set-task",
                format!("task:{name}"),
                None,
                [before, after].map(limits_told),
            )
            .await?;
        }
    }
    apply_to_queues(jobs, new, former).await?;
    apply_to_all(jobs, new, former).await?;
    declare(jobs, new, former).await
}

/// What holds for every group that has no setting of its own. Of the server's own group nothing does: messages to receivers are
/// no tenant's.
async fn apply_to_groups(jobs: &Jobs, new: &Config, former: &Config) -> turnabout::Result<()> {
    let said = |key: &str| {
        let name = format!("group-defaults.{key}");
        [new, former]
            .iter()
            .any(|config| *config.origin(&name) != Origin::Default)
    };
    let wanted = &new.group_defaults;
    if !["weight", "max-running", "max-unfinished", "max-unknown-tasks", "rate"]
        .into_iter()
        .any(said)
    {
        return Ok(());
    }
    let own = jobs
        .group(WEBHOOK_GROUP)
        .max_share(Some(100))
        .max_unfinished(Some(i32::MAX as u32));
    own.rate(Some(Rate::new(Rate::MOST, Duration::from_secs(1), None)?))
        .await?;
    let set = limited(jobs.group_defaults(), wanted, said);
    let before = jobs.settings().await?.defaults;
    let after = set.await?;
    if before != after {
        let told = [before, after].map(|set| GroupSet::new("*".to_owned(), set));
        note(jobs, "set-groups", "group-defaults".to_owned(), None, told).await?;
    }
    Ok(())
}

/// The limits of a group, or of all groups, as far as a file says them.
fn limited(mut set: SetGroup, wanted: &GroupDefaults, said: impl Fn(&str) -> bool) -> SetGroup {
    if said("weight") {
        set = weigh(set, wanted.weight);
    }
    if said("max-running") {
        let most = wanted.max_running;
        set = set.max_running(most.and_then(Running::jobs));
        set = set.max_share(most.and_then(Running::share));
    }
    if said("max-unfinished") {
        set = set.max_unfinished(wanted.max_unfinished);
    }
    if said("max-unknown-tasks") {
        set = set.max_unknown_tasks(wanted.max_unknown_tasks);
    }
    if said("rate") {
        set = set.rate(wanted.rate);
    }
    set
}

/// Which queues are paused.
async fn apply_to_queues(jobs: &Jobs, new: &Config, former: &Config) -> turnabout::Result<()> {
    let mut names: Vec<&String> = new.queues.keys().chain(former.queues.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let paused = format!("queues.{name}.paused");
        let said = |config: &&Config| *config.origin(&paused) != Origin::Default;
        if ![new, former].iter().any(said) {
            continue;
        }
        let set = jobs.queue(name);
        let wanted = new.queues.get(name).is_some_and(|queue| queue.paused);
        let set = if wanted { set.pause() } else { set.resume() };
        let before = jobs.settings().await?.queue(name);
        let after = set.await?;
        if before != after {
            let told = [before, after].map(|set| QueueSet::new(name.clone(), set));
            note(jobs, "set-queue", format!("queue:{name}"), None, told).await?;
        }
    }
    Ok(())
}

/// What holds for all jobs of which neither group nor task says anything.
async fn apply_to_all(jobs: &Jobs, new: &Config, former: &Config) -> turnabout::Result<()> {
    let said = |key: &str| {
        [new, former]
            .iter()
            .any(|config| *config.origin(key) != Origin::Default)
    };
    if !KEPT.into_iter().any(said) {
        return Ok(());
    }
    let wanted = &new.store;
    let times = [
        wanted.retention_success,
        wanted.retention_failed,
        wanted.retention_cancelled,
    ];
    let mut set = jobs.global();
    for ((key, state), time) in KEPT.into_iter().zip(FINAL).zip(times) {
        if said(key) {
            set = set.keep(state, time);
        }
    }
    let before = jobs.settings().await?.global;
    let after = set.await?;
    if before != after {
        let told = [before, after].map(GlobalView::from);
        note(jobs, "set-global", "settings".to_owned(), None, told).await?;
    }
    Ok(())
}

/// Writes down what the configuration file has changed.
async fn note(
    jobs: &Jobs,
    action: &str,
    target: String,
    group: Option<&str>,
    told: [impl Serialize; 2],
) -> turnabout::Result<()> {
    let [before, after] = told.map(|set| as_json(&set));
    let deed = Deed {
        by: "the configuration file".to_owned(),
        role: "configuration".to_owned(),
        action: action.to_owned(),
        target: Some(target),
        group: group.map(ToOwned::to_owned),
        before,
        after,
        ..Deed::default()
    };
    jobs.audit().add(deed).await
}

/// Declares the schedules of the file. A file that never had any says nothing about schedules: several servers may share a
/// store, and only one of them their file.
async fn declare(jobs: &Jobs, new: &Config, former: &Config) -> turnabout::Result<()> {
    let by = new.schedules_by();
    let known = jobs.schedules().declared(&by).await?;
    if new.schedules.is_empty() && former.schedules.is_empty() && known.is_empty() {
        return Ok(());
    }
    let declared = new.schedules.iter().map(|(name, schedule)| schedule.declared(name));
    let declared = declared.collect::<turnabout::Result<Vec<_>>>()?;
    let done = jobs.schedules().reconcile(&by, declared).await?;
    if done.changed > 0 || done.removed > 0 {
        let (changed, removed) = (done.changed, done.removed);
        tracing::info!(changed, removed, by, "the schedules of the configuration were declared");
    }
    Ok(())
}
