//! Tasks that run a program.
//!
//! No shell is involved. The program is the first of a process group of its own, which is asked to end (SIGTERM) and then
//! ended (SIGKILL) when the job is cancelled, its time is up or the executor shuts down.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};
use turnabout::{Context, TaskError, TaskResult};

mod group;
mod output;
mod reaper;

pub(crate) use group::kill_all;
pub(crate) use reaper::{COMMAND as REAPER, run as end_programs};

use super::template::{Filling, Template};
use crate::config::{Executor, ExitCodes, ResultFrom, Stdin, Task};
use group::Group;
use output::{Allowance, Output, Stream};

/// The exit code that asks for another attempt, whatever else is configured (`EX_TEMPFAIL`).
const TRY_AGAIN: i32 = 75;
/// What is short is waited for so long; then the job makes room for another, and is tried again after the same time.
const SHORT: Duration = Duration::from_secs(30);
/// When the program has ended, whoever it left behind with its output has so long to let go of it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What programs always get of the server's own environment, and all that begins with `LC_`.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
];

/// A program to run, as the configuration says.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the file to run is the program itself")]
pub(crate) struct Program {
    program: String,
    arguments: Vec<Template>,
    folder: Option<String>,
    environment: Vec<(String, String)>,
    /// What it gets of the server's own environment.
    passed: Vec<String>,
    /// Whether what callers say may be an option of the program.
    allow_options: bool,
    stdin: Stdin,
    result: ResultFrom,
    permanent: ExitCodes,
    max_output: u64,
    /// Between SIGTERM and SIGKILL.
    grace: Duration,
}

