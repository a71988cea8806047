//! What may change while the server runs: its certificate, who may ask, which arguments tasks take, and who is told of jobs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use jiff::Timestamp;
use rustls::ServerConfig;
use tokio::sync::watch;
use turnabout::store::overview::SigningKey;

use super::settings::ApiSettings;
use super::tls::TlsFiles;
use super::webhooks::Webhook;
use crate::auth::{Gate, SigningSettings};
use crate::tasks::{Checks, Shown};

/// What is in force at present.
pub(super) struct Live {
    /// Who may ask.
    pub(super) gate: Gate,
    /// The keys of tokens for browsers, the one that signs first. None: those of the store.
    pub(super) signing: Option<Arc<Vec<SigningKey>>>,
    /// How connections are encrypted, if they are.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Which arguments are refused.
    pub(super) checks: Checks,
    /// What tasks show of their jobs.
    pub(super) shown: Shown,
    /// Who is told.
    pub(super) webhooks: Vec<Webhook>,
}

impl Live {
    /// Reads the keys. An address that others can reach needs some.
    fn new(address: SocketAddr, settings: &ApiSettings) -> anyhow::Result<Self> {
        let signing = settings.signing.as_ref().map(SigningSettings::load).transpose();
        Ok(Self {
            signing: signing.context("cannot use the signing keys")?.map(Arc::new),
            tls: (settings.tls.as_ref().map(TlsFiles::load).transpose()).context("cannot encrypt connections")?,
            gate: Gate::new(address, settings.tokens.clone(), settings.jwt.as_ref())?,
            checks: settings.checks.clone(),
            shown: settings.shown.clone(),
            webhooks: settings.webhooks.clone(),
        })
    }

    /// Says which tokens end soon.
    fn warn(&self) {
        for (token, end) in self.gate.ending(Timestamp::now()) {
            tracing::warn!(token, %end, "a token ends soon, or has ended; see `expires` in the configuration");
        }
    }
}

/// Changes a server while it runs.
#[derive(Clone)]
pub(crate) struct Control {
    /// Where it listens, which does not change.
    address: SocketAddr,
    live: Arc<watch::Sender<Arc<Live>>>,
    /// Why the configuration file was not taken over, if it was not.
    refused: Arc<Mutex<Option<(Timestamp, String)>>>,
}

/// A change that has been found to be possible.
pub(crate) struct Change {
    control: Control,
    new: Live,
}

impl Control {
    pub(super) fn new(settings: &ApiSettings) -> anyhow::Result<Self> {
        let address = settings.address;
        let live = Arc::new(Live::new(address, settings)?);
        live.warn();
        Ok(Self {
            address,
            live: Arc::new(watch::Sender::new(live)),
            refused: Arc::default(),
        })
    }

    /// What is in force. A request that has begun goes on with what it has found.
    pub(super) fn now(&self) -> Arc<Live> {
        Arc::clone(&self.live.borrow())
    }

    /// Sees each change.
    pub(super) fn changes(&self) -> watch::Receiver<Arc<Live>> {
        self.live.subscribe()
    }

    /// The configuration file was read again, and refused, or not.
    pub(crate) fn reloaded(&self, refused: Option<String>) {
        let refused = refused.map(|why| (Timestamp::now(), why));
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// When and why the configuration file was refused that is there now.
    pub(super) fn refused(&self) -> Option<(Timestamp, String)> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether these settings could be in force. Only tokens, keys, webhooks and checks are looked at.
    pub(crate) fn prepare(&self, settings: &ApiSettings) -> anyhow::Result<Change> {
        Ok(Change {
            new: Live::new(self.address, settings)?,
            control: self.clone(),
        })
    }
}

impl Change {
    /// From now on.
    pub(crate) fn take_effect(self) {
        self.new.warn();
        self.control.live.send_replace(Arc::new(self.new));
    }
}
