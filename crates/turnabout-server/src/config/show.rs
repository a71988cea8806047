//! What is in force, with where it came from; and the reference file, with everything that there is.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use super::section::Section;
use super::{Config, Group, Origin, Queue, Schedule, Task, Token, Webhook, dotted, variable};

/// All sections, in the order of the file.
fn sections(config: &Config) -> Vec<(String, &dyn Section)> {
    let fixed = Config::FIXED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), config.fixed(name)?)));
    let tasks = config
        .tasks
        .iter()
        .map(|(name, task)| (format!("tasks.{name}"), task as &dyn Section));
    let schedules = config
        .schedules
        .iter()
        .map(|(name, schedule)| (format!("schedules.{name}"), schedule as &dyn Section));
    let groups = config
        .groups
        .iter()
        .map(|(name, group)| (format!("groups.{name}"), group as &dyn Section));
    let queues = config
        .queues
        .iter()
        .map(|(name, queue)| (format!("queues.{name}"), queue as &dyn Section));
    let tokens = config
        .tokens
        .iter()
        .map(|(name, token)| (format!("tokens.{name}"), token as &dyn Section));
    let webhooks = config
        .webhooks
        .iter()
        .map(|(name, hook)| (format!("webhooks.{name}"), hook as &dyn Section));
    fixed
        .chain(tasks)
        .chain(schedules)
        .chain(groups)
        .chain(queues)
        .chain(tokens)
        .chain(webhooks)
        .collect()
}

/// A name as it is written between the brackets of a section.
pub(crate) fn header(section: &str) -> String {
    let part = |part: &str| {
        let bare = !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if bare {
            part.to_owned()
        } else {
            super::value::quoted(part)
        }
    };
    match section.split_once('.') {
        Some((kind, name)) => format!("{kind}.{}", part(name)),
        None => section.to_owned(),
    }
}

/// What is in force, as a file, with a comment on where each value came from.
pub(crate) fn show(config: &Config) -> String {
    let text = config.file.as_ref().map_or("", |file| file.text.as_str());
    let mut out = String::new();
    for (section, part) in sections(config) {
        if !section.is_empty() {
            let _ = write!(out, "\n[{}]\n", header(&section));
        }
        for setting in part.table() {
            let key = setting.key();
            let origin = config.origin(&dotted(&section, &key));
            let line = match part.get(setting.field).map(plain) {
                Some(value) => format!("{key} = {value}"),
                // Of a task or a group only what was given is of interest.
                None if section.contains('.') => continue,
                None => format!("# {key} is not set"),
            };
            if section.contains('.') && *origin == Origin::Default {
                continue;
            }
            let _ = writeln!(out, "{line:<50}  # {}", origin.words(text));
        }
    }
    out
}

/// A value without what may be secret in an address: who calls, and what is asked for.
fn plain(value: String) -> String {
    let Some((before, rest)) = value.split_once("://") else {
        return value;
    };
    let end = rest.find(['/', '"', ' ']).unwrap_or(rest.len());
    let rest = match rest[..end].rfind('@') {
        Some(at) if !rest[..at].contains("***") => format!("***{}", &rest[at..]),
        _ => rest.to_owned(),
    };
    let (rest, asks) = match rest.split_once('?') {
        Some((rest, _)) => (rest.to_owned(), "?***\""),
        None => (rest, ""),
    };
    format!("{before}://{rest}{asks}")
}

/// The same for programs.
pub(crate) fn show_json(config: &Config) -> Value {
    let text = config.file.as_ref().map_or("", |file| file.text.as_str());
    let mut settings = Map::new();
    for (section, part) in sections(config) {
        for setting in part.table() {
            let name = dotted(&section, &setting.key());
            let value = part
                .get(setting.field)
                .map_or(Value::Null, |value| to_json(&plain(value)));
            let origin = config.origin(&name).words(text);
            settings.insert(name, json!({ "value": value, "origin": origin }));
        }
    }
    Value::Object(settings)
}

/// A value that we wrote as TOML, as JSON.
fn to_json(text: &str) -> Value {
    fn convert(value: &DeValue<'_>) -> Value {
        match value {
            DeValue::Boolean(flag) => (*flag).into(),
            DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Value::Null, Value::from),
            DeValue::Array(list) => list.iter().map(|item| convert(item.get_ref())).collect(),
            DeValue::Table(table) => {
                let pairs = table
                    .iter()
                    .map(|(key, value)| (key.get_ref().to_string(), convert(value.get_ref())));
                Value::Object(pairs.collect())
            }
            DeValue::String(text) => text.as_ref().into(),
            // We write neither.
            DeValue::Float(_) | DeValue::Datetime(_) => Value::Null,
        }
    }
    DeValue::parse(text).map_or(Value::Null, |value| convert(value.get_ref()))
}

/// The reference file: every setting with its default, as a comment.
pub(crate) fn reference() -> String {
    let mut out = String::from(
        "# Settings of turnabout. All of them may be left out; what stands here are the defaults, or examples where there\n\
         # is no default. Durations: \"90s\", \"5 minutes\", \"1 day 2h\". Sizes: \"1 MiB\", \"500 kB\".\n\
         #\n\
         # A variable of the environment goes before the file, a flag before both. `turnabout config` shows what is in\n\
         # force and where it came from. Changes of what is marked with [live] take effect while the program runs, as soon\n\
         # as the file is saved or the program gets SIGHUP, and so do those of tasks, schedules, groups, queues, tokens and\n\
         # webhooks; the rest when it is started again.\n\
         #\n\
         # This file is written by `turnabout config --reference`.\n",
    );
    let config = Config::default();
    for section in Config::FIXED {
        if let Some(part) = config.fixed(section) {
            describe(&mut out, section, section, part);
        }
    }
    describe(&mut out, "tasks.NAME", "tasks.extract-text", &Task::default());
    describe(&mut out, "schedules.NAME", "schedules.nightly", &Schedule::default());
    describe(&mut out, "groups.NAME", "groups.acme", &Group::default());
    describe(&mut out, "queues.NAME", "queues.ocr", &Queue::default());
    describe(&mut out, "tokens.NAME", "tokens.acme", &Token::default());
    describe(&mut out, "webhooks.NAME", "webhooks.acme", &Webhook::default());
    out
}

fn describe(out: &mut String, section: &str, example: &str, part: &dyn Section) {
    out.push('\n');
    for line in part.about() {
        let _ = writeln!(out, "#{line}");
    }
    let named = section.contains('.');
    if named {
        let _ = writeln!(out, "#[{example}]");
    } else if !section.is_empty() {
        let _ = writeln!(out, "[{section}]");
    }
    for setting in part.table() {
        out.push('\n');
        for line in setting.about {
            let _ = writeln!(out, "#{line}");
        }
        let key = setting.key();
        if !named {
            let mut ways = vec![variable(&dotted(section, &key))];
            ways.extend(setting.flag.map(|flag| format!("--{flag}")));
            let live = if setting.live { " [live]" } else { "" };
            let _ = writeln!(out, "# ({}){live}", ways.join(", "));
        }
        let value = match (part.get(setting.field), setting.sample) {
            (Some(value), None) => value,
            (_, Some(sample)) => sample.to_owned(),
            (None, None) => String::new(),
        };
        let _ = writeln!(out, "#{key} = {value}");
    }
}
