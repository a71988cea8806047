//! API and dashboard as a part of another application: a router to be merged into the application's own.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use tokio::runtime::Handle;
use turnabout::{ExecutorHandle, Jobs};

use super::exit::Exit;
use super::guard::Peer;
use super::live::Control;
use super::serve::inner;
use super::settings::ApiSettings;
use super::{openapi, prefix, sampler};
use crate::auth::{Holder, Role, StaticToken, hash};

/// Tokens are no shorter: they must not be guessed, since only a plain hash of them is kept.
const SHORTEST: usize = 32;

/// API and dashboard about to be built, see [`router`](crate::router).
///
/// Who may come has to be said: by [tokens](Mount::token), or by [`without_tokens`](Mount::without_tokens). The operation that ends
/// the server is not there, and nothing is read from a configuration: tasks, webhooks and limits are the program's. `/metrics` tells
/// of this process only what it counts itself: where the application has a recorder of the crate `metrics`, the numbers are there.
#[must_use = "nothing is served until it is built and merged into a router"]
pub struct Mount {
    jobs: Jobs,
    settings: ApiSettings,
    open: bool,
    executor: Option<Arc<ExecutorHandle>>,
    mistake: Option<String>,
}

/// What a token allows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Everything.
    Admin,
    /// Everything but minting tokens for others.
    Operator,
    /// To see everything, and to change nothing.
    Viewer,
    /// The jobs of one group.
    Group(String),
    /// The jobs that one owner has in a group.
    Owner {
        /// The group.
        group: String,
        /// The owner.
        owner: String,
    },
}

/// Why API and dashboard cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct MountError(anyhow::Error);

impl Mount {
    pub(crate) fn new(jobs: &Jobs) -> Self {
        let settings = ApiSettings {
            prefix: "/turnabout".to_owned(),
            nobody: "a caller of the application".to_owned(),
            mounted: true,
            ..ApiSettings::default()
        };
        Self {
            jobs: jobs.clone(),
            settings,
            open: false,
            executor: None,
            mistake: None,
        }
    }

    /// Where they are: `/turnabout` unless said otherwise. The dashboard is under `/turnabout/`, the API under
    /// `/turnabout/api/v1/`.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.settings.prefix = path.into();
        self
    }

    /// A token that callers may send (`Authorization: Bearer TOKEN`), and what it allows. The name stands in logs and in the
    /// audit log. A token has 32 characters or more, made at random: `turnabout token` makes one.
    pub fn token(mut self, name: impl Into<String>, access: Access, token: impl AsRef<str>) -> Self {
        let name = name.into();
        if token.as_ref().len() < SHORTEST {
            let mistake = format!(
                "the token `{name}` has less than {SHORTEST} characters, and may be guessed; make one with `turnabout token`"
            );
            self.mistake.get_or_insert(mistake);
        }
        let role = match access {
            Access::Admin => Role::Admin,
            Access::Operator => Role::Operator,
            Access::Viewer => Role::Viewer,
            Access::Group(group) => Role::Group(group),
            Access::Owner { group, owner } => Role::Owner { group, owner },
        };
        let holder = Holder::new("token", name, role);
        self.settings
            .tokens
            .push(StaticToken::new(holder, hash(token.as_ref())));
        self
    }

    /// Lets in everyone who reaches the router, as an administrator: the application itself must decide who does, by a layer
    /// around the router. Without tokens and without this nothing is built.
    pub fn without_tokens(mut self) -> Self {
        self.open = true;
        self
    }

    /// An executor of the same process, so that the API can tell what runs on it.
    pub fn executor(mut self, executor: &Arc<ExecutorHandle>) -> Self {
        self.executor = Some(Arc::clone(executor));
        self
    }

    /// Leaves the dashboard out: only the API is served.
    pub fn without_dashboard(mut self) -> Self {
        self.settings.dashboard = false;
        self
    }

    /// Ends streams of events when this completes. Otherwise an application that waits for its connections when it shuts down
    /// would wait for every open dashboard.
    ///
    /// ```
    /// # fn example(jobs: &turnabout::Jobs, token: &str) -> Result<(), turnabout_server::MountError> {
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let mount = turnabout_server::router(jobs).token("operations", turnabout_server::Access::Admin, token);
    /// let router = mount.build_until(async { drop(stopped.await) })?;
    /// # Ok(()) }
    /// ```
    pub fn build_until(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<Router, MountError> {
        self.mount(stop).map_err(MountError)
    }

    /// The router, to be merged into the application's (at its root, not nested: it knows its path itself). Needs a runtime of
    /// tokio, in which it looks at the shares of groups from time to time, for as long as the runtime lives.
    pub fn build(self) -> Result<Router, MountError> {
        self.build_until(std::future::pending())
    }

    fn mount(self, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<Router> {
        if let Some(mistake) = self.mistake {
            anyhow::bail!(mistake);
        }
        let mut settings = self.settings;
        settings.prefix = crate::config::access::prefix(&settings.prefix)?;
        anyhow::ensure!(
            !settings.prefix.is_empty(),
            "API and dashboard need a path of their own, such as `/turnabout`"
        );
        anyhow::ensure!(
            self.open == settings.tokens.is_empty(),
            "say who may come: either give tokens, or say `without_tokens` and let the application decide"
        );
        let runtime = Handle::try_current()?;
        let prefix: Arc<str> = settings.prefix.as_str().into();
        let control = Control::new(&settings)?;
        let mut app = inner(self.jobs, settings, control, Exit::default());
        app.executor = self.executor;
        let app = Arc::new(app);
        let router = openapi::router(&app)?;
        sampler::start(&app);
        let ending = app.ending.clone();
        runtime.spawn(async move {
            stop.await;
            ending.cancel();
        });
        let paths = [prefix.to_string(), format!("{prefix}/"), format!("{prefix}/{{*path}}")];
        let service = tower::service_fn(move |request: Request| {
            prefix::answer(Arc::clone(&prefix), router.clone(), alone(request))
        });
        Ok(paths
            .iter()
            .fold(Router::new(), |all, path| all.route_service(path, service.clone())))
    }
}

/// The request without what the application's router has noted in it: the path that it matched, above all, by which ours decides
/// who may do what.
fn alone(request: Request) -> Request {
    let (parts, body) = request.into_parts();
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.uri_mut() = parts.uri;
    *request.version_mut() = parts.version;
    *request.headers_mut() = parts.headers;
    if let Some(ConnectInfo(peer)) = parts.extensions.get::<ConnectInfo<SocketAddr>>() {
        request.extensions_mut().insert(Peer(peer.ip()));
    }
    request
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount")
            .field("at", &self.settings.prefix)
            .finish_non_exhaustive()
    }
}
