//! Kinds of values that only the program's settings have: secrets, sizes, exit codes, counting schemes, rates.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::DeValue;
use turnabout::group::Rate;

use super::value::{Written, kind, quoted};

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Written for Secret {
    fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted("(secret)"))
    }
}

/// Texts that are never shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secrets(pub(crate) Vec<Secret>);

impl Written for Secrets {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(list) = value.as_array() else {
            return Err(format!(
                "expected a list of texts, [\"..\", \"..\"], found {}",
                kind(value)
            ));
        };
        let secrets = list.iter().map(|item| Secret::from_toml(item.get_ref()));
        secrets.collect::<Result<_, _>>().map(Self)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(Secret::from_text).collect::<Result<_, _>>().map(Self)
    }

    fn to_toml(&self) -> Option<String> {
        let shown: Vec<String> = self.0.iter().filter_map(Written::to_toml).collect();
        Some(format!("[{}]", shown.join(", ")))
    }
}

/// Hashes of tokens: one, or several while a token is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hashes(pub(crate) Vec<String>);

impl Written for Hashes {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(list) = value.as_array() else {
            return String::from_toml(value).map(|hash| Self(vec![hash]));
        };
        let hashes = list.iter().map(|item| String::from_toml(item.get_ref()));
        hashes.collect::<Result<_, _>>().map(Self)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Vec::from_text(text).map(Self)
    }

    fn to_toml(&self) -> Option<String> {
        match self.0.as_slice() {
            [] => Some(quoted("")),
            [hash] => hash.to_toml(),
            hashes => hashes.to_vec().to_toml(),
        }
    }
}

/// Where the jobs are. Its password is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(pub(crate) String);

impl StoreUrl {
    /// For people: without a password, and without options, which may hold one as well.
    pub(crate) fn shown(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return if self.0.starts_with("sqlite:") {
                self.0.clone()
            } else {
                "(unreadable)".to_owned()
            };
        };
        if scheme == "sqlite" {
            return self.0.clone();
        }
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let rest = match rest.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((user, _)) => format!("{user}:***@{host}"),
                None => format!("{user}@{host}"),
            },
            None => rest.to_owned(),
        };
        format!("{scheme}://{rest}")
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Written for StoreUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.shown()))
    }
}

/// A counting scheme that was found to make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme(pub(crate) String);

impl Written for Rate {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: turnabout::Error| error.to_string())
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Written for Scheme {
    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse::<turnabout::turn::Scheme>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

/// How many jobs of a group run at a time: a number over all executors, or a share of the slots of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Running {
    Jobs(u32),
    /// In percent.
    Share(u32),
}

impl Running {
    /// The number.
    pub(crate) fn jobs(self) -> Option<u32> {
        match self {
            Self::Jobs(jobs) => Some(jobs),
            Self::Share(_) => None,
        }
    }

    /// The share.
    pub(crate) fn share(self) -> Option<u32> {
        match self {
            Self::Jobs(_) => None,
            Self::Share(percent) => Some(percent),
        }
    }
}

impl Written for Running {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some(text) => Self::from_text(text),
            None => u32::from_toml(value).map(Self::Jobs),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let unclear = || format!("`{text}` is neither a whole number nor a share of the slots such as \"50 %\"");
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Jobs).map_err(|_| unclear()),
            Some(percent) => match percent.trim_end().parse() {
                Ok(percent @ 1..=100) => Ok(Self::Share(percent)),
                _ => Err(unclear() + ", from 1 to 100"),
            },
        }
    }

    fn to_toml(&self) -> Option<String> {
        match self {
            Self::Jobs(jobs) => jobs.to_toml(),
            Self::Share(percent) => Some(quoted(&format!("{percent} %"))),
        }
    }
}

/// So many bytes: `1 MiB`, `500 kB`, or a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl Written for Size {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        match (value.as_str(), value.as_integer()) {
            (Some(text), _) => Self::from_text(text),
            (None, Some(number)) => Self::from_text(number.as_str()),
            (None, None) => Err(format!("expected a size such as \"1 MiB\", found {}", kind(value))),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a size; write it as `1 MiB`, `500 kB` or in bytes");
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number, *unit)))
            .unwrap_or((text, 1));
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        number.checked_mul(unit).map(Self).ok_or_else(wrong)
    }

    fn to_toml(&self) -> Option<String> {
        let exact = |(_, unit): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*unit);
        Some(match UNITS.iter().find(exact) {
            Some((name, unit)) => quoted(&format!("{} {name}", self.0 / unit)),
            None => "0".to_owned(),
        })
    }
}

