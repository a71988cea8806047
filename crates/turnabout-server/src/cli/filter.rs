//! Which jobs a command is about: the same flags for lists and for changes of many.

use jiff::Timestamp;
use turnabout::job::Reason;
use turnabout::{JobId, State};
use uuid::Uuid;

use crate::api::types::ListQuery;
use crate::config::value::duration;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which jobs")]
pub(crate) struct Filter {
    /// In this state, or with `!` (or `not-`) before it in any other; `unfinished`, `ended` and `active` name several. May be
    /// given several times
    #[arg(long = "state", value_name = "STATE", value_parser = state)]
    states: Vec<String>,
    /// Of this task. With `!` before it, as also before a group, an owner, a queue, a reason and a code: all but these
    #[arg(long)]
    task: Option<String>,
    /// Of this group
    #[arg(long)]
    group: Option<String>,
    /// Of this owner
    #[arg(long)]
    owner: Option<String>,
    /// In this queue
    #[arg(long)]
    queue: Option<String>,
    /// Whose subject contains this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Submitted since then: a moment, or so long ago (`2h`)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Submitted before then: a moment, or so long ago
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// For this reason in their state (`timed-out`, `lost`, `expired`, ..)
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Option<String>,
    /// Whose last error has this code
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// The children of this job
    #[arg(long, value_name = "ID")]
    parent: Option<JobId>,
    /// Held by this executor, or ended by it
    #[arg(long, value_name = "ID")]
    executor: Option<Uuid>,
    /// With so many attempts, or more
    #[arg(long, value_name = "NUMBER")]
    attempts: Option<u32>,
    /// With this entry in their meta. May be given several times
    #[arg(long = "meta", value_name = "KEY=VALUE")]
    meta: Vec<String>,
}

impl Filter {
    pub(super) fn query(&self) -> ListQuery {
        ListQuery {
            state: (!self.states.is_empty()).then(|| self.states.join(",")),
            task: self.task.clone(),
            group: self.group.clone(),
            owner: self.owner.clone(),
            queue: self.queue.clone(),
            search: self.search.clone(),
            since: self.since,
            until: self.until,
            reason: self.reason.clone(),
            meta: (!self.meta.is_empty()).then(|| self.meta.join(",")),
            code: self.code.clone(),
            parent: self.parent,
            executor: self.executor,
            attempts: self.attempts,
            ..ListQuery::default()
        }
    }

    /// Whether it says anything.
    pub(super) fn is_given(&self) -> bool {
        self.query() != ListQuery::default()
    }
}

/// A state as the API takes it. Shells have their own idea of `!`.
fn state(text: &str) -> Result<String, String> {
    let (not, word) = match text.strip_prefix('!').or_else(|| text.strip_prefix("not-")) {
        Some(word) => ("!", word),
        None => ("", text),
    };
    State::named(word).map_err(|error| error.to_string())?;
    Ok(format!("{not}{word}"))
}

/// A reason, or with `!` any other.
fn reason(text: &str) -> Result<String, String> {
    let word: Result<Reason, _> = text.strip_prefix('!').unwrap_or(text).parse();
    word.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A moment, or how long ago it was.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    let wrong = |_| format!("`{text}` is neither a moment (2026-11-16T12:00:00Z) nor how long ago it was (2h)");
    let ago = duration(text).map_err(wrong)?;
    Timestamp::now().checked_sub(ago).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_can_be_meant_or_not() {
        assert_eq!(state("failed").as_deref(), Ok("failed"));
        assert_eq!(state("!success").as_deref(), Ok("!success"));
        assert_eq!(state("not-success").as_deref(), Ok("!success"));
        assert_eq!(state("not-ended").as_deref(), Ok("!ended"));
        state("done").expect_err("no such state");
    }

    #[test]
    fn moments_are_given_as_such_or_by_how_long_ago_they_were() {
        assert!(moment("2026-11-16T12:00:00Z").is_ok());
        assert!(moment("2h").is_ok_and(|then| then < Timestamp::now()));
        moment("yesterday").expect_err("no such moment");
    }
}
