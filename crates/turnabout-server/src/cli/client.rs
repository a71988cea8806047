//! The commands' way to the jobs: over the network to a server, or straight to a database.
//!
//! Both speak the same API: for a database it is answered inside this process. So each command is written once, and does
//! the same in both cases.

mod schedules;

use anyhow::{Context as _, anyhow, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response, StatusCode, header};
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;
use turnabout::{JobId, Priority};

use super::events::Events;
use crate::api::types::{
    Attempts, AuditPage, BatchOutcome, BulkOutcome, BulkRequest, Cancelled, Diagnosis, DrainRequest, DrainView,
    Executors, Explained, Failures, GlobalChange, GlobalView, GroupChange, GroupSet, GroupSummary, Groups, JobPage,
    JobView, ListQuery, LogView, MintRequest, MintedView, OperationView, Problem, QueueChange, QueueSet, QueueView,
    Queues, SetPriority, SharesView, Summary, TaskChange, TaskSet, TaskView, Tasks,
};
use crate::api::{AuditQuery, FailuresQuery};
use crate::traces;

/// An answer is no longer.
const MAX_ANSWER: usize = 256 << 20;

/// Who answers.
pub(crate) enum Client {
    /// A server.
    Remote {
        http: reqwest::Client,
        base: Url,
        token: Option<String>,
    },
    /// This process, on a database.
    Local(Router),
}

/// A problem that the API tells of.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Problem);

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.field {
            Some(field) if !self.0.detail.contains(field.as_str()) => write!(f, "{field}: {}", self.0.detail),
            _ => f.write_str(&self.0.detail),
        }
    }
}

impl std::error::Error for Told {}

