//! The server: from settings to a listening socket to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::IntoResponse;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use turnabout::{ExecutorHandle, Jobs};

use super::openapi;
use super::settings::ApiSettings;
use super::state::{App, Inner};
use super::types::{Code, Problem};

/// A server about to be bound to its address.
pub(crate) struct Server {
    jobs: Jobs,
    settings: ApiSettings,
    executor: Option<Arc<ExecutorHandle>>,
    stop: CancellationToken,
}

impl Server {
    pub(crate) fn new(jobs: &Jobs, settings: ApiSettings) -> Self {
        Self {
            jobs: jobs.clone(),
            settings,
            executor: None,
            stop: CancellationToken::new(),
        }
    }

    /// The executor beside this server.
    pub(crate) fn executor(mut self, executor: &Arc<ExecutorHandle>) -> Self {
        self.executor = Some(Arc::clone(executor));
        self
    }

    /// Cancelled when a caller asks the program to end: whoever gives it should then do what a signal would.
    pub(crate) fn stop(mut self, stop: &CancellationToken) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Takes the address. From here on callers can connect; they are answered once it runs.
    pub(crate) async fn bind(self) -> anyhow::Result<Bound> {
        let address = self.settings.address;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}; is another server running?"))?;
        let app = Arc::new(Inner {
            jobs: self.jobs,
            settings: self.settings,
            executor: self.executor,
            stop: self.stop,
            ending: CancellationToken::new(),
        });
        Ok(Bound {
            address: listener.local_addr()?,
            listener,
            app,
        })
    }
}

/// A server that has its address.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
}

impl Bound {
    /// Where it listens; the port is known even if any was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is told to stop; then finishes what is on its way.
    pub(crate) async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let ending = self.app.ending.clone();
        let told = async move {
            shutdown.cancelled().await;
            ending.cancel();
        };
        axum::serve(self.listener, router(self.app))
            .with_graceful_shutdown(told)
            .await?;
        Ok(())
    }
}

fn router(app: App) -> Router {
    let (router, _document) = openapi::routes().split_for_parts();
    let limit = app.settings.max_body;
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .layer(DefaultBodyLimit::max(limit))
        .with_state(app)
}

async fn nothing_here() -> impl IntoResponse {
    Problem::new(
        Code::NotFound,
        "there is nothing under this path; /api/docs lists all paths",
    )
}

async fn not_so() -> impl IntoResponse {
    Problem::new(
        Code::MethodNotAllowed,
        "this path takes other methods; /api/docs lists them",
    )
}
