//! What a stock knows, and when it no longer does.

use std::collections::BTreeSet;

use super::*;
use crate::job::Lane;
use crate::turn::{Fairness, Scheme, Tasks, Turns};

fn stream(task: &str) -> Stream {
    Stream {
        lane: Lane::Normal,
        queue: "q".into(),
        task: task.into(),
        key: 0,
    }
}

fn ahead(seqs: &[i64], depth: i32) -> Ahead {
    Ahead::new(seqs.to_vec(), vec![Tid::default(); seqs.len()], depth)
}

fn standing() -> Standing {
    Standing {
        places: 100,
        settled: true,
        version: 1,
    }
}

fn place(group: &str) -> Ring {
    Ring {
        place: group.into(),
        left: 0,
    }
}

/// Groups with so many jobs of one task each, seen from the beginning of the ring on.
fn stock(groups: &[(&str, &[i64])], depth: i32, end: Option<&str>) -> Stock {
    let mut shelf = Shelf::new(first_name(&place("")), end.map(str::to_owned));
    for (group, seqs) in groups {
        shelf.put(group, stream("t"), ahead(seqs, depth));
    }
    Stock::new(standing(), BTreeSet::new(), place(""), vec![shelf])
}

fn pick(group: &str, jobs: u32, tasks: &[&str]) -> Pick {
    Pick {
        group: group.into(),
        lane: Lane::Normal,
        jobs,
        streams: tasks.iter().map(|task| (stream(task), jobs)).collect(),
    }
}

fn chosen(stock: &mut Stock, pick: &Pick) -> Option<Vec<i64>> {
    let mut chosen = Vec::new();
    let jobs = stock.choose(pick, &mut chosen);
    assert_eq!(jobs.unwrap_or(0), chosen.len());
    jobs.map(|_| chosen.into_iter().map(|(seq, _)| seq).collect())
}

