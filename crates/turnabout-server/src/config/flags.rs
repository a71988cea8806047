//! Flags of the command line that give settings: made from the table, so that each is described once.

use clap::{Arg, ArgMatches};

use super::{Config, dotted};

/// The flags that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The full name of a setting, the flag's name, and what was given.
    pub(crate) given: Vec<(String, String, String)>,
}

/// A further name of a flag.
const ALIASES: [(&str, &str); 2] = [("pool-size", "slots"), ("queue", "queues")];

/// For each setting with a flag: its full name, and the flag.
fn flags() -> Vec<(String, Arg)> {
    let config = Config::default();
    let mut flags = Vec::new();
    for section in Config::FIXED {
        let Some(part) = config.fixed(section) else { continue };
        for setting in part.table() {
            let Some(flag) = setting.flag else { continue };
            // That one belongs to all commands.
            if flag == "database" {
                continue;
            }
            let name = dotted(section, &setting.key());
            let default = part
                .get(setting.field)
                .map_or_else(String::new, |value| format!(" [default: {}]", value.trim_matches('"')));
            let mut arg = Arg::new(flag)
                .long(flag)
                .value_name("VALUE")
                .help(setting.help() + &default);
            if let Some((_, alias)) = ALIASES.iter().find(|(of, _)| *of == flag) {
                arg = arg.visible_alias(*alias);
            }
            if flag == "queue" {
                arg = arg.action(clap::ArgAction::Append);
            }
            flags.push((name, arg));
        }
    }
    flags
}

impl clap::Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let set = Arg::new("set")
            .long("set")
            .value_name("KEY=VALUE")
            .action(clap::ArgAction::Append)
            .help("Any other setting, by its full name: `--set executor.grace=5s`; may be given several times");
        command.args(flags().into_iter().map(|(_, arg)| arg)).arg(set)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        for (name, arg) in flags() {
            let Some(values) = matches.get_many::<String>(arg.get_id().as_str()) else {
                continue;
            };
            let values: Vec<&str> = values.map(String::as_str).collect();
            let flag = format!("--{}", arg.get_long().unwrap_or_default());
            given.push((name, flag, values.join(",")));
        }
        for pair in matches.get_many::<String>("set").into_iter().flatten() {
            let Some((name, value)) = pair.split_once('=') else {
                let message = format!("`{pair}` is not of the form KEY=VALUE, as in `--set executor.grace=5s`\n");
                return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, message));
            };
            given.push((name.trim().to_owned(), "--set".to_owned(), value.trim().to_owned()));
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
