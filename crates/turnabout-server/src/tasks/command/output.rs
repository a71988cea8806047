//! What a program writes: lines of any length and any bytes, in bounded memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncRead, AsyncReadExt};
use turnabout::Context;

/// Reads are of this size.
const PORTION: usize = 64 << 10;
/// A result is no longer, in bytes of JSON; the library says the same.
const MAX_RESULT: usize = 1 << 20;
/// So much of a line is kept that only goes to the log; the log cuts it further.
const MAX_LINE: usize = 64 << 10;

/// How much output is looked at, both streams together.
#[derive(Clone)]
pub(super) struct Allowance {
    left: Arc<AtomicU64>,
    total: u64,
}

impl Allowance {
    pub(super) fn new(total: u64) -> Self {
        Self {
            left: Arc::new(AtomicU64::new(total)),
            total,
        }
    }

    /// Uses some of it. None: there is not enough; `Some(true)`: for the first time.
    fn spend(&self, bytes: u64) -> Result<(), bool> {
        let spent = self
            .left
            .fetch_update(Relaxed, Relaxed, |left| (left > 0).then(|| left.saturating_sub(bytes)));
        match spent {
            Ok(left) if left >= bytes => Ok(()),
            Ok(_) => Err(true),
            Err(_) => Err(false),
        }
    }
}

/// Which stream it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// Turns what a program writes to one stream into lines of the job's log.
pub(super) struct Output {
    stream: Stream,
    cx: Context,
    allowance: Allowance,
    /// Keeps the last line back, since it is not for the log but the result.
    hold: bool,
    held: Option<String>,
    /// The line under way, as far as it is kept, and how much of it is not.
    line: Vec<u8>,
    cut: usize,
    last: Option<String>,
    /// What the program says about its failure: a code, and words for people.
    told: Option<(String, String)>,
}

impl Output {
    pub(super) fn new(stream: Stream, cx: Context, allowance: Allowance, hold: bool) -> Self {
        Self {
            stream,
            cx,
            allowance,
            hold,
            held: None,
            line: Vec::new(),
            cut: 0,
            last: None,
            told: None,
        }
    }

    /// What the program has said about its failure, since it was last asked. Its output has ended.
    pub(super) fn told(&mut self) -> Option<(String, String)> {
        // A last line need not end.
        if error(&String::from_utf8_lossy(&self.line)).is_some() {
            self.end_of_line();
        }
        self.told.take()
    }

    /// Reads to the end. May be dropped and called again.
    pub(super) async fn read(&mut self, source: &mut (impl AsyncRead + Unpin)) {
        let mut portion = vec![0; PORTION];
        loop {
            match source.read(&mut portion).await {
                // A stream that cannot be read has ended, as far as we are concerned.
                Ok(0) | Err(_) => return,
                Ok(n) => self.take(&portion[..n]),
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            self.end_of_line();
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let most = if self.hold { MAX_RESULT + 1 } else { MAX_LINE };
        let room = most.saturating_sub(self.line.len()).min(bytes.len());
        self.line.extend_from_slice(&bytes[..room]);
        self.cut += bytes.len() - room;
    }

    fn end_of_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let cut = std::mem::take(&mut self.cut);
        let text = String::from_utf8_lossy(&bytes);
        // A program that draws on one line goes back to its beginning: what was drawn last is what it says.
        let text = text.trim_end_matches('\r');
        let text = text.rsplit('\r').next().unwrap_or(text);
        if text.trim().is_empty() && cut == 0 {
            return;
        }
        if cut == 0 && self.progress(text) {
            return;
        }
        if cut == 0
            && let Some((code, message)) = error(text)
        {
            self.told = Some((code.to_owned(), message.to_owned()));
            return;
        }
        let text = if cut > 0 {
            format!("{text} .. ({cut} bytes more)")
        } else {
            text.to_owned()
        };
        if self.stream == Stream::Err {
            self.last = Some(text.chars().take(300).collect());
        }
        let line = if self.hold { self.held.replace(text) } else { Some(text) };
        if let Some(line) = line {
            self.log(&line);
        }
    }

    fn log(&self, line: &str) {
        match self.allowance.spend(line.len() as u64 + 1) {
            Ok(()) if self.stream == Stream::Out => self.cx.log().info(line),
            Ok(()) => self.cx.log().warn(line),
            Err(true) => self.cx.log().warn(format_args!(
                "the program has written more than {} bytes (`max-output`); what follows is thrown away",
                self.allowance.total
            )),
            Err(false) => {}
        }
    }

    /// `::progress 40 importing table 3`: how far the program is.
    fn progress(&self, line: &str) -> bool {
        let Some((share, step)) = progress(line) else {
            return false;
        };
        let progress = self.cx.progress();
        // An error would say that the job is being cancelled, which is noticed elsewhere.
        let _ = progress.set(share.into());
        if !step.is_empty() {
            let _ = progress.step(step);
        }
        true
    }

    /// The output has ended: its last line, if it was to be kept back, and of the errors the last for the message.
    pub(super) fn end(mut self) -> (Option<String>, Option<String>) {
        if !self.line.is_empty() || self.cut > 0 {
            self.end_of_line();
        }
        (self.held.take(), self.last.take())
    }

    /// The line that was kept back is for the log after all.
    pub(super) fn end_all_logged(mut self) -> Option<String> {
        if !self.line.is_empty() || self.cut > 0 {
            self.end_of_line();
        }
        if let Some(line) = self.held.take() {
            self.log(&line);
        }
        self.last.take()
    }
}

/// The parts of a line about a failure: `::error no-pages The file has no pages.`
fn error(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("::error")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let (code, message) = rest.trim().split_once(char::is_whitespace)?;
    Some((code, message.trim()))
}

/// The parts of a line about progress: percent, and the present step.
fn progress(line: &str) -> Option<(u8, &str)> {
    let rest = line.strip_prefix("::progress")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    let (share, step) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let share: f64 = share.trim_end_matches('%').parse().ok()?;
    (0.0..=100.0).contains(&share).then_some((share as u8, step.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_progress_are_told_from_others() {
        assert_eq!(
            progress("::progress 40 importing table 3"),
            Some((40, "importing table 3"))
        );
        assert_eq!(progress("::progress 99.9%"), Some((99, "")));
        assert_eq!(progress("::progress 0  "), Some((0, "")));
        for other in [
            "::progress",
            "::progress 101",
            "::progress -1",
            "::progress much",
            "::progressing 4",
            "progress 4",
        ] {
            assert_eq!(progress(other), None, "{other}");
        }
    }

    #[test]
    fn lines_about_failures_are_told_from_others() {
        assert_eq!(
            error("::error no-pages  The file has no pages."),
            Some(("no-pages", "The file has no pages."))
        );
        for other in ["::error", "::error code", "::errors a b", "error a b"] {
            assert_eq!(error(other), None, "{other}");
        }
    }

    #[test]
    fn an_allowance_says_once_that_it_is_used_up() {
        let allowance = Allowance::new(10);
        assert_eq!(allowance.spend(6), Ok(()));
        assert_eq!(allowance.spend(6), Err(true));
        assert_eq!(allowance.spend(6), Err(false));
    }
}