/// Some of the codes from 1 to 255 with which programs end: `[2, "64-74"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExitCodes(Vec<(u8, u8)>);

impl ExitCodes {
    pub(crate) fn contains(&self, code: i32) -> bool {
        self.0
            .iter()
            .any(|&(first, last)| (i32::from(first)..=i32::from(last)).contains(&code))
    }

    fn range(text: &str) -> Result<(u8, u8), String> {
        let wrong = || format!("`{text}` is neither an exit code from 1 to 255 nor a range of such, as in \"64-74\"");
        let code = |text: &str| {
            text.trim()
                .parse::<u8>()
                .ok()
                .filter(|code| *code > 0)
                .ok_or_else(wrong)
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (code(first)?, code(last)?);
        if first > last {
            return Err(wrong());
        }
        Ok((first, last))
    }
}

impl Written for ExitCodes {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(list) = value.as_array() else {
            return Err(format!(
                "expected a list of exit codes, such as [2, \"64-74\"], found {}",
                kind(value)
            ));
        };
        let item = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::String(text) => Self::range(text),
            DeValue::Integer(number) => Self::range(number.as_str()),
            other => Err(format!("expected an exit code, found {}", kind(other))),
        };
        Ok(Self(list.iter().map(item).collect::<Result<_, _>>()?))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self(parts.map(Self::range).collect::<Result<_, _>>()?))
    }

    fn to_toml(&self) -> Option<String> {
        let codes: Vec<String> = self
            .0
            .iter()
            .map(|&(first, last)| {
                if first == last {
                    first.to_string()
                } else {
                    quoted(&format!("{first}-{last}"))
                }
            })
            .collect();
        Some(format!("[{}]", codes.join(", ")))
    }
}

/// HTTP statuses of a task's errors, by their codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statuses(pub(crate) BTreeMap<String, u16>);

impl Written for Statuses {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(table) = value.as_table() else {
            return Err(format!("expected a table, {{ CODE = 422 }}, found {}", kind(value)));
        };
        let mut statuses = BTreeMap::new();
        for (code, status) in table {
            let number = match status.get_ref() {
                DeValue::Integer(number) => number.as_str().parse().ok(),
                _ => None,
            };
            let Some(number) = number.filter(|number| (400..=599).contains(number)) else {
                return Err(format!(
                    "`{}`: the status of an error is a number from 400 to 599",
                    code.get_ref()
                ));
            };
            statuses.insert(code.get_ref().to_string(), number);
        }
        Ok(Self(statuses))
    }

    fn from_text(_: &str) -> Result<Self, String> {
        Err("a table can only be written in the file".to_owned())
    }

    fn to_toml(&self) -> Option<String> {
        let pairs: Vec<String> = self
            .0
            .iter()
            .map(|(code, status)| format!("{} = {status}", quoted(code)))
            .collect();
        Some(if pairs.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{ {} }}", pairs.join(", "))
        })
    }
}

/// Makes an enum of words that a setting can be.
macro_rules! choice {
    ($(#[$doc:meta])* $Name:ident { $($(#[$vdoc:meta])* $Variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $Name { $($(#[$vdoc])* $Variant),+ }

        impl Written for $Name {
            fn from_text(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$Variant),)+
                    _ => Err(format!("`{text}` is none of {}", [$($word),+].join(", "))),
                }
            }

            fn to_toml(&self) -> Option<String> {
                Some(quoted(match self { $(Self::$Variant => $word),+ }))
            }
        }
    };
}

choice! {
    /// What a program finds on its standard input.
    Stdin {
        /// The job's arguments, as JSON.
        Arguments = "arguments",
        /// Nothing.
        Nothing = "nothing",
    }
}

choice! {
    /// What becomes the result of a job that runs a program.
    ResultFrom {
        /// There is none.
        Nothing = "nothing",
        /// The last line that it writes to standard output, which must be JSON.
        LastLine = "last-line",
    }
}

choice! {
    /// How the program writes its own log.
    LogFormat {
        /// Lines for people.
        Text = "text",
        /// One JSON object in each line.
        Json = "json",
    }
}

choice! {
    /// Who makes tables and brings them up to date.
    Migrate {
        /// Whoever runs jobs.
        Auto = "auto",
        /// Only `turnabout migrate`.
        Manual = "manual",
    }
}

choice! {
    /// How JWTs are signed.
    JwtSigned {
        /// By a secret that both sides know.
        Hs256 = "HS256",
        /// By a private key whose public half is known here.
        EdDsa = "EdDSA",
    }
}
