//! The program `turnabout`: runs jobs, and submits and looks after them from the command line.

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, cancel, list, serve, show, submit};

mod api;
mod auth;
mod cli;
mod tasks;

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { database, command } = Cli::parse();
    cli::log_to_stderr(&command);
    let done = match command {
        Command::Serve(args) => serve::run(&database, args).await,
        Command::Submit(args) => submit::run(&database, args).await,
        Command::List(args) => list::run(&database, args).await,
        Command::Show(args) => show::run(&database, args).await,
        Command::Cancel(args) => cancel::run(&database, args).await,
        // It makes stores of its own.
        Command::Bench(args) => turnabout_bench::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Lab(args) => turnabout_bench::lab::run(args).await.map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
