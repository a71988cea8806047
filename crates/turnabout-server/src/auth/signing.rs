//! Keys of the configuration that sign tokens for browsers, in place of those of the store: the first signs, all verify.
//!
//! A token names its key by a number. The number of a key of the configuration comes from the key's hash, so that servers with
//! the same configuration accept each other's tokens and nothing has to be stored. Keys of the store have positive numbers,
//! these have negative ones.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use turnabout::store::overview::SigningKey;

/// A shorter key could be guessed.
pub(crate) const MIN_KEY: usize = 32;

/// Where the keys are.
#[derive(Clone)]
pub(crate) enum SigningSettings {
    /// In the configuration itself.
    Listed(Vec<String>),
    /// In a file of their own, one in each line.
    File(PathBuf),
}

/// Never shows a key.
impl std::fmt::Debug for SigningSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Listed(keys) => write!(f, "{} keys", keys.len()),
            Self::File(file) => write!(f, "keys in {}", file.display()),
        }
    }
}

impl SigningSettings {
    /// The keys, the one that signs first.
    pub(crate) fn load(&self) -> anyhow::Result<Vec<SigningKey>> {
        match self {
            Self::Listed(keys) => keys.iter().map(|text| key(text)).collect(),
            Self::File(file) => {
                let shown = file.display();
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let keys = lines.filter(|line| !line.starts_with('#')).map(key);
                let keys = keys
                    .collect::<anyhow::Result<Vec<_>>>()
                    .with_context(|| shown.to_string())?;
                ensure!(!keys.is_empty(), "there is no key in {shown}: write one in each line");
                Ok(keys)
            }
        }
    }
}

fn key(text: &str) -> anyhow::Result<SigningKey> {
    ensure!(
        text.len() >= MIN_KEY,
        "a signing key has at least {MIN_KEY} characters, and one has {}; `openssl rand -hex 32` makes a good one",
        text.len()
    );
    let hash = Sha256::digest(format!("turnabout signing key {text}"));
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    Ok(SigningKey {
        // Below zero, whatever the hash is.
        number: i64::from_be_bytes(first) | i64::MIN,
        secret: text.as_bytes().to_vec(),
        made: Timestamp::UNIX_EPOCH,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "an old key that is long enough for us";
    const NEW: &str = "a new key that is long enough for us, too";

    fn listed(keys: &[&str]) -> anyhow::Result<Vec<SigningKey>> {
        SigningSettings::Listed(keys.iter().map(ToString::to_string).collect()).load()
    }

    #[test]
    fn a_key_has_the_same_number_wherever_it_stands() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("# since May\n  {NEW}\n\n{OLD}\n")).expect("it is written");
        let settings = SigningSettings::File(file.path().to_owned());
        let read = settings.load().expect("two keys");
        assert_eq!(read, listed(&[NEW, OLD]).expect("two keys"));
        assert!(
            read.iter().all(|key| key.number < 0),
            "those of the store are above zero"
        );
        assert_ne!(read[0].number, read[1].number);
        assert!(!format!("{settings:?} {:?}", SigningSettings::Listed(vec![OLD.to_owned()])).contains(OLD));
    }

    #[test]
    fn keys_that_could_be_guessed_and_files_without_any_are_refused() {
        let error = listed(&[NEW, "short"]).expect_err("too short").to_string();
        assert!(error.contains("at least 32") && !error.contains("short"), "{error}");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "# none yet\n").expect("it is written");
        let empty = SigningSettings::File(file.path().to_owned()).load();
        assert!(empty.expect_err("empty").to_string().contains("there is no key in"));
        let missing = SigningSettings::File("no/such/file".into()).load();
        assert!(missing.expect_err("missing").to_string().contains("no/such/file"));
    }
}
