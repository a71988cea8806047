//! The program `turnabout`: runs jobs, and submits and looks after them from the command line.

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, cancel, config as show_config, list, serve, show, submit};

mod cli;
mod config;
mod tasks;

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    cli::log_to_stderr(&command);
    let done = match command {
        Command::Serve(args) => serve::run(&global, args).await,
        Command::Submit(args) => submit::run(&global, args).await,
        Command::List(args) => list::run(&global, args).await,
        Command::Show(args) => show::run(&global, args).await,
        Command::Cancel(args) => cancel::run(&global, args).await,
        Command::Config(args) => show_config::run(&global, &args),
        // It makes stores of its own.
        Command::Bench(args) => turnabout_bench::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Lab(args) => turnabout_bench::lab::run(args).await.map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
