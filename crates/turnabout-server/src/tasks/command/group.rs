//! The processes of one attempt: a program, and whatever it has started itself. They form a process group, which is ended
//! as a whole.

use std::collections::HashSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::reaper;

/// The groups that exist at present, for an end of the whole program that waits for nothing.
static ALIVE: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

/// A program, and all that it started. Dropped, all of it is gone.
pub(super) struct Group {
    leader: Child,
    /// None once the leader was waited for: its number may belong to someone else from then on.
    id: Option<Pid>,
}

impl Group {
    /// Starts a program as the first of a new process group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            let id = id.as_raw_nonzero().get();
            with_alive(|alive| {
                alive.insert(id);
                reaper::tell(id, true, alive);
            });
        }
        Ok(Self { leader, id })
    }

    pub(super) fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Tells all processes of the group. That none is left is no error.
    fn tell(&self, signal: Signal) {
        if let Some(id) = self.id {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Asks the processes to end.
    pub(super) fn terminate(&self) {
        self.tell(Signal::TERM);
    }

    /// Ends the processes. They cannot do anything about it.
    pub(super) fn kill(&self) {
        self.tell(Signal::KILL);
    }

    /// Waits for the end of the leader, and ends what it left behind. May be dropped and called again.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        // While the leader has ended and was not waited for, the number of the group cannot become someone else's.
        self.leader_ended().await?;
        self.kill();
        let status = self.leader.wait().await?;
        self.forget();
        Ok(status)
    }

    /// Waits until the leader has ended, without taking note of it as the system understands that.
    async fn leader_ended(&self) -> io::Result<()> {
        let Some(id) = self.id else { return Ok(()) };
        // Before the first look, so that an end cannot fall between the two.
        let mut children = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(id), look)?.is_none() {
            children.recv().await;
        }
        Ok(())
    }

    fn forget(&mut self) {
        if let Some(id) = self.id.take() {
            let id = id.as_raw_nonzero().get();
            with_alive(|alive| {
                alive.remove(&id);
                reaper::tell(id, false, alive);
            });
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.forget();
    }
}

fn with_alive<T>(f: impl FnOnce(&mut HashSet<i32>) -> T) -> T {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    f(alive.get_or_insert_with(HashSet::new))
}

/// Ends all processes of all groups: the program ends at once, and they would go on without it.
pub(crate) fn kill_all() {
    with_alive(|alive| {
        for id in alive.drain() {
            if let Some(id) = Pid::from_raw(id) {
                let _ = kill_process_group(id, Signal::KILL);
            }
        }
    });
}
