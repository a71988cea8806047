//! Tokens that someone else makes: JWTs, signed with one key, or with one of a set (`jwks.rs`).
//!
//! The algorithm is that of the key, whatever a token says; without an end (`exp`) none is accepted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use super::jwks::{self, Key};
use super::{Holder, Rights, Role, Scope, crypto, pem};

/// A shorter secret could be guessed.
pub(super) const MIN_SECRET: usize = 32;
/// Clocks differ by so many seconds.
const LEEWAY: u64 = 30;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JwtAlgorithm {
    /// By a secret that both sides know.
    Hs256,
    /// By a private key whose public half is known here.
    EdDsa,
}

/// The keys that confirm signatures.
#[derive(Clone, Debug)]
pub(crate) enum JwtKeys {
    /// One: a file with the secret (HS256), or with the public key as PEM (`EdDSA`).
    One(PathBuf, JwtAlgorithm),
    /// Several: a file with a JWKS document.
    Set(PathBuf),
}

/// Which JWTs are accepted.
#[derive(Clone, Debug)]
pub(crate) struct JwtSettings {
    /// By which keys they are signed.
    pub(crate) keys: JwtKeys,
    /// They must be issued by this one.
    pub(crate) issuer: Option<String>,
    /// They must be meant for this one.
    pub(crate) audience: Option<String>,
}

/// Checks JWTs.
pub(crate) struct Jwt {
    /// Each with what is asked of its tokens.
    keys: Vec<(Key, Validation)>,
}

/// Never shows the key.
impl std::fmt::Debug for Jwt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jwt").finish_non_exhaustive()
    }
}

/// What a token says. `exp` and the like are checked before we see it.
#[derive(Deserialize)]
struct Claims {
    role: String,
    group: Option<String>,
    owner: Option<String>,
    sub: Option<String>,
    scopes: Option<Vec<Scope>>,
    tasks: Option<Vec<String>>,
    queues: Option<Vec<String>>,
    exp: i64,
}

impl Jwt {
    pub(super) fn load(settings: &JwtSettings) -> anyhow::Result<Self> {
        crypto::ready();
        let (JwtKeys::One(file, _) | JwtKeys::Set(file)) = &settings.keys;
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let keys = match &settings.keys {
            JwtKeys::One(file, algorithm) => vec![one(file, *algorithm, &text)?],
            JwtKeys::Set(file) => jwks::read(&text).with_context(|| file.display().to_string())?,
        };
        let keys = keys.into_iter().map(|key| {
            let validation = settings.validation(key.algorithm);
            (key, validation)
        });
        Ok(Self { keys: keys.collect() })
    }

    /// Whose token this is. None: nobody's, and why is not told to the one who sent it.
    pub(super) fn holder(&self, token: &str) -> Option<Holder> {
        let claims = self.claims(token)?;
        let name = claims.sub.unwrap_or_else(|| claims.role.clone());
        match Role::from_parts(&claims.role, claims.group, claims.owner) {
            Ok(role) => Some(Holder {
                rights: Rights::narrowed(&role, claims.scopes.as_deref(), claims.tasks, claims.queues).into(),
                until: jiff::Timestamp::from_second(claims.exp.saturating_add(LEEWAY.cast_signed())).ok(),
                ..Holder::new("jwt", name, role)
            }),
            Err(error) => {
                tracing::debug!(%error, "a token was not accepted");
                None
            }
        }
    }
}

impl Jwt {
    /// What a token says, if the key that it names has signed it; or any of them, if it names none.
    fn claims(&self, token: &str) -> Option<Claims> {
        let header = decode_header(token).ok()?;
        if header.crit.is_some() {
            // It asks for something that nobody here does.
            tracing::debug!("a token was not accepted: its head has `crit`");
            return None;
        }
        let named = header.kid;
        let meant = |key: &Key| match (&named, &key.id) {
            (Some(named), Some(id)) => named == id,
            _ => true,
        };
        for (key, validation) in self.keys.iter().filter(|(key, _)| meant(key)) {
            match decode::<Claims>(token, &key.decoding, validation) {
                Ok(data) => return Some(data.claims),
                Err(error) => tracing::debug!(%error, "a token was not accepted"),
            }
        }
        None
    }
}

impl JwtSettings {
    /// What is asked of a token that was signed like this.
    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        let mut required = vec!["exp"];
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        match &self.audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                required.push("aud");
            }
            None => validation.validate_aud = false,
        }
        validation.set_required_spec_claims(&required);
        validation
    }
}

