//! `turnabout schedule`: jobs that are submitted again and again. Look at them, make them, change them, run them.

use std::process::ExitCode;

use jiff::{Timestamp, tz::TimeZone};

mod args;

use args::{Backfill, Check, History, List, Next, Pause, Run, Set, Which};

use super::client::Client;
use super::global::Global;
use super::print;
use crate::api::types::{
    BackfillRequest, CheckRequest, NextTimes, PauseRequest, RunRequest, RunView, ScheduleRequest, ScheduleView,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Schedule {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List schedules
    List(List),
    /// Show a schedule, and who set what
    Show(Which),
    /// Make a schedule, or change it
    Set(Box<Set>),
    /// Stop a schedule for a while; what comes meanwhile has no job
    Pause(Pause),
    /// Go on with a schedule, from its next time on
    Resume(Which),
    /// Forget what was set by hand: it is again as it was declared
    Reset(Which),
    /// Submit a job of a schedule now
    Run(Run),
    /// Show the next times of a schedule
    Next(Next),
    /// Submit a job for each time of the past from one moment to another
    Backfill(Backfill),
    /// Show what became of the last times of a schedule
    History(History),
    /// Delete a schedule and its history; its jobs stay
    Delete(Which),
    /// Explain an expression: in words, and by its next times
    Check(Check),
}

pub(crate) async fn run(global: &Global, args: Schedule) -> anyhow::Result<ExitCode> {
    let client = match &args.command {
        // What needs no jobs needs no file either.
        Command::Set(_) | Command::Check(_) => global.client_or_new().await?,
        _ => global.client().await?,
    };
    let text = match args.command {
        Command::List(args) => list(&client, args).await?,
        Command::Show(args) => client
            .schedule(&args.name, &args.whose())
            .await
            .and_then(|it| args.shown(&it))?,
        Command::Set(args) => set(&client, *args).await?,
        Command::Pause(Pause { which, note }) => {
            let (whose, wish) = (which.whose(), PauseRequest { note });
            which.shown(&client.schedule_act(&which.name, "pause", &whose, &wish).await?)?
        }
        Command::Resume(args) => args.shown(&client.schedule_act(&args.name, "resume", &args.whose(), &()).await?)?,
        Command::Reset(args) => args.shown(&client.schedule_act(&args.name, "reset", &args.whose(), &()).await?)?,
        Command::Run(Run { which, force }) => {
            let run: RunView = client
                .schedule_act(&which.name, "run", &which.whose(), &RunRequest { force })
                .await?;
            if which.json {
                print::json(&run)?
            } else {
                run.job.map(|job| job.to_string()).unwrap_or_default()
            }
        }
        Command::Next(Next { which, count }) => {
            let times = client.next_times(&which.name, &which.whose(), count).await?;
            if which.json {
                print::json(&times)?
            } else {
                explained(&times, None)
            }
        }
        Command::Backfill(Backfill { which, from, to }) => {
            let wish = BackfillRequest { from, to };
            let runs: crate::api::types::Runs = client
                .schedule_act(&which.name, "backfill", &which.whose(), &wish)
                .await?;
            if which.json {
                print::json(&runs)?
            } else {
                table(&runs.runs)
            }
        }
        Command::History(History { which, limit }) => {
            let runs = client.schedule_history(&which.name, &which.whose(), limit).await?;
            if which.json {
                print::json(&runs)?
            } else {
                table(&runs.runs)
            }
        }
        Command::Delete(args) => {
            client.delete_schedule(&args.name, &args.whose()).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Check(args) => check(&client, args).await?,
    };
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whose schedule, behind the question mark.
#[derive(Debug, serde::Serialize)]
pub(super) struct Whose {
    group: Option<String>,
    owner: Option<String>,
}

impl Which {
    fn whose(&self) -> Whose {
        Whose {
            group: self.group.clone(),
            owner: self.owner.clone(),
        }
    }

    fn shown(&self, schedule: &ScheduleView) -> anyhow::Result<String> {
        if self.json {
            return print::json(schedule);
        }
        Ok(print::facts(facts(schedule)))
    }
}

async fn list(client: &Client, args: List) -> anyhow::Result<String> {
    let page = client.schedules(args.group, args.owner, args.task, args.limit).await?;
    if args.json {
        return print::json(&page);
    }
    if page.schedules.is_empty() {
        return Ok("no schedules; `turnabout schedule set NAME --task TASK --at EXPRESSION` makes one".to_owned());
    }
    if page.next.is_some() {
        crate::cli::note!("there are more; --limit shows up to 1000, --group and --task choose");
    }
    let head = [
        "NAME", "TASK", "WHEN", "NEXT", "LAST", "STATE", "GROUP", "OWNER", "BY HAND",
    ];
    let row = |schedule: &ScheduleView| {
        [
            schedule.name.clone(),
            schedule.task.clone(),
            schedule.description.clone(),
            moment(schedule.next, schedule),
            moment(schedule.last_time, schedule),
            state(schedule),
            schedule.group.clone().unwrap_or_default(),
            schedule.owner.clone().unwrap_or_default(),
            by_hand(schedule),
        ]
    };
    Ok(print::lean_table(head, 6, page.schedules.iter().map(row)))
}

fn state(schedule: &ScheduleView) -> String {
    match (&schedule.paused, &schedule.stopped) {
        (Some(paused), _) => match &paused.note {
            Some(note) => format!("paused: {note}"),
            None => "paused".to_owned(),
        },
        (None, Some(why)) => format!("stopped: {why}"),
        (None, None) if !schedule.enabled => "disabled".to_owned(),
        (None, None) if !schedule.waiting.is_empty() => "waits for the previous job".to_owned(),
        (None, None) => "active".to_owned(),
    }
}

/// What is not as it was declared.
fn by_hand(schedule: &ScheduleView) -> String {
    match &schedule.declared_by {
        None => "all".to_owned(),
        Some(_) => schedule.set_by_operator.join(", "),
    }
}

/// A moment in the schedule's zone.
fn moment(moment: Option<Timestamp>, schedule: &ScheduleView) -> String {
    let zone = TimeZone::get(&schedule.zone).unwrap_or(TimeZone::UTC);
    moment.map_or_else(|| "-".to_owned(), |moment| local(moment, &zone))
}

fn local(moment: Timestamp, zone: &TimeZone) -> String {
    moment
        .to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M:%S %Z")
        .to_string()
}

fn facts(schedule: &ScheduleView) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut facts = vec![
        ("name", schedule.name.clone()),
        ("group", text(&schedule.group)),
        ("owner", text(&schedule.owner)),
        ("state", state(schedule)),
        ("when", format!("{} ({})", schedule.description, schedule.expression)),
        ("zone", schedule.zone.clone()),
        ("next", moment(schedule.next, schedule)),
        ("fired at", moment(schedule.due, schedule)),
        ("last", moment(schedule.last_time, schedule)),
        (
            "last job",
            schedule.last_job.map_or_else(|| "-".to_owned(), |job| job.to_string()),
        ),
        ("task", schedule.task.clone()),
        ("arguments", schedule.args.get().to_owned()),
        ("overlap", schedule.overlap.to_string()),
        ("missed", schedule.missed.clone()),
        ("declared by", text(&schedule.declared_by)),
        ("set by hand", by_hand(schedule)),
    ];
    let more = [
        ("queue", schedule.queue.clone()),
        ("priority", schedule.priority.map(|priority| priority.to_string())),
        ("subject", schedule.subject.clone()),
        ("start", schedule.start.map(|start| start.to_string())),
        ("end", schedule.end.map(|end| end.to_string())),
        (
            "left out",
            (!schedule.exclude.is_empty()).then(|| schedule.exclude.join(", ")),
        ),
    ];
    facts.extend(more.into_iter().filter_map(|(name, fact)| Some((name, fact?))));
    facts
}

async fn set(client: &Client, args: Set) -> anyhow::Result<String> {
    let Set { which, .. } = &args;
    let request = ScheduleRequest {
        task: args.task.clone(),
        args: args.args.clone(),
        queue: args.queue.clone().map(Some),
        priority: args.priority.map(Some),
        subject: args.subject.clone().map(Some),
        expression: args.at.clone(),
        zone: args.zone.clone(),
        enabled: None,
        overlap: args.overlap,
        missed: args.missed.clone(),
        jitter: args.jitter.clone(),
        start: args.start.map(Some),
        end: args.end.map(Some),
        exclude: (!args.exclude.is_empty()).then(|| args.exclude.clone()),
    };
    // One that is there is changed; a new one needs a task and an expression, and the answer says so.
    let schedule = client.set_schedule(&which.name, &which.whose(), &request).await?;
    which.shown(&schedule)
}

async fn check(client: &Client, args: Check) -> anyhow::Result<String> {
    let request = CheckRequest {
        expression: args.expression,
        zone: args.zone.clone(),
        next: Some(args.next),
    };
    let times = client.check_schedule(&request).await?;
    if args.json {
        return print::json(&times);
    }
    Ok(explained(&times, args.zone.as_deref()))
}

fn explained(times: &NextTimes, zone: Option<&str>) -> String {
    let zone = zone.and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(TimeZone::UTC);
    let mut lines = vec![format!("{} ({})", times.description, times.language)];
    lines.extend(times.times.iter().map(|time| format!("  {}", local(*time, &zone))));
    if times.times.is_empty() {
        lines.push("  no time lies ahead".to_owned());
    }
    lines.join("\n")
}

fn table(runs: &[RunView]) -> String {
    let head = ["RUN", "TIME", "WHAT", "LATE", "JOB", "STATE", "TIMES", "WHY"];
    let row = |run: &RunView| {
        [
            run.number.to_string(),
            run.time.to_string(),
            run.kind.to_string(),
            format!("{:.3} s", run.late_seconds),
            run.job.map_or_else(|| "-".to_owned(), |job| job.to_string()),
            run.state.map(|state| state.to_string()).unwrap_or_default(),
            if run.count > 1 {
                run.count.to_string()
            } else {
                String::new()
            },
            run.why.clone().unwrap_or_default(),
        ]
    };
    print::lean_table(head, 5, runs.iter().map(row))
}
