//! Tokens that are configured: only their hashes are kept, and those are compared in constant time.
//!
//! A token is made by us and holds 244 random bits, so that a plain hash is as good as a slow one.

use std::fmt::Write as _;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use uuid::Uuid;

use super::Holder;

/// How our tokens begin, so that people and programs that look for leaked secrets recognise them.
const PREFIX: &str = "turnabout_";

/// A token that is configured.
#[derive(Clone, Debug)]
pub(crate) struct StaticToken {
    holder: Holder,
    /// As [`hash`] writes it.
    hash: String,
}

impl StaticToken {
    pub(crate) fn new(holder: Holder, hash: impl Into<String>) -> Self {
        Self {
            holder,
            hash: hash.into(),
        }
    }

    /// Its name, and when it ends.
    pub(super) fn end(&self) -> Option<(&str, Timestamp)> {
        Some((&self.holder.name, self.holder.until?))
    }
}

/// A new token: to be shown once, and to be kept as its [`hash`].
pub(crate) fn make() -> String {
    let random = [Uuid::new_v4(), Uuid::new_v4()];
    format!("{PREFIX}{}{}", random[0].simple(), random[1].simple())
}

/// What is kept of a token.
pub(crate) fn hash(token: &str) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(token.as_bytes()) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whose token this is. Every one is compared, to its end, so that the time tells nothing.
pub(super) fn find(tokens: &[StaticToken], token: &str) -> Option<Holder> {
    let hash = hash(token);
    let mut found = u64::MAX;
    for (at, known) in tokens.iter().enumerate() {
        let same = known.hash.as_bytes().ct_eq(hash.as_bytes());
        found.conditional_assign(&(at as u64), same);
    }
    tokens
        .get(usize::try_from(found).ok()?)
        .map(|known| known.holder.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Role;

    #[test]
    fn a_token_is_found_by_its_hash() {
        let (first, second) = (make(), make());
        assert_ne!(first, second);
        assert!(first.len() > 60 && first.starts_with(PREFIX));
        let tokens = [
            StaticToken::new(Holder::new("token", "one", Role::Admin), hash(&first)),
            StaticToken::new(
                Holder::new("token", "two", Role::Group("acme".to_owned())),
                hash(&second),
            ),
        ];
        assert_eq!(find(&tokens, &second).expect("known").name, "two");
        assert_eq!(find(&tokens, &first).expect("known").role, Role::Admin);
        assert_eq!(find(&tokens, ""), None);
        assert_eq!(find(&tokens, &hash(&first)), None, "a hash is no token");
        assert_eq!(find(&[], &first), None);
    }

    #[test]
    fn a_hash_is_what_other_tools_compute() {
        // printf secret | sha256sum
        assert_eq!(
            hash("secret"),
            "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        );
    }
}
