//! Programs do not outlive their executor, not even one that is killed: a second process knows which groups of processes there
//! are, and ends them when the executor is gone. It learns of that from a pipe, which only the executor can write to.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// The command by which the program becomes this second process.
pub(crate) const COMMAND: &str = "end-programs-of-parent";

/// The second process, once there were programs.
static REAPER: Mutex<Option<Child>> = Mutex::new(None);

/// A group of processes begins, or has ended. `alive` are all that there are.
pub(super) fn tell(id: i32, begins: bool, alive: &HashSet<i32>) {
    let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
    let said = match reaper.as_mut() {
        Some(known) => say(known, &[id], begins),
        None if begins => Err(io::ErrorKind::NotConnected.into()),
        None => Ok(()),
    };
    if said.is_ok() {
        return;
    }
    // There is none yet, or somebody has ended it.
    if let Some(mut gone) = reaper.take() {
        let _ = gone.kill();
        let _ = gone.wait();
    }
    let all: Vec<i32> = alive.iter().copied().collect();
    let started = start().and_then(|mut new| {
        say(&mut new, &all, true)?;
        Ok(new)
    });
    match started {
        Ok(new) => *reaper = Some(new),
        Err(error) => {
            tracing::warn!(%error, "no process could be started that ends programs when this executor is killed");
        }
    }
}

fn start() -> io::Result<Child> {
    // The file may have been replaced by a new version meanwhile.
    let own = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe()?
    };
    Command::new(own)
        .arg(COMMAND)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C is for the executor, which decides what becomes of its programs.
        .process_group(0)
        .spawn()
}

fn say(reaper: &mut Child, groups: &[i32], begin: bool) -> io::Result<()> {
    let sign = if begin { '+' } else { '-' };
    let mut lines = String::new();
    for id in groups {
        let _ = writeln!(lines, "{sign}{id}");
    }
    let pipe = reaper.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    pipe.write_all(lines.as_bytes())
}

/// The second process: reads which groups there are until the executor is gone, then ends them.
pub(crate) async fn run() -> io::Result<()> {
    // Whoever stops a whole service sends these to all of its processes; the executor decides what they mean.
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        drop(signal(kind)?);
    }
    let groups = tokio::task::spawn_blocking(|| read(BufReader::new(io::stdin())));
    for id in groups.await? {
        if let Some(id) = Pid::from_raw(id) {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
    Ok(())
}

/// The groups that are left at the end.
fn read(lines: impl BufRead) -> HashSet<i32> {
    let mut groups = HashSet::new();
    for line in lines.lines().map_while(Result::ok) {
        // 0 and 1 would mean ourselves, or everybody.
        let id = line.get(1..).and_then(|id| id.parse::<i32>().ok()).filter(|id| *id > 1);
        match (line.as_bytes().first(), id) {
            (Some(b'+'), Some(id)) => drop(groups.insert(id)),
            (Some(b'-'), Some(id)) => drop(groups.remove(&id)),
            _ => {}
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_began_and_did_not_end() {
        let text = "+20\n+30\n-20\n+0\n+1\n+-5\nnonsense\n\n+40\n+3";
        assert_eq!(read(text.as_bytes()), HashSet::from([30, 40, 3]));
        assert_eq!(read(&b""[..]), HashSet::new());
    }
}
