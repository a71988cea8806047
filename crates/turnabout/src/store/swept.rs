//! Up to when ended jobs were looked through: so that the next look begins there, and not with everything that is kept.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::before;

/// Now and then, looks begin so long before the end of the last one.
pub(crate) const OVERLAP: Duration = Duration::from_hours(1);

/// How far each rule of [`crate::retention::rules`] has been followed, by this process.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// The settings that the rules are made from: other settings, other rules.
    version: i64,
    until: Vec<Option<Timestamp>>,
}

impl Swept {
    /// From when on jobs have to be looked at that the rule with this number covers: from where the last look ended, and so
    /// much before. (A job may become visible later than it ended: its transaction was long, or a clock was set back.) None:
    /// all of them.
    pub(crate) fn from(&mut self, version: i64, rule: usize, overlap: Duration) -> Option<Timestamp> {
        if self.version != version {
            *self = Self {
                version,
                until: Vec::new(),
            };
        }
        let until = self.until.get(rule).copied().flatten();
        until.map(|until| before(until, overlap))
    }

    /// Everything that ended until then, and is covered by this rule, is forgotten.
    pub(crate) fn done(&mut self, version: i64, rule: usize, until: Timestamp) {
        if self.version == version {
            if self.until.len() <= rule {
                self.until.resize(rule + 1, None);
            }
            if let Some(place) = self.until.get_mut(rule) {
                *place = Some(until);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_begins_where_the_last_one_ended_unless_the_rules_have_changed() {
        let (mut swept, now) = (Swept::default(), Timestamp::UNIX_EPOCH);
        let overlap = Duration::from_mins(1);
        assert_eq!(swept.from(3, 1, overlap), None);
        swept.done(3, 1, now);
        assert_eq!(swept.from(3, 1, overlap), Some(before(now, overlap)));
        assert_eq!(swept.from(3, 0, overlap), None, "another rule");
        assert_eq!(swept.from(4, 1, overlap), None, "other rules");
        swept.done(3, 1, now);
        assert_eq!(swept.from(4, 1, overlap), None, "that was about the former ones");
    }
}
