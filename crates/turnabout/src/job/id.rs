//! A job's id.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, Result};

/// A job's name for life: a UUID of version 7, so that ids sort by the time they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub Uuid);

impl JobId {
    /// A new id with the present time.
    pub fn new() -> Self {
        Self::at(Timestamp::now())
    }

    /// A new id made at `moment`.
    pub fn at(moment: Timestamp) -> Self {
        let millis = u64::try_from(moment.as_millisecond()).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &random_bytes()).into_uuid())
    }

    /// The id number `count` of those made at `moment`: ids made by one program sort in the order they were made.
    pub(crate) fn nth(moment: Timestamp, count: u16) -> Self {
        let id = Self::at(moment).0.as_u128();
        // The twelve bits after the version.
        let mask = 0xfff_u128 << 64;
        Self(Uuid::from_u128(id & !mask | u128::from(count & 0xfff) << 64))
    }

    /// The lowest possible id made at `moment`: the bounds of a day's partition, for one.
    pub(crate) fn floor(moment: Timestamp) -> Self {
        let millis = u128::try_from(moment.as_millisecond()).unwrap_or(0);
        Self(Uuid::from_u128(millis << 80))
    }

    /// When the id was made, if it is a UUID of version 7.
    pub fn time(&self) -> Option<Timestamp> {
        (self.0.get_version_num() == 7)
            .then(|| Timestamp::from_millisecond((self.0.as_u128() >> 80) as i64).ok())
            .flatten()
    }
}

fn random_bytes() -> [u8; 10] {
    let mut bytes = [0; 10];
    fastrand::fill(&mut bytes);
    bytes
}

impl Default for JobId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|e| Error::invalid("job id", format!("{e}; a job's id is a UUID as submit returned it")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_when_it_was_made() {
        let moment = Timestamp::from_millisecond(1_900_000_000_123).expect("a moment");
        let id = JobId::at(moment);
        assert_eq!(id.time(), Some(moment));
        assert!(JobId::floor(moment) <= id);
        assert_eq!(JobId(Uuid::new_v4()).time(), None);
    }

    #[test]
    fn ids_of_one_moment_sort_by_their_number() {
        let moment = Timestamp::from_millisecond(1_900_000_000_123).expect("a moment");
        let ids: Vec<JobId> = (0..0xfff).map(|n| JobId::nth(moment, n)).collect();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|id| id.time() == Some(moment)));
    }
}
