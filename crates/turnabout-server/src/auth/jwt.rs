//! Tokens that someone else makes: JWTs, signed with HS256 or `EdDSA`.
//!
//! The algorithm is the configured one, whatever a token says; without an end (`exp`) none is accepted.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;

use super::{Holder, Rights, Role, Scope};

/// A shorter secret could be guessed.
const MIN_SECRET: usize = 32;
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

/// Which JWTs are accepted.
#[derive(Clone, Debug)]
pub(crate) struct JwtSettings {
    /// The file with the secret (HS256), or with the public key as PEM (`EdDSA`).
    pub(crate) key_file: PathBuf,
    /// How they are signed.
    pub(crate) algorithm: JwtAlgorithm,
    /// They must be issued by this one.
    pub(crate) issuer: Option<String>,
    /// They must be meant for this one.
    pub(crate) audience: Option<String>,
}

/// Checks JWTs.
pub(crate) struct Jwt {
    key: DecodingKey,
    validation: Validation,
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
        let file = settings.key_file.display();
        let text = std::fs::read(&settings.key_file).with_context(|| format!("cannot read {file}"))?;
        let (key, algorithm) = match settings.algorithm {
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
                let key = DecodingKey::from_ed_pem(&text)
                    .with_context(|| format!("{file} does not hold a public Ed25519 key as PEM"))?;
                (key, Algorithm::EdDSA)
            }
        };
        let mut validation = Validation::new(algorithm);
        let mut required = vec!["exp"];
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        if let Some(issuer) = &settings.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        match &settings.audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                required.push("aud");
            }
            None => validation.validate_aud = false,
        }
        validation.set_required_spec_claims(&required);
        Ok(Self { key, validation })
    }

    /// Whose token this is. None: nobody's, and why is not told to the one who sent it.
    pub(super) fn holder(&self, token: &str) -> Option<Holder> {
        let claims = match decode::<Claims>(token, &self.key, &self.validation) {
            Ok(data) => data.claims,
            Err(error) => {
                tracing::debug!(%error, "a token was not accepted");
                return None;
            }
        };
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
            key_file: file.path().to_owned(),
            algorithm,
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
        let key = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).expect("a key");
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
