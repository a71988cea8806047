//! Who may ask: tokens, roles, and how often.
//!
//! On loopback nobody needs a token, unless some are configured; on any other address the server does not start
//! without them. What a role may see is in `role.rs`, what a request must show in `api/guard.rs`.

pub(crate) mod crypto;
mod jwks;
mod jwt;
mod limit;
pub(crate) mod minted;
mod pem;
mod role;
mod scope;
mod signing;
mod token;

pub(crate) use jwt::{Jwt, JwtAlgorithm, JwtKeys, JwtSettings};
pub(crate) use limit::{Limit, Limiter};
pub(crate) use minted::{Grant, Minted};
pub(crate) use role::Role;
pub(crate) use scope::{Rights, Scope};
pub(crate) use signing::{MIN_KEY, SigningSettings};
pub(crate) use token::{StaticToken, hash, make};

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// That a token ends is said so long before.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// How callers prove who they are.
#[derive(Debug)]
pub(crate) struct Gate {
    tokens: Vec<StaticToken>,
    jwt: Option<Jwt>,
}

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// What the token is called, for logs.
    pub(crate) name: String,
    /// Whose jobs it is for, and what it can allow.
    pub(crate) role: Role,
    /// What it allows of that.
    pub(crate) rights: Arc<Rights>,
    /// Until when, if it ends.
    pub(crate) until: Option<Timestamp>,
    /// What kind of token it is.
    kind: &'static str,
}

impl Holder {
    pub(crate) fn new(kind: &'static str, name: impl Into<String>, role: Role) -> Self {
        Self {
            name: name.into(),
            rights: Arc::new(Rights::of(&role)),
            role,
            until: None,
            kind,
        }
    }

    /// Who shares limits with it: only those with the same kind of token, role, group, owner and name. Names alone can be anybody's:
    /// other issuers choose them.
    pub(crate) fn key(&self) -> String {
        format!("{}:{:?}:{}", self.kind, self.role, self.name)
    }
}

impl Gate {
    /// Reads the keys. An address that others can reach needs some.
    pub(crate) fn new(
        address: SocketAddr,
        tokens: Vec<StaticToken>,
        jwt: Option<&JwtSettings>,
    ) -> anyhow::Result<Self> {
        let gate = Self {
            tokens,
            jwt: jwt.map(Jwt::load).transpose().context("cannot use the key for JWTs")?,
        };
        if gate.is_open() && !address.ip().is_loopback() {
            bail!(
                "anyone who can reach {address} could do anything, since no tokens are configured; make one with \
                 `turnabout token` and put it into the configuration, or listen on 127.0.0.1"
            );
        }
        Ok(gate)
    }

    /// Whether nobody needs a token.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.jwt.is_none()
    }

    /// Whose token this is. None: nobody's.
    pub(crate) fn holder(&self, token: &str) -> Option<Holder> {
        let holder = token::find(&self.tokens, token).or_else(|| self.jwt.as_ref()?.holder(token))?;
        let over = holder.until.is_some_and(|until| until <= Timestamp::now());
        (!over).then_some(holder)
    }

    /// Configured tokens that end soon, or have ended, by name.
    pub(crate) fn ending(&self, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let soon = now + SOON;
        let ends = self.tokens.iter().filter_map(StaticToken::end);
        let near = ends.filter(|(_, end)| *end <= soon);
        near.map(|(name, end)| (name.to_owned(), end)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shared_only_by_those_who_are_the_same_in_everything() {
        let group = |name: &str| Role::Group(name.to_owned());
        let owner = Role::Owner {
            group: "acme".to_owned(),
            owner: "ada".to_owned(),
        };
        let holders = [
            Holder::new("token", "admin", Role::Admin),
            Holder::new("jwt", "admin", Role::Admin),
            Holder::new("jwt", "group", group("acme")),
            Holder::new("jwt", "group", group("blue")),
            Holder::new("jwt", "ada", group("acme")),
            Holder::new("jwt", "ada", owner),
        ];
        let keys: std::collections::HashSet<String> = holders.iter().map(Holder::key).collect();
        assert_eq!(keys.len(), holders.len(), "{keys:?}");
    }

    #[test]
    fn an_address_that_others_can_reach_needs_tokens() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for open in ["127.0.0.1:1", "[::1]:1", "127.8.8.8:1"] {
            assert!(Gate::new(address(open), Vec::new(), None).expect("it may").is_open());
        }
        for public in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            let refused = Gate::new(address(public), Vec::new(), None).expect_err("it may not");
            assert!(refused.to_string().contains("turnabout token"), "{refused}");
            let tokens = vec![StaticToken::new(
                Holder::new("token", "ops", Role::Admin),
                hash("secret"),
            )];
            assert!(!Gate::new(address(public), tokens, None).expect("it may").is_open());
        }
    }
}
