//! Names and the small map: what every database and every terminal can hold.

use crate::error::{Error, Result};
use crate::job::Meta;

/// No name is longer, in bytes.
pub(crate) const MAX_NAME: usize = 200;
/// No job carries more entries in its meta.
const MAX_META: usize = 32;
/// Keys and values of a job's meta together are no longer, in bytes.
const MAX_META_BYTES: usize = 4096;
/// No subject is longer, in bytes.
const MAX_SUBJECT: usize = 200;

/// A name of any kind: a key, and nothing that looks like another name and is none.
pub(crate) fn name(what: &'static str, text: &str) -> Result<()> {
    key(what, text)?;
    if text.trim() != text {
        let why = format!("`{text}` begins or ends with a blank; write it without");
        return Err(Error::invalid(what, why));
    }
    if let Some(unseen) = text.chars().find(|c| is_unseen(*c)) {
        let why = format!("it contains {unseen:?}, which nobody can see; write it without");
        return Err(Error::invalid(what, why));
    }
    Ok(())
}

/// Signs without width, and those that turn the direction of writing. (Two that join letters belong to some languages.)
fn is_unseen(sign: char) -> bool {
    matches!(sign, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Not empty, not too long, and nothing in it that a terminal or a database chokes on.
pub(crate) fn key(what: &'static str, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid(what, "it is empty; give it a name"));
    }
    if text.len() > MAX_NAME {
        return Err(Error::invalid(
            what,
            format!("it has {} bytes; at most {MAX_NAME} are allowed", text.len()),
        ));
    }
    if let Some(bad) = text.chars().find(|c| c.is_control()) {
        return Err(Error::invalid(
            what,
            format!("it contains the control character {bad:?}; use printable characters only"),
        ));
    }
    Ok(())
}

/// A group's name may be a path.
pub(crate) fn group_name(text: &str) -> Result<()> {
    name("group", text)?;
    if text.split('/').any(str::is_empty) {
        return Err(Error::invalid(
            "group",
            format!("`{text}` begins or ends with `/` or has `//`; write a path as `acme/alice`"),
        ));
    }
    Ok(())
}

pub(super) fn meta(meta: &Meta) -> Result<()> {
    for (key, value) in meta {
        self::key("meta key", key)?;
        if value.contains('\0') {
            return Err(Error::invalid(
                "meta",
                format!("the value of `{key}` contains a NUL byte"),
            ));
        }
    }
    let bytes: usize = meta.iter().map(|(key, value)| key.len() + value.len()).sum();
    if meta.len() > MAX_META || bytes > MAX_META_BYTES {
        return Err(Error::invalid(
            "meta",
            format!(
                "it has {} entries of {bytes} bytes together; at most {MAX_META} entries and {MAX_META_BYTES} bytes \
                 are allowed",
                meta.len()
            ),
        ));
    }
    Ok(())
}

/// One line for people: what breaks lines is a space, and what is too long is cut off.
pub(crate) fn subject(text: &str) -> Option<String> {
    let mut line = text.trim().replace(char::is_control, " ");
    if line.len() > MAX_SUBJECT {
        line.truncate(line.floor_char_boundary(MAX_SUBJECT - 3));
        line.push_str(" ..");
    }
    (!line.is_empty()).then_some(line)
}
