//! Words for numbers and times.

use std::time::Duration;

use jiff::SignedDuration;

use super::Facts;

/// A duration as people say it: `2h 5m`.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let rounded = if seconds < 10.0 {
        return format!("{seconds:.1} s");
    } else {
        SignedDuration::from_secs(seconds.round() as i64)
    };
    format!("{rounded:#}")
}

/// `1 job`, `12 jobs`.
pub(super) fn many(count: u64, one: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{count} {one}s")
    }
}

/// A few of many names, in quotes.
pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.into_iter().collect();
    let mut text: Vec<String> = all.iter().take(5).map(|name| format!("`{name}`")).collect();
    if all.len() > 5 {
        text.push(format!("{} more", all.len() - 5));
    }
    text.join(", ")
}

/// A word for the command line, in quotes if it needs some.
pub(super) fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=".contains(letter);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What is said when nothing is wrong.
pub(super) fn well(facts: &Facts) -> String {
    let waiting = facts.report.groups.iter().filter(|share| share.waits).count() as u64;
    match (waiting, facts.report.rotation) {
        (0, _) if facts.held.is_empty() => "all is well: nothing waits".to_owned(),
        (0, _) => "all is well: every job that is ready runs".to_owned(),
        (1, _) => "all is well: one group waits for free slots, and gets them".to_owned(),
        (_, Some(rotation)) => format!(
            "all is well: {waiting} groups take turns, and each has one about every {}",
            span(rotation)
        ),
        (_, None) => format!("all is well: {waiting} groups take turns"),
    }
}
