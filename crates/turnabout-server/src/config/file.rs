//! Reading the configuration file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::section::Section;
use super::trouble::{Origin, Trouble, nearest};
use super::value::{Given, kind};
use super::{Config, dotted};

/// A file as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Its name, as people know it.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Puts what the file says into the configuration.
pub(super) fn read(config: &mut Config, file: &File, troubles: &mut Vec<Trouble>) {
    let origin = |place: std::ops::Range<usize>| Origin::File(file.name.clone(), place);
    let table = match DeTable::parse(&file.text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            troubles.push(Trouble {
                origin: origin(error.span().unwrap_or(0..0)),
                message: error.message().trim().replace('\n', ", "),
            });
            return;
        }
    };
    let mut reader = Reader { config, file, troubles };
    for (key, value) in &table {
        reader.top(key, value);
    }
}

struct Reader<'a> {
    config: &'a mut Config,
    file: &'a File,
    troubles: &'a mut Vec<Trouble>,
}

impl Reader<'_> {
    fn complain(&mut self, place: std::ops::Range<usize>, message: String) {
        let origin = Origin::File(self.file.name.clone(), place);
        self.troubles.push(Trouble { origin, message });
    }

    /// A key of the file itself: a setting, a section, or the tables of tasks and groups.
    fn top(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        let name = key.get_ref().as_ref();
        let Some(table) = value.get_ref().as_table() else {
            return self.setting("", key, value);
        };
        match name {
            _ if Config::NAMED.contains(&name) => {
                for (entry, value) in table {
                    self.entry(name, entry, value);
                }
            }
            _ if self.config.fixed(name).is_some() => {
                for (key, value) in table {
                    self.setting(name, key, value);
                }
            }
            _ => {
                let known = Config::FIXED.iter().copied().filter(|name| !name.is_empty());
                let message = match nearest(name, known.clone().chain(Config::NAMED.iter().copied())) {
                    Some(near) => format!("there is no section [{name}]; did you mean [{near}]?"),
                    None => format!(
                        "there is no section [{name}]; the sections are {}, tasks.NAME, groups.NAME, queues.NAME, tokens.NAME, webhooks.NAME",
                        known.collect::<Vec<_>>().join(", ")
                    ),
                };
                self.complain(key.span(), message);
            }
        }
    }

    /// `[tasks.NAME]`, `[groups.NAME]`, `[queues.NAME]`, `[tokens.NAME]` or `[webhooks.NAME]`.
    fn entry(&mut self, section: &str, entry: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        let name = entry.get_ref().to_string();
        let Some(table) = value.get_ref().as_table() else {
            let found = kind(value.get_ref());
            return self.complain(
                value.span(),
                format!("expected a table [{section}.{name}], found {found}"),
            );
        };
        let full = format!("{section}.{name}");
        let place = Origin::File(self.file.name.clone(), entry.span());
        self.config.origins.insert(full.clone(), place);
        self.config.add(section, name);
        for (key, value) in table {
            self.setting(&full, key, value);
        }
    }

    /// One setting of a section.
    fn setting(&mut self, section: &str, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        let name = key.get_ref().as_ref();
        // Underlines would work as well; then there would be two names for one setting.
        let field = name.replace('-', "_");
        let known = !name.contains('_');
        let done = match self.config.section_mut(section) {
            Some(section) if known => section.set(&field, Given::Toml(value.get_ref())),
            _ => None,
        };
        match done {
            Some(Ok(())) => {
                let origin = Origin::File(self.file.name.clone(), value.span());
                self.config.origins.insert(dotted(section, name), origin);
            }
            Some(Err(message)) => self.complain(value.span(), format!("`{name}`: {message}")),
            None => {
                let message = self.unknown(section, name);
                self.complain(key.span(), message);
            }
        }
    }

    /// What to say of a key that does not exist.
    fn unknown(&self, section: &str, name: &str) -> String {
        let place = if section.is_empty() {
            "there is no setting".to_owned()
        } else {
            format!("[{section}] has no setting")
        };
        let here: Vec<String> = self.config.section(section).map_or_else(Vec::new, keys);
        if let Some(near) = nearest(name, here.iter().map(String::as_str)) {
            return format!("{place} `{name}`; did you mean `{near}`?");
        }
        for other in Config::FIXED.iter().copied().filter(|other| *other != section) {
            let there = self.config.fixed(other).map_or_else(Vec::new, keys);
            if let Some(near) = nearest(name, there.iter().map(String::as_str)) {
                let where_ = if other.is_empty() {
                    "at the top of the file".to_owned()
                } else {
                    format!("of [{other}]")
                };
                return format!("{place} `{name}`; did you mean `{near}` {where_}?");
            }
        }
        format!("{place} `{name}`; its settings are {}", here.join(", "))
    }
}

fn keys(section: &dyn Section) -> Vec<String> {
    section.table().iter().map(super::section::Setting::key).collect()
}
