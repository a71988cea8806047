//! `turnabout group`: one group, and what is set for it.

use std::process::ExitCode;

use super::global::Global;
use super::keeping::{self, Keeping};
use super::print;
use crate::api::types::{GroupChange, GroupSet, GroupSummary, Limit, RateLimit};

#[derive(Debug, clap::Args)]
pub(crate) struct Group {
    /// The group
    name: String,
    /// How many jobs it gets for each one of a group of weight 1: from 1 to 1000; `none`: as all groups have it
    #[arg(long, value_name = "N|none", value_parser = limit)]
    weight: Option<Limit>,
    /// At most so many of its jobs run at a time, over all executors; `none`: as many as there are slots
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_running: Option<Limit>,
    /// At most such a share of the slots of each executor may its jobs have, in percent; `none`: all of them
    #[arg(long, value_name = "PERCENT|none", value_parser = limit)]
    max_share: Option<Limit>,
    /// At most so many of its jobs may be unfinished, and submits past that are refused; `none`: any number
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_unfinished: Option<Limit>,
    /// So many different tasks that no executor has ever published may its unfinished jobs have; `none`: 1000
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_unknown_tasks: Option<Limit>,
    /// How often its jobs may start, over all executors: 100/s, 10/m, '10/m burst 20'; `none`: as often as there are slots
    #[arg(long, value_name = "N/PERIOD|none", value_parser = rate)]
    rate: Option<RateLimit>,
    #[command(flatten)]
    pausing: Pausing,
    #[command(flatten)]
    keeping: Keeping,
    /// Why: for whoever finds it later
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A limit as it is typed.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit(None)),
        _ => match text.parse() {
            Ok(jobs) => Ok(Limit(Some(jobs))),
            Err(_) => Err("it is neither a whole number nor `none`".to_owned()),
        },
    }
}

/// A rate as it is typed.
pub(super) fn rate(text: &str) -> Result<RateLimit, String> {
    match text {
        "none" => Ok(RateLimit(None)),
        _ => (text.parse().map(|rate| RateLimit(Some(rate)))).map_err(|error: turnabout::Error| error.to_string()),
    }
}

/// Two flags that cannot be given together.
#[derive(Debug, clap::Args)]
pub(super) struct Pausing {
    /// Take no further job of it; those that run go on
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Take jobs of it again
    #[arg(long)]
    resume: bool,
}

impl Pausing {
    /// What they say, if anything.
    pub(super) fn paused(&self) -> Option<bool> {
        (self.pause || self.resume).then_some(self.pause)
    }
}

pub(crate) async fn run(global: &Global, args: Group) -> anyhow::Result<ExitCode> {
    let change = GroupChange {
        weight: args.weight,
        max_running: args.max_running,
        max_share: args.max_share,
        max_unfinished: args.max_unfinished,
        max_unknown_tasks: args.max_unknown_tasks,
        rate: args.rate,
        paused: args.pausing.paused(),
        retention: args.keeping.change(),
        note: None,
    };
    let client = global.client().await?;
    let text = if change == GroupChange::default() {
        if args.note.is_some() {
            anyhow::bail!("a note says why something is changed; say what, too");
        }
        let group = client.group(&args.name).await?;
        if args.json {
            print::json(&group)?
        } else {
            let by = group.set.clone();
            let by = by.map(|by| ("set by", print::set_by(&by)));
            print::facts(numbers(&group).into_iter().chain(settings(&set(group))).chain(by))
        }
    } else {
        let change = GroupChange {
            note: args.note.clone(),
            ..change
        };
        let group = client.set_group(&args.name, &change).await?;
        if args.json {
            print::json(&group)?
        } else {
            print::facts([("group", group.group.clone())].into_iter().chain(settings(&group)))
        }
    };
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn numbers(group: &GroupSummary) -> [(&'static str, String); 6] {
    [
        ("group", group.group.clone()),
        ("ready", group.ready.to_string()),
        ("parked", group.parked.to_string()),
        ("held", group.held.to_string()),
        ("items", group.items.to_string()),
        ("oldest", print::ago(group.oldest)),
    ]
}

fn set(group: GroupSummary) -> GroupSet {
    GroupSet {
        group: group.group,
        weight: group.weight,
        max_running: group.max_running,
        max_share: group.max_share,
        max_unfinished: group.max_unfinished,
        max_unknown_tasks: group.max_unknown_tasks,
        rate: group.rate,
        paused: group.paused,
        retention: group.retention,
    }
}

fn settings(group: &GroupSet) -> [(&'static str, String); 8] {
    [
        ("weight", group.weight.to_string()),
        ("max running", print::limit(group.max_running)),
        (
            "max share",
            group
                .max_share
                .map_or_else(|| "none".to_owned(), |share| format!("{share} %")),
        ),
        ("max unfinished", print::limit(group.max_unfinished)),
        ("max unknown tasks", group.max_unknown_tasks.to_string()),
        ("rate", print::rate(group.rate)),
        ("paused", print::paused(group.paused)),
        ("retention", keeping::words(&group.retention)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_none() {
        assert_eq!(limit("none"), Ok(Limit(None)));
        assert_eq!(limit("3"), Ok(Limit(Some(3))));
        for text in ["", "None", "-1", "1.5", "null", "4294967296"] {
            limit(text).expect_err(text);
        }
        assert_eq!(rate("none"), Ok(RateLimit(None)));
        assert!(rate("10/m burst 20").is_ok_and(|rate| rate.0.is_some()));
        assert!(rate("ten a minute").expect_err("no rate").contains("100/s"));
        let said = |pause, resume| Pausing { pause, resume }.paused();
        assert_eq!(said(false, false), None);
        assert_eq!((said(true, false), said(false, true)), (Some(true), Some(false)));
    }
}
