//! What the commands print: lines and tables for people, JSON for programs.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};

use turnabout::{Job, State};

/// Writes a line (or several) to standard output. That nobody reads on (`| head`) is no error.
pub(super) fn out(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// As JSON, for people who read it too.
pub(super) fn json(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

/// A job's state in a few words: `stuck (error), attempt 2: connection refused`.
pub(super) fn standing(job: &Job) -> String {
    let mut text = job.state.to_string();
    if job.cancelling {
        text.push_str(", cancelling");
    }
    if let Some(reason) = job.reason {
        let _ = write!(text, " ({reason})");
    }
    if job.state == State::Running && (job.progress > 0 || job.step.is_some()) {
        let _ = write!(text, ", {} %", job.progress);
        if let Some(step) = &job.step {
            let _ = write!(text, " ({})", one_line(step));
        }
    }
    if job.attempts > 0 {
        let _ = write!(text, ", attempt {}", job.attempts);
    }
    if let Some(error) = &job.error {
        let _ = write!(text, ": {}", one_line(error));
    }
    text
}

/// Text that cannot disturb a line, a table or a terminal.
pub(super) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Rows under a head, each column as wide as its widest cell.
pub(super) fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows);
    let width = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let print = |cells: &[String; N]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    lines.iter().map(print).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_table_line_up() {
        let rows = [["1".to_owned(), "éé".to_owned()], ["200".to_owned(), String::new()]];
        assert_eq!(table(["A", "B"], rows.into_iter()), "A    B\n1    éé\n200");
    }

    #[test]
    fn an_error_of_several_lines_stays_on_one() {
        assert_eq!(one_line("no\r\n\x1b[31mway"), "no [31mway");
    }
}
