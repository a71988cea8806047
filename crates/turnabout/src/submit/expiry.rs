//! How long jobs may wait whose submit does not say so.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::after;
use crate::error::{Error, Result};
use crate::job::When;

/// After how long jobs expire that nobody has started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// Those of all tasks.
    pub(crate) usual: Option<Duration>,
    /// Those of some tasks; `None`: never.
    pub(crate) tasks: HashMap<String, Option<Duration>>,
}

impl Expiry {
    /// When a job of this task expires that becomes ready then. It is counted from there: a job that is to start tomorrow has
    /// as much time as one that is to start now.
    pub(crate) fn of(&self, task: &str, ready: When) -> When {
        let time = self.tasks.get(task).copied().unwrap_or(self.usual);
        time.map_or(When::Now, |time| from(ready, time))
    }
}

/// An error for a job that would expire before it may start.
pub(super) fn in_time(start: When, end: When) -> Result<()> {
    let now = Timestamp::now();
    match (start.moment(now), end.expiry(now)) {
        (Some(start), Some(end)) if end <= start => Err(Error::invalid(
            "expires",
            "the job would expire before it may start; let it expire later than its delay",
        )),
        _ => Ok(()),
    }
}

/// So long after a job becomes ready.
pub(super) fn from(ready: When, time: Duration) -> When {
    match ready {
        When::Now => When::After(time),
        When::After(delay) => When::After(delay.saturating_add(time)),
        When::At(moment) => When::At(after(moment, time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d37_a_task_goes_before_the_rest_and_a_delay_is_no_waiting() {
        let minute = Duration::from_mins(1);
        let expiry = Expiry {
            usual: Some(minute),
            tasks: HashMap::from([("patient".to_owned(), None), ("hasty".to_owned(), Some(2 * minute))]),
        };
        assert_eq!(expiry.of("any", When::Now), When::After(minute));
        assert_eq!(expiry.of("patient", When::Now), When::Now);
        assert_eq!(expiry.of("hasty", When::After(minute)), When::After(3 * minute));
        let moment = jiff::Timestamp::UNIX_EPOCH;
        assert_eq!(expiry.of("any", When::At(moment)), When::At(after(moment, minute)));
        assert_eq!(Expiry::default().of("any", When::Now), When::Now);
    }
}
