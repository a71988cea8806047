//! The configuration: a file, the environment and flags, in rising order.
//!
//! `table.rs` says what there is; everything else works on any table. `value.rs` and `kinds.rs` are the types that
//! settings can have, `file.rs` reads the file, `flags.rs` the command line, `show.rs` prints what is in force and the
//! reference file, `check.rs` finds what makes no sense together, `trouble.rs` says what is wrong, and where.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub(crate) mod access;
mod check;
mod file;
mod flags;
mod kinds;
mod schedules;
pub(crate) mod section;
mod show;
mod table;
#[cfg(test)]
mod tests;
mod trouble;
pub(crate) mod value;

pub(crate) use file::File;
pub(crate) use flags::Flags;
pub(crate) use kinds::{ExitCodes, LogFormat, Migrate, ResultFrom, Running, Statuses, Stdin, StoreUrl};
pub(crate) use show::{header, reference, show, show_json};
pub(crate) use table::{
    Api, Executor, Group, GroupDefaults, Links, Log, Queue, Schedule, Store, Task, Token, Traces, Webhook,
};
pub(crate) use trouble::{Origin, Trouble, Troubles};

use section::Section;
use trouble::alike;
use value::Given;

/// The file that is read unless another one is named, if it exists.
pub(crate) const FILE: &str = "turnabout.toml";

/// What is in force, and where it came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) store: Store,
    pub(crate) executor: Executor,
    pub(crate) api: Api,
    pub(crate) links: Links,
    pub(crate) log: Log,
    pub(crate) traces: Traces,
    pub(crate) group_defaults: GroupDefaults,
    pub(crate) tasks: BTreeMap<String, Task>,
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) queues: BTreeMap<String, Queue>,
    pub(crate) schedules: BTreeMap<String, Schedule>,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) webhooks: BTreeMap<String, Webhook>,
    /// Where values came from, by their full names: `executor.pool-size`, `tasks.ocr.command`. The rest are defaults.
    pub(crate) origins: BTreeMap<String, Origin>,
    /// The file that was read, if any.
    pub(crate) file: Option<File>,
}

/// Where a configuration is to be read from. Kept, to read it again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The file, and whether it must exist.
    pub(crate) file: PathBuf,
    pub(crate) named: bool,
    /// Variables of the environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Flags: the full name of a setting, the flag's name, and what was given.
    pub(crate) flags: Vec<(String, String, String)>,
}

impl Sources {
    pub(crate) fn new(file: Option<&Path>, flags: Vec<(String, String, String)>) -> Self {
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            // A value that is no text is no value of ours: reading it as one says so.
            Some((name, value.to_string_lossy().into_owned()))
        });
        Self {
            file: file.map_or_else(|| PathBuf::from(FILE), Path::to_path_buf),
            named: file.is_some(),
            environment: environment.filter(|(name, _)| name.starts_with(PREFIX)).collect(),
            flags,
        }
    }

    /// Reads everything.
    pub(crate) fn read(&self) -> anyhow::Result<Config> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => Some(text),
            Err(error) if !self.named && error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the configuration {}", self.file.display()));
            }
        };
        let file = text.map(|text| File {
            name: self.file.display().to_string(),
            text,
        });
        Ok(Config::from(file, &self.environment, &self.flags)?)
    }
}

/// What the names of our variables begin with.
const PREFIX: &str = "TURNABOUT_";

/// Those that are for other purposes: the command line's, and what programs are told about their jobs.
const OTHERS: [&str; 10] = [
    "CONFIG",
    "SERVER",
    "TOKEN",
    "TOKEN_FILE",
    "JOB_ID",
    "TASK",
    "GROUP",
    "OWNER",
    "ATTEMPT",
    "LAST_ATTEMPT",
];

