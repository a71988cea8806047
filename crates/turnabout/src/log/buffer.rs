//! The lines of one attempt on their way to the store. Bounded: the oldest give way to the newest.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Level, Line, LogLimits};
use crate::clock::Clock;
use crate::executor::news::News;

/// A buffer that is so full should be emptied soon: one part in this many.
const SOON: usize = 4;

/// Where the lines of one attempt wait.
pub(crate) struct Buffer {
    attempt: u32,
    clock: Clock,
    news: Arc<News>,
    state: Mutex<State>,
}

/// Lines are numbered from 1 here; what the job's log holds already is added when they are taken.
#[derive(Default)]
struct State {
    waiting: VecDeque<Line>,
    /// The number of the last line.
    last: i64,
    /// The number of the last line that was taken. What lies between it and the first that waits was dropped.
    taken: i64,
    /// How many lines were taken, those counted that stand for others.
    count: usize,
    /// What the store said of the job's log before: the number of its last line, and how many there are.
    before: Option<(i64, usize)>,
}

/// Lines on their way, and where they began.
pub(crate) struct Taken {
    pub(crate) lines: Vec<Line>,
    from: i64,
    /// Whether the first stands for some that were dropped.
    gap: bool,
}

impl Buffer {
    pub(crate) fn new(attempt: u32, clock: Clock, news: Arc<News>) -> Self {
        Self {
            attempt,
            clock,
            news,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limits(&self) -> &LogLimits {
        &self.news.limits
    }

    pub(crate) fn push(&self, level: Level, message: String) {
        let message = storable(message, self.limits().line);
        let time = self.clock.now();
        let most = self.limits().buffer;
        let waiting = {
            let mut state = self.state();
            state.last += 1;
            let number = state.last;
            state.waiting.push_back(Line {
                number,
                attempt: self.attempt,
                time,
                level,
                message,
            });
            state.trim(most);
            state.waiting.len()
        };
        self.news.lines.store(true, Release);
        if waiting > most / SOON {
            self.news.lines_soon.store(true, Release);
        }
    }

    /// Whether nothing waits to be stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().waiting.is_empty()
    }

    /// How many lines wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Whether the store has yet to say what the job's log holds already.
    pub(crate) fn is_new(&self) -> bool {
        self.state().before.is_none()
    }

    /// What the job's log holds already: the number of its last line, and how many there are.
    pub(crate) fn follows(&self, number: i64, lines: usize) {
        self.state().before.get_or_insert((number, lines));
    }

    /// Takes what has gathered, with a line in place of those that were dropped.
    pub(crate) fn take(&self) -> Taken {
        let mut state = self.state();
        let (before, lines) = state.before.unwrap_or_default();
        let room = self.limits().job.saturating_sub(lines + state.count);
        let from = state.taken;
        let mut taken: Vec<Line> = self.gap(&state).into_iter().collect();
        let gap = !taken.is_empty();
        taken.extend(state.waiting.drain(..));
        state.taken = state.last;
        if taken.len() >= room {
            // From here on there is silence, and the last line that there is room for should say so.
            crate::meter::lines_dropped(taken.len() - room);
            taken.truncate(room);
            if let Some(last) = taken.last_mut() {
                last.level = Level::Warn;
                last.message = format!("the log of this job is full: it keeps {} lines", self.limits().job);
            }
        }
        state.count += taken.len();
        for line in &mut taken {
            line.number += before;
        }
        Taken {
            lines: taken,
            from,
            gap,
        }
    }

    /// What stands where lines were dropped.
    fn gap(&self, state: &State) -> Option<Line> {
        let next = state.waiting.front()?;
        let dropped = next.number - state.taken - 1;
        let lines = if dropped == 1 { "line was" } else { "lines were" };
        (dropped > 0).then(|| Line {
            number: next.number - 1,
            attempt: self.attempt,
            time: next.time,
            level: Level::Warn,
            message: format!("{dropped} {lines} dropped here: they came faster than they could be stored"),
        })
    }

    /// These could not be stored: they wait again, as far as there is room. Nothing may have been taken since.
    pub(crate) fn put_back(&self, taken: Taken) {
        let mut state = self.state();
        let (before, _) = state.before.unwrap_or_default();
        state.count -= taken.lines.len().min(state.count);
        state.taken = taken.from;
        for mut line in taken.lines.into_iter().skip(usize::from(taken.gap)).rev() {
            line.number -= before;
            state.waiting.push_front(line);
        }
        state.trim(self.limits().buffer);
        self.news.lines.store(true, Release);
    }
}

impl State {
    /// The oldest give way to the newest.
    fn trim(&mut self, most: usize) {
        let surplus = self.waiting.len().saturating_sub(most.max(1));
        self.waiting.drain(..surplus);
        crate::meter::lines_dropped(surplus);
    }
}

/// A text that every store can keep: bounded, and without NUL bytes.
fn storable(mut message: String, most: usize) -> String {
    if message.len() > most {
        message.truncate(message.floor_char_boundary(most.saturating_sub(3)));
        message.push_str(" ..");
    }
    if message.contains('\0') {
        message = message.replace('\0', "\u{fffd}");
    }
    message
}
