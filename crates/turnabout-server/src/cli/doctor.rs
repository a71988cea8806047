//! `turnabout doctor`, `failures` and `audit`: what is wrong, what failed, and who did what.

use std::process::ExitCode;

use jiff::Timestamp;

use super::filter::moment;
use super::global::Global;
use super::overview::Overview;
use super::print;
use crate::api::types::{AuditEntry, FailureView, Finding, Severity};
use crate::api::{AuditQuery, FailuresQuery};

#[derive(Debug, clap::Args)]
pub(crate) struct Failures {
    /// Of jobs of this group
    #[arg(long)]
    group: Option<String>,
    /// Of jobs of this owner in the group
    #[arg(long, requires = "group")]
    owner: Option<String>,
    /// Of jobs of this task
    #[arg(long)]
    task: Option<String>,
    /// Of the last so long
    #[arg(long, value_name = "DURATION", default_value = "1 day")]
    window: String,
    /// How many kinds at the most
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    /// By whom: the name of a token
    #[arg(long)]
    by: Option<String>,
    /// What was done: cancel, restart, set-group, ..
    #[arg(long)]
    action: Option<String>,
    /// To what: `group:acme`, `job:ID`, ..
    #[arg(long)]
    target: Option<String>,
    /// In this group
    #[arg(long)]
    group: Option<String>,
    /// Since then: a moment, or so long ago (`2h`)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// How many at the most
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Ends with 1 if something is wrong that is worse than a notice, so that a script can ask.
pub(crate) async fn run(global: &Global, args: Overview) -> anyhow::Result<ExitCode> {
    let diagnosis = global.client().await?.doctor().await?;
    let worst = diagnosis.findings.iter().map(|finding| finding.severity).min();
    let code = match worst {
        Some(Severity::Critical | Severity::Warning) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    };
    if args.json {
        print::out(&print::json(&diagnosis)?)?;
        return Ok(code);
    }
    print::out(&print::one_line(&diagnosis.verdict))?;
    for finding in &diagnosis.findings {
        print::out(&describe(finding))?;
    }
    Ok(code)
}

fn describe(finding: &Finding) -> String {
    format!(
        "\n{} ({})\n  {}\n  seen: {}\n  mend: {}",
        finding.severity.as_str().to_uppercase(),
        finding.code,
        print::one_line(&finding.what),
        print::one_line(&finding.evidence),
        print::one_line(&finding.mend)
    )
}

pub(crate) async fn failures(global: &Global, args: Failures) -> anyhow::Result<ExitCode> {
    let query = FailuresQuery {
        group: args.group,
        owner: args.owner,
        task: args.task,
        window: Some(args.window),
        before: None,
        limit: Some(args.limit),
    };
    let failures = global.client().await?.failures(&query).await?;
    if args.json {
        print::out(&print::json(&failures)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["FAILED", "STUCK", "TASK", "CODE", "MESSAGE", "FIRST", "LAST", "EXAMPLE"];
    let row = |kind: &FailureView| {
        [
            kind.count.to_string(),
            kind.stuck.to_string(),
            kind.task.clone(),
            kind.code.clone().unwrap_or_default(),
            kind.message.chars().take(80).collect(),
            print::ago(Some(kind.first)),
            print::ago(Some(kind.last)),
            kind.example.to_string(),
        ]
    };
    print::out(&print::table(head, failures.failures.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn audit(global: &Global, args: Audit) -> anyhow::Result<ExitCode> {
    let query = AuditQuery {
        by: args.by,
        action: args.action,
        target: args.target,
        group: args.group,
        since: args.since,
        before: None,
        limit: Some(args.limit),
    };
    let page = global.client().await?.audit(&query).await?;
    if args.json {
        print::out(&print::json(&page)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "WHEN", "WHO", "ROLE", "FROM", "WHAT", "TO", "JOBS", "BEFORE", "AFTER", "NOTE",
    ];
    let row = |entry: &AuditEntry| {
        let json = |value: &Option<Box<serde_json::value::RawValue>>| {
            value.as_ref().map_or_else(String::new, |value| value.get().to_owned())
        };
        [
            format!("{:.0}", entry.at),
            entry.by.clone(),
            entry.role.clone(),
            entry.address.clone().unwrap_or_default(),
            entry.action.clone(),
            entry.target.clone().unwrap_or_else(|| json(&entry.filter)),
            entry.count.map_or_else(String::new, |count| count.to_string()),
            json(&entry.before),
            json(&entry.after),
            entry.note.clone().unwrap_or_default(),
        ]
    };
    print::out(&print::lean_table(head, 5, page.entries.iter().map(row)))?;
    Ok(ExitCode::SUCCESS)
}
