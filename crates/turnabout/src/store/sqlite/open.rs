//! Opening a file: settings of the connections, migrations, and what to check when it does not work.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, Result};
use crate::store::SchemaStatus;

/// How long to wait for another process that writes to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages that are free are given back some at a time.
const INCREMENTAL: i64 = 2;
/// "turn": says in the file's header whose it is.
const APPLICATION: i64 = 0x7475_726e;
/// Each brings the schema from the version before to its own; never changed once released.
pub(super) const MIGRATIONS: &[&str] = &[concat!(
    include_str!("migrations/0001_begin.sql"),
    include_str!("migrations/0001_statements.sql"),
)];

/// The connections to one store.
pub(super) struct Opened {
    pub(super) writer: Connection,
    pub(super) reader: Option<Connection>,
    /// The write-ahead log, which changes when another process writes.
    pub(super) log: Option<PathBuf>,
}

pub(super) fn open(path: &str, may_migrate: bool) -> Result<Opened> {
    if path == ":memory:" {
        let mut writer = Connection::open_in_memory().map_err(|e| explained(path, e))?;
        steady(&writer).map_err(|e| explained(path, e))?;
        migrate(&mut writer, path, MIGRATIONS)?;
        return Ok(Opened {
            writer,
            reader: None,
            log: None,
        });
    }
    check(path)?;
    if !may_migrate && let Some(hint) = status(path)?.hint() {
        return Err(refused(path, hint, None));
    }
    let mut writer = connect(path).map_err(|e| explained(path, e))?;
    if !keeps_a_log(&writer).map_err(|e| explained(path, e))? {
        let hint = "it cannot keep a write-ahead log there; use a local disk, not a network drive";
        return Err(refused(path, hint, None));
    }
    migrate(&mut writer, path, MIGRATIONS)?;
    let reader = connect(path)
        .and_then(|reader| {
            reader.pragma_update(None, "query_only", true)?;
            // It reads a page of a list now and then; what counting reads is not worth keeping.
            reader.pragma_update(None, "cache_size", -4_096)?;
            Ok(reader)
        })
        .map_err(|e| explained(path, e))?;
    // Beside the file itself, wherever a link to it may be.
    let log = PathBuf::from(format!("{}-wal", writer.path().unwrap_or(path)));
    Ok(Opened {
        writer,
        reader: Some(reader),
        log: Some(log),
    })
}

/// How the tables are, without changing anything. A file that does not exist has none.
pub(super) fn status(path: &str) -> Result<SchemaStatus> {
    let known = MIGRATIONS.len() as i64;
    let read = || -> rusqlite::Result<(i64, i64)> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((pragma("user_version")?, pragma("application_id")?))
    };
    if !Path::new(path).exists() {
        return Ok(SchemaStatus { found: 0, known });
    }
    let (found, application) = read().map_err(|e| explained(path, e))?;
    if found > 0 && application != APPLICATION {
        return Err(refused(
            path,
            "it is another program's database; choose another file",
            None,
        ));
    }
    Ok(SchemaStatus { found, known })
}

/// What `SQLite` itself would only call "unable to open database file".
fn check(path: &str) -> Result<()> {
    let file = Path::new(path);
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    let hint = if path.is_empty() {
        "the path is empty; name a file, or `:memory:`".to_owned()
    } else if file.is_dir() {
        "it is a folder; name a file in it".to_owned()
    } else if let Some(folder) = folder.filter(|f| !f.is_dir()) {
        format!("there is no folder {}; make it first", folder.display())
    } else {
        return Ok(());
    };
    Err(refused(path, hint, None))
}

/// A new file is for its owner only: it holds everybody's arguments. What `SQLite` puts beside it gets the same rights.
#[cfg(unix)]
fn make_private(path: &str) {
    use std::os::unix::fs::OpenOptionsExt as _;
    // One that exists stays as it is; what else is wrong is told when it is opened.
    let _ = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
}

fn connect(path: &str) -> rusqlite::Result<Connection> {
    #[cfg(unix)]
    make_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Works only before the first table, and before the log: later it would take a VACUUM. To say it again would take the write lock.
    if connection.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0))? != INCREMENTAL {
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    }
    // Commits wait for the disk: nobody sees a job, a claim or an outcome that a power failure could take back.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // In KiB. Most of the memory that an executor needs: 75 MiB in all with a cache of 32, 61 with this. Twice as much is
    // faster where jobs of 10,000 groups wait.
    connection.pragma_update(None, "cache_size", -18_432)?;
    // A page that is written again and again goes from the log into the file less often.
    connection.pragma_update(None, "wal_autocheckpoint", 8_000)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    steady(&connection)?;
    Ok(connection)
}

/// Statements are prepared once and keep their plans. Without the promise of stable plans `SQLite` prepares those with
/// a bound limit anew for each value, which took longer than running them.
fn steady(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(128);
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
}

/// Switches to a write-ahead log. `SQLite` does not wait by itself when another process is switching at the same time.
fn keeps_a_log(connection: &Connection) -> rusqlite::Result<bool> {
    let begun = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other.map(|mode| mode == "wal"),
        }
    }
}

/// Brings the schema up to date, under the write lock: of several programs that start together, one does it. One that is up to date
/// is only read: who looks does not wait for those who write.
pub(super) fn migrate(connection: &mut Connection, path: &str, migrations: &[&str]) -> Result<()> {
    let known = migrations.len() as i64;
    let mut step = || -> rusqlite::Result<Result<(), Error>> {
        let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if (pragma("user_version")?, pragma("application_id")?) == (known, APPLICATION) {
            return Ok(Ok(()));
        }
        let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let pragma = |name: &str| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (found, application) = (pragma("user_version")?, pragma("application_id")?);
        if found > 0 && application != APPLICATION {
            let hint = "it is another program's database; choose another file";
            return Ok(Err(refused(path, hint, None)));
        }
        if found > known {
            return Ok(Err(Error::NewerSchema {
                store: path.to_owned(),
                found,
                known,
            }));
        }
        for migration in &migrations[found as usize..] {
            tx.execute_batch(migration)?;
        }
        if found < known {
            tx.pragma_update(None, "application_id", APPLICATION)?;
            tx.pragma_update(None, "user_version", known)?;
        }
        tx.commit().map(Ok)
    };
    step().map_err(|e| explained(path, e))?
}

fn explained(path: &str, error: rusqlite::Error) -> Error {
    let hint = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "the file is not a SQLite database; choose another file",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "check that this user may write to the file and to its folder"
        }
        Some(ErrorCode::CannotOpen) => "check that its folder exists and that this user may write to it",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process has kept it locked for 5 seconds; check who writes to it"
        }
        Some(ErrorCode::DiskFull) => "the disk is full",
        Some(ErrorCode::DatabaseCorrupt) => "the file is damaged; restore it from a backup",
        _ if error.to_string().contains("already exists") => {
            "it has a table of a name that Turnabout needs; rename that table, or keep the jobs in another file"
        }
        _ => "check the path, and that the file is a store of this program",
    };
    refused(path, hint, Some(error.into()))
}

pub(super) fn refused(
    path: &str,
    hint: impl Into<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Open {
        store: path.to_owned(),
        hint: hint.into(),
        cause,
    }
}
