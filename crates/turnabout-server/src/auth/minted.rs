//! Tokens for browsers: short-lived, for a few jobs, an owner or a group, to look and perhaps to cancel.
//!
//! Nothing is stored about them: they are JWTs that the server signs itself, with a key that all servers of a store share.
//! Replacing the keys revokes all of them. Where they may be used is in `api/guard.rs`.

use std::sync::Arc;

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use turnabout::JobId;
use turnabout::store::overview::SigningKey;
use uuid::Uuid;

/// How they begin, so that they are told from others, also by those who look for leaked secrets.
const PREFIX: &str = "turnabout_browser_";
/// Whom they are for: nothing else that was signed with the same key is taken for one of them.
const AUDIENCE: &str = "turnabout-browser";

/// What a minted token allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// These jobs only. Empty: any of the group and owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) jobs: Vec<JobId>,
    /// Those of this group only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Those of this owner only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Whether they may be cancelled, too.
    #[serde(default)]
    pub(crate) cancel: bool,
    /// When it ends, in seconds since 1970.
    pub(crate) exp: i64,
}

impl Grant {
    /// Whether a job is among those that may be seen, as far as its id tells.
    pub(crate) fn names(&self, id: JobId) -> bool {
        self.jobs.is_empty() || self.jobs.contains(&id)
    }
}

/// What is written into a token.
#[derive(Serialize, Deserialize)]
struct Claims {
    aud: String,
    /// Tells one token from another, in logs and limits.
    jti: Uuid,
    #[serde(flatten)]
    grant: Grant,
}

/// A token that was found to be good.
#[derive(Clone, Debug)]
pub(crate) struct Minted {
    pub(crate) grant: Arc<Grant>,
    /// Which key has signed it: without that key it is nobody's.
    pub(crate) key: i64,
    /// Tells it from others.
    pub(crate) id: Uuid,
}

/// Whether a token is one of these, good or not.
pub(crate) fn is_minted(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// The key that a token says it was signed with.
pub(crate) fn key_of(token: &str) -> Option<i64> {
    decode_header(token.strip_prefix(PREFIX)?).ok()?.kid?.parse().ok()
}

/// A key that nobody can guess, of 244 random bits.
pub(crate) fn new_secret() -> Vec<u8> {
    [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat()
}

/// Signs a token.
pub(crate) fn sign(key: &SigningKey, grant: Grant) -> Result<String, jsonwebtoken::errors::Error> {
    super::crypto::ready();
    let header = Header {
        kid: Some(key.number.to_string()),
        ..Header::new(Algorithm::HS256)
    };
    let claims = Claims {
        aud: AUDIENCE.to_owned(),
        jti: Uuid::new_v4(),
        grant,
    };
    let token = encode(&header, &claims, &EncodingKey::from_secret(&key.secret))?;
    Ok(format!("{PREFIX}{token}"))
}

/// What a token allows. None: nothing, since it has ended, or none of these keys has signed it.
pub(crate) fn verify(keys: &[SigningKey], token: &str) -> Option<Minted> {
    super::crypto::ready();
    let number = key_of(token)?;
    let key = keys.iter().find(|key| key.number == number)?;
    let mut validation = Validation::new(Algorithm::HS256);
    validation.leeway = 0;
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "aud"]);
    let token = token.strip_prefix(PREFIX)?;
    let claims = decode::<Claims>(token, &DecodingKey::from_secret(&key.secret), &validation);
    match claims {
        // To the second: streams end then, too.
        Ok(data) if data.claims.grant.exp <= Timestamp::now().as_second() => None,
        Ok(data) => Some(Minted {
            grant: Arc::new(data.claims.grant),
            key: number,
            id: data.claims.jti,
        }),
        Err(error) => {
            tracing::debug!(%error, "a browser's token was not accepted");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: i64) -> SigningKey {
        SigningKey {
            number,
            secret: new_secret(),
            made: Timestamp::now(),
        }
    }

    fn grant(seconds: i64) -> Grant {
        Grant {
            jobs: Vec::new(),
            group: Some("acme".to_owned()),
            owner: Some("ada".to_owned()),
            cancel: true,
            exp: Timestamp::now().as_second() + seconds,
        }
    }

    #[test]
    fn a_token_is_good_while_it_lasts_and_its_key_is_known() {
        let keys = [key(7), key(3)];
        let token = sign(&keys[1], grant(60)).expect("a token");
        assert!(is_minted(&token));
        let minted = verify(&keys, &token).expect("good");
        assert_eq!((minted.key, minted.grant.owner.as_deref()), (3, Some("ada")));
        assert!(verify(&keys[..1], &token).is_none(), "its key is gone");
        assert!(verify(&[key(3)], &token).is_none(), "another key of this number");
        for seconds in [-1, 0] {
            let ended = sign(&keys[0], grant(seconds)).expect("a token");
            assert!(verify(&keys, &ended).is_none(), "it has ended");
        }
    }

    #[test]
    fn a_token_that_was_changed_is_nobodys() {
        let keys = [key(1)];
        let token = sign(&keys[0], grant(60)).expect("a token");
        let parts: Vec<&str> = token.split('.').collect();
        let other = sign(
            &keys[0],
            Grant {
                cancel: false,
                ..grant(61)
            },
        )
        .expect("a token");
        let others: Vec<&str> = other.split('.').collect();
        assert!(verify(&keys, &format!("{}.{}.{}", parts[0], others[1], parts[2])).is_none());
        assert!(verify(&keys, &token[..token.len() - 2]).is_none());
        assert!(
            verify(&keys, token.trim_start_matches(PREFIX)).is_none(),
            "without its beginning"
        );
        for nonsense in ["", PREFIX, "turnabout_browser_a.b.c"] {
            assert!(verify(&keys, nonsense).is_none(), "{nonsense}");
        }
        // A JWT of someone else who has the key, for another purpose.
        let header = Header {
            kid: Some("1".to_owned()),
            ..Header::default()
        };
        let claims =
            serde_json::json!({ "aud": "mail", "jti": Uuid::new_v4(), "exp": Timestamp::now().as_second() + 60 });
        let foreign = encode(&header, &claims, &EncodingKey::from_secret(&keys[0].secret)).expect("a token");
        assert!(verify(&keys, &format!("{PREFIX}{foreign}")).is_none());
    }
}
