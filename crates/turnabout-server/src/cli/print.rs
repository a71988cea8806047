//! What the commands print: lines and tables for people, JSON for programs.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};

use comfy_table::{Table, presets};
use jiff::Timestamp;
use turnabout::State;

use crate::api::types::BriefView;

/// Writes a line (or several) to standard output. That nobody reads on (`| head`) is no error.
pub(super) fn out(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Writes a line to standard error. That nobody can read it (`2>/dev/full`, or a reader that has gone) is no reason to fail.
macro_rules! note {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}
pub(crate) use note;

/// As JSON, for people who read it too.
pub(super) fn json(value: &impl serde::Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    // Serde escapes the others. Between the texts there is none but line ends.
    let disturbs = |c: char| c.is_control() && c != '\n' || changes_order(c);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if disturbs(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Ok(escaped)
}

/// Whether a sign changes the order in which a terminal shows what follows.
fn changes_order(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A job's state in a few words: `stuck (error), attempt 2: connection refused`.
pub(super) fn standing(job: &BriefView) -> String {
    let mut text = job.state.to_string();
    if job.cancelling {
        text.push_str(", cancelling");
    }
    if let Some(reason) = &job.reason {
        let _ = write!(text, " ({reason})");
    }
    let tells = matches!(job.state, State::Running | State::Failed | State::Cancelled);
    if tells && (job.progress > 0 || job.step.is_some()) {
        let _ = write!(text, ", {} %", job.progress);
        if let Some(step) = &job.step {
            let _ = write!(text, " ({})", one_line(step));
        }
    }
    if job.attempts > 0 {
        let _ = write!(text, ", attempt {}", job.attempts);
    }
    if let Some(error) = &job.error {
        let error = one_line(error);
        let _ = match earlier(job) {
            None => write!(text, ": {error}"),
            Some(attempt) => write!(text, "; last error, of attempt {attempt}: {error}"),
        };
    }
    text
}

/// The attempt that the job's error is of, if that is not why the job is where it is: it runs again, or has succeeded since.
fn earlier(job: &BriefView) -> Option<u32> {
    match job.state {
        State::Stuck | State::Failed | State::Cancelled => None,
        // This one counts already.
        State::Running | State::Success => Some(job.attempts.saturating_sub(1)),
        _ => Some(job.attempts),
    }
}

/// Text that cannot disturb a line, a table or a terminal.
pub(super) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || changes_order(c))
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Rows under a head, each column as wide as its widest cell.
pub(super) fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    lean_table(head, N, rows)
}

/// The same, where columns after the first `always` are left out if they hold nothing.
pub(super) fn lean_table<const N: usize>(
    head: [&str; N],
    always: usize,
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().map(|row| row.map(|cell| one_line(&cell))).collect();
    let kept: Vec<usize> = (0..N)
        .filter(|&at| at < always || rows.iter().any(|row| !row[at].is_empty()))
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(kept.iter().map(|&at| head[at]));
    for row in &rows {
        table.add_row(kept.iter().map(|&at| &row[at]));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Facts about one thing, a line each.
pub(super) fn facts(facts: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let facts: Vec<_> = facts.into_iter().collect();
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, fact): &(&str, String)| format!("{name:<width$}  {}", one_line(fact));
    facts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A limit, or that there is none.
pub(super) fn limit(jobs: Option<u32>) -> String {
    jobs.map_or_else(|| "none".to_owned(), |jobs| jobs.to_string())
}

/// Who has set something, when, and why.
pub(super) fn set_by(set: &crate::api::types::SetBy) -> String {
    let note = set.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
    format!("{}, {} ago{note}", set.by, ago(Some(set.at)))
}

/// How often jobs may start.
pub(super) fn rate(rate: Option<turnabout::group::Rate>) -> String {
    rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())
}

/// Whether someone has paused it.
pub(super) fn paused(paused: bool) -> String {
    if paused { "yes: no further job is taken" } else { "no" }.to_owned()
}

/// How long ago, in one unit: `3 m`.
pub(super) fn ago(moment: Option<Timestamp>) -> String {
    let Some(moment) = moment else { return "-".to_owned() };
    let seconds = moment.duration_until(Timestamp::now()).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} m", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_table_line_up() {
        let rows = [
            ["1".to_owned(), "\u{e9}\u{e9}".to_owned()],
            ["200".to_owned(), "a\nb".to_owned()],
        ];
        assert_eq!(table(["A", "B"], rows), "A    B\n1    \u{e9}\u{e9}\n200  a b");
    }

    #[test]
    fn nothing_that_is_printed_disturbs_a_terminal() {
        let text = "a\u{202e}b\u{9b}c\u{7f}d\ne\u{1b}";
        assert_eq!(one_line(text), "a b c d e");
        let printed = json(&[text]).expect("it is written");
        assert_eq!(printed, "[\n  \"a\\u202eb\\u009bc\\u007fd\\ne\\u001b\"\n]");
        assert_eq!(
            serde_json::from_str::<[String; 1]>(&printed).expect("it is JSON"),
            [text]
        );
    }

    #[test]
    fn columns_that_hold_nothing_are_left_out_where_they_may_be() {
        let rows = [
            ["a".to_owned(), String::new(), String::new(), String::new()],
            ["b".to_owned(), String::new(), String::new(), "yes".to_owned()],
        ];
        let text = lean_table(["GROUP", "OLDEST", "WEIGHT", "PAUSED"], 2, rows);
        assert_eq!(text, "GROUP  OLDEST  PAUSED\na\nb              yes");
    }

    #[test]
    fn facts_line_up_and_stay_on_their_lines() {
        let text = facts([("group", "a\nb".to_owned()), ("max running", limit(None))]);
        assert_eq!(text, "group        a b\nmax running  none");
    }

    #[test]
    fn an_error_of_several_lines_stays_on_one() {
        assert_eq!(one_line("no\r\n\x1b[31mway"), "no [31mway");
    }
}
