//! Schedules of the configuration file, as the library takes them.

use jiff::Timestamp;
use turnabout::schedule::{Definition, ScheduleKey};

use super::Schedule;

impl Schedule {
    /// What is declared, or what is wrong with it.
    pub(crate) fn declared(&self, name: &str) -> turnabout::Result<(ScheduleKey, Definition)> {
        let key = ScheduleKey {
            group: self.group.clone(),
            owner: self.owner.clone(),
            name: name.to_owned(),
        };
        let definition = Definition {
            task: self.task.clone().unwrap_or_else(|| name.to_owned()),
            args: self.args.clone(),
            queue: self.queue.clone(),
            priority: self.priority,
            subject: self.subject.clone(),
            expression: self.expression.clone(),
            zone: self.zone.clone(),
            enabled: self.enabled,
            overlap: self.overlap,
            missed: self.missed,
            jitter: self.jitter,
            start: self.start,
            end: self.end,
            exclude: self.exclude.clone(),
        };
        definition.check(&key, usize::MAX, Timestamp::now())?;
        Ok((key, definition))
    }
}
