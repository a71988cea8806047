//! Several queues' peeks as one.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::world::stream;
use crate::job::Lane::Normal;
use crate::turn::{Candidate, Peeked, Ring};

/// A queue's peek as a store would make it.
fn peek(ring: &Ring, queue: usize, groups: &BTreeSet<u8>, window: usize) -> Peeked {
    let mut groups: Vec<Candidate> = groups
        .iter()
        .map(|group| Candidate {
            group: format!("g{group}").into(),
            streams: vec![stream(Normal, &queue.to_string(), "t")],
        })
        .collect();
    groups.sort_by_key(|c| (ring.wraps(&c.group), c.group.clone()));
    let complete = groups.len() <= window;
    groups.truncate(window);
    Peeked { groups, complete }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_peeks_are_what_one_peek_into_all_queues_would_have_found(
        queues in prop::collection::vec(prop::collection::btree_set(0_u8..30, 0..20), 1..5),
        window in 1_usize..25, place in 0_u8..30, left in 0_u32..2,
    ) {
        let ring = Ring { place: format!("g{place}"), left };
        let peeks: Vec<Peeked> = queues.iter().enumerate().map(|(q, groups)| peek(&ring, q, groups, window)).collect();
        let merged = Peeked::merge(&ring, peeks.clone());

        prop_assert_eq!(merged.complete, peeks.iter().all(|p| p.complete));
        let union: BTreeSet<u8> = queues.iter().flatten().copied().collect();
        let all = peek(&ring, 0, &union, usize::MAX);
        // Each group once, in ring order, none left out up to the horizon, each with its streams in all queues.
        prop_assert!(merged.groups.len() <= all.groups.len());
        for (found, expected) in merged.groups.iter().zip(&all.groups) {
            prop_assert_eq!(&found.group, &expected.group);
            let having = queues.iter().filter(|q| q.iter().any(|g| *format!("g{g}") == *found.group)).count();
            prop_assert_eq!(found.streams.len(), having);
        }
        if merged.complete {
            prop_assert_eq!(merged.groups.len(), all.groups.len());
        } else {
            prop_assert!(merged.groups.len() >= window.min(all.groups.len()));
        }
    }
}

#[test]
fn a_queue_of_which_nothing_was_seen_hides_everything() {
    let ring = Ring::default();
    let seen = peek(&ring, 0, &[1, 2].into(), 9);
    let unseen = Peeked {
        groups: Vec::new(),
        complete: false,
    };
    assert_eq!(Peeked::merge(&ring, vec![seen, unseen.clone()]), unseen);
    assert!(Peeked::merge(&ring, Vec::new()).complete);
}
