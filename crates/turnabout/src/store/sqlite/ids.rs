//! Executors' ids: a locked file beside the database, which the system lets go of when its process is gone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::SqliteStore;
use crate::store::ids::IdsInMemory;
use crate::store::{IdLock, Occupied};

/// Where ids are locked.
#[derive(Clone, Debug)]
pub(super) enum Ids {
    /// In files whose names begin like this.
    Beside(PathBuf),
    /// In memory, which nobody else can see.
    Within(IdsInMemory),
}

/// A locked file. Removed before it is let go of, so that none are left lying about.
#[derive(Debug)]
struct FileLock {
    path: PathBuf,
    _file: File,
}

impl IdLock for FileLock {}

impl Drop for FileLock {
    fn drop(&mut self) {
        // One that stays does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl SqliteStore {
    pub(super) fn occupy_id(&self, id: &str) -> Occupied {
        let path = match &self.ids {
            Ids::Beside(path) => file_of(path, id),
            Ids::Within(ids) => return ids.occupy(id),
        };
        match lock(&path) {
            Ok(Some(lock)) => Occupied::Ours {
                lock: Box::new(lock),
                certain: true,
            },
            Ok(None) => Occupied::Taken { certain: true },
            Err(error) => {
                tracing::warn!(%error, "no file can be locked beside the database; leases tell who lives");
                Occupied::Untold
            }
        }
    }
}

/// The file for an id: readable, and never too long for a file's name.
fn file_of(database: &Path, id: &str) -> PathBuf {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let plain: String = id.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    PathBuf::from(format!("{}-executor-{plain}-{hash:016x}", database.display()))
}

/// Locks a file; `None`: someone else has.
fn lock(path: &Path) -> io::Result<Option<FileLock>> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it before may have removed it after we opened it: then it is locked for nobody.
        if is_at(&file, path)? {
            let path = path.to_owned();
            return Ok(Some(FileLock { path, _file: file }));
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