impl Client {
    /// Sends a request to a server.
    async fn request(
        http: &reqwest::Client,
        base: &Url,
        token: Option<&str>,
        (method, path, body): (Method, &str, Option<String>),
    ) -> anyhow::Result<reqwest::Response> {
        let url = base.join(path).context("the server's address cannot be used")?;
        let mut request = http.request(method, url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(parent) = traceparent() {
            request = request.header(traces::PARENT, parent);
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }
        let answer = request.send().await.map_err(reqwest::Error::without_url);
        answer.with_context(|| {
            format!("cannot reach the server {base}; is it running (`turnabout serve`), and is --server right?")
        })
    }

    /// The same inside this process.
    async fn request_inside(
        router: &Router,
        (method, path, body): (Method, &str, Option<String>),
    ) -> anyhow::Result<Response<Body>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost");
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(parent) = traceparent() {
            request = request.header(traces::PARENT, parent);
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from))?;
        Ok(router.clone().oneshot(request).await?)
    }

    async fn send(&self, method: Method, path: &str, body: Option<String>) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        let what = (method, path, body);
        match self {
            Self::Remote { http, base, token } => {
                let answer = Self::request(http, base, token.as_deref(), what).await?;
                let status = answer.status();
                Ok((status, answer.bytes().await?.to_vec()))
            }
            Self::Local(router) => {
                let answer = Self::request_inside(router, what).await?;
                let status = answer.status();
                Ok((status, to_bytes(answer.into_body(), MAX_ANSWER).await?.to_vec()))
            }
        }
    }

    /// Server-sent events, for as long as there are any.
    pub(crate) async fn events(&self, path: &str) -> anyhow::Result<Events> {
        let what = (Method::GET, path, None);
        let (status, events) = match self {
            Self::Remote { http, base, token } => {
                let answer = Self::request(http, base, token.as_deref(), what).await?;
                let chunks = |answer: reqwest::Response| answer.bytes_stream().map_err(Into::into).boxed();
                (answer.status(), Events::new(chunks(answer)))
            }
            Self::Local(router) => {
                let answer = Self::request_inside(router, what).await?;
                let status = answer.status();
                let chunks = answer.into_body().into_data_stream().map_err(Into::into);
                (status, Events::new(chunks.boxed()))
            }
        };
        if status.is_success() {
            Ok(events)
        } else {
            bail!("there are no events: {status}")
        }
    }

    /// Asks, and understands the answer. Of those that are no success, what they say is the error.
    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<String>) -> anyhow::Result<T> {
        let (status, answer) = self.send(method, path, body).await?;
        if status.is_success() {
            // Where nothing is said, nothing is expected.
            let answer = if answer.is_empty() { b"null" } else { &answer[..] };
            return serde_json::from_slice(answer)
                .context("the answer cannot be understood; is it a turnabout server?");
        }
        match serde_json::from_slice::<Problem>(&answer) {
            Ok(problem) if status == StatusCode::UNAUTHORIZED => Err(anyhow!(
                "{}; give a token in TURNABOUT_TOKEN or with --token-file",
                problem.detail
            )),
            Ok(problem) => Err(Told(problem).into()),
            Err(_) => bail!("the answer was {status}; is it a turnabout server?"),
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path, None).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::POST, path, None).await
    }

    async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.ask(method, path, Some(serde_json::to_string(body)?)).await
    }

    /// Submits jobs that are written as JSON already.
    pub(crate) async fn submit_batch(&self, jobs: &[String]) -> anyhow::Result<BatchOutcome> {
        let body = format!("{{\"jobs\":[{}]}}", jobs.join(","));
        self.ask(Method::POST, "/api/v1/jobs/batch", Some(body)).await
    }

    pub(crate) async fn job(&self, id: JobId) -> anyhow::Result<JobView> {
        self.get(&format!("/api/v1/jobs/{id}")).await
    }

    pub(crate) async fn list(&self, query: &ListQuery) -> anyhow::Result<JobPage> {
        self.get(&with_query("/api/v1/jobs", query)?).await
    }

    pub(crate) async fn explain(&self, id: JobId) -> anyhow::Result<Explained> {
        self.get(&format!("/api/v1/jobs/{id}/explain")).await
    }

    pub(crate) async fn attempts(&self, id: JobId) -> anyhow::Result<Attempts> {
        self.get(&format!("/api/v1/jobs/{id}/attempts")).await
    }

    pub(crate) async fn logs(&self, id: JobId, after: i64, limit: u32) -> anyhow::Result<LogView> {
        self.get(&format!("/api/v1/jobs/{id}/logs?after={after}&limit={limit}"))
            .await
    }

    pub(crate) async fn cancel(&self, id: JobId) -> anyhow::Result<Cancelled> {
        self.post(&format!("/api/v1/jobs/{id}/cancel")).await
    }

    pub(crate) async fn restart(&self, id: JobId) -> anyhow::Result<()> {
        let _: serde_json::Value = self.post(&format!("/api/v1/jobs/{id}/restart")).await?;
        Ok(())
    }

    pub(crate) async fn delete(&self, id: JobId) -> anyhow::Result<()> {
        let path = format!("/api/v1/jobs/{id}");
        let _: serde_json::Value = self.ask(Method::DELETE, &path, None).await?;
        Ok(())
    }

    pub(crate) async fn set_priority(&self, id: JobId, priority: Priority) -> anyhow::Result<()> {
        let path = format!("/api/v1/jobs/{id}/priority");
        let _: serde_json::Value = self.send_json(Method::PUT, &path, &SetPriority { priority }).await?;
        Ok(())
    }

    pub(crate) async fn bulk(&self, request: &BulkRequest) -> anyhow::Result<BulkOutcome> {
        self.send_json(Method::POST, "/api/v1/jobs/bulk", request).await
    }

    /// Does it in the background of the server.
    pub(crate) async fn begin_bulk(&self, request: &BulkRequest) -> anyhow::Result<OperationView> {
        self.send_json(Method::POST, "/api/v1/jobs/bulk", request).await
    }

    pub(crate) async fn operation(&self, id: uuid::Uuid) -> anyhow::Result<OperationView> {
        self.get(&format!("/api/v1/operations/{id}")).await
    }

    pub(crate) async fn mint_token(&self, request: &MintRequest) -> anyhow::Result<MintedView> {
        self.send_json(Method::POST, "/api/v1/tokens", request).await
    }

    pub(crate) async fn rotate_tokens(&self) -> anyhow::Result<()> {
        let _: serde_json::Value = self.post("/api/v1/tokens/rotate").await?;
        Ok(())
    }

    pub(crate) async fn retry(&self, id: JobId) -> anyhow::Result<()> {
        let _: serde_json::Value = self.post(&format!("/api/v1/jobs/{id}/retry")).await?;
        Ok(())
    }

    pub(crate) async fn doctor(&self) -> anyhow::Result<Diagnosis> {
        self.get("/api/v1/doctor").await
    }

    pub(crate) async fn failures(&self, query: &FailuresQuery) -> anyhow::Result<Failures> {
        self.get(&with_query("/api/v1/failures", query)?).await
    }

    pub(crate) async fn audit(&self, query: &AuditQuery) -> anyhow::Result<AuditPage> {
        self.get(&with_query("/api/v1/audit", query)?).await
    }

    pub(crate) async fn shares(
        &self,
        minutes: u32,
        limit: u32,
        sort: &str,
        search: Option<&str>,
    ) -> anyhow::Result<SharesView> {
        let query = serde_json::json!({ "minutes": minutes, "limit": limit, "sort": sort, "search": search });
        self.get(&with_query("/api/v1/shares", &query)?).await
    }

    pub(crate) async fn summary(&self) -> anyhow::Result<Summary> {
        self.get("/api/v1/summary").await
    }

    pub(crate) async fn groups(&self, after: Option<&str>, limit: u32) -> anyhow::Result<Groups> {
        #[derive(Serialize)]
        struct Query<'a> {
            after: Option<&'a str>,
            limit: u32,
        }
        self.get(&with_query("/api/v1/groups", &Query { after, limit })?).await
    }

    pub(crate) async fn group(&self, group: &str) -> anyhow::Result<GroupSummary> {
        self.get(&named("/api/v1/groups", group)?).await
    }

    pub(crate) async fn set_group(&self, group: &str, change: &GroupChange) -> anyhow::Result<GroupSet> {
        let path = named("/api/v1/groups", group)?;
        self.send_json(Method::PATCH, &path, change).await
    }

    pub(crate) async fn settings(&self) -> anyhow::Result<GlobalView> {
        self.get("/api/v1/settings").await
    }

    pub(crate) async fn set_settings(&self, change: &GlobalChange) -> anyhow::Result<GlobalView> {
        self.send_json(Method::PATCH, "/api/v1/settings", change).await
    }

    pub(crate) async fn queues(&self) -> anyhow::Result<Queues> {
        self.get("/api/v1/queues").await
    }

    pub(crate) async fn queue(&self, queue: &str) -> anyhow::Result<QueueView> {
        self.get(&named("/api/v1/queues", queue)?).await
    }

    pub(crate) async fn set_queue(&self, queue: &str, change: &QueueChange) -> anyhow::Result<QueueSet> {
        let path = named("/api/v1/queues", queue)?;
        self.send_json(Method::PATCH, &path, change).await
    }

    pub(crate) async fn tasks(&self) -> anyhow::Result<Tasks> {
        self.get("/api/v1/tasks").await
    }

    pub(crate) async fn task(&self, task: &str) -> anyhow::Result<TaskView> {
        self.get(&named("/api/v1/tasks", task)?).await
    }

    pub(crate) async fn set_task(&self, task: &str, change: &TaskChange) -> anyhow::Result<TaskSet> {
        let path = named("/api/v1/tasks", task)?;
        self.send_json(Method::PATCH, &path, change).await
    }

    pub(crate) async fn executors(&self) -> anyhow::Result<Executors> {
        self.get("/api/v1/executors").await
    }

    pub(crate) async fn drain(&self, id: &str, drain: DrainRequest) -> anyhow::Result<DrainView> {
        let path = format!("/api/v1/executors/{id}/drain");
        self.send_json(Method::POST, &path, &drain).await
    }
}

