//! SIGTERM and Ctrl-C, which end the program; SIGHUP, which has it read its configuration again.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that come so soon after another are the same request: `timeout` sends one to the program and one to its group.
const SAME: Duration = Duration::from_millis(100);

/// What asks a server to stop. From here on, these signals do nothing by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    last: Option<Instant>,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            last: None,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            let again = self.last.is_some_and(|last| last.elapsed() < SAME);
            self.last = Some(Instant::now());
            if !again {
                return;
            }
        }
    }
}

/// What asks a server to read its configuration again.
pub(super) struct Hangups {
    signal: Signal,
    /// Whether there was a terminal, whose end is told by the same signal.
    terminal: bool,
}

impl Hangups {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            signal: signal(SignalKind::hangup())?,
            terminal: std::io::stderr().is_terminal(),
        })
    }

    /// Waits for the next one. Says whether it is meant for us, and not that the terminal is gone.
    pub(super) async fn next(&mut self) -> bool {
        self.signal.recv().await;
        !self.terminal || std::io::stderr().is_terminal()
    }
}
