//! What is set for groups, tasks, queues and everything, by operators and by those who publish tasks.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::group::{GlobalSettings, GroupSettings, QueueSettings, Settings, TaskLimits};
use crate::task::TaskSettings;

/// What a setting is about, and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A group's; the defaults forget it. Without a name: what holds for every group that has no setting of its own.
    Group(String, GroupSettings),
    /// A task's; the defaults forget it.
    Task(String, TaskLimits),
    /// A queue's; the defaults forget it.
    Queue(String, QueueSettings),
    /// What holds for everything.
    Global(GlobalSettings),
}

/// Settings, for all executors.
#[async_trait]
pub trait Configuration {
    /// All settings.
    async fn settings(&self) -> Result<Arc<Settings>>;

    /// Changes a setting, unless any has changed since this version of them was read. Says whether it did.
    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool>;

    /// Changes a setting, whatever others change.
    async fn set(&self, setting: Setting) -> Result<()> {
        while !self.set_since(self.settings().await?.version, setting.clone()).await? {}
        Ok(())
    }

    /// All published tasks.
    async fn tasks(&self) -> Result<Vec<TaskSettings>>;
}