impl Program {
    pub(crate) fn new(command: &[String], task: &Task, executor: &Executor) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("it names no program")?;
        Ok(Self {
            program: program.clone(),
            arguments: arguments
                .iter()
                .map(|text| Template::parse(text))
                .collect::<Result<_, _>>()?,
            folder: task.folder.clone(),
            environment: task.environment.clone().into_iter().collect(),
            passed: executor.pass_environment.clone(),
            allow_options: task.allow_options,
            stdin: task.stdin,
            result: task.result,
            permanent: task.permanent_codes.clone(),
            max_output: task.max_output.0,
            grace: executor.grace,
        })
    }

    /// Whether its command line can be made from these arguments.
    pub(crate) fn takes(&self, args: &str) -> Result<(), String> {
        let filling = Filling {
            args: serde_json::from_str(args).map_err(|error| error.to_string())?,
            job: "",
            group: "",
            owner: None,
            attempt: 1,
        };
        self.filled(&filling).map(drop)
    }

    /// The arguments of the command line. What comes from callers is no option of the program, unless the task says so.
    fn filled(&self, filling: &Filling<'_>) -> Result<Vec<String>, String> {
        let mut options = !self.allow_options;
        let mut filled = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            let text = argument.fill(filling)?;
            if options && argument.begins_with_a_place() && text.starts_with('-') {
                return Err(format!(
                    "`{}` would be an option of the program `{}`; put `--` before the place in its command, or allow it with \
                     `allow-options = true`",
                    text.chars().take(50).collect::<String>(),
                    self.program
                ));
            }
            options &= text != "--";
            filled.push(text);
        }
        Ok(filled)
    }

    /// Runs it for one attempt.
    pub(crate) async fn run(&self, cx: Context, args: Box<RawValue>) -> TaskResult<Option<Box<RawValue>>> {
        let mut command = self.command(&cx, &args)?;
        let mut group = self.start(&cx, &mut command).await?;
        let leader = group.leader();
        let (stdin, stdout, stderr) = (leader.stdin.take(), leader.stdout.take(), leader.stderr.take());
        let (Some(mut stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Err("the program has no output".into());
        };
        let allowance = Allowance::new(self.max_output);
        let hold = self.result == ResultFrom::LastLine;
        let mut out = Output::new(Stream::Out, cx.clone(), allowance.clone(), hold);
        let mut err = Output::new(Stream::Err, cx.clone(), allowance, false);

        let (status, stopped) = {
            let mut reading = std::pin::pin!(async {
                tokio::join!(out.read(&mut stdout), err.read(&mut stderr), feed(stdin, &args));
            });
            let mut ending = std::pin::pin!(self.end(&cx, &mut group));
            tokio::select! {
                ended = &mut ending => {
                    // What it has written last is still in the pipes.
                    let _ = tokio::time::timeout(LAST_WORDS, &mut reading).await;
                    ended?
                }
                () = &mut reading => ending.await?,
            }
        };

        if status.success() && !stopped {
            let (last, _) = out.end();
            drop(err.end());
            return self.result(last);
        }
        let told = [out.told(), err.told()].into_iter().flatten().last();
        let _ = out.end_all_logged();
        let (_, said) = err.end();
        let failure = self.failure(status, stopped, said);
        Err(match told {
            Some((code, message)) => failure.described(code, message),
            None => failure,
        })
    }

    /// The program with everything that it is given.
    fn command(&self, cx: &Context, args: &RawValue) -> TaskResult<Command> {
        let job = cx.job().to_string();
        let filling = Filling {
            args,
            job: &job,
            group: cx.group(),
            owner: cx.owner(),
            attempt: cx.attempt(),
        };
        let mut command = Command::new(&self.program);
        command.args(self.filled(&filling).map_err(TaskError::permanent)?);
        // What is meant for us, among it passwords, is not for those whom we start.
        command.env_clear();
        let passes = |name: &str| {
            let ours = PASSED.contains(&name) || name.starts_with("LC_");
            ours || self.passed.iter().any(|passed| passed == name)
        };
        command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(passes)));
        command
            .env("TURNABOUT_JOB_ID", &job)
            .env("TURNABOUT_TASK", cx.task())
            .env("TURNABOUT_GROUP", cx.group())
            .env("TURNABOUT_OWNER", cx.owner().unwrap_or_default())
            .env("TURNABOUT_ATTEMPT", cx.attempt().to_string())
            .env("TURNABOUT_LAST_ATTEMPT", cx.is_last_attempt().to_string())
            .stdin(match self.stdin {
                Stdin::Arguments => Stdio::piped(),
                Stdin::Nothing => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(parent) = super::traceparent(cx) {
            command.env("TRACEPARENT", parent);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }

    /// Starts it. Where there are no files, processes or memory left, others will give some back: that is waited for, and is
    /// no failure of the job, whoever has taken them.
    async fn start(&self, cx: &Context, command: &mut Command) -> TaskResult<Group> {
        let begin = Instant::now();
        let mut wait = Duration::from_millis(50);
        loop {
            let error = match Group::start(command) {
                Err(error) if is_short(&error) => error,
                started => return started.map_err(|error| self.not_started(&error)),
            };
            if begin.elapsed() >= SHORT {
                cx.log()
                    .warn(format_args!("the program cannot be started at present: {error}"));
                return Err(TaskError::snooze(SHORT));
            }
            tracing::warn!(%error, job = %cx.job(), "a program cannot be started at present, and is tried again");
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(Duration::from_secs(2)),
                () = cx.cancelled() => return Err(TaskError::retry("the program was not started before it was to end")),
            }
        }
    }

    /// Waits for the program's end, and brings it about if it is time. Says whether it was.
    async fn end(&self, cx: &Context, group: &mut Group) -> TaskResult<(ExitStatus, bool)> {
        tokio::select! {
            status = group.ended() => return Ok((status?, false)),
            () = cx.cancelled() => {}
        }
        group.terminate();
        if let Ok(status) = tokio::time::timeout(self.grace, group.ended()).await {
            return Ok((status?, true));
        }
        cx.log().warn(format_args!(
            "the program did not end within {:?} after SIGTERM, and is killed",
            self.grace
        ));
        group.kill();
        Ok((group.ended().await?, true))
    }

    /// The program could not be started. Someone may install it: that is worth another attempt.
    fn not_started(&self, error: &std::io::Error) -> TaskError {
        let program = &self.program;
        match (error.kind(), &self.folder) {
            (ErrorKind::ArgumentListTooLong | ErrorKind::InvalidInput, _) => TaskError::permanent(format!(
                "the program `{program}` cannot be given these arguments: {error}"
            )),
            (ErrorKind::NotFound | ErrorKind::NotADirectory, Some(folder))
                if !std::path::Path::new(folder).is_dir() =>
            {
                TaskError::retry(format!(
                    "there is no folder {folder} for the program `{program}` to run in"
                ))
            }
            (ErrorKind::NotFound, _) => TaskError::retry(format!(
                "there is no program `{program}`; install it, or write its full path into the configuration"
            )),
            _ => TaskError::retry(format!("the program `{program}` cannot be started: {error}")),
        }
    }

    /// What an end means that was not a success.
    fn failure(&self, status: ExitStatus, stopped: bool, said: Option<String>) -> TaskError {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended in an unknown way".to_owned(),
        };
        let told = if stopped { "was told to stop, and " } else { "" };
        let said = said.map_or_else(String::new, |said| format!(": {}", said.trim()));
        let message = format!("the program `{}` {told}{how}{said}", self.program);
        let permanent = |code: i32| code != TRY_AGAIN && self.permanent.contains(code);
        if !stopped && status.code().is_some_and(permanent) {
            TaskError::permanent(message)
        } else {
            TaskError::retry(message)
        }
    }

    fn result(&self, last: Option<String>) -> TaskResult<Option<Box<RawValue>>> {
        if self.result == ResultFrom::Nothing {
            return Ok(None);
        }
        let Some(last) = last else { return Ok(None) };
        serde_json::from_str(&last).map(Some).map_err(|error| {
            let start: String = last.chars().take(100).collect();
            TaskError::permanent(format!(
                "the program `{}` ended well, but its last line is not the JSON that was to be the result ({error}): {start}",
                self.program
            ))
        })
    }
}

/// Whether something could not be had because it is used up at present.
fn is_short(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| short.contains(&error))
}

/// Gives the program its arguments. One that does not read them need not.
async fn feed(stdin: Option<ChildStdin>, args: &RawValue) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(args.get().as_bytes()).await;
        let _ = stdin.write_all(b"\n").await;
    }
}
