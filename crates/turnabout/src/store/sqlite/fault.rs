//! What goes wrong inside a verb, and what the caller is told of it.

use rusqlite::ErrorCode;

use crate::error::Error;

/// Why a verb did not happen.
#[derive(Debug)]
pub(super) enum Fault {
    /// `SQLite` refused.
    Sql(rusqlite::Error),
    /// The caller can do something about it.
    Told(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

impl Fault {
    pub(super) fn told(self, doing: &'static str) -> Error {
        match self {
            Self::Told(error) => error,
            Self::Sql(error) => Error::Store {
                doing,
                transient: is_transient(&error),
                cause: error.into(),
            },
        }
    }
}

/// Why nothing of a whole batch was written. Everyone in it is told.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    why: String,
    transient: bool,
}

impl Broken {
    /// An error ended the transaction while another verb was at work: once more may help.
    pub(super) fn by_another() -> Self {
        Self {
            why: "an error of another call rolled the transaction back".to_owned(),
            transient: true,
        }
    }

    /// Nobody is there to do it, and nobody will be.
    pub(super) fn closed() -> Self {
        Self {
            why: "the store's thread has ended".to_owned(),
            transient: false,
        }
    }

    pub(super) fn told(self, doing: &'static str) -> Error {
        Error::Store {
            doing,
            cause: self.why.into(),
            transient: self.transient,
        }
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self {
            why: error.to_string(),
            transient: is_transient(&error),
        }
    }
}

/// Whether waiting may help: another process holds the file, or the disk is full or read-only until someone makes that
/// good.
pub(super) fn is_transient(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
        )
    )
}
