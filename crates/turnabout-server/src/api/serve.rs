//! The server: from settings to a listening socket, connections, and its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Body;
use axum::extract::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnabout::{ExecutorHandle, Jobs};

use super::connections::{Connections, Patience, Place};
use super::crowd::Crowd;
use super::exit::Exit;
use super::guard::Peer;
use super::live::Control;
use super::minting::Minting;
use super::sampler::{self, Sampler};
use super::settings::ApiSettings;
use super::state::{App, Inner};
use super::sums::{self, Sums};
use super::{metrics, openapi, prefix, webhooks};
use crate::auth::{Limit, Limiter};
use crate::tasks::Resting;

/// A connection says what it wants within this time.
const HEAD: Duration = Duration::from_secs(10);
/// A connection that is closed may finish what is on its way within this time.
const FAREWELL: Duration = Duration::from_secs(1);
/// Said to those for whom there is no room: all connections are in use.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// Unknown tokens from one address.
const GUESSES: Limit = Limit {
    per_second: 1.0,
    burst: 20.0,
};

/// A server about to be bound to its address.
pub(crate) struct Server {
    jobs: Jobs,
    settings: ApiSettings,
    exit: Exit,
    resting: Resting,
}

impl Server {
    pub(crate) fn new(jobs: &Jobs, settings: ApiSettings) -> Self {
        Self {
            jobs: jobs.clone(),
            settings,
            exit: Exit::default(),
            resting: Resting::default(),
        }
    }

    /// Asked when a caller wants the program to end: whoever gives it should then do what a signal would.
    pub(crate) fn exit(mut self, exit: &Exit) -> Self {
        self.exit = exit.clone();
        self
    }

    /// The webhooks whose receivers are left alone, which whoever sends their messages knows.
    pub(crate) fn resting(mut self, resting: &Resting) -> Self {
        self.resting = resting.clone();
        self
    }

    /// Reads the keys and takes the address. From here on callers can connect; they are answered once it runs.
    pub(crate) async fn bind(self) -> anyhow::Result<Bound> {
        let settings = self.settings;
        let address = settings.address;
        let control = Control::new(&settings)?;
        metrics::recorder()?;
        let flag = if settings.status_only {
            "status-address"
        } else {
            "address"
        };
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; is another server running? `--{flag}` takes another")
        })?;
        let mut app = inner(self.jobs, settings, control, self.exit);
        app.resting = self.resting;
        Ok(Bound {
            address: listener.local_addr()?,
            listener,
            app,
        })
    }
}

impl Server {
    /// The API without a socket, for the command line on a database: whoever can open that may do anything.
    pub(crate) fn inside(self) -> anyhow::Result<axum::Router> {
        let control = Control::new(&self.settings)?;
        openapi::router(&Arc::new(inner(self.jobs, self.settings, control, self.exit)))
    }
}

/// What all handlers share, at the beginning.
pub(super) fn inner(jobs: Jobs, settings: ApiSettings, control: Control, exit: Exit) -> Inner {
    Inner {
        jobs,
        control,
        limiter: Limiter::new(settings.rate),
        guesses: Limiter::new(GUESSES),
        requests: Crowd::requests(settings.requests, settings.requests_each),
        streams: Crowd::streams(settings.streams, settings.streams_each),
        minting: Minting::default(),
        settings,
        executor: None,
        resting: Resting::default(),
        sums: Sums::default(),
        gauges: Mutex::default(),
        sampler: Sampler::default(),
        operations: super::operations::Running::default(),
        exit,
        ending: CancellationToken::new(),
    }
}

/// A server that has its address.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    app: Inner,
}

impl Bound {
    /// Where it listens; the port is known even if any was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, for people.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.app.control.now().tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// By which it is changed while it runs.
    pub(crate) fn control(&self) -> Control {
        self.app.control.clone()
    }

    /// The executor beside this server.
    pub(crate) fn executor(mut self, executor: &Arc<ExecutorHandle>) -> Self {
        self.app.executor = Some(Arc::clone(executor));
        self
    }

    /// Answers until it is told to stop; then finishes what is on its way, and ends streams.
    pub(crate) async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let app: App = Arc::new(self.app);
        let router = openapi::router(&app)?;
        if !app.settings.status_only {
            tokio::spawn(webhooks::run(Arc::clone(&app)));
            sampler::start(&app);
            if app.settings.dashboard {
                sums::keep_ready(&app);
            }
        }
        let connections = TaskTracker::new();
        let settings = &app.settings;
        let room = Connections::new(settings.connections, settings.per_address, patience(settings));
        loop {
            let accepted = tokio::select! {
                () = shutdown.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // No more files, perhaps: others will be closed.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Some(place) = room.enter(peer.ip()) else {
                tracing::debug!(%peer, "all connections are in use");
                if app.control.now().tls.is_none() {
                    let _ = stream.try_write(NO_ROOM);
                }
                continue;
            };
            let connection = serve(stream, peer, place, router.clone(), Arc::clone(&app), shutdown.clone());
            connections.spawn(connection);
        }
        drop(self.listener);
        app.ending.cancel();
        connections.close();
        if tokio::time::timeout(app.settings.shutdown, connections.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                connections = connections.len(),
                "closing connections that take too long"
            );
        }
        Ok(())
    }
}

/// How long connections may be silent.
fn patience(settings: &ApiSettings) -> Patience {
    Patience {
        first: settings.timeout.clamp(Duration::from_secs(1), HEAD),
        idle: settings.timeout * 2,
        unread: settings.timeout.max(Duration::from_secs(1)),
    }
}

/// One connection. Its time runs from its beginning: agreeing on how to encrypt it is part of its first request.
async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    router: axum::Router,
    app: App,
    shutdown: CancellationToken,
) {
    // Events are small and should go at once.
    let _ = stream.set_nodelay(true);
    let Some(tls) = app.control.now().tls.clone() else {
        return answer(stream, peer, place, router, app, shutdown).await;
    };
    let accepted = tokio::select! {
        accepted = TlsAcceptor::from(tls).accept(stream) => accepted,
        () = place.connection.over() => return,
        () = shutdown.cancelled() => return,
    };
    match accepted {
        Ok(stream) => answer(stream, peer, place, router, app, shutdown).await,
        Err(error) => tracing::debug!(%peer, %error, "a connection could not be encrypted"),
    }
}

/// One connection, from its first request to its last.
async fn answer<S>(
    stream: S,
    peer: SocketAddr,
    place: Place,
    router: axum::Router,
    app: App,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let prefix: Arc<str> = app.settings.prefix.as_str().into();
    let connection = Arc::clone(&place.connection);
    let service = tower::service_fn(move |mut request: Request<hyper::body::Incoming>| {
        let begun = connection.request();
        request.extensions_mut().insert(Peer(peer.ip()));
        let answer = prefix::answer(Arc::clone(&prefix), router.clone(), request.map(Body::new));
        async move { answer.await.map(|answer| begun.watch(answer)) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(app.settings.max_head.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_header_list_size(u32::try_from(app.settings.max_head).unwrap_or(u32::MAX));
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    let farewell = tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!(%peer, error, "a connection broke");
            }
            return;
        }
        () = place.connection.over() => FAREWELL,
        () = shutdown.cancelled() => app.settings.shutdown,
    };
    connection.as_mut().graceful_shutdown();
    // Whoever does not read its last words is not waited for.
    let _ = tokio::time::timeout(farewell, connection).await;
}
