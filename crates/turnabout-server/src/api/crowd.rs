//! How much may be under way at a time: requests that are being answered, and streams. So much for each token, half of all for each
//! group, and so much in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::caller::Caller;
use super::types::{Code, Problem};

/// Seconds after which another try may be worth it.
const TRY_AGAIN: u64 = 1;

/// Counts what is under way.
#[derive(Debug)]
pub(super) struct Crowd {
    /// What is counted, for people.
    what: &'static str,
    /// Where it is set.
    setting: &'static str,
    all: usize,
    each: usize,
    now: Arc<Mutex<HashMap<String, usize>>>,
}

/// One that is under way, until this is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    keys: Vec<String>,
    now: Arc<Mutex<HashMap<String, usize>>>,
}

impl Crowd {
    pub(super) fn requests(all: usize, each: usize) -> Self {
        Self::new("requests", "api.requests-per-token", all, each)
    }

    pub(super) fn streams(all: usize, each: usize) -> Self {
        Self::new("streams", "api.streams-per-token", all, each)
    }

    fn new(what: &'static str, setting: &'static str, all: usize, each: usize) -> Self {
        Self {
            what,
            setting,
            all,
            each,
            now: Arc::default(),
        }
    }

    /// One more of this caller, if there is room.
    pub(super) fn enter(&self, caller: &Caller) -> Result<Permit, Problem> {
        let mut limits = vec![(String::new(), self.all)];
        if let Some(group) = caller.group() {
            limits.push((format!("group:{group}"), self.all.div_ceil(2)));
        }
        // Where nobody needs a token, all callers are one.
        if let Some(key) = &caller.key {
            limits.push((format!("token:{key}"), self.each));
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // The narrowest first: whoever has too many hears of that.
        let full = |(key, most): &&(String, usize)| now.get(key).copied().unwrap_or_default() >= *most;
        if let Some((key, most)) = limits.iter().rev().find(full) {
            let what = self.what;
            let problem = if key.is_empty() {
                Problem::new(
                    Code::Unavailable,
                    format!("{most} {what} are under way already; try again"),
                )
            } else {
                let (kind, _) = key.split_once(':').unwrap_or_default();
                let setting = if kind == "token" { self.setting } else { "half of all" };
                Problem::new(
                    Code::RateLimited,
                    format!(
                        "{most} {what} of this {kind} are under way already ({setting}); wait for some of them to end"
                    ),
                )
            };
            return Err(problem.retry_after(TRY_AGAIN));
        }
        let keys: Vec<String> = limits.into_iter().map(|(key, _)| key).collect();
        for key in &keys {
            *now.entry(key.clone()).or_default() += 1;
        }
        Ok(Permit {
            keys,
            now: Arc::clone(&self.now),
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            if let Some(count) = now.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    now.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Holder, Role};

    fn caller(name: &str, group: &str) -> Caller {
        Caller::new(Holder::new("token", name, Role::Group(group.to_owned())))
    }

    #[test]
    fn there_is_so_much_for_each_token_half_for_each_group_and_so_much_in_all() {
        let crowd = Crowd::requests(6, 2);
        let (one, two, other) = (caller("one", "a"), caller("two", "a"), caller("other", "b"));
        let refused = |caller: &Caller| crowd.enter(caller).expect_err("no room");
        let first = crowd.enter(&one).expect("room");
        let mut held = vec![crowd.enter(&one).expect("room")];
        let problem = refused(&one);
        assert_eq!((problem.status, problem.retry_after), (429, Some(1)));
        assert!(problem.detail.contains("of this token"), "{}", problem.detail);
        held.push(crowd.enter(&two).expect("room"));
        assert!(refused(&two).detail.contains("of this group"));
        held.extend((0..2).map(|_| crowd.enter(&other).expect("room")));
        held.push(crowd.enter(&caller("third", "c")).expect("room"));
        assert_eq!(refused(&caller("fourth", "d")).status, 503);
        drop(first);
        held.push(crowd.enter(&two).expect("room again"));
        drop(held);
        assert!(crowd.now.lock().expect("unpoisoned").is_empty(), "nothing is kept");
    }
}
