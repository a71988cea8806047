//! What others say: systemd about calendar events, croniter about cron expressions. `scripts/calendar-vectors` asks them.
//!
//! Where this crate answers differently, it does so on purpose: each such case stands in `vectors/differences-*.tsv`, with
//! what it answers and why. The tests fail if anything else differs, and if something listed there no longer does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use turnabout_calendar::{Expression, zone};

/// The lines of a file of vectors, split into columns.
fn read(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// The listed differences: question -> (why, our answer).
fn differences(name: &str) -> BTreeMap<String, (String, String)> {
    let lines = read(name);
    let count = lines.len();
    let listed: BTreeMap<_, _> = lines
        .into_iter()
        .map(|columns| {
            let [question @ .., why, answer] = columns.as_slice() else {
                panic!("{columns:?} are too few columns")
            };
            (question.join("\t"), (why.clone(), answer.clone()))
        })
        .collect();
    assert_eq!(listed.len(), count, "a question is listed twice in {name}");
    listed
}

/// Compares answers with what others say and with what is listed, and fails with all that is wrong.
fn compare(answers: &[(String, String, String)], listed: &mut BTreeMap<String, (String, String)>) {
    let mut wrong = String::new();
    for (question, theirs, ours) in answers {
        let expected = listed.remove(question);
        match expected {
            None if ours == theirs => {}
            None => {
                writeln!(wrong, "{question}\n  theirs {theirs}\n  ours   {ours}").expect("memory can be written to");
            }
            Some((_, answer)) if *ours == answer && ours != theirs => {}
            Some((why, answer)) => {
                writeln!(
                    wrong,
                    "{question}\n  listed ({why}) {answer}\n  ours {ours}\n  theirs {theirs}"
                )
                .expect("memory can be written to");
            }
        }
    }
    for question in listed.keys() {
        writeln!(wrong, "listed, but never asked: {question}").expect("memory can be written to");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn calendar_events_come_when_systemd_says() {
    let vectors = read("calendar.tsv");
    let mut answers = Vec::new();
    for columns in &vectors {
        let [zone_name, base, text, _, theirs] = columns.as_slice() else {
            panic!("{columns:?}")
        };
        let zone = zone(zone_name).expect("a zone");
        let expression = Expression::calendar(text).unwrap_or_else(|error| panic!("{error}"));
        let mut at: Timestamp = base.parse().expect("a time");
        let mut times = Vec::new();
        while times.len() < 5
            && let Some(next) = expression.next_after(at, &zone, at)
        {
            times.push(next.to_string());
            at = next;
        }
        let ours = if times.is_empty() {
            "never".to_owned()
        } else {
            times.join(" ")
        };
        answers.push((format!("{zone_name}\t{base}\t{text}"), theirs.clone(), ours));
    }
    let mut texts: Vec<_> = vectors.iter().map(|columns| &columns[2]).collect();
    texts.sort();
    texts.dedup();
    assert!(texts.len() >= 300, "only {} expressions", texts.len());
    compare(&answers, &mut differences("differences-calendar.tsv"));
}

#[test]
fn calendar_events_are_printed_as_systemd_prints_them() {
    for columns in read("calendar.tsv") {
        let (text, canonical) = (&columns[2], &columns[3]);
        let expression = Expression::calendar(text).expect("an expression");
        if canonical.is_empty() {
            continue;
        }
        assert_eq!(expression.to_string(), *canonical, "{text}");
        assert_eq!(Expression::parse(canonical).as_ref(), Ok(&expression), "{text}");
    }
}

#[test]
fn what_systemd_refuses_is_refused() {
    let answers: Vec<_> = read("refused.tsv")
        .into_iter()
        .map(|columns| {
            let text = columns[0].trim_matches('"').to_owned();
            let ours = Expression::calendar(&text).map_or_else(|_| "refused".to_owned(), |e| e.to_string());
            (columns[0].clone(), "refused".to_owned(), ours)
        })
        .collect();
    compare(&answers, &mut differences("differences-refused.tsv"));
}

/// FNV-1a over the times, each as 8 bytes.
fn checksum(times: &[i64]) -> u64 {
    let bytes = times.iter().flat_map(|time| time.to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[test]
fn cron_comes_when_croniter_says_over_a_year() {
    let vectors = read("cron.tsv");
    let mut answers = Vec::new();
    for columns in &vectors {
        let [zone_name, begin, end, text, count, sum, _] = columns.as_slice() else {
            panic!("{columns:?}")
        };
        let zone = zone(zone_name).expect("a zone");
        let (begin, end): (Timestamp, Timestamp) = (begin.parse().expect("a time"), end.parse().expect("a time"));
        let expression = Expression::cron(text).unwrap_or_else(|error| panic!("{error}"));
        let mut times = Vec::new();
        let mut at = begin;
        while let Some(next) = expression.next_after(at, &zone, at).filter(|next| *next <= end) {
            times.push(next.as_second());
            at = next;
        }
        let ours = format!("{} {:016x}", times.len(), checksum(&times));
        answers.push((format!("{zone_name}\t{begin}\t{text}"), format!("{count} {sum}"), ours));
    }
    let mut texts: Vec<_> = vectors.iter().map(|columns| &columns[3]).collect();
    texts.sort();
    texts.dedup();
    assert!(texts.len() >= 300, "only {} expressions", texts.len());
    compare(&answers, &mut differences("differences-cron.tsv"));
}