/// The variable that gives a setting: `executor.pool-size` is `TURNABOUT_EXECUTOR_POOL_SIZE`.
fn variable(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if matches!(c, '.' | '-') {
                '_'
            } else {
                c.to_ascii_uppercase()
            }
        })
        .collect();
    format!("{PREFIX}{name}")
}

/// A setting's full name.
fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

impl Config {
    /// The sections of which there is exactly one. The first is the top of the file.
    pub(crate) const FIXED: &[&str] = &["", "executor", "api", "links", "log", "traces", "group-defaults"];

    /// The sections of which there are as many as there are names.
    const NAMED: &[&str] = &["tasks", "schedules", "groups", "queues", "tokens", "webhooks"];

    /// A further one of those.
    fn add(&mut self, section: &str, name: String) {
        match section {
            "tasks" => drop(self.tasks.insert(name, Task::default())),
            "groups" => drop(self.groups.insert(name, Group::default())),
            "queues" => drop(self.queues.insert(name, Queue::default())),
            "schedules" => drop(self.schedules.insert(name, Schedule::default())),
            "webhooks" => drop(self.webhooks.insert(name, Webhook::default())),
            _ => drop(self.tokens.insert(name, Token::default())),
        }
    }

    fn fixed(&self, name: &str) -> Option<&dyn Section> {
        Some(match name {
            "" => &self.store,
            "executor" => &self.executor,
            "api" => &self.api,
            "links" => &self.links,
            "log" => &self.log,
            "traces" => &self.traces,
            "group-defaults" => &self.group_defaults,
            _ => return None,
        })
    }

    pub(crate) fn section(&self, name: &str) -> Option<&dyn Section> {
        match name.split_once('.') {
            Some(("tasks", task)) => self.tasks.get(task).map(|task| task as &dyn Section),
            Some(("groups", group)) => self.groups.get(group).map(|group| group as &dyn Section),
            Some(("queues", queue)) => self.queues.get(queue).map(|queue| queue as &dyn Section),
            Some(("schedules", name)) => self.schedules.get(name).map(|it| it as &dyn Section),
            Some(("tokens", token)) => self.tokens.get(token).map(|token| token as &dyn Section),
            Some(("webhooks", hook)) => self.webhooks.get(hook).map(|hook| hook as &dyn Section),
            _ => self.fixed(name),
        }
    }

    fn section_mut(&mut self, name: &str) -> Option<&mut dyn Section> {
        match name.split_once('.') {
            Some(("tasks", task)) => self.tasks.get_mut(task).map(|task| task as &mut dyn Section),
            Some(("groups", group)) => self.groups.get_mut(group).map(|group| group as &mut dyn Section),
            Some(("queues", queue)) => self.queues.get_mut(queue).map(|queue| queue as &mut dyn Section),
            Some(("schedules", name)) => self.schedules.get_mut(name).map(|it| it as &mut dyn Section),
            Some(("tokens", token)) => self.tokens.get_mut(token).map(|token| token as &mut dyn Section),
            Some(("webhooks", hook)) => self.webhooks.get_mut(hook).map(|hook| hook as &mut dyn Section),
            _ => Some(match name {
                "" => &mut self.store,
                "executor" => &mut self.executor,
                "api" => &mut self.api,
                "links" => &mut self.links,
                "log" => &mut self.log,
                "traces" => &mut self.traces,
                "group-defaults" => &mut self.group_defaults,
                _ => return None,
            }),
        }
    }

    /// The settings that differ from those of another configuration, and take effect only at a start.
    pub(crate) fn differing(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for section in Self::FIXED {
            let (Some(own), Some(others)) = (self.fixed(section), other.fixed(section)) else {
                continue;
            };
            let changed = own
                .table()
                .iter()
                .filter(|setting| !setting.live && own.get(setting.field) != others.get(setting.field));
            found.extend(changed.map(|setting| dotted(section, &setting.key())));
        }
        found
    }

