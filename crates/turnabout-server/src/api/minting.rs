//! The keys of minted tokens: those of the configuration, if it has any; otherwise those of the store, which are kept for a few
//! seconds and replaced each day.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Mutex;
use turnabout::store::overview::SigningKey;

use super::state::Inner;
use super::types::{Code, Problem};
use crate::auth::{Grant, Minted, minted};

/// Keys are read again after this time: so long may a server that did not revoke a token go on to accept it.
const FRESH: Duration = Duration::from_secs(10);
/// A token whose key is not known makes us look, but no more often than this.
const SOONEST: Duration = Duration::from_secs(1);
/// A key signs for so long ..
const SIGNS: Duration = Duration::from_hours(24);
/// .. no token lives longer than this ..
pub(super) const LONGEST: Duration = Duration::from_hours(24);
/// .. and so nothing that a key has signed is left when it is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(49);

/// The keys as last read.
#[derive(Debug, Default)]
pub(super) struct Minting {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Arc<Vec<SigningKey>>,
    read: Option<Instant>,
}

/// Signs tokens, all with one key.
pub(super) struct Signer(SigningKey);

impl Signer {
    /// A token, and when it ends.
    pub(super) fn sign(&self, mut grant: Grant, lifetime: Duration) -> Result<(String, Timestamp), Problem> {
        let end = Timestamp::now() + jiff::SignedDuration::from_secs(lifetime.as_secs().max(1).cast_signed());
        grant.exp = end.as_second();
        let token = minted::sign(&self.0, grant).map_err(|error| Problem::internal(&error))?;
        Ok((token, Timestamp::from_second(end.as_second()).unwrap_or(end)))
    }
}

impl Minting {
    /// What a token allows. None: nothing.
    pub(super) async fn verify(&self, app: &Inner, token: &str) -> Result<Option<Minted>, Problem> {
        let key = minted::key_of(token);
        let keys = self.keys(app, FRESH).await?;
        if key.is_some_and(|key| keys.iter().any(|known| known.number == key)) {
            return Ok(minted::verify(&keys, token));
        }
        // Another server may have made the key just now.
        Ok(minted::verify(&self.keys(app, SOONEST).await?, token))
    }

    /// The first key of the configuration; or the newest of the store, which is made if there is none, or if it has signed for
    /// long enough.
    pub(super) async fn signer(&self, app: &Inner) -> Result<Signer, Problem> {
        if let Some(key) = app.live().signing.as_ref().and_then(|keys| keys.first()) {
            return Ok(Signer(key.clone()));
        }
        let keys = self.keys(app, FRESH).await?;
        let old = Timestamp::now() - jiff::SignedDuration::from_secs(SIGNS.as_secs().cast_signed());
        if let Some(key) = keys.first().filter(|key| key.made > old) {
            return Ok(Signer(key.clone()));
        }
        self.renew(app, SIGNS, FORGOTTEN).await
    }

    /// Replaces all keys: what was minted before is nobody's from now on.
    pub(super) async fn rotate(&self, app: &Inner) -> Result<(), Problem> {
        if app.live().signing.is_some() {
            return Err(Problem::new(
                Code::Configured,
                "the keys stand in the configuration (api.signing-keys, api.signing-keys-file): put a new key there, and \
                 remove the old ones",
            ));
        }
        self.renew(app, Duration::ZERO, Duration::ZERO).await.map(drop)
    }

    async fn renew(&self, app: &Inner, renew: Duration, forget: Duration) -> Result<Signer, Problem> {
        let mut known = self.known.lock().await;
        let secret = minted::new_secret();
        let keys = app.jobs.renew_signing_keys(&secret, renew, forget).await?;
        known.keys = Arc::new(keys);
        known.read = Some(Instant::now());
        let newest = known.keys.first().cloned();
        newest
            .map(Signer)
            .ok_or_else(|| Problem::internal(&"no key could be made"))
    }

    /// The keys, as they were so long ago at the most. While the store is out of reach, those of before.
    async fn keys(&self, app: &Inner, age: Duration) -> Result<Arc<Vec<SigningKey>>, Problem> {
        if let Some(keys) = &app.live().signing {
            return Ok(Arc::clone(keys));
        }
        let mut known = self.known.lock().await;
        if known.read.is_none_or(|read| read.elapsed() >= age) {
            match app.jobs.signing_keys().await {
                Ok(keys) => {
                    known.keys = Arc::new(keys);
                    known.read = Some(Instant::now());
                }
                Err(error) if known.read.is_some() && error.is_transient() => {
                    tracing::warn!(error = %error.chain(), "signing keys cannot be read at present");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Arc::clone(&known.keys))
    }

    /// Waits until a token counts no longer: it has ended, or its key is gone.
    pub(super) async fn over(&self, app: &Inner, token: &Minted) {
        loop {
            let left = token.grant.exp - Timestamp::now().as_second();
            let Ok(left) = u64::try_from(left) else { return };
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_secs(left).min(FRESH)).await;
            let keys = self.keys(app, FRESH).await;
            if keys.is_ok_and(|keys| !keys.iter().any(|key| key.number == token.key)) {
                return;
            }
        }
    }
}