/// Calls with a look for so many groups.
fn looking<T>(want: u32, with: impl FnOnce(&Look<'_>) -> T) -> T {
    let turns = Turns::new(Fairness::Jobs, Scheme::default(), 1);
    let tasks: Tasks = ["t", "u"].map(Name::from).into_iter().collect();
    with(&Look {
        executor: uuid::Uuid::nil(),
        kind: "k",
        queues: &["q".to_owned()],
        tasks: &tasks,
        want,
        turns: &turns,
    })
}

fn names(peeked: &[Peeked]) -> Vec<&str> {
    peeked[0].groups.iter().map(|c| &*c.group).collect()
}

#[test]
fn jobs_that_were_seen_are_chosen_in_their_order_and_only_once() {
    let mut stock = stock(&[("a", &[3, 7, 9])], 3, None);
    assert_eq!(chosen(&mut stock, &pick("a", 2, &["t"])), Some(vec![3, 7]));
    assert_eq!(chosen(&mut stock, &pick("a", 1, &["t"])), Some(vec![9]));
    assert_eq!(
        chosen(&mut stock, &pick("a", 1, &["t"])),
        None,
        "there may be more, but nobody has seen it"
    );
}

#[test]
fn streams_of_a_lane_are_merged_as_far_as_all_of_them_are_known() {
    let mut stock = stock(&[("a", &[1, 6])], 8, None);
    stock.queues[0].put("a", stream("u"), ahead(&[2, 3], 2));
    let both = |jobs| pick("a", jobs, &["t", "u"]);
    assert_eq!(chosen(&mut stock, &both(3)), Some(vec![1, 2, 3]));
    assert_eq!(
        chosen(&mut stock, &both(1)),
        None,
        "what comes after 3 may be lower than 6"
    );
}

#[test]
fn it_stands_only_while_nothing_has_come_and_nobody_moved_the_place() {
    let none = BTreeSet::new();
    let stock = stock(&[("a", &[1])], 8, None);
    assert!(stock.stands(standing(), &place(""), &none));
    let later = Standing {
        places: 101,
        ..standing()
    };
    assert!(!stock.stands(later, &place(""), &none), "a place was drawn");
    let changed = Standing {
        version: 2,
        ..standing()
    };
    assert!(!stock.stands(changed, &place(""), &none), "settings changed");
    assert!(!stock.stands(standing(), &place("a"), &none), "someone else moved on");
}

#[test]
fn places_that_it_drew_itself_do_not_count() {
    let mut stock = stock(&[("a", &[1])], 8, None);
    stock.drew([Some(101), Some(100)]);
    let later = Standing {
        places: 102,
        ..standing()
    };
    assert!(stock.stands(later, &place(""), &BTreeSet::new()));
    stock.drew([Some(105), None]);
    assert!(!stock.keeps(), "someone drew between");
}

#[test]
fn what_is_not_known_yet_is_looked_for_before_it_is_needed() {
    let stock = stock(&[("a", &[1]), ("b", &[2])], 8, Some("c"));
    looking(2, |look| {
        let (ways, dry) = stock.missing(look, &Settings::default());
        assert_eq!((ways, dry.len()), (vec![None], 0), "two groups are enough");
    });
    looking(3, |look| {
        let (ways, _) = stock.missing(look, &Settings::default());
        let way = ways[0].as_ref().expect("a part is missing");
        assert_eq!(way.from.as_deref(), Some("c"));
        assert_eq!(way.around.as_deref(), Some("\u{1}"), "up to where it began");
        let peeked = stock.peeked(look, &Settings::default());
        assert_eq!((names(&peeked), peeked[0].complete), (vec!["a", "b"], false));
    });
}

#[test]
fn nothing_is_planned_beyond_a_stream_that_has_run_dry() {
    let mut stock = stock(&[("a", &[1]), ("b", &[2]), ("c", &[3])], 1, None);
    chosen(&mut stock, &pick("b", 1, &["t"])).expect("it was seen");
    looking(3, |look| {
        let (_, dry) = stock.missing(look, &Settings::default());
        assert_eq!((dry.len(), &*dry[0].group, dry[0].last), (1, "b", 2));
        let peeked = stock.peeked(look, &Settings::default());
        assert_eq!((names(&peeked), peeked[0].complete), (vec!["a"], false));
        // It turns out to be empty: the group is gone.
        stock.refill(dry, vec![ahead(&[], 8)]);
        let peeked = stock.peeked(look, &Settings::default());
        assert_eq!((names(&peeked), peeked[0].complete), (vec!["a", "c"], true));
    });
}

#[test]
fn a_walked_stream_goes_on_where_the_walk_ended_or_before_what_was_seen() {
    let mut stock = stock(&[("a", &[5, 6])], 2, None);
    stock.walk(&pick("a", 9, &["t"]));
    looking(1, |look| {
        let (_, dry) = stock.missing(look, &Settings::default());
        assert_eq!(dry[0].last, 4, "5 may still be there");
        stock.resume("a", Lane::Normal.code(), "q", "t", 13);
        let (_, dry) = stock.missing(look, &Settings::default());
        assert_eq!(dry[0].last, 13);
    });
}

#[test]
fn streams_are_read_deeper_while_nothing_comes() {
    let mut memory = Memory::default();
    assert_eq!(memory.depth(10), 1);
    for expected in [8, 32, 32] {
        memory.leave(stock(&[], 1, None));
        memory.note(standing());
        assert_eq!(memory.depth(10), expected);
    }
    memory.leave(stock(&[], 1, None));
    memory.note(standing());
    assert_eq!(memory.depth(100_000), 2, "many groups leave little room");
    memory.leave(stock(&[], 1, None));
    memory.note(Standing {
        places: 7,
        ..standing()
    });
    assert_eq!(memory.depth(10), 1);
}

#[test]
fn how_many_jobs_groups_have_is_learnt_where_all_of_them_were_read() {
    let read = |jobs: &dyn Fn(i64) -> usize, depth: i32, sparse| {
        let mut shelf = Shelf::default();
        for group in 0..100 {
            let seqs: Vec<i64> = (0..jobs(group).min(depth as usize) as i64).collect();
            shelf.put(&format!("g{group}"), stream("t"), ahead(&seqs, depth));
        }
        let part = Part {
            shelf,
            keeps: true,
            sparse,
        };
        vec![None, Some(part)]
    };
    let useful = |task: &str| task == "t";
    let mut memory = Memory::default();
    memory.learn(&read(&|_| 3, 1, false), 1, useful);
    assert_eq!(memory.length(100), None, "one job of each tells nothing");
    memory.learn(&read(&|group| if group % 2 == 0 { 4 } else { 5 }, 8, false), 8, useful);
    assert_eq!(memory.length(100), Some(5));
    assert_eq!(memory.length(MOST / 4), None, "so many groups leave no room");
    memory.learn(&[None], 8, useful);
    assert_eq!(memory.length(100), Some(5), "nothing was read");
    memory.learn(&read(&|group| if group % 5 == 0 { 9 } else { 1 }, 8, false), 8, useful);
    assert_eq!(memory.length(100), None, "one group in five has more than were read");
    memory.learn(&read(&|_| 1, 8, false), 8, |_| false);
    assert_eq!(
        memory.length(100),
        None,
        "of jobs that nobody here runs only the first was told"
    );
    memory.learn(&read(&|_| 2, 8, false), 8, useful);
    assert_eq!(memory.length(100), Some(2));
    memory.learn(&read(&|_| 2, 8, true), 8, useful);
    memory.learn(&read(&|_| 2, 8, false), 8, useful);
    assert_eq!(
        memory.length(100),
        None,
        "a few groups have many: not again with this stock"
    );
    memory.enter();
    assert_eq!(memory.length(100), Some(2));
    assert_eq!((memory.depth(10), memory.length(100)), (1, None), "something has come");
}
