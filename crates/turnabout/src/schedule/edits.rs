//! What a change makes of a schedule: made, declared by a deployment, changed by an operator, paused, deleted.

use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Declared, Definition, Paused, Schedule, ScheduleChange, ScheduleKey, Standing};
use crate::error::{Error, Result};

/// What happens to a schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// A deployment says what it should be. What an operator has set stays.
    Declare {
        /// Who says so.
        by: String,
        /// What it should be.
        definition: Definition,
    },
    /// An operator says what it should be.
    Set(Definition),
    /// An operator changes some of it.
    Change(ScheduleChange),
    /// An operator wants nothing of the operators' to count any longer.
    Reset,
    /// It is no longer fired.
    Pause {
        /// Why.
        note: Option<String>,
        /// Who says so.
        by: Option<String>,
    },
    /// It is fired again, from now on.
    Resume,
    /// It goes.
    Delete,
    /// It goes if this deployment has declared it.
    Retire {
        /// Which deployment.
        by: String,
    },
}

/// What became of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// What it is now. None: there is none any longer.
    pub schedule: Option<Schedule>,
    /// Whether it is other than before.
    pub changed: bool,
}

/// What a change makes of a schedule, or of none. `id` is for a new one.
pub(crate) fn edited(
    key: &ScheduleKey,
    found: Option<&Schedule>,
    edit: &Edit,
    now: Timestamp,
    id: Uuid,
) -> Result<Edited> {
    let missing = || Error::NoSchedule(key.to_string());
    let mut new = match (found, edit) {
        (_, Edit::Delete) => {
            return match found {
                Some(_) => Ok(Edited::gone(true)),
                None => Err(missing()),
            };
        }
        (_, Edit::Retire { by }) => {
            let theirs = found.is_some_and(|s| s.declared.as_ref().is_some_and(|declared| declared.by == *by));
            return Ok(Edited {
                schedule: found.filter(|_| !theirs).cloned(),
                changed: theirs,
            });
        }
        (Some(found), _) => found.clone(),
        (None, Edit::Declare { definition, .. } | Edit::Set(definition)) => {
            made(key, definition.clone().tidy(), now, id)
        }
        (None, _) => return Err(missing()),
    };
    match edit {
        Edit::Declare { by, definition } => {
            let definition = definition.clone().tidy();
            new.definition = definition.clone().with_parts(&new.set_by_operator, &new.definition);
            let by = by.clone();
            new.declared = Some(Declared { by, definition });
        }
        Edit::Set(definition) => new.set(definition.clone().tidy()),
        Edit::Change(change) => new.set(new.definition.clone().with(change).tidy()),
        Edit::Reset => {
            new.standing.paused = None;
            if let Some(declared) = &new.declared {
                new.definition = declared.definition.clone();
            }
            new.set_by_operator = BTreeSet::new();
        }
        Edit::Pause { note, by } => {
            let since = new.standing.paused.as_ref().map_or(now, |paused| paused.since);
            let (note, by) = (note.clone(), by.clone());
            new.standing.paused = Some(Paused { since, note, by });
        }
        Edit::Resume => {
            new.standing.paused = None;
            let mut definition = new.definition.clone();
            definition.enabled = true;
            new.set(definition);
        }
        Edit::Delete | Edit::Retire { .. } => {}
    }
    // What was refused once, by a change that came in between, must not be stored.
    new.definition.check(key, usize::MAX, now)?;
    arm(&mut new, found, now)?;
    Ok(Edited {
        changed: found != Some(&new),
        schedule: Some(new),
    })
}

impl Edited {
    fn gone(changed: bool) -> Self {
        Self {
            schedule: None,
            changed,
        }
    }
}

impl Schedule {
    /// An operator wants it so.
    fn set(&mut self, definition: Definition) {
        if let Some(declared) = &self.declared {
            self.set_by_operator = definition.differences(&declared.definition);
        }
        self.definition = definition;
    }
}

fn made(key: &ScheduleKey, definition: Definition, now: Timestamp, id: Uuid) -> Schedule {
    Schedule {
        id,
        key: key.clone(),
        definition,
        declared: None,
        set_by_operator: BTreeSet::new(),
        // Intervals count from here: in whole seconds.
        created: Timestamp::from_second(now.as_second()).unwrap_or(now),
        standing: Standing::default(),
    }
}

/// When it is due next. A time that is due already stays, whatever has changed: it would be lost otherwise.
fn arm(new: &mut Schedule, found: Option<&Schedule>, now: Timestamp) -> Result<()> {
    if new.standing.paused.is_some() || !new.definition.enabled {
        new.standing.next = None;
        new.standing.due = None;
        new.standing.stopped = None;
        new.standing.waiting.clear();
        return Ok(());
    }
    if let Some(found) = found
        && let Some(due) = found.standing.due
        && (due <= now || found.definition.is_due_as(&new.definition))
    {
        return Ok(());
    }
    let times = new.times()?;
    let standing = &mut new.standing;
    standing.next = times.next_after(now);
    standing.stopped = standing.next.is_none().then(|| times.why_none(now));
    let again = (!standing.waiting.is_empty()).then_some(now);
    standing.due = standing.next.map(|next| times.due(next)).into_iter().chain(again).min();
    Ok(())
}
