//! Health tells how it is now: after every kind of fault every worker says soon that all is well.

use super::Violation;
use crate::history::History;
use crate::record::{Moment, Record, millis};

/// How soon.
const SOON: Moment = millis(10_000);

pub(super) fn health_is_green_again_soon(history: &History) -> Vec<Violation> {
    let violation = |record: &Record| {
        let Record::Recovered { deed, took, ill, .. } = record else {
            return None;
        };
        (*took > SOON || ill.is_some()).then(|| Violation {
            rule: "health is green again soon",
            job: None,
            what: format!(
                "{:.1} s after {deed} {}",
                *took as f64 / 1e9,
                ill.as_deref().unwrap_or("everyone is well, which is late")
            ),
        })
    };
    history.records.iter().filter_map(violation).collect()
}
