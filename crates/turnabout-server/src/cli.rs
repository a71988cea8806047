//! The command line: one file for each command, or for a few that belong together.

pub(crate) mod change;
mod client;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
mod events;
pub(crate) mod few;
mod files;
mod filter;
pub(crate) mod global;
pub(crate) mod group;
pub(crate) mod jobs;
pub(crate) mod keeping;
mod logging;
pub(crate) mod logs;
pub(crate) mod overview;
mod print;
pub(crate) mod queue;
mod reload;
pub(crate) mod schedule;
pub(crate) mod serve;
pub(crate) mod show;
mod signals;
pub(crate) mod submit;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod top;
mod wait;
mod webhooks;

pub(crate) use crate::config::value::duration;
use global::Global;
pub(crate) use logging::log;
pub(crate) use print::note;

/// Runs background jobs, and is fair to all groups.
#[derive(Debug, clap::Parser)]
#[command(name = "turnabout", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run jobs and answer requests, until SIGTERM or Ctrl-C
    Serve(serve::Serve),
    /// Run jobs only: the same as `serve --no-api`
    Executor(serve::RunExecutor),
    /// Submit a job, or many from a file
    Submit(submit::Submit),
    /// List jobs, newest first
    #[command(visible_alias = "list")]
    Jobs(jobs::ListJobs),
    /// Show a job, and why it waits
    Show(show::Show),
    /// Show what the handler of a job has written
    Logs(logs::Logs),
    /// Cancel jobs that have not ended
    Cancel(change::Change),
    /// Make jobs that have ended wait again
    Restart(change::Change),
    /// Try jobs now that are stuck or delayed
    Retry(change::Change),
    /// Forget jobs that have ended
    Delete(change::Change),
    /// Make jobs that wait more or less urgent
    Priority(change::SetPriority),
    /// Delay jobs that wait, or give them another queue or other arguments: by their ids, or all that match
    Edit(change::Edit),
    /// Count jobs by task, priority and state
    Summary(overview::Overview),
    /// Say what is wrong now, and what mends it
    Doctor(overview::Overview),
    /// Show who gets which share of the slots, live
    Top(top::Top),
    /// Show what failed, by kind
    Failures(doctor::Failures),
    /// Show who did what, and when
    Audit(doctor::Audit),
    /// Show the groups that have unfinished jobs, or for which something is set
    Groups(overview::Overview),
    /// Show a group, pause it, or set its weight, its limits and how long its ended jobs are kept
    Group(group::Group),
    /// Show what is set for everything, or change how long ended jobs are kept
    Settings(keeping::Settings),
    /// Show the queues, who serves them, and which are paused
    Queues(overview::Overview),
    /// Show a queue, pause it, or resume it
    Queue(queue::Queue),
    /// Pause everything: no further job is taken at all, those that run go on
    Pause(queue::Everything),
    /// Take jobs again after `pause`
    Resume(queue::Everything),
    /// Show what executors run
    Tasks(overview::Overview),
    /// Show a task, pause it, or set its limit and how long its ended jobs are kept
    Task(task::Task),
    /// Look at schedules, make them, change them, run them
    Schedule(schedule::Schedule),
    /// Show who runs jobs
    Executors(overview::Overview),
    /// Have an executor take no more jobs
    Drain(overview::Drain),
    /// Show the settings in force, and where each came from
    Config(config::ShowConfig),
    /// Make a token for the API, or mint one for a browser
    Token(token::Token),
    /// Bring the tables of a database up to date
    Migrate(few::Migrate),
    /// End the programs of an executor when it is gone: started by it
    #[command(name = crate::tasks::REAPER, hide = true)]
    EndPrograms,
    /// Print what a shell needs to complete these commands
    Completions(few::Completions),
    /// Watch a hundred groups share a few slots, one of which floods
    Demo(demo::Demo),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
