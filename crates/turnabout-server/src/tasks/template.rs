//! An argument of a command with places to be filled from the job: `--title={args.title}`.
//!
//! What is filled in stays inside its one argument, whatever it contains: no shell ever reads it.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// An argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A value of the arguments, by its path. An empty one: all of them.
    Args(Vec<String>),
    Job,
    Group,
    Owner,
    Attempt,
}

/// What the places are filled from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) args: &'a RawValue,
    pub(crate) job: &'a str,
    pub(crate) group: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) attempt: u32,
}

impl Template {
    /// Reads an argument. `{{` and `}}` stand for single braces.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let closed = if brace == "{" { rest.split_once('}') } else { None };
            let Some((name, after)) = closed else {
                return Err(format!(
                    "in `{text}`, a `{brace}` stands alone; write `{brace}{brace}` for a brace"
                ));
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::parse(name)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// Whether what stands first is not written here.
    pub(crate) fn begins_with_a_place(&self) -> bool {
        !matches!(self.0.first(), Some(Part::Text(_)) | None)
    }

    /// Fills the places.
    pub(crate) fn fill(&self, filling: &Filling<'_>) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Args(path) => text.push_str(&find(filling.args, path)?),
                Part::Job => text.push_str(filling.job),
                Part::Group => text.push_str(filling.group),
                Part::Owner => text.push_str(filling.owner.unwrap_or_default()),
                Part::Attempt => text.push_str(&filling.attempt.to_string()),
            }
        }
        // The system takes arguments only up to a NUL.
        if text.contains('\0') {
            return Err("an argument of the command would contain a NUL character".to_owned());
        }
        Ok(text)
    }
}

impl Part {
    fn parse(name: &str) -> Result<Self, String> {
        let mut steps = name.split('.');
        let first = steps.next().unwrap_or_default();
        let path: Vec<String> = steps.map(str::to_owned).collect();
        match first {
            "args" if path.iter().all(|step| !step.is_empty()) => Ok(Self::Args(path)),
            "job" if path.is_empty() => Ok(Self::Job),
            "group" if path.is_empty() => Ok(Self::Group),
            "owner" if path.is_empty() => Ok(Self::Owner),
            "attempt" if path.is_empty() => Ok(Self::Attempt),
            _ => Err(format!(
                "`{{{name}}}` is none of {{args.NAME}}, {{args}}, {{job}}, {{group}}, {{owner}}, {{attempt}}; write `{{{{` for \
                 a brace"
            )),
        }
    }
}

/// A value of the arguments as a text. Numbers, lists and objects stay as they are written.
fn find(args: &RawValue, path: &[String]) -> Result<String, String> {
    let mut value = args;
    for step in path {
        value = inside(value, step).ok_or_else(|| {
            let name = path.join(".");
            format!("the arguments of the job have no `{name}`, which its command needs")
        })?;
    }
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).map_err(|error| error.to_string()),
        Some(b'n') => Ok(String::new()),
        _ => Ok(text.to_owned()),
    }
}

/// A part of a list, by its number, or of an object, by its name.
fn inside<'a>(value: &'a RawValue, step: &str) -> Option<&'a RawValue> {
    let text = value.get();
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return list.get(step.parse::<usize>().ok()?).copied();
    }
    let mut object: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    object.remove(step)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(template: &str, args: &Value) -> Result<String, String> {
        filled_from(template, &args.to_string())
    }

    fn filled_from(template: &str, args: &str) -> Result<String, String> {
        let filling = Filling {
            args: serde_json::from_str(args).expect("JSON"),
            job: "j",
            group: "acme",
            owner: None,
            attempt: 2,
        };
        Template::parse(template)?.fill(&filling)
    }

    #[test]
    fn places_are_filled_and_what_is_filled_in_is_not_read_again() {
        let args = json!({ "path": "a b\"'\n{args.secret}", "page": { "number": 7 }, "list": ["x", "y"], "on": true });
        for (template, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("{args.path}", "a b\"'\n{args.secret}"),
            ("-p{args.page.number}:{args.list.1}:{args.on}", "-p7:y:true"),
            ("{{{group}}}/{attempt}{owner}{job}", "{acme}/2j"),
            ("{args.page}", "{\"number\":7}"),
        ] {
            assert_eq!(filled(template, &args).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let args = r#"{ "id": 123456789012345678901234567890, "list": [0.1000000000000000055511151231257827, 1e2],
            "a\u0062": null, "id2": "\u00e9" }"#;
        for (template, expected) in [
            ("{args.id}", "123456789012345678901234567890"),
            ("{args.list.0}", "0.1000000000000000055511151231257827"),
            ("{args.list}", "[0.1000000000000000055511151231257827, 1e2]"),
            ("<{args.ab}>", "<>"),
            ("{args.id2}", "\u{e9}"),
        ] {
            assert_eq!(filled_from(template, args).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_is_missing_or_impossible_is_said() {
        let args = json!({ "nul": "a\0b" });
        for (template, part) in [
            ("{args.path}", "have no `path`"),
            ("{args.nul}", "NUL"),
            ("{path}", "none of"),
            ("{args.}", "none of"),
            ("{args.path", "stands alone"),
            ("awk }", "stands alone"),
        ] {
            let error = filled(template, &args).expect_err(template);
            assert!(error.contains(part), "{template}: {error}");
        }
    }
}
