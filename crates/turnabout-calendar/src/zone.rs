//! Time zones by their names in the IANA database, and the names that were probably meant.

use std::hash::{Hash, Hasher};

use jiff::tz::TimeZone;

use crate::error::ZoneError;

/// No name in the database is longer than half of this.
const MAX_NAME: usize = 64;

/// How many names an error suggests.
const SUGGESTIONS: usize = 3;

/// How alike two names must be (0 to 1) for one to be suggested for the other.
const ALIKE: f64 = 0.75;

/// The time zone of this name in the IANA database, such as `Europe/Berlin` or `UTC`. Upper and lower case are the same.
///
/// ```
/// assert!(turnabout_calendar::zone("Europe/Berlin").is_ok());
/// let error = turnabout_calendar::zone("Europe/Berlni").unwrap_err();
/// assert_eq!(error.to_string(), "there is no time zone \"Europe/Berlni\"; did you mean Europe/Berlin?");
/// ```
pub fn zone(name: &str) -> Result<TimeZone, ZoneError> {
    let plausible = !name.is_empty()
        && name.len() <= MAX_NAME
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+'));
    if !plausible {
        return Err(ZoneError {
            message: "this is no name of a time zone; give one of the IANA database, such as Europe/Berlin or UTC"
                .into(),
            suggestions: Vec::new(),
        });
    }
    look_up(name).ok_or_else(|| unknown(name))
}

fn look_up(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("UTC") {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(name).ok().filter(|zone| !zone.is_unknown())
}

/// Whether there is such a zone, for whoever has no use for suggestions.
pub(crate) fn is_known(name: &str) -> bool {
    name.len() <= MAX_NAME && look_up(name).is_some()
}

/// The error for a name that no zone has.
fn unknown(name: &str) -> ZoneError {
    let suggestions = near(name);
    let advice = if suggestions.is_empty() {
        "give a name of the IANA database, such as Europe/Berlin or UTC".to_owned()
    } else {
        format!("did you mean {}?", suggestions.join(" or "))
    };
    ZoneError {
        message: format!("there is no time zone \"{name}\"; {advice}"),
        suggestions,
    }
}

/// Names like this one; the city alone (`berlin`) is enough.
fn near(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase();
    let mut found: Vec<(f64, String)> = jiff::tz::db()
        .available()
        .map(|known| known.as_str().to_owned())
        .filter(|known| known.contains('/') && !known.starts_with("Etc/"))
        .filter_map(|known| {
            let whole = known.to_ascii_lowercase();
            let city = whole.rsplit('/').next().unwrap_or_default();
            let score = strsim::jaro_winkler(&wanted, city).max(strsim::jaro_winkler(&wanted, &whole));
            (score >= ALIKE).then_some((score, known))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // A name that is nearly right needs no second guess.
    let best = found.first().map_or(0.0, |(score, _)| *score);
    let slack = if best > 0.95 { 0.0 } else { 0.05 };
    found
        .into_iter()
        .take_while(|(score, _)| *score >= best - slack)
        .take(SUGGESTIONS)
        .map(|(_, name)| name)
        .collect()
}

/// A zone that a text names. Equal by name: the rules behind a name are not compared.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// As the database spells it.
    pub(crate) name: String,
    pub(crate) zone: TimeZone,
}

impl Named {
    pub(crate) fn find(name: &str) -> Result<Self, ZoneError> {
        let zone = zone(name)?;
        Ok(Self {
            name: zone.iana_name().unwrap_or(name).to_owned(),
            zone,
        })
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
