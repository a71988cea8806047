//! Schedules, asked for over the API.

use axum::http::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Client, Told, named, with_query};
use crate::api::types::{CheckRequest, NextTimes, Runs, SchedulePage, ScheduleRequest, ScheduleView};

const PATH: &str = "/api/v1/schedules";

impl Client {
    pub(crate) async fn schedules(
        &self,
        group: Option<String>,
        owner: Option<String>,
        task: Option<String>,
        limit: u32,
    ) -> anyhow::Result<SchedulePage> {
        #[derive(Serialize)]
        struct Query {
            group: Option<String>,
            owner: Option<String>,
            task: Option<String>,
            limit: u32,
        }
        let query = Query {
            group,
            owner,
            task,
            limit,
        };
        self.get(&with_query(PATH, &query)?).await
    }

    pub(crate) async fn schedule(&self, name: &str, whose: &impl Serialize) -> anyhow::Result<ScheduleView> {
        self.get(&with_query(&named(PATH, name)?, whose)?).await
    }

    /// Changes a schedule, or makes it if there is none.
    pub(crate) async fn set_schedule(
        &self,
        name: &str,
        whose: &impl Serialize,
        request: &ScheduleRequest,
    ) -> anyhow::Result<ScheduleView> {
        let path = with_query(&named(PATH, name)?, whose)?;
        match self.send_json(Method::PATCH, &path, request).await {
            Err(error) if is_missing(&error) => self.send_json(Method::PUT, &path, request).await,
            answer => answer,
        }
    }

    pub(crate) async fn schedule_act<T: DeserializeOwned>(
        &self,
        name: &str,
        what: &str,
        whose: &impl Serialize,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let path = format!("{}/{what}", named(PATH, name)?);
        self.send_json(Method::POST, &with_query(&path, whose)?, body).await
    }

    pub(crate) async fn delete_schedule(&self, name: &str, whose: &impl Serialize) -> anyhow::Result<()> {
        let path = with_query(&named(PATH, name)?, whose)?;
        let _: serde_json::Value = self.ask(Method::DELETE, &path, None).await?;
        Ok(())
    }

    pub(crate) async fn next_times(&self, name: &str, whose: &impl Serialize, count: u32) -> anyhow::Result<NextTimes> {
        let path = with_query(&format!("{}/next", named(PATH, name)?), whose)?;
        self.get(&and(&path, &format!("count={count}"))).await
    }

    pub(crate) async fn schedule_history(
        &self,
        name: &str,
        whose: &impl Serialize,
        limit: u32,
    ) -> anyhow::Result<Runs> {
        let path = with_query(&format!("{}/history", named(PATH, name)?), whose)?;
        self.get(&and(&path, &format!("limit={limit}"))).await
    }

    pub(crate) async fn check_schedule(&self, request: &CheckRequest) -> anyhow::Result<NextTimes> {
        self.send_json(Method::POST, &format!("{PATH}/check"), request).await
    }
}

/// A path with one more thing that is asked for.
fn and(path: &str, more: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("{path}{mark}{more}")
}

fn is_missing(error: &anyhow::Error) -> bool {
    let told = error.downcast_ref::<Told>();
    told.is_some_and(|Told(problem)| problem.status == StatusCode::NOT_FOUND.as_u16())
}