/// The trace that whoever runs us says we belong to.
fn traceparent() -> Option<String> {
    std::env::var("TRACEPARENT").ok().filter(|parent| !parent.is_empty())
}

/// The path of something that has a name, which may hold anything.
fn named(path: &str, name: &str) -> anyhow::Result<String> {
    if name.is_empty() {
        bail!("the name is empty");
    }
    if name.contains(char::is_control) {
        // They would be left out of the address, and another name would be meant.
        bail!("the name {name:?} contains a control character");
    }
    let mut url = Url::parse("http://localhost")?.join(path)?;
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.push(name);
    }
    if url.path() == path {
        // Those who read addresses take it for a folder, however it is written.
        bail!("`{name}` cannot be part of an address");
    }
    Ok(url.path().to_owned())
}

/// A path with what is asked for behind it.
fn with_query(path: &str, query: &impl Serialize) -> anyhow::Result<String> {
    // The address does not matter; what it does to the query does.
    let mut url = Url::parse("http://localhost")?.join(path)?;
    let value = serde_json::to_value(query)?;
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => drop(url.query_pairs_mut().append_pair(name, text)),
            other => drop(url.query_pairs_mut().append_pair(name, &other.to_string())),
        }
    }
    Ok(match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path_whatever_it_holds() {
        for (name, path) in [
            ("acme", "/g/acme"),
            ("acme/ada", "/g/acme%2Fada"),
            ("a%2Fb", "/g/a%252Fb"),
            ("a b?c#d", "/g/a%20b%3Fc%23d"),
            ("\u{e9}/..", "/g/%C3%A9%2F.."),
        ] {
            assert_eq!(named("/g", name).expect("a path"), path);
        }
        for name in ["", ".", "..", "nl\nname", "a\tb"] {
            named("/g", name).expect_err("no part of a path");
        }
    }

    #[test]
    fn what_is_asked_for_is_written_so_that_it_arrives() {
        let query = ListQuery {
            group: Some("a&b=c d/\u{e9}".to_owned()),
            limit: Some(5),
            ..ListQuery::default()
        };
        assert_eq!(
            with_query("/api/v1/jobs", &query).expect("a path"),
            "/api/v1/jobs?group=a%26b%3Dc+d%2F%C3%A9&limit=5"
        );
        assert_eq!(with_query("/x", &ListQuery::default()).expect("a path"), "/x");
    }
}
