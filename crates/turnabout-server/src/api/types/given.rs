//! What a change says: what it leaves out stays as it is, which is something else than `null`.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use turnabout::group::Rate;

/// A number that is set (such as a limit on how many jobs), or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Limit(pub(crate) Option<u32>);

/// How often jobs may start, or as often as they can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RateLimit(pub(crate) Option<Rate>);

/// A field that is there, whatever it holds. Where it is not, its default says so.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A weight, or that of all groups.
pub(super) fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Limit>, D::Error> {
    from.deserialize_option(Whole("a whole number from 1 to 1000, or null for the usual one"))
        .map(|weight| Some(Limit(weight)))
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_option(Whole("a whole number of at least 1, or null for no limit"))
            .map(Self)
    }
}

/// Reads a whole number; where it is none, the complaint says what would be right.
struct Whole(&'static str);

impl<'de> Visitor<'de> for Whole {
    type Value = Option<u32>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_u32(self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        u32::try_from(number)
            .map(Some)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use crate::api::types::{GroupChange, TaskChange};

    use super::*;

    #[test]
    fn left_out_and_null_are_told_apart_in_both_directions() {
        for text in [
            "{}",
            r#"{"max_running":null}"#,
            r#"{"max_running":3}"#,
            r#"{"weight":null}"#,
            r#"{"weight":2,"max_unfinished":null,"paused":true}"#,
        ] {
            let change: GroupChange = serde_json::from_str(text).expect("a change");
            assert_eq!(serde_json::to_string(&change).expect("JSON"), text);
        }
        let change: TaskChange = serde_json::from_str(r#"{"max_running":null}"#).expect("a change");
        assert_eq!((change.max_running, change.paused), (Some(Limit(None)), None));
    }

    #[test]
    fn what_is_no_number_is_told_what_would_be_one() {
        for (text, complaint) in [
            (r#"{"weight":-1}"#, "`-1`, expected a whole number from 1 to 1000"),
            (r#"{"weight":1.5}"#, "`1.5`, expected a whole number from 1 to 1000"),
            (r#"{"max_running":"none"}"#, "at least 1, or null for no limit"),
            (r#"{"max_running":4294967296}"#, "at least 1, or null for no limit"),
            (r#"{"paused":null}"#, "null, expected a boolean"),
            (r#"{"wieght":1}"#, "expected one of `weight`, `max_running`"),
        ] {
            let error = serde_json::from_str::<GroupChange>(text).expect_err(text).to_string();
            assert!(error.contains(complaint), "{text}: {error}");
        }
    }
}
