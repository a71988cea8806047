//! Reads a text from left to right and remembers where everything stood, so that errors can point at it.

use std::ops::Range;

use crate::error::ParseError;

/// Something that was read, and which bytes it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// A place in a text. Everything that expressions are made of is ASCII, so bytes are enough.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Scanner<'t> {
    /// Reads this part of the text only.
    pub(crate) fn new(text: &'t str, part: Range<usize>) -> Self {
        Self {
            text,
            at: part.start,
            end: part.end,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(self.at).copied()
    }

    /// The rest, unread.
    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    /// Reads this, if it comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let comes = self.text.as_bytes()[self.at..self.end].starts_with(token.as_bytes());
        if comes {
            self.at += token.len();
        }
        comes
    }

    /// Reads on as long as this holds.
    fn take(&mut self, holds: impl Fn(u8) -> bool) -> Found<&'t str> {
        let start = self.at;
        while self.peek().is_some_and(&holds) {
            self.at += 1;
        }
        Found {
            value: self.text.get(start..self.at).unwrap_or_default(),
            span: start..self.at,
        }
    }

    pub(crate) fn spaces(&mut self) {
        self.take(|b| b.is_ascii_whitespace());
    }

    /// The letters that come next, perhaps none.
    pub(crate) fn letters(&mut self) -> Found<&'t str> {
        self.take(|b| b.is_ascii_alphabetic())
    }

    /// The number that comes next, if digits do.
    pub(crate) fn number(&mut self) -> Result<Option<Found<u32>>, ParseError> {
        let digits = self.take(|b| b.is_ascii_digit());
        if digits.value.is_empty() {
            return Ok(None);
        }
        match digits.value.parse::<u32>() {
            Ok(value) if digits.value.len() <= 9 => Ok(Some(Found {
                value,
                span: digits.span,
            })),
            _ => Err(self.error(digits.span, "this number is too large")),
        }
    }

    /// What stands here up to the next space, for messages and their spans; at the end of the text, nothing.
    pub(crate) fn word_here(&self) -> Found<&'t str> {
        self.clone().take(|b| !b.is_ascii_whitespace())
    }

    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ParseError {
        // A span that begins or ends inside a character would not be one.
        let mut span = span;
        while !self.text.is_char_boundary(span.start) {
            span.start -= 1;
        }
        while !self.text.is_char_boundary(span.end) {
            span.end += 1;
        }
        ParseError::new(self.text, span, message)
    }

    /// An error at what comes next.
    pub(crate) fn error_here(&self, message: impl Into<String>) -> ParseError {
        self.error(self.word_here().span, message)
    }
}

/// The words of a text, separated by white space.
pub(crate) fn words(text: &str) -> Vec<Found<&str>> {
    let mut scanner = Scanner::new(text, 0..text.len());
    let mut words = Vec::new();
    loop {
        scanner.spaces();
        if scanner.is_done() {
            return words;
        }
        words.push(scanner.take(|b| !b.is_ascii_whitespace()));
    }
}
