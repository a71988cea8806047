//! What a verb works with: an open transaction, its moment, and what to tell others once it has committed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;

use super::fault::Fault;
use super::feed::Watching;
use super::outbox::{Outbox, Ready};
use super::settings;
use crate::error::Result;
use crate::group::Settings;
use crate::job::{Brief, JobId};
use crate::retention;
use crate::store::Signal;

/// What a verb works with: an open transaction, its moment, and what to tell others once it has committed.
pub(super) struct Tx<'a> {
    pub(super) connection: &'a Connection,
    pub(super) now: Timestamp,
    /// How long ended jobs are kept.
    pub(super) retention: Duration,
    pub(super) known: &'a mut Option<Arc<Settings>>,
    /// The settings, once this verb has asked for them: nobody can change them before it ends.
    pub(super) current: Option<Arc<Settings>>,
    pub(super) watched: bool,
    pub(super) watching: &'a mut Watching,
    pub(super) outbox: Outbox,
}

impl Tx<'_> {
    /// The settings in force. Read again only when their version has changed.
    pub(super) fn settings(&mut self) -> Result<Arc<Settings>, Fault> {
        if let Some(current) = &self.current {
            return Ok(current.clone());
        }
        let current = self.read_settings()?;
        self.current = Some(current.clone());
        Ok(current)
    }

    fn read_settings(&mut self) -> Result<Arc<Settings>, Fault> {
        let version = settings::version(self.connection)?;
        if let Some(known) = self.known.as_ref().filter(|known| known.version == version) {
            return Ok(known.clone());
        }
        let read = Arc::new(settings::read(self.connection, version)?);
        *self.known = Some(read.clone());
        Ok(read)
    }

    /// Whether no ended job is kept.
    pub(super) fn keeps_nothing(&mut self) -> Result<bool, Fault> {
        Ok(self.retention.is_zero() && retention::keeps_nothing(&*self.settings()?, self.retention))
    }

    /// Those who know this task may find something to do now.
    pub(super) fn ready(&mut self, task: &str) {
        self.outbox.ready.note(task);
    }

    /// Anyone may find something to do now.
    pub(super) fn all_ready(&mut self) {
        self.outbox.ready = Ready::All;
    }

    /// A job was parked.
    pub(super) fn parked(&mut self, delay: Duration) {
        self.outbox.due = Some(self.outbox.due.map_or(delay, |due| due.min(delay)));
    }

    /// Schedules were made, changed or deleted.
    pub(super) fn schedules_changed(&mut self) {
        self.outbox.jobs.push(Signal::Schedules);
    }

    pub(super) fn cancel(&mut self, id: JobId) {
        self.outbox.jobs.push(Signal::Cancel(id));
    }

    /// A hook is owed.
    pub(super) fn owed(&mut self) {
        self.outbox.owed = true;
    }

    pub(super) fn logged(&mut self, id: JobId) {
        if self.watched {
            self.outbox.jobs.push(Signal::Logged(id));
        }
    }

    pub(super) fn changed(&mut self, id: JobId) {
        if self.watched {
            self.outbox.jobs.push(Signal::Changed(id));
        }
        self.hint(id);
    }

    /// Whether hints of what changed are wanted.
    pub(super) fn is_watched(&mut self) -> bool {
        self.watching.is_on(self.connection, self.now)
    }

    /// A job has changed, or is new.
    pub(super) fn hint(&mut self, id: JobId) {
        if self.is_watched() {
            self.outbox.told.push((id, None));
        }
    }

    /// A job has ended and is not kept.
    pub(super) fn hint_last(&mut self, last: Brief) {
        self.outbox.told.push((last.id, Some(Box::new(last))));
    }
}
