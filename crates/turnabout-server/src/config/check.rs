//! What makes no sense together, or at all. Found before anything starts, and told with its place in the file.

use super::kinds::Running;
use super::trouble::{Origin, Trouble};
use super::value::Inherit;
use super::{Config, Task};
use crate::tasks::template::Template;

/// Settings of a task that only make sense for a program, and those only for a URL.
const OF_COMMANDS: [&str; 7] = [
    "folder",
    "environment",
    "stdin",
    "result",
    "permanent-codes",
    "max-output",
    "command",
];
const OF_URLS: [&str; 4] = ["headers", "secret", "secret-file", "url"];

pub(super) fn check(config: &Config, troubles: &mut Vec<Trouble>) {
    let mut complain = |name: &str, message: String| {
        let origin: Origin = config.origin(name).clone();
        troubles.push(Trouble { origin, message });
    };
    let executor = &config.executor;
    if executor.pool_size == Some(0) {
        complain("executor.pool-size", "an executor has at least one slot".to_owned());
    }
    if executor.queues.is_empty() {
        complain("executor.queues", "an executor serves at least one queue".to_owned());
    }
    if executor.lease < executor.heartbeat * 3 {
        let message = "a lease lasts at least three heartbeats (executor.heartbeat)".to_owned();
        complain("executor.lease", message);
    }
    if config.store.connections == 0 {
        complain("connections", "at least one connection is needed".to_owned());
    }
    if let Err(error) = super::access::prefix(config.api.prefix.as_deref().unwrap_or_default()) {
        complain("api.prefix", error.to_string());
    }
    if let Err(error) = super::access::signing(&config.api) {
        complain("api.signing-keys", error.to_string());
    }
    if let Err(error) = super::access::tls(&config.api) {
        complain("api.tls-certificate-file", error.to_string());
    }
    if let Err(error) = super::access::jwt(&config.api) {
        complain("api.jwt-keys-file", error.to_string());
    }
    if let Err(error) = super::access::links(&config.links) {
        complain("links", error.to_string());
    }
    let all = &config.group_defaults;
    let defaults = (
        "group-defaults".to_owned(),
        all.weight,
        all.max_running,
        all.max_unfinished,
        all.max_unknown_tasks,
    );
    let groups = config.groups.iter().map(|(name, group)| {
        let section = format!("groups.{name}");
        let limits = (group.max_unfinished, group.max_unknown_tasks);
        (section, group.weight, group.max_running, limits.0, limits.1)
    });
    for (section, weight, max_running, max_unfinished, max_unknown_tasks) in groups.chain([defaults]) {
        let full = |key: &str| format!("{section}.{key}");
        let heaviest = turnabout::group::GroupSettings::MAX_WEIGHT;
        if weight.is_some_and(|weight| !(1..=heaviest).contains(&weight)) {
            let message = format!("a weight is from 1 to {heaviest}; pause a group to give it nothing");
            complain(&full("weight"), message);
        }
        if max_unfinished == Some(0) {
            let message = "0 would never let a job in; allow at least 1".to_owned();
            complain(&full("max-unfinished"), message);
        }
        if max_unknown_tasks == Some(0) {
            let message = "0 would let nobody submit before an executor has run; allow at least 1".to_owned();
            complain(&full("max-unknown-tasks"), message);
        }
        if max_running == Some(Running::Jobs(0)) {
            complain(
                &full("max-running"),
                "0 would never let a job run; use `paused = true` for that".to_owned(),
            );
        }
    }
    for (name, token) in &config.tokens {
        let is_hash = |hash: &String| {
            let hex = hash.strip_prefix("sha256:").unwrap_or_default();
            hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if token.hash.0.is_empty() || !token.hash.0.iter().all(is_hash) {
            let message = "`hash` is not the hash of a token; `turnabout token` makes one".to_owned();
            complain(&format!("tokens.{name}"), message);
        }
        if let Err(error) = super::access::allowed(token) {
            complain(&format!("tokens.{name}"), error.to_string());
        }
    }
    for (name, hook) in &config.webhooks {
        if let Err(error) = super::access::webhook(name, hook) {
            complain(&format!("webhooks.{name}"), error.to_string());
        }
        if hook.max_running == 0 {
            let message = "0 would never let a message go".to_owned();
            complain(&format!("webhooks.{name}.max-running"), message);
        }
    }
    for (name, schedule) in &config.schedules {
        if let Err(error) = schedule.declared(name) {
            let full = match &error {
                turnabout::Error::Invalid { what, .. } => format!("schedules.{name}.{}", key_of(what)),
                _ => format!("schedules.{name}"),
            };
            let known = *config.origin(&full) != Origin::Default;
            let full = if known { full } else { format!("schedules.{name}") };
            complain(&full, error.to_string());
        }
    }
    for (name, task) in &config.tasks {
        for (key, message) in task_mistakes(name, task, config) {
            let full = if key.is_empty() {
                format!("tasks.{name}")
            } else {
                format!("tasks.{name}.{key}")
            };
            complain(&full, message);
        }
    }
}

/// What the file calls what the library speaks of.
fn key_of(what: &str) -> &str {
    match what {
        "arguments" => "args",
        other => other,
    }
}

/// What is wrong with a task: of which setting, and what. No setting: of the task as a whole.
fn task_mistakes(name: &str, task: &Task, config: &Config) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let mut wrong = |key: &'static str, message: &str| found.push((key, message.to_owned()));
    if name.is_empty() {
        wrong("", "a task needs a name");
    }
    if name.starts_with(crate::api::WEBHOOK_TASK) {
        wrong("", "names that begin so are for webhooks: write [webhooks.NAME]");
    }
    if task.max_running == Some(0) {
        wrong(
            "max-running",
            "0 would never let a job run; use `paused = true` for that",
        );
    }
    if task.max_running_each == Some(0) {
        wrong(
            "max-running-each",
            "0 would never let a job run; use `paused = true` for that",
        );
    }
    if task.secret.is_some() && task.secret_file.is_some() {
        wrong("secret-file", "there is a `secret` as well; one of them is enough");
    }
    if let Inherit::Own(Some(limit)) = task.time_limit
        && limit.is_zero()
    {
        wrong(
            "time-limit",
            "no attempt would have any time; write \"none\" for no limit",
        );
    }
    let given = |key: &str| *config.origin(&format!("tasks.{name}.{key}")) != Origin::Default;
    match (&task.command, &task.url) {
        (Some(_), Some(_)) => wrong("url", "a task either runs a `command` or calls a `url`"),
        (None, None) if crate::tasks::BUILT_IN.contains(&name) => {
            for key in OF_COMMANDS.into_iter().chain(OF_URLS).filter(|key| given(key)) {
                wrong(key, "this task is built in and has no such setting");
            }
        }
        (None, None) => wrong("", "it says neither what `command` it runs nor what `url` it calls"),
        (Some(command), None) => {
            if command.first().is_none_or(String::is_empty) {
                wrong("command", "it names no program");
            } else if command[0].contains('{') {
                wrong("command", "the program itself cannot come from a job's arguments");
            }
            for argument in command.iter().skip(1) {
                if let Err(message) = Template::parse(argument) {
                    wrong("command", &message);
                }
            }
            for key in OF_URLS.into_iter().filter(|key| given(key)) {
                wrong(key, "it is for tasks that call a `url`");
            }
        }
        (None, Some(url)) => {
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                wrong("url", "it has to begin with http:// or https://");
            }
            for key in OF_COMMANDS.into_iter().filter(|key| given(key)) {
                wrong(key, "it is for tasks that run a `command`");
            }
        }
    }
    found
}
