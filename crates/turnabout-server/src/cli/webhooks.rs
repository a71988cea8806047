//! The executors of webhooks: one for each receiver, with a queue and slots of its own, so that one that hangs takes neither
//! a slot of the tenants' nor one of another receiver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use turnabout::{Executor, ExecutorHandle, Jobs};

use super::serve;
use crate::api::WEBHOOK_TASK;
use crate::config::Config;
use crate::tasks::{self, Circuit, Resting};

/// The executors of webhooks, by the webhook's name.
#[derive(Clone, Default)]
pub(super) struct Webhooks {
    all: Arc<Mutex<BTreeMap<String, Sender>>>,
    /// Those whose receivers are not well.
    pub(super) resting: Resting,
}

/// What sends messages to one receiver.
struct Sender {
    executor: Arc<ExecutorHandle>,
    circuit: Arc<Circuit>,
    /// Rules the executor; ends when it is dropped.
    _ruling: JoinSet<()>,
}

impl Webhooks {
    /// Starts those that are missing, gives the others what the configuration says now, and ends those that it does not name.
    pub(super) async fn serve(&self, jobs: &Jobs, config: &Config, beside: &str) -> anyhow::Result<()> {
        let mut all = self.all.lock().await;
        for (name, hook) in &config.webhooks {
            let running = all.get(name);
            let circuit = running.map_or_else(Arc::default, |running| Arc::clone(&running.circuit));
            let known = tasks::add_webhook(serve::plain(jobs, config), config, (name, hook), &circuit)?;
            if let Some(running) = running {
                running.executor.replace_tasks(known).await?;
            } else {
                let queue = format!("{WEBHOOK_TASK}{name}");
                let executor = known
                    .name(format!("{beside}/{queue}"))
                    .queues(&[queue])
                    .slots(hook.max_running);
                let executor = Arc::new(executor.start().await?);
                let mut ruling = JoinSet::new();
                let (rule, of) = (Arc::clone(&circuit), Arc::clone(&executor));
                let (webhook, resting) = (name.clone(), self.resting.clone());
                ruling.spawn(async move { rule.rule(&webhook, &of, &resting).await });
                let sender = Sender {
                    executor,
                    circuit,
                    _ruling: ruling,
                };
                all.insert(name.clone(), sender);
            }
        }
        let gone: Vec<String> = all
            .keys()
            .filter(|name| !config.webhooks.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.resting.set(&name, false);
            if let Some(sender) = all.remove(&name) {
                // What is on its way may arrive; nobody waits for it.
                tokio::spawn(async move { sender.executor.shutdown(Duration::from_secs(30)).await });
            }
        }
        Ok(())
    }

    /// Whether all of them could be given what the configuration says.
    pub(super) fn check(jobs: &Jobs, config: &Config) -> anyhow::Result<()> {
        for (name, hook) in &config.webhooks {
            drop(tasks::add_webhook(
                Executor::new(jobs),
                config,
                (name, hook),
                &Arc::default(),
            )?);
        }
        Ok(())
    }

    pub(super) async fn shutdown(&self, deadline: Duration) {
        let all = std::mem::take(&mut *self.all.lock().await);
        join_all(
            all.into_values()
                .map(|sender| async move { sender.executor.shutdown(deadline).await }),
        )
        .await;
    }
}
