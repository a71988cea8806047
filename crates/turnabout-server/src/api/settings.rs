//! What the API is told at start. A plain structure with defaults: the configuration fills it in.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How the API is served, to whom, and within which limits.
#[derive(Clone, Debug)]
pub(crate) struct ApiSettings {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// A request's body has no more bytes.
    pub(crate) max_body: usize,
    /// A request is answered within this time, or refused. (Streams go on.)
    pub(crate) timeout: Duration,
    /// How long answers that are on their way may take once the server is told to stop.
    pub(crate) shutdown: Duration,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)),
            max_body: 8 << 20,
            timeout: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
        }
    }
}
