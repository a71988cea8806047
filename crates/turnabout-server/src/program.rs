//! What the program does: one match that tells the whole of it.

use std::process::ExitCode;

use clap::Parser;

use crate::api::types::BulkVerb;
use crate::cli::{
    self, Cli, Command, change, demo, doctor, few, group, jobs, keeping, logs, overview, queue, schedule, serve, show,
    submit, task, token, top,
};
use crate::tasks;

/// Runs the program `turnabout` with the arguments of this process, until it ends.
#[doc(hidden)]
pub async fn program() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    cli::log(&command);
    let global = &global;
    let done = match command {
        Command::Serve(args) => serve::run(global, args).await,
        Command::Executor(args) => serve::run(global, args.into()).await,
        Command::Submit(args) => submit::run(global, args).await,
        Command::Jobs(args) => jobs::run(global, args).await,
        Command::Show(args) => show::run(global, args).await,
        Command::Logs(args) => logs::run(global, args).await,
        Command::Cancel(args) => change::run(global, BulkVerb::Cancel, args).await,
        Command::Restart(args) => change::run(global, BulkVerb::Restart, args).await,
        Command::Retry(args) => change::run(global, BulkVerb::Retry, args).await,
        Command::Delete(args) => change::run(global, BulkVerb::Delete, args).await,
        Command::Priority(args) => change::set_priority(global, args).await,
        Command::Edit(args) => change::edit(global, args).await,
        Command::Summary(args) => overview::summary(global, args).await,
        Command::Doctor(args) => doctor::run(global, args).await,
        Command::Top(args) => top::run(global, args).await,
        Command::Failures(args) => doctor::failures(global, args).await,
        Command::Audit(args) => doctor::audit(global, args).await,
        Command::Groups(args) => overview::groups(global, args).await,
        Command::Group(args) => group::run(global, args).await,
        Command::Settings(args) => keeping::run(global, args).await,
        Command::Queues(args) => queue::list(global, args).await,
        Command::Queue(args) => queue::run(global, args).await,
        Command::Pause(args) => queue::everything(global, args, true).await,
        Command::Resume(args) => queue::everything(global, args, false).await,
        Command::Tasks(args) => task::list(global, args).await,
        Command::Task(args) => task::run(global, args).await,
        Command::Schedule(args) => schedule::run(global, args).await,
        Command::Executors(args) => overview::executors(global, args).await,
        Command::Drain(args) => overview::drain(global, args).await,
        Command::Config(args) => cli::config::run(global, &args).await,
        Command::Token(args) => token::run(global, args).await,
        Command::Migrate(args) => few::migrate(global, &args).await,
        Command::EndPrograms => tasks::end_programs()
            .await
            .map(|()| ExitCode::SUCCESS)
            .map_err(Into::into),
        Command::Completions(args) => few::completions(&args),
        // It makes a store of its own.
        Command::Demo(args) => demo::run(args).await,
    };
    done.unwrap_or_else(|error| {
        crate::cli::note!("error: {error:#}");
        ExitCode::FAILURE
    })
}
