//! What a job shows to everyone who may see it, whatever its arguments are: fields that its task has chosen.

use serde_json::{Map, Value};

use super::{Job, Meta};
use crate::error::{Error, Result};

/// The entry of a job's meta that holds its public fields, as the JSON text of an object.
pub const PUBLIC: &str = "turnabout-public";

/// Public fields are no longer, in bytes of JSON.
const MAX: usize = 2048;

impl Job {
    /// The fields that its task, or whoever submitted it, shows to everyone who may see the job: the JSON text of an
    /// object.
    pub fn public(&self) -> Option<&str> {
        public(&self.meta)
    }
}

pub(super) fn public(meta: &Meta) -> Option<&str> {
    let text = meta.get(PUBLIC)?;
    // Anybody can write anything into a job's meta; what is no object is no set of fields.
    serde_json::from_str::<Map<String, Value>>(text).ok()?;
    Some(text)
}

/// The entry for these fields. None: there are none.
pub(crate) fn written(fields: &Map<String, Value>) -> Result<Option<String>> {
    if fields.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(fields)
        .map_err(|error| Error::invalid("public", format!("it cannot be written as JSON: {error}")))?;
    if text.len() > MAX {
        let why = format!("the fields take {} bytes as JSON, over the limit of {MAX}", text.len());
        return Err(Error::invalid("public", why));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_fields_are_an_object_or_nothing() {
        let meta = |text: &str| Meta::from([(PUBLIC.to_owned(), text.to_owned())]);
        assert_eq!(public(&meta("{\"pages\":3}")), Some("{\"pages\":3}"));
        for other in ["", "3", "[1]", "\"text\"", "{", "null"] {
            assert_eq!(public(&meta(other)), None, "{other}");
        }
        assert_eq!(public(&Meta::new()), None);
    }

    #[test]
    fn public_fields_are_short() {
        let fields = |text: String| Map::from_iter([("a".to_owned(), Value::String(text))]);
        assert_eq!(written(&Map::new()).expect("none"), None);
        assert_eq!(
            written(&fields("b".to_owned())).expect("short").as_deref(),
            Some("{\"a\":\"b\"}")
        );
        written(&fields("b".repeat(MAX))).expect_err("too long");
    }
}
