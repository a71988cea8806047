//! SQL that other drivers run inside transactions of their own, to submit and to finish jobs.

/// The databases that jobs live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// `PostgreSQL`.
    Postgres,
    /// `SQLite`.
    Sqlite,
}

impl std::fmt::Display for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

/// The statements of a store. Each has one parameter, a text: the JSON that `statement.rs` writes.
#[derive(Clone, Debug)]
pub struct Statements {
    /// Whose SQL it is.
    pub database: Database,
    /// Submits one job.
    pub submit: String,
    /// Asks what became of it, where the statement itself does not say.
    pub outcome: Option<&'static str>,
    /// Ends one job well.
    pub finish: String,
}
