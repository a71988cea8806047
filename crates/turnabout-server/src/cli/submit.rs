//! `turnabout submit`: one job from the command line, or many from a file or from standard input.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use turnabout::{JobId, Priority};

use super::client::Client;
use super::global::Global;
use super::{print, wait};
use crate::api::types::ItemOutcome;
use crate::config::value::words;

/// So many jobs are sent at once, and no more bytes than this.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Submit {
    /// The task that the job runs
    #[arg(required_unless_present = "file")]
    task: Option<String>,
    /// Its arguments, as JSON; `-` reads them from standard input
    #[arg(value_name = "JSON")]
    args: Option<String>,
    /// Jobs from a file, one JSON object in each line (`{"task": "mail", "args": {..}, "group": "acme"}`); `-` is standard
    /// input. The other flags say what holds for those that do not say otherwise.
    #[arg(long, short, value_name = "FILE", conflicts_with = "args")]
    file: Option<String>,
    /// Whose turn it takes
    #[arg(long)]
    group: Option<String>,
    /// Who, inside the group, submits it
    #[arg(long)]
    owner: Option<String>,
    /// A line about it, for people
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// How urgent it is inside its group: high, normal or low
    #[arg(long)]
    priority: Option<Priority>,
    /// How long it waits before it may start: `90s`, `5 minutes`
    #[arg(long, value_name = "DURATION", value_parser = super::duration)]
    delay: Option<Duration>,
    /// If nobody has started it after so long, it fails
    #[arg(long, value_name = "DURATION", value_parser = super::duration)]
    expires: Option<Duration>,
    /// Whether it may run a second time, where its task says otherwise: `true` or `false` (at most once, whatever happens)
    #[arg(long, value_name = "BOOL")]
    restartable: Option<bool>,
    /// Jobs with the same key start no more often than this: `10/m for KEY`, `100/s burst 20 for KEY`
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// While an unfinished job of the group and task has this key, that one is meant
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// The job that it belongs to, of which it is shown as a child
    #[arg(long, value_name = "ID")]
    parent: Option<JobId>,
    /// Which executors may take it
    #[arg(long)]
    queue: Option<String>,
    /// How many units of work it holds
    #[arg(long, value_name = "N")]
    items: Option<u32>,
    /// What travels with the job beside its arguments; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    /// Its id, a UUID of version 7: the same id again is the same job
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    id: Option<JobId>,
    /// Wait until all jobs have ended. The exit code is 0 if they succeeded, 1 if one failed, 3 if one was cancelled.
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Submit) -> anyhow::Result<ExitCode> {
    let said = args.said()?;
    let mut sender = Sender {
        client: None,
        global,
        json: args.json,
        quiet: args.json && args.wait,
        ids: Vec::new(),
        refused: 0,
        waiting: Vec::new(),
        bytes: 0,
        seen: 0,
        only_check: false,
    };
    match &args.file {
        Some(file) => {
            // What can be read twice is read to its end first: of a file with a mistake in it nothing is stored.
            if file != "-" && std::fs::metadata(file).is_ok_and(|data| data.is_file()) {
                let source = std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?;
                sender.only_check = true;
                sender.file(BufReader::new(source), &said).await?;
                (sender.only_check, sender.seen) = (false, 0);
            }
            let source: Box<dyn Read> = if file == "-" {
                Box::new(std::io::stdin().lock())
            } else {
                Box::new(std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?)
            };
            sender.file(BufReader::new(source), &said).await?;
        }
        None => sender.push(&said).await?,
    }
    sender.flush().await?;
    let Sender {
        client, ids, refused, ..
    } = sender;
    let Some(client) = client else {
        return Ok(ExitCode::SUCCESS);
    };
    if args.file.is_none() {
        warn_of_unknown(&client, &ids).await;
    }
    let code = if args.wait {
        wait::all(&client, &ids, args.json).await?
    } else {
        ExitCode::SUCCESS
    };
    Ok(if refused > 0 { ExitCode::FAILURE } else { code })
}

impl Submit {
    /// What the command line says about each job, as the API takes it.
    fn said(&self) -> anyhow::Result<Said> {
        let mut said = Said::new();
        let texts = [
            ("task", &self.task),
            ("group", &self.group),
            ("owner", &self.owner),
            ("subject", &self.subject),
            ("unique", &self.unique),
            ("rate", &self.rate),
            ("queue", &self.queue),
        ];
        for (name, value) in texts {
            said.extend(pair(name, value.as_ref())?);
        }
        for (name, value) in [("delay", self.delay), ("expires", self.expires)] {
            said.extend(pair(name, value.map(words))?);
        }
        said.extend(pair("priority", self.priority.map(Priority::as_str))?);
        said.extend(pair("parent", self.parent)?);
        said.extend(pair("items", self.items)?);
        said.extend(pair("restartable", self.restartable)?);
        said.extend(pair("id", self.id)?);
        let mut meta = BTreeMap::new();
        for pair in &self.meta {
            let Some((key, value)) = pair.split_once('=') else {
                bail!("--meta takes KEY=VALUE, not `{pair}`");
            };
            meta.insert(key, value);
        }
        said.extend(pair("meta", Some(meta).filter(|meta| !meta.is_empty()))?);
        if let Some(args) = &self.args {
            let text = if args == "-" {
                std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?
            } else {
                args.clone()
            };
            let value: Box<RawValue> = serde_json::from_str(&text)
                .with_context(|| format!("the arguments `{}` are not JSON; quote them for the shell", text.trim()))?;
            said.insert("args".to_owned(), value);
        }
        Ok(said)
    }
}

