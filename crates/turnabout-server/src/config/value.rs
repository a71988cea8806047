//! What a setting can hold, and how that is written: in the file, in the environment, after a flag.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use toml::de::DeValue;
use turnabout::schedule::{Missed, Overlap};
use turnabout::{Fairness, Priority};

/// A value as someone gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// In the file.
    Toml(&'a DeValue<'a>),
    /// In the environment, or after a flag.
    Text(&'a str),
}

impl Given<'_> {
    pub(crate) fn read<T: Written>(self) -> Result<T, String> {
        match self {
            Self::Toml(value) => T::from_toml(value),
            Self::Text(text) => T::from_text(text),
        }
    }
}

/// A type that settings can have. Errors say what would be right.
pub(crate) trait Written: Sized {
    /// Reads a value of the file. Most are a text there.
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some(text) => Self::from_text(text),
            None => Err(format!("expected a text in quotes, found {}", kind(value))),
        }
    }

    /// Reads a value of the environment, or of a flag.
    fn from_text(text: &str) -> Result<Self, String>;

    /// As it is written in the file; none: the setting is not given.
    fn to_toml(&self) -> Option<String>;
}

/// What a value of the file is, for people.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A text as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

impl Written for String {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl Written for u32 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(number) = value.as_integer() else {
            return Err(format!("expected a whole number, found {}", kind(value)));
        };
        Self::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| format!("`{}` is not a whole number from 0 to {}", number.as_str(), Self::MAX))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("`{text}` is not a whole number from 0 to {}", Self::MAX))
    }

    fn to_toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Written for bool {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        value
            .as_bool()
            .ok_or_else(|| format!("expected true or false, found {}", kind(value)))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{text}` is neither true nor false"))
    }

    fn to_toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// A duration as people write it: `90s`, `5 minutes`, `1 day 2h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::Span = text.parse().map_err(|_| {
        format!("`{text}` is not a duration; write it with units, such as `90s`, `5 minutes` or `1 day`")
    })?;
    let duration = span
        .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
        .map_err(|_| "years and months differ in length; say it in days".to_owned())?;
    duration.try_into().map_err(|_| format!("`{text}` is negative"))
}

/// The same, the other way: in the largest unit that says it exactly.
pub(crate) fn words(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let units: [(u128, &str); 6] = [
        (86_400_000_000_000, "day"),
        (3_600_000_000_000, "hour"),
        (60_000_000_000, "minute"),
        (1_000_000_000, "second"),
        (1_000_000, "millisecond"),
        (1_000, "microsecond"),
    ];
    let found = units
        .into_iter()
        .find(|(unit, _)| nanos > 0 && nanos.is_multiple_of(*unit));
    match found {
        Some((unit, name)) => {
            let count = nanos / unit;
            format!("{count} {name}{}", if count == 1 { "" } else { "s" })
        }
        None if nanos == 0 => "0 seconds".to_owned(),
        None => format!("{nanos} nanoseconds"),
    }
}

impl Written for Duration {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some(text) => Self::from_text(text),
            None => Err(format!(
                "expected a duration in quotes, such as \"90s\", \"5 minutes\" or \"1 day\", found {}",
                kind(value)
            )),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        duration(text)
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&words(*self)))
    }
}

/// What may be left out, or be taken back by `"none"` where someone else has given it.
impl<T: Written> Written for Option<T> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some("none") => Ok(None),
            _ => T::from_toml(value).map(Some),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(None),
            text => T::from_text(text).map(Some),
        }
    }

    fn to_toml(&self) -> Option<String> {
        self.as_ref().and_then(T::to_toml)
    }
}

/// A value of one task, or what holds for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inherit<T> {
    /// What holds for all.
    #[default]
    Inherited,
    /// Its own.
    Own(T),
}

impl<T: Copy> Inherit<T> {
    pub(crate) fn over(self, inherited: T) -> T {
        match self {
            Self::Inherited => inherited,
            Self::Own(own) => own,
        }
    }
}

impl<T: Written> Written for Inherit<T> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        T::from_toml(value).map(Self::Own)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        T::from_text(text).map(Self::Own)
    }

    fn to_toml(&self) -> Option<String> {
        match self {
            Self::Inherited => None,
            Self::Own(own) => Some(own.to_toml().unwrap_or_else(|| quoted("none"))),
        }
    }
}

impl Written for Vec<String> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(list) = value.as_array() else {
            return Err(format!(
                "expected a list of texts, [\"..\", \"..\"], found {}",
                kind(value)
            ));
        };
        list.iter().map(|item| String::from_toml(item.get_ref())).collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(parts.map(str::to_owned).collect())
    }

    fn to_toml(&self) -> Option<String> {
        let items: Vec<String> = self.iter().map(|item| quoted(item)).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}

impl Written for BTreeMap<String, String> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(table) = value.as_table() else {
            return Err(format!("expected a table, {{ NAME = \"..\" }}, found {}", kind(value)));
        };
        let pair = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            Ok((key.to_string(), String::from_toml(value.get_ref())?))
        };
        table.iter().map(pair).collect()
    }

    fn from_text(_: &str) -> Result<Self, String> {
        Err("a table can only be written in the file".to_owned())
    }

    fn to_toml(&self) -> Option<String> {
        // What is given to others is often a secret.
        let hidden = |key: &String| format!("{} = {}", quoted(key), quoted("(secret)"));
        let pairs: Vec<String> = self.keys().map(hidden).collect();
        Some(if pairs.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{ {} }}", pairs.join(", "))
        })
    }
}

impl Written for Overlap {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: turnabout::Error| error.to_string())
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(self.as_str()))
    }
}

impl Written for Missed {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: turnabout::Error| error.to_string())
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Written for Timestamp {
    fn from_text(text: &str) -> Result<Self, String> {
        let hint = "write it as 2026-01-01T02:00:00Z, or with an offset: 2026-01-01T02:00:00+01:00";
        text.parse().map_err(|_| format!("`{text}` is not a moment; {hint}"))
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Written for Priority {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("`{text}` is none of high, normal, low"))
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(self.as_str()))
    }
}

impl Written for Fairness {
    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "jobs" => Ok(Self::Jobs),
            "items" => Ok(Self::Items),
            "time" => Ok(Self::Time),
            _ => Err(format!("`{text}` is none of jobs, items, time")),
        }
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(match self {
            Self::Jobs => "jobs",
            Self::Items => "items",
            Self::Time => "time",
            _ => return None,
        }))
    }
}

impl Written for std::net::SocketAddr {
    fn from_text(text: &str) -> Result<Self, String> {
        let text = text.replace("localhost:", "127.0.0.1:");
        text.parse()
            .map_err(|_| format!("`{text}` is not an address and a port, such as 127.0.0.1:7878 or [::]:7878"))
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}
