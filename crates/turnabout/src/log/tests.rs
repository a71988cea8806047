//! Buffers of lines: bounded, in order, and honest about what is missing.

use super::*;
use crate::clock::Clock;
use crate::executor::news::News;

fn buffer(limits: LogLimits) -> Buffer {
    let news = News {
        limits,
        ..News::default()
    };
    Buffer::new(1, Clock::System, Arc::new(news))
}

fn small() -> LogLimits {
    LogLimits {
        buffer: 3,
        line: 20,
        job: 10,
    }
}

fn write(buffer: &Buffer, lines: std::ops::Range<u32>) {
    for n in lines {
        buffer.push(Level::Info, n.to_string());
    }
}

fn said(lines: &[Line]) -> Vec<(i64, &str)> {
    lines.iter().map(|line| (line.number, line.message.as_str())).collect()
}

#[test]
fn lines_come_out_in_order_and_follow_those_that_are_stored() {
    let buffer = buffer(LogLimits::default());
    write(&buffer, 0..3);
    assert!(buffer.is_new());
    buffer.follows(40, 7);
    assert!(!buffer.is_new());
    assert_eq!(said(&buffer.take().lines), [(41, "0"), (42, "1"), (43, "2")]);
    assert!(buffer.is_empty());
    write(&buffer, 3..4);
    assert_eq!(said(&buffer.take().lines), [(44, "3")]);
    assert!(buffer.take().lines.is_empty());
}

#[test]
fn the_oldest_give_way_and_a_line_says_how_many() {
    let buffer = buffer(small());
    write(&buffer, 0..8);
    let taken = buffer.take();
    assert_eq!(said(&taken.lines[1..]), [(6, "5"), (7, "6"), (8, "7")]);
    assert_eq!((taken.lines[0].number, taken.lines[0].level), (5, Level::Warn));
    assert!(taken.lines[0].message.starts_with("5 lines were dropped here"));
    write(&buffer, 8..12);
    let taken = buffer.take();
    assert!(taken.lines[0].message.starts_with("1 line was dropped here"));
    assert_eq!(said(&taken.lines[1..]), [(10, "9"), (11, "10"), (12, "11")]);
}

#[test]
fn what_could_not_be_stored_waits_again_and_nothing_is_counted_twice() {
    let buffer = buffer(small());
    buffer.follows(100, 0);
    write(&buffer, 0..5);
    let taken = buffer.take();
    assert_eq!(taken.lines.len(), 4);
    write(&buffer, 5..6);
    buffer.put_back(taken);
    let taken = buffer.take();
    assert!(taken.lines[0].message.starts_with("3 lines were dropped here"));
    assert_eq!(said(&taken.lines[1..]), [(104, "3"), (105, "4"), (106, "5")]);
}

#[test]
fn a_log_that_is_full_says_so_and_is_silent() {
    let buffer = buffer(LogLimits { buffer: 100, ..small() });
    buffer.follows(6, 6);
    write(&buffer, 0..20);
    let taken = buffer.take();
    assert_eq!(said(&taken.lines[..3]), [(7, "0"), (8, "1"), (9, "2")]);
    assert_eq!(taken.lines.len(), 4);
    assert_eq!(taken.lines[3].message, "the log of this job is full: it keeps 10 lines");
    write(&buffer, 0..20);
    assert!(buffer.take().lines.is_empty());
    assert!(buffer.is_empty());
}

#[test]
fn a_long_line_is_cut_and_every_store_can_keep_it() {
    let buffer = buffer(small());
    buffer.push(Level::Error, "é".repeat(30));
    buffer.push(Level::Error, "a\0b".to_owned());
    let taken = buffer.take();
    assert_eq!(taken.lines[0].message, format!("{} ..", "é".repeat(8)));
    assert!(taken.lines[0].message.len() <= 20);
    assert_eq!(taken.lines[1].message, "a\u{fffd}b");
}