/// What is said about a job, by name. As JSON text, so that numbers keep all their digits.
type Said = BTreeMap<String, Box<RawValue>>;

/// Something that is said, if it is.
fn pair(name: &str, value: Option<impl Serialize>) -> anyhow::Result<Option<(String, Box<RawValue>)>> {
    let value = value.map(|value| to_raw_value(&value)).transpose()?;
    Ok(value.map(|value| (name.to_owned(), value)))
}

/// Sends jobs as they are read, some at a time.
struct Sender<'a> {
    /// None until there is something to send: what cannot be read should not make a database.
    client: Option<Client>,
    global: &'a Global,
    json: bool,
    quiet: bool,
    ids: Vec<JobId>,
    refused: usize,
    /// Jobs that are not sent yet, as JSON.
    waiting: Vec<String>,
    bytes: usize,
    /// How many jobs were sent before those.
    seen: usize,
    /// Whether jobs are only read, and not sent.
    only_check: bool,
}

impl Sender<'_> {
    /// Jobs from a file: objects, one after the other, or lists of objects.
    async fn file(&mut self, mut source: impl BufRead, said: &Said) -> anyhow::Result<()> {
        let mut number = 0;
        let mut text = String::new();
        loop {
            let ended = source.read_line(&mut text).context("the file cannot be read as text")? == 0;
            number += 1;
            if text.trim().is_empty() {
                text.clear();
            } else {
                match serde_json::from_str(&text) {
                    Ok(value) => {
                        text.clear();
                        self.value(value, said, number).await?;
                    }
                    // What people write may go on in the next line.
                    Err(error) if error.is_eof() && !ended => {}
                    Err(error) => bail!("line {number} is not JSON: {error}; {}", self.stored()),
                }
            }
            if ended {
                return Ok(());
            }
        }
    }

    /// What is in the store so far, for whoever mends the file and begins again.
    fn stored(&self) -> String {
        if self.only_check || self.seen == 0 {
            "nothing was stored".to_owned()
        } else {
            format!("the first {} jobs were sent before, and the others were not", self.seen)
        }
    }

    async fn value(&mut self, value: Box<RawValue>, said: &Said, number: usize) -> anyhow::Result<()> {
        let list: Vec<Box<RawValue>> = if value.get().starts_with('[') {
            serde_json::from_str(value.get())?
        } else {
            vec![value]
        };
        for job in list {
            let Ok(own) = serde_json::from_str::<Said>(job.get()) else {
                bail!(
                    "line {number} holds something that is not a job, {{\"task\": .., \"args\": ..}}; {}",
                    self.stored()
                );
            };
            let mut job = said.clone();
            job.extend(own);
            self.push(&job).await?;
        }
        Ok(())
    }

    async fn push(&mut self, job: &Said) -> anyhow::Result<()> {
        if self.only_check {
            self.seen += 1;
            return Ok(());
        }
        let text = serde_json::to_string(job)?;
        if self.bytes + text.len() > BATCH_BYTES || self.waiting.len() >= BATCH {
            self.flush().await?;
        }
        self.bytes += text.len();
        self.waiting.push(text);
        Ok(())
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let client = match self.client.take() {
            Some(client) => client,
            None => self.global.client_or_new().await?,
        };
        let outcomes = client.submit_batch(&self.waiting).await?.outcomes;
        self.client = Some(client);
        let alone = self.seen == 0 && outcomes.len() == 1;
        for (n, outcome) in outcomes.into_iter().enumerate() {
            self.tell(self.seen + n + 1, &outcome, alone)?;
        }
        self.seen += self.waiting.len();
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Says what became of a job.
    fn tell(&mut self, number: usize, outcome: &ItemOutcome, alone: bool) -> anyhow::Result<()> {
        if let Some(problem) = &outcome.problem {
            let problem = super::client::Told(problem.clone());
            if alone {
                return Err(problem.into());
            }
            self.refused += 1;
            if self.json {
                print::out(&serde_json::to_string(outcome)?)?;
            } else {
                crate::cli::note!("job {number} was refused: {problem}");
            }
        }
        if let Some(id) = outcome.id {
            self.ids.push(id);
            match (self.quiet, self.json) {
                (true, _) => {}
                (false, true) => {
                    print::out(&serde_json::json!({ "id": id, "new": outcome.new }).to_string())?;
                }
                (false, false) => print::out(&id.to_string())?,
            }
        }
        Ok(())
    }
}

/// A mistyped task would wait for ever, and say nothing.
async fn warn_of_unknown(client: &Client, ids: &[JobId]) {
    let [id] = ids else { return };
    let Ok(explained) = client.explain(*id).await else {
        return;
    };
    if explained.state.is_final() {
        return;
    }
    if explained.known {
        if explained.silent.is_some() {
            crate::cli::note!(
                "those who take such jobs were not heard of for a while; `turnabout executors` lists them"
            );
        }
        return;
    }
    // Not everyone may know who runs jobs.
    let known = match client.executors().await.map(|all| all.executors) {
        Err(_) => String::new(),
        Ok(executors) if executors.is_empty() => " (none is running)".to_owned(),
        Ok(executors) => {
            let mut tasks: Vec<String> = executors.into_iter().flat_map(|executor| executor.tasks).collect();
            tasks.sort_unstable();
            tasks.dedup();
            format!(" (known tasks: {})", tasks.join(", "))
        }
    };
    crate::cli::note!("no executor takes such jobs at present{known}; the job waits until one does");
}
