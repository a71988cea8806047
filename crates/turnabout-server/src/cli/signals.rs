//! SIGTERM and Ctrl-C, which end the program; SIGHUP, which has it read its configuration again.

use std::io::IsTerminal;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What asks a server to stop. From here on, these signals do nothing by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
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
