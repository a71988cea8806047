//! Lists and numbers in words.

use crate::field::{Field, Item};

/// `1st`, `2nd`, `11th`.
pub(super) fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// `a, b and c`.
pub(super) fn join(parts: &[String], last: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

/// The bits that are set, with their names; three and more in a row become "a to c".
pub(super) fn runs(bits: u64, last: &str, name: impl Fn(u32) -> String) -> String {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < 64 {
        let run = (bits >> at).trailing_ones();
        match run {
            0 => {}
            1 | 2 => parts.extend((at..at + run).map(&name)),
            _ => parts.push(format!("{} to {}", name(at), name(at + run - 1))),
        }
        at += run.max(1);
    }
    join(&parts, last)
}

/// Years: there are too many of them for bits.
pub(super) fn years(field: &Field) -> String {
    let words = |item: &Item| match (item.end, item.step) {
        (None, None) => format!("{}", item.start),
        (Some(end), None | Some(1)) => format!("{} to {end}", item.start),
        (Some(end), Some(step)) => format!("every {} year from {} to {end}", ordinal(step), item.start),
        (None, Some(1)) => format!("every year from {} on", item.start),
        (None, Some(step)) => format!("every {} year from {} on", ordinal(step), item.start),
    };
    join(&field.items().iter().map(words).collect::<Vec<_>>(), "and")
}
