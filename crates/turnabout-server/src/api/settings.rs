//! What the API is told at start. A plain structure with defaults: the configuration fills it in.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::tls::TlsFiles;
use super::types::Links;
use super::webhooks::Webhook;
use crate::auth::{JwtSettings, Limit, SigningSettings, StaticToken};
use crate::tasks::{Checks, Shown};

/// How the API is served, to whom, and within which limits.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the configuration"
)]
pub(crate) struct ApiSettings {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Who may ask. Without any, and without JWTs, everyone who can reach the address, which must be loopback then.
    pub(crate) tokens: Vec<StaticToken>,
    /// Which JWTs are accepted.
    pub(crate) jwt: Option<JwtSettings>,
    /// The keys of tokens for browsers. None: those of the store.
    pub(crate) signing: Option<SigningSettings>,
    /// Where its certificate is. None: it is not encrypted.
    pub(crate) tls: Option<TlsFiles>,
    /// How often a token may be used.
    pub(crate) rate: Limit,
    /// Host names by which the server may be called on loopback, besides `localhost` and its addresses.
    pub(crate) hosts: Vec<String>,
    /// Web pages of these origins may call the API, such as `https://app.example.org`. None unless said.
    pub(crate) cors: Vec<String>,
    /// Whether `/metrics` has numbers for each group. There may be very many.
    pub(crate) group_metrics: bool,
    /// Whether `/metrics` can be read without a token.
    pub(crate) open_metrics: bool,
    /// Who is told what becomes of jobs.
    pub(crate) webhooks: Vec<Webhook>,
    /// What is known about the arguments of tasks.
    pub(crate) checks: Checks,
    /// What tasks show of their jobs.
    pub(crate) shown: Shown,
    /// A request's body has no more bytes.
    pub(crate) max_body: usize,
    /// A request's head has no more bytes.
    pub(crate) max_head: usize,
    /// A request is answered within this time, or refused. (Streams go on.) An answer of which nobody reads anything for so
    /// long is given up, with its connection.
    pub(crate) timeout: Duration,
    /// So many connections are open at the most.
    pub(crate) connections: usize,
    /// So many of them from one address.
    pub(crate) per_address: usize,
    /// So many requests are under way at the most, and so many of one token.
    pub(crate) requests: usize,
    pub(crate) requests_each: usize,
    /// So many streams are read at the most, and so many of one token.
    pub(crate) streams: usize,
    pub(crate) streams_each: usize,
    /// A stream of events that has nothing to tell says so this often.
    pub(crate) heartbeat: Duration,
    /// How long answers that are on their way may take once the server is told to stop.
    pub(crate) shutdown: Duration,
    /// Whether the operator's page is served.
    pub(crate) dashboard: bool,
    /// What a proxy leaves before all paths, such as `/turnabout`. Empty: nothing.
    pub(crate) prefix: String,
    /// Addresses of other programs, for the page.
    pub(crate) links: Links,
    /// Who anyone is that needs no token, in the audit log.
    pub(crate) nobody: String,
    /// Whether it answers only those who look after the process: of jobs it tells nothing, and nobody else is told.
    pub(crate) status_only: bool,
    /// Whether it is a part of another program's server, which decides by which names it is called, and when it ends.
    pub(crate) mounted: bool,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)),
            tokens: Vec::new(),
            jwt: None,
            signing: None,
            tls: None,
            rate: Limit {
                per_second: 100.0,
                burst: 200.0,
            },
            hosts: Vec::new(),
            cors: Vec::new(),
            group_metrics: false,
            open_metrics: false,
            webhooks: Vec::new(),
            checks: Checks::default(),
            shown: Shown::default(),
            max_body: 8 << 20,
            max_head: 32 << 10,
            timeout: Duration::from_secs(30),
            connections: 4096,
            per_address: 1024,
            requests: 512,
            requests_each: 32,
            streams: 1000,
            streams_each: 100,
            heartbeat: Duration::from_secs(15),
            shutdown: Duration::from_secs(10),
            dashboard: true,
            prefix: String::new(),
            links: Links::default(),
            nobody: "anyone on this machine".to_owned(),
            status_only: false,
            mounted: false,
        }
    }
}
