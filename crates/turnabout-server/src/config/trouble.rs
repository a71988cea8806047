//! What is wrong with a configuration, and where.

use std::fmt;
use std::ops::Range;

/// Where a value came from. The later ones win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody gave it.
    Default,
    /// The file: its name, and where in it.
    File(String, Range<usize>),
    /// A variable of the environment.
    Environment(String),
    /// A flag.
    Flag(String),
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) origin: Origin,
    pub(crate) message: String,
}

/// Everything that is wrong with a configuration: one has to correct it once, not once for each mistake.
#[derive(Clone, Debug)]
pub(crate) struct Troubles {
    /// The text of the file, to point at what is wrong in it.
    pub(super) text: String,
    pub(super) list: Vec<Trouble>,
}

/// The line of a place in a text, beginning with 1, what it says, and the place in it.
pub(super) fn line(text: &str, place: &Range<usize>) -> (usize, String, usize) {
    let start = place.start.min(text.len());
    let before = text.get(..start).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.to_owned(), start - begin)
}

impl Origin {
    /// For people: `turnabout.toml, line 3`.
    pub(super) fn words(&self, text: &str) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::File(name, place) => format!("{name}, line {}", line(text, place).0),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Flag(name) => format!("flag {name}"),
        }
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Trouble { origin, message }) in self.list.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {message}", origin.words(&self.text))?;
            let Origin::File(_, place) = origin else { continue };
            let (number, line, column) = line(&self.text, place);
            // Columns of the terminal, not bytes; a place may go on in the next line.
            let indent = line.get(..column).map_or(0, |part| part.chars().count());
            let marked = line.get(column..).map_or(0, |rest| rest.chars().count());
            let length = self.text.get(place.clone()).map_or(1, |part| part.chars().count());
            let gutter = number.to_string();
            let blank = " ".repeat(gutter.len());
            let marks = "^".repeat(length.clamp(1, marked.max(1)));
            let line = without_value(&line, column + self.text.get(place.clone()).map_or(0, str::len));
            write!(
                f,
                "\n{blank} |\n{gutter} | {}\n{blank} | {}{marks}",
                line.replace('\t', " "),
                " ".repeat(indent)
            )?;
        }
        Ok(())
    }
}

/// A line without what follows a place in it: the value of a key that nobody knows may be a secret. So may be that of a key which
/// sounds like one.
fn without_value(line: &str, end: usize) -> String {
    let (key, _) = line.split_once('=').unwrap_or((line, ""));
    let sounds = key.to_ascii_lowercase();
    let secret = ["secret", "password", "key", "token", "auth"];
    if key.len() < line.len() && secret.iter().any(|word| sounds.contains(word)) && !sounds.contains("file") {
        return format!("{key}= ..");
    }
    match (line.get(..end), line.get(end..)) {
        (Some(before), Some(after)) if !after.trim().is_empty() && !after.trim_start().starts_with('#') => {
            format!("{before} ..")
        }
        _ => line.to_owned(),
    }
}

impl std::error::Error for Troubles {}

/// How much two names are alike: 1 is the same.
pub(super) fn alike(a: &str, b: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(a, b)
}

/// The name that was probably meant: the nearest one, if any is near.
pub(super) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (alike(wrong, name), name))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
