//! The log's way to the disk.
//!
//! `SQLite` flushes its log within a commit, before anyone sees what was committed. For a job that comes alone to an executor
//! that stands by, that is most of the time from submit to start. There the log is flushed here, right after the commit, while
//! the job is on its way to its handler already; whoever submitted it is told when it is kept (docs/adr/0025).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use rusqlite::Connection;

use super::fault::Broken;

/// So many bytes of the log are written anew at a time.
const PORTION: usize = 1 << 20;

/// The log of a file that one thread writes to.
pub(super) struct Log {
    file: File,
    /// Whether commits leave it to us to flush the log.
    ours: bool,
    /// A flush has failed: nobody knows how much of the log is on the disk, and what comes after a gap would be lost with it.
    doubtful: bool,
    #[cfg(test)]
    trial: std::sync::Arc<trial::Trial>,
}

impl Log {
    /// Nothing: it cannot be opened, and commits do all of it.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.inspect_err(
            |error| tracing::debug!(%error, "jobs that come alone start after a commit that waits for the disk"),
        );
        Some(Self {
            file: file.ok()?,
            ours: false,
            doubtful: false,
            #[cfg(test)]
            trial: std::sync::Arc::default(),
        })
    }

    /// Before a transaction: whether its commit leaves the flush to us.
    pub(super) fn prepare(&mut self, connection: &Connection, ours: bool) -> Result<(), Broken> {
        if self.doubtful {
            self.mend(connection)?;
        }
        if self.ours != ours {
            // Not a statement to be kept: it acts while it is prepared.
            connection.execute_batch(if ours {
                "PRAGMA synchronous = NORMAL"
            } else {
                "PRAGMA synchronous = FULL"
            })?;
            self.ours = ours;
        }
        Ok(())
    }

    /// All that was committed is on the disk.
    pub(super) fn flush(&mut self) -> Result<(), Broken> {
        self.sync().map_err(|error| {
            self.doubtful = true;
            tracing::warn!(%error, "the disk could not keep what was written");
            Broken::unkept(&error)
        })
    }

    fn sync(&self) -> io::Result<()> {
        #[cfg(test)]
        self.trial.pass()?;
        self.file.sync_data()
    }

    /// Writes all of the log once more and flushes it: what a flush has failed to keep is not tried again by itself. Nobody
    /// else writes meanwhile.
    fn mend(&mut self, connection: &Connection) -> Result<(), Broken> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let mended = self.rewrite().and_then(|()| self.sync());
        connection.execute_batch("ROLLBACK")?;
        mended.map_err(|error| Broken::unkept(&error))?;
        self.doubtful = false;
        tracing::info!("the disk keeps what was written");
        Ok(())
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; PORTION];
        let mut at = 0;
        loop {
            self.file.seek(SeekFrom::Start(at))?;
            let read = self.file.read(&mut bytes)?;
            if read == 0 {
                return Ok(());
            }
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(&bytes[..read])?;
            at += read as u64;
        }
    }

    #[cfg(test)]
    pub(super) fn trial(&self) -> std::sync::Arc<trial::Trial> {
        self.trial.clone()
    }
}

/// For tests: flushes that take as long as somebody wants, or fail.
#[cfg(test)]
pub(super) mod trial {
    use std::io::{Error, Result};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Mutex, PoisonError};

    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    #[derive(Debug, Default)]
    pub(in crate::store) struct Trial(Mutex<Option<(UnboundedSender<()>, Receiver<bool>)>>);

    impl Trial {
        /// From now on each flush says that it is there, and waits until it is told whether it works.
        pub(in crate::store) fn hold(&self) -> (UnboundedReceiver<()>, Sender<bool>) {
            let ((there, is_there), (say, said)) = (unbounded_channel(), channel());
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((there, said));
            (is_there, say)
        }

        pub(super) fn pass(&self) -> Result<()> {
            let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((there, said)) = &*held else { return Ok(()) };
            let _ = there.send(());
            match said.recv() {
                Ok(false) => Err(Error::other("the disk is broken")),
                _ => Ok(()),
            }
        }
    }
}
