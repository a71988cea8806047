//! Schedules of a store that counts its calls.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::Counting;
use crate::error::Result;
use crate::schedule::{Edit, Edited, Run, RunNow, Schedule, ScheduleKey};
use crate::store::schedules::{Fired, ScheduleEvent, ScheduleFilter, Schedules};

#[async_trait]
impl Schedules for Counting {
    async fn edit(&self, edits: Vec<(ScheduleKey, Edit)>) -> Result<Vec<Result<Edited>>> {
        self.call("edit", self.inner.schedules().edit(edits)).await
    }

    async fn fire(&self, limit: u32) -> Result<Fired> {
        self.call("fire", self.inner.schedules().fire(limit)).await
    }

    async fn run(&self, key: &ScheduleKey, wanted: RunNow) -> Result<Vec<Run>> {
        self.call("run", self.inner.schedules().run(key, wanted)).await
    }

    async fn get(&self, key: &ScheduleKey) -> Result<Option<Schedule>> {
        self.inner.schedules().get(key).await
    }

    async fn list(&self, filter: &ScheduleFilter) -> Result<Vec<Schedule>> {
        self.inner.schedules().list(filter).await
    }

    async fn declared(&self, by: &str) -> Result<Vec<ScheduleKey>> {
        self.inner.schedules().declared(by).await
    }

    async fn runs(&self, schedule: Uuid, before: Option<i64>, limit: u32) -> Result<Vec<Run>> {
        self.inner.schedules().runs(schedule, before, limit).await
    }

    async fn changes(&self, after: i64, limit: u32) -> Result<Vec<ScheduleEvent>> {
        self.inner.schedules().changes(after, limit).await
    }

    async fn last_change(&self) -> Result<i64> {
        self.inner.schedules().last_change().await
    }

    async fn overdue(&self) -> Result<Option<Duration>> {
        self.inner.schedules().overdue().await
    }
}
