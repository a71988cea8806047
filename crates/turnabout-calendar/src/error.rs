//! What is wrong with a text, where, and what to write instead.

use std::fmt;
use std::ops::Range;

/// A text that is no expression: which part of it is wrong, why, and what to write instead.
///
/// [`Display`](fmt::Display) prints the message, and below it the text with the wrong part underlined.
///
/// ```
/// let error = turnabout_calendar::Expression::parse("0 25 * * *").unwrap_err();
/// assert_eq!(error.span(), 2..4);
/// assert_eq!(error.message(), "25 is no hour: hours go from 0 to 23");
/// assert_eq!(error.to_string(), "\
/// 25 is no hour: hours go from 0 to 23
///   0 25 * * *
///     ^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    span: Range<usize>,
    message: String,
}

impl ParseError {
    /// `span` in bytes of `text`. A text that is too long to be shown is given as an empty one.
    pub(crate) fn new(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let end = span.end.min(text.len());
        Self {
            text: text.to_owned(),
            span: span.start.min(end)..end,
            message: message.into(),
        }
    }

    /// Which bytes of the text are wrong. Empty at the end of the text if something is missing there.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What is wrong, and what to do about it, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.text.is_empty() {
            return Ok(());
        }
        // A text from outside must not move the cursor of whoever prints it.
        let shown: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let before = self.text[..self.span.start].chars().count();
        let wrong = self.text[self.span.clone()].chars().count().max(1);
        write!(f, "\n  {shown}\n  {:before$}{}", "", "^".repeat(wrong))
    }
}

impl std::error::Error for ParseError {}

/// A name that is no time zone's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneError {
    pub(crate) message: String,
    pub(crate) suggestions: Vec<String>,
}

impl ZoneError {
    /// The names that were probably meant, the likeliest first.
    pub fn suggestions(&self) -> &[String] {
        &self.suggestions
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ZoneError {}
