//! The program `turnabout`: runs jobs, and submits and looks after them from the command line. What it does is in `program.rs`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    turnabout_server::program().await
}