    /// Whether there is the task `sleep`. Where there is no other, it takes nobody's slot.
    pub(crate) fn has_sleep(&self) -> bool {
        let harmless = || self.api.address.ip().is_loopback() || self.tasks.is_empty();
        self.executor.sleep.unwrap_or_else(harmless)
    }

    /// The name under which the schedules of the file are declared: the file's, without its folder, so that servers with
    /// copies of one file agree.
    pub(crate) fn schedules_by(&self) -> String {
        let file = self.file.as_ref().map_or(FILE, |file| file.name.as_str());
        let name = Path::new(file).file_name();
        name.map_or_else(|| FILE.to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Where a setting's value came from.
    pub(crate) fn origin(&self, name: &str) -> &Origin {
        self.origins.get(name).unwrap_or(&Origin::Default)
    }

    fn from(
        file: Option<File>,
        environment: &[(String, String)],
        flags: &[(String, String, String)],
    ) -> Result<Self, Troubles> {
        let mut config = Self::default();
        let mut list = Vec::new();
        if let Some(file) = &file {
            file::read(&mut config, file, &mut list);
        }
        for (name, value) in environment {
            config.read_variable(name, value, &mut list);
        }
        for (name, flag, value) in flags {
            let origin = Origin::Flag(flag.clone());
            config.give(name, value, origin, &mut list);
        }
        config.file = file;
        if list.is_empty() {
            check::check(&config, &mut list);
        }
        if list.is_empty() {
            return Ok(config);
        }
        let text = config.file.map(|file| file.text).unwrap_or_default();
        // In the order of the file, as one corrects it.
        list.sort_by_key(|trouble| match &trouble.origin {
            Origin::File(_, place) => place.start,
            _ => usize::MAX,
        });
        Err(Troubles { text, list })
    }

    /// One variable of the environment. Other programs' are passed over, and so are our own for other purposes.
    fn read_variable(&mut self, name: &str, value: &str, troubles: &mut Vec<Trouble>) {
        let settings = Self::FIXED.iter().flat_map(|section| {
            let table = self.fixed(section).map_or(&[][..], Section::table);
            table.iter().map(|setting| dotted(section, &setting.key()))
        });
        let known: Vec<(String, String)> = settings.map(|full| (variable(&full), full)).collect();
        let origin = Origin::Environment(name.to_owned());
        if let Some((_, full)) = known.iter().find(|(variable, _)| variable == name) {
            return self.give(full, value, origin, troubles);
        }
        let sections = Self::FIXED.iter().filter(|section| !section.is_empty());
        let ours = sections
            .map(|section| variable(section) + "_")
            .any(|prefix| name.starts_with(&prefix));
        // What all begin with makes none of them alike.
        let short = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        let near = known
            .iter()
            .map(|(variable, _)| (alike(&short(name), &short(variable)), variable));
        let near = near.filter(|(likeness, _)| *likeness >= if ours { 0.5 } else { 0.75 });
        let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, variable)| variable);
        // Of those that are not in a section, a database that is not the one that was meant would be noticed late.
        if ours || (near.is_some() && !OTHERS.contains(&short(name).as_str())) {
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let message = format!("there is no such setting{hint}");
            troubles.push(Trouble { origin, message });
        }
    }

    /// Gives a setting a value that is written as a text.
    fn give(&mut self, name: &str, value: &str, origin: Origin, troubles: &mut Vec<Trouble>) {
        let (section, key) = name.rsplit_once('.').unwrap_or(("", name));
        let field = key.replace('-', "_");
        match self
            .section_mut(section)
            .and_then(|section| section.set(&field, Given::Text(value)))
        {
            Some(Ok(())) => {
                self.origins.insert(name.to_owned(), origin);
            }
            Some(Err(message)) => troubles.push(Trouble { origin, message }),
            None => {
                let message = format!("there is no setting `{name}`; `turnabout config --reference` lists them all");
                troubles.push(Trouble { origin, message });
            }
        }
    }
}
