//! PURE: failures of the same kind, together: by task, and by code or by the shape of the message.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::job::{JobId, Reason, State};
use crate::store::insight::Failure;

/// A shape has no more characters.
const LONGEST: usize = 200;
/// Text of letters and digits that is so long, and has digits, is somebody's id.
const ID: usize = 8;

/// Failures of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureKind {
    /// The task.
    pub task: String,
    /// The code that all of them have, if they have one.
    pub code: Option<String>,
    /// What all of them say, with `#` for numbers and ids.
    pub message: String,
    /// Why, where their executors know more than their handlers: `timed-out`, `lost`, ..
    pub reason: Option<Reason>,
    /// How many have failed for good.
    pub failed: u64,
    /// How many are stuck, and will be tried again.
    pub stuck: u64,
    /// When the first of those failed that were looked at.
    pub first: Timestamp,
    /// When the last one failed.
    pub last: Timestamp,
    /// The last one.
    pub example: JobId,
}

/// Failures by kind, the most frequent first.
pub fn kinds(failures: &[Failure]) -> Vec<FailureKind> {
    let mut kinds: HashMap<(&str, Option<&str>, String), FailureKind> = HashMap::new();
    for failure in failures {
        let message = match &failure.message {
            Some(message) => shape(message),
            None => failure.reason.map_or("no error was told", Reason::as_str).to_owned(),
        };
        // Of a code there may be many messages; whoever gives it says that they mean the same.
        let said = if failure.code.is_some() {
            String::new()
        } else {
            message.clone()
        };
        let kind = kinds
            .entry((&failure.task, failure.code.as_deref(), said))
            .or_insert_with(|| FailureKind {
                task: failure.task.clone(),
                code: failure.code.clone(),
                message: message.clone(),
                reason: failure.reason,
                failed: 0,
                stuck: 0,
                first: failure.at,
                last: failure.at,
                example: failure.id,
            });
        if failure.state == State::Failed {
            kind.failed += 1;
        } else {
            kind.stuck += 1;
        }
        kind.first = kind.first.min(failure.at);
        if failure.at > kind.last {
            kind.last = failure.at;
            kind.example = failure.id;
            kind.message = message;
        }
    }
    let mut kinds: Vec<FailureKind> = kinds.into_values().collect();
    kinds.sort_by(|a, b| {
        let count = |kind: &FailureKind| kind.failed + kind.stuck;
        (count(b), b.last)
            .cmp(&(count(a), a.last))
            .then_with(|| (&a.task, &a.code, &a.message).cmp(&(&b.task, &b.code, &b.message)))
    });
    kinds
}

/// A message with `#` in place of numbers and ids, so that messages about different things of the same kind are the same.
pub fn shape(message: &str) -> String {
    let line = message
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let mut shape = String::with_capacity(line.len().min(LONGEST));
    let mut word = String::new();
    for letter in line.chars().chain(['\0']) {
        // Parts of ids, of versions and of addresses hang together.
        if letter.is_alphanumeric() || (matches!(letter, '-' | '_') && !word.is_empty()) {
            word.push(letter);
            continue;
        }
        end_word(&mut shape, &word);
        word.clear();
        if letter != '\0' {
            shape.push(if letter.is_whitespace() { ' ' } else { letter });
        }
    }
    if shape.chars().count() > LONGEST {
        shape = shape.chars().take(LONGEST).chain(['\u{2026}']).collect();
    }
    shape
}

fn end_word(shape: &mut String, word: &str) {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == 0 {
        return shape.push_str(word);
    }
    let plain = word.trim_end_matches(['-', '_']);
    let hex = plain.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    if plain.chars().count() >= ID && (hex || digits * 4 >= plain.len()) {
        shape.push('#');
        return shape.push_str(&word[plain.len()..]);
    }
    // `h264` and `error-17` differ in their numbers only.
    let mut before = false;
    for letter in word.chars() {
        let digit = letter.is_ascii_digit();
        if digit && !before {
            shape.push('#');
        } else if !digit {
            shape.push(letter);
        }
        before = digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_do_not_tell_messages_apart() {
        for (message, told) in [
            ("connection refused", "connection refused"),
            ("row 17 of 2000 is bad", "row # of # is bad"),
            ("took 12.5 s, limit 10s", "took #.# s, limit #s"),
            ("no user 0193a5c8-7f3e-7000-8000-1234567890ab here", "no user # here"),
            ("blob deadbeef01 is gone\nbacktrace", "blob # is gone"),
            ("\n  http://10.0.0.17:8080/x: 503 ", "http://#.#.#.#:#/x: #"),
            ("codec h264 unknown", "codec h# unknown"),
            ("file_2026_11_17.pdf", "#.pdf"),
            ("", ""),
        ] {
            assert_eq!(shape(message), told);
        }
        assert!(shape(&"\u{e9} ".repeat(5000)).chars().count() <= LONGEST + 1);
    }

    #[test]
    fn failures_of_one_kind_are_counted_together() {
        let at = |second: i64| Timestamp::constant(1_893_456_000, 0) + jiff::SignedDuration::from_secs(second);
        let failure = |task: &str, code: Option<&str>, message: Option<&str>, state, second| Failure {
            id: JobId::new(),
            task: task.to_owned(),
            state,
            reason: Some(Reason::TimedOut),
            code: code.map(ToOwned::to_owned),
            message: message.map(ToOwned::to_owned),
            at: at(second),
        };
        let all = [
            failure("ocr", None, Some("page 1 is bad"), State::Failed, 1),
            failure("ocr", None, Some("page 22 is bad"), State::Failed, 9),
            failure("ocr", None, Some("page 3 is bad"), State::Stuck, 5),
            failure("mail", None, Some("page 3 is bad"), State::Failed, 5),
            failure("mail", Some("550"), Some("no such person"), State::Failed, 2),
            failure("mail", Some("550"), Some("mailbox is full"), State::Failed, 3),
            failure("mail", None, None, State::Failed, 4),
        ];
        let kinds = kinds(&all);
        let brief: Vec<_> = kinds
            .iter()
            .map(|kind| (kind.task.as_str(), kind.message.as_str(), kind.failed, kind.stuck))
            .collect();
        assert_eq!(
            brief,
            [
                ("ocr", "page # is bad", 2, 1),
                ("mail", "mailbox is full", 2, 0),
                ("mail", "page # is bad", 1, 0),
                ("mail", "timed-out", 1, 0),
            ]
        );
        assert_eq!((kinds[0].first, kinds[0].last), (at(1), at(9)));
        assert_eq!(kinds[0].example, all[1].id);
    }
}
