//! Encrypted connections: what a URL says about them, as libpq understands it (`sslmode`, `sslrootcert`).
//!
//! The driver knows neither `verify-ca`, `verify-full` nor `sslrootcert`, so they are taken out of the URL before it sees
//! it. What is checked, and when, is decided in `docs/adr/0019-encrypted-connections.md`.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::error::{Error, Result};

#[cfg(feature = "tls")]
mod check;
#[cfg(not(feature = "tls"))]
mod none;

#[cfg(feature = "tls")]
pub(crate) use tokio_postgres_rustls::MakeRustlsConnect as Tls;

#[cfg(not(feature = "tls"))]
pub(crate) use none::Tls;

/// Whom to believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those whom this machine believes.
    System,
    /// Those in a file (PEM).
    File(PathBuf),
}

/// What a server has to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: what is sent is encrypted, whoever it is sent to.
    Nothing,
    /// A certificate that one of these has signed.
    Signed(Roots),
    /// That, with the name by which it is called.
    Named(Roots),
}

/// What a URL says: the rest of it for the driver, and what is said about encryption.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) url: String,
    mode: SslMode,
    pub(super) check: Check,
}

impl Wanted {
    /// Reads a URL. The error says what is wrong with it, and never shows it: it may hold a password.
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots) = (None, None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(decoded(value)?),
                Some(("sslrootcert", value)) => {
                    roots = Some(match decoded(value)?.as_str() {
                        "system" => Roots::System,
                        file => Roots::File(PathBuf::from(file)),
                    });
                }
                _ => rest.push(pair),
            }
        }
        let system = roots == Some(Roots::System);
        let (mode, check) = match (mode.as_deref(), roots) {
            // As strict as what is asked for makes sense.
            (None, Some(Roots::System)) => (SslMode::Require, Check::Named(Roots::System)),
            (Some("disable" | "prefer" | "require" | "verify-ca"), _) if system => {
                return Err(
                    "sslrootcert=system goes with sslmode=verify-full only: anyone can have a certificate that this \
                     machine believes, for a name of their own"
                        .to_owned(),
                );
            }
            (Some("disable"), _) => (SslMode::Disable, Check::Nothing),
            (None | Some("prefer"), _) => (SslMode::Prefer, Check::Nothing),
            (Some("require"), None) => (SslMode::Require, Check::Nothing),
            (Some("require" | "verify-ca"), Some(roots)) => (SslMode::Require, Check::Signed(roots)),
            (Some("verify-ca"), None) => {
                return Err("sslmode=verify-ca needs sslrootcert=FILE, the certificate of whoever signs".to_owned());
            }
            (Some("verify-full"), roots) => (SslMode::Require, Check::Named(roots.unwrap_or(Roots::System))),
            (Some(_), _) => {
                return Err("sslmode is one of disable, prefer, require, verify-ca, verify-full".to_owned());
            }
        };
        let mark = if rest.is_empty() { "" } else { "?" };
        Ok(Self {
            url: format!("{address}{mark}{}", rest.join("&")),
            mode,
            check,
        })
    }

    /// Tells the driver whether to encrypt, and gives it the means.
    pub(super) fn apply(&self, config: &mut Config, store: &str) -> Result<Tls> {
        config.ssl_mode(self.mode);
        self.means().map_err(|hint| Error::Open {
            store: store.to_owned(),
            hint,
            cause: None,
        })
    }

    #[cfg(feature = "tls")]
    fn means(&self) -> Result<Tls, String> {
        Ok(Tls::new(check::config(&self.check)?))
    }

    #[cfg(not(feature = "tls"))]
    fn means(&self) -> Result<Tls, String> {
        if self.mode == SslMode::Require {
            return Err("encrypted connections need the feature `tls` of turnabout".to_owned());
        }
        Ok(Tls)
    }
}

/// What to check when no connection could be made.
pub(super) fn hint(error: &tokio_postgres::Error) -> &'static str {
    // The driver tells kinds of errors apart by their words only.
    let whole = crate::error::chain(error);
    if whole.contains("does not support TLS") {
        "the server offers no encrypted connections: switch them on there (ssl = on), or say sslmode=disable if the way to \
         it is safe"
    } else if whole.contains("TLS handshake") {
        "no encrypted connection: check that sslrootcert names the certificate that has signed the server's, that the \
         server is called by a name in its certificate (sslmode=verify-full), and that it has not expired"
    } else if super::connect::is_refused(error) {
        "the server accepts no more connections: let each process have fewer (`connections`), or raise max_connections there"
    } else {
        "check that the server runs, that host, port, user and password are right, and that the database exists"
    }
}

/// A value of a URL, with what is written as `%2F` in it.
fn decoded(value: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                let code = high.zip(low).map(|(high, low)| (high * 16 + low) as u8);
                code.ok_or("a % in the URL is not followed by two digits")?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the URL is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_how_much_is_checked() {
        let file = || Roots::File(PathBuf::from("/a b.crt"));
        for (query, mode, check) in [
            ("", SslMode::Prefer, Check::Nothing),
            ("sslmode=disable", SslMode::Disable, Check::Nothing),
            ("sslmode=prefer", SslMode::Prefer, Check::Nothing),
            ("sslmode=require", SslMode::Require, Check::Nothing),
            (
                "sslmode=require&sslrootcert=/a%20b.crt",
                SslMode::Require,
                Check::Signed(file()),
            ),
            (
                "sslrootcert=/a%20b.crt&sslmode=verify-ca",
                SslMode::Require,
                Check::Signed(file()),
            ),
            (
                "sslmode=verify-full&sslrootcert=%2Fa%20b.crt",
                SslMode::Require,
                Check::Named(file()),
            ),
            ("sslmode=verify-full", SslMode::Require, Check::Named(Roots::System)),
            ("sslrootcert=system", SslMode::Require, Check::Named(Roots::System)),
        ] {
            let url = format!("postgres://ada:secret@db/app?{query}&connect_timeout=3");
            let wanted = Wanted::of(&url).expect(query);
            assert_eq!((wanted.mode, wanted.check), (mode, check), "{query}");
            assert_eq!(wanted.url, "postgres://ada:secret@db/app?connect_timeout=3");
        }
        let plain = "postgres://ada@db/app";
        assert_eq!(Wanted::of(plain).expect("a URL").url, plain);
    }

    #[test]
    fn what_would_check_nothing_is_refused() {
        for (query, part) in [
            ("sslmode=verify-ca", "sslrootcert=FILE"),
            ("sslmode=require&sslrootcert=system", "verify-full only"),
            ("sslmode=verify-fool", "one of disable"),
            ("sslmode=allow", "one of disable"),
            ("sslrootcert=%2", "two digits"),
        ] {
            let error = Wanted::of(&format!("postgres://ada:secret@db/app?{query}")).expect_err(query);
            assert!(error.contains(part) && !error.contains("secret"), "{query}: {error}");
        }
    }
}
