//! Whether a pooler stands between us and the server that hands out sessions by the transaction (`PgBouncer` with
//! `pool_mode = transaction`). What a session remembers is then of no use: prepared statements, `LISTEN`, session locks,
//! settings.
//!
//! A URL may say so (`pooler=transaction`, `pooler=none`). Else it is found out with the first connection, before anything
//! depends on it: to wait for the first error would not be safe, since a prepared statement may be missing, or be another
//! process's.

use tokio_postgres::config::Config;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};
use uuid::Uuid;

/// What a URL says about poolers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooler {
    /// Nothing: it is found out.
    Unknown,
    /// One that hands out sessions by the transaction.
    Transaction,
    /// None, or one that keeps sessions, or that knows prepared statements.
    None,
}

/// A setting that a server takes from whoever connects, and a pooler does not pass on.
const MARK: &str = "turnabout.session";

impl Pooler {
    /// What a URL says, and the URL without it, which is what the driver understands.
    pub(super) fn of(url: &str) -> Result<(Self, String), String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut pooler = Self::Unknown;
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("pooler", "transaction")) => pooler = Self::Transaction,
                Some(("pooler", "none")) => pooler = Self::None,
                Some(("pooler", "auto")) => pooler = Self::Unknown,
                Some(("pooler", _)) => return Err("pooler is one of auto, transaction, none".to_owned()),
                _ => rest.push(pair),
            }
        }
        let mark = if rest.is_empty() { "" } else { "?" };
        Ok((pooler, format!("{address}{mark}{}", rest.join("&"))))
    }
}

/// A question to whoever answers the first connection.
pub(super) struct Probe {
    mark: String,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self {
            mark: Uuid::new_v4().simple().to_string(),
        }
    }

    /// The same, with the question.
    pub(super) fn ask(&self, config: &Config) -> Config {
        let mut asking = config.clone();
        let before = config.get_options().unwrap_or_default();
        asking.options(format!("{before} -c {MARK}={}", self.mark).trim());
        asking
    }

    /// Whether a connection was refused because of the question.
    pub(super) fn is_refused(error: &tokio_postgres::Error) -> bool {
        [SqlState::PROTOCOL_VIOLATION, SqlState::FEATURE_NOT_SUPPORTED]
            .iter()
            .any(|code| error.code() == Some(code))
    }

    /// Whether the session that answers is the one that was asked for.
    pub(super) async fn is_answered(&self, client: &Client) -> Result<bool, tokio_postgres::Error> {
        let answer = client
            .simple_query(&format!("select current_setting('{MARK}', true)"))
            .await?;
        Ok(answer.iter().any(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0) == Some(&self.mark),
            _ => false,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_a_pooler() {
        let of = |url| Pooler::of(url).expect("understood");
        assert_eq!(
            of("postgres://h/d?sslmode=disable&pooler=transaction&connect_timeout=1"),
            (
                Pooler::Transaction,
                "postgres://h/d?sslmode=disable&connect_timeout=1".to_owned()
            )
        );
        assert_eq!(
            of("postgres://h/d?pooler=none"),
            (Pooler::None, "postgres://h/d".to_owned())
        );
        assert_eq!(of("postgres://h/d"), (Pooler::Unknown, "postgres://h/d".to_owned()));
        let wrong = Pooler::of("postgres://u:secret@h/d?pooler=yes").expect_err("refused");
        assert!(wrong.contains("transaction") && !wrong.contains("secret"), "{wrong}");
    }
}