/// The key of a file that holds one.
fn one(file: &Path, algorithm: JwtAlgorithm, text: &[u8]) -> anyhow::Result<Key> {
    let file = file.display();
    let (key, algorithm) = match algorithm {
        JwtAlgorithm::Hs256 => {
            let secret = text.trim_ascii();
            ensure!(
                secret.len() >= MIN_SECRET,
                "the secret in {file} has {} bytes; at least {MIN_SECRET} are needed",
                secret.len()
            );
            (DecodingKey::from_secret(secret), Algorithm::HS256)
        }
        JwtAlgorithm::EdDsa => {
            let key =
                pem::ed25519(text).with_context(|| format!("{file} does not hold a public Ed25519 key as PEM"))?;
            (DecodingKey::from_ed_der(&key), Algorithm::EdDSA)
        }
    };
    Ok(Key {
        id: None,
        decoding: key,
        algorithm,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::{Value, json};

    const SECRET: &str = "a secret that is long enough for us";
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIIHqhrcWQZTC8bTNDMTkFdFSdayXWFTrfEq/iCJQfJAV\n-----END PRIVATE KEY-----\n";

    fn settings(algorithm: JwtAlgorithm, key: &str) -> (JwtSettings, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), key).expect("it is written");
        let settings = JwtSettings {
            keys: JwtKeys::One(file.path().to_owned(), algorithm),
            issuer: None,
            audience: None,
        };
        (settings, file)
    }

    fn sign(algorithm: Algorithm, key: &EncodingKey, claims: &Value) -> String {
        encode(&Header::new(algorithm), claims, key).expect("a token")
    }

    fn soon() -> i64 {
        jiff::Timestamp::now().as_second() + 600
    }

    #[test]
    fn a_token_is_accepted_while_it_lasts_and_for_what_it_says() {
        let (settings, _file) = settings(JwtAlgorithm::Hs256, SECRET);
        let jwt = Jwt::load(&settings).expect("a key");
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        let holder = |claims: Value| jwt.holder(&sign(Algorithm::HS256, &key, &claims));
        let good = holder(json!({ "role": "owner", "group": "acme", "owner": "ada", "exp": soon() })).expect("good");
        let role = Role::Owner {
            group: "acme".to_owned(),
            owner: "ada".to_owned(),
        };
        assert_eq!(good.role, role);
        for bad in [
            json!({ "role": "admin" }),
            json!({ "role": "admin", "exp": soon() - 7200 }),
            json!({ "role": "admin", "exp": soon(), "nbf": soon() }),
            json!({ "role": "root", "exp": soon() }),
            json!({ "exp": soon() }),
            json!({ "role": "group", "exp": soon() }),
        ] {
            assert_eq!(holder(bad.clone()), None, "{bad}");
        }
        let other = EncodingKey::from_secret(b"another secret, which is as long as it");
        let claims = json!({ "role": "admin", "exp": soon() });
        assert_eq!(jwt.holder(&sign(Algorithm::HS256, &other, &claims)), None);
        assert_eq!(
            jwt.holder(&sign(Algorithm::HS384, &key, &claims)),
            None,
            "another algorithm"
        );
        assert_eq!(
            jwt.holder("eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ."),
            None,
            "none at all"
        );
        assert_eq!(jwt.holder("nonsense"), None);
        let asks = Header {
            crit: Some(vec!["b64".to_owned()]),
            ..Header::new(Algorithm::HS256)
        };
        let asking = encode(&asks, &claims, &key).expect("a token");
        assert_eq!(jwt.holder(&asking), None, "it asks for what nobody does");
    }

    #[test]
    fn issuer_and_audience_must_be_right_where_they_are_said() {
        let (mut settings, _file) = settings(JwtAlgorithm::Hs256, SECRET);
        settings.issuer = Some("us".to_owned());
        settings.audience = Some("jobs".to_owned());
        let jwt = Jwt::load(&settings).expect("a key");
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        let holder = |claims: Value| jwt.holder(&sign(Algorithm::HS256, &key, &claims));
        assert!(holder(json!({ "role": "admin", "exp": soon(), "iss": "us", "aud": "jobs" })).is_some());
        for bad in [
            json!({ "role": "admin", "exp": soon() }),
            json!({ "role": "admin", "exp": soon(), "iss": "them", "aud": "jobs" }),
            json!({ "role": "admin", "exp": soon(), "iss": "us", "aud": "mail" }),
            json!({ "role": "admin", "exp": soon(), "iss": "us" }),
        ] {
            assert_eq!(holder(bad.clone()), None, "{bad}");
        }
    }

    #[test]
    fn a_public_key_checks_what_its_private_half_signed() {
        let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAt2J8dKEaIKPTYAx3FwPFvAbJVayF+0li9SwoiAXtYV8=\n-----END PUBLIC KEY-----\n";
        let (settings, _file) = settings(JwtAlgorithm::EdDsa, public);
        let jwt = Jwt::load(&settings).expect("a key");
        let key = EncodingKey::from_ed_der(&pem::find(PRIVATE.as_bytes(), "PRIVATE KEY").expect("a key"));
        let claims = json!({ "role": "admin", "exp": soon() });
        let token = sign(Algorithm::EdDSA, &key, &claims);
        assert_eq!(jwt.holder(&token).expect("good").role, Role::Admin);
        // The public key is no secret: whoever uses it as one gets nowhere.
        let forged = sign(Algorithm::HS256, &EncodingKey::from_secret(public.as_bytes()), &claims);
        assert_eq!(jwt.holder(&forged), None);
    }

    #[test]
    fn a_weak_secret_or_a_wrong_key_is_refused_at_start() {
        for (algorithm, key) in [(JwtAlgorithm::Hs256, "short"), (JwtAlgorithm::EdDsa, SECRET)] {
            let (settings, _file) = settings(algorithm, key);
            Jwt::load(&settings).expect_err(key);
        }
    }
}
