//! Waiting for jobs to end: bars for people who watch, lines for those who do not.
//!
//! The server tells what becomes of the jobs, as it happens. Where its stream of events breaks, or there is none, the jobs
//! are looked at every second until there is one again.

use std::collections::{BTreeSet, HashMap};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Deserialize;
use turnabout::{JobId, State};

use super::client::Client;
use super::print;
use crate::api::types::{BriefView, JobView, ListQuery};

/// How often jobs are looked at of which no events are told.
const LOOKS: Duration = Duration::from_secs(1);
/// A server that does not answer is waited for: it may be started again.
const PATIENCE: Duration = Duration::from_secs(30);
/// Jobs in one request.
const PORTION: usize = 200;
/// More bars than this are one.
const MOST_BARS: usize = 20;
/// The exit code for a job that was cancelled.
const CANCELLED: u8 = 3;

/// Waits for all, and says what became of them: by the exit code, and on the way.
pub(super) async fn all(client: &Client, ids: &[JobId], json: bool) -> anyhow::Result<ExitCode> {
    let mut waiting = Waiting {
        client,
        view: View::new(ids, json),
        open: ids.iter().copied().collect(),
        failed: false,
        cancelled: false,
    };
    let mut trouble: Option<Instant> = None;
    while !waiting.open.is_empty() {
        // In the order in which they were made, which is how most of them end.
        let portion: Vec<JobId> = waiting.open.iter().take(PORTION).copied().collect();
        if waiting.follow(&portion).await? {
            trouble = None;
            continue;
        }
        tokio::time::sleep(LOOKS).await;
        match waiting.look(&portion).await {
            Ok(()) => trouble = None,
            Err(error) if trouble.get_or_insert_with(Instant::now).elapsed() > PATIENCE => return Err(error),
            Err(_) => {}
        }
    }
    waiting.view.end();
    Ok(match (waiting.failed, waiting.cancelled) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::from(CANCELLED),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Someone who waits.
struct Waiting<'a> {
    client: &'a Client,
    view: View,
    /// Jobs that have not ended.
    open: BTreeSet<JobId>,
    failed: bool,
    cancelled: bool,
}

/// A job that does not exist, or not any longer.
#[derive(Deserialize)]
struct Gone {
    id: JobId,
}

impl Waiting<'_> {
    /// Is told what becomes of jobs, until all of them have ended. False: the telling broke off.
    async fn follow(&mut self, portion: &[JobId]) -> anyhow::Result<bool> {
        let ids: Vec<String> = portion.iter().map(ToString::to_string).collect();
        let Ok(mut events) = self
            .client
            .events(&format!("/api/v1/events?ids={}", ids.join(",")))
            .await
        else {
            return Ok(false);
        };
        while let Ok(Some(event)) = events.next().await {
            match event.name.as_str() {
                "job" => self.see(&event.read()?).await?,
                "gone" => self.miss(event.read::<Gone>()?.id)?,
                "end" => return Ok(true),
                _ => {}
            }
        }
        Ok(!portion.iter().any(|id| self.open.contains(id)))
    }

    /// Looks at jobs once.
    async fn look(&mut self, portion: &[JobId]) -> anyhow::Result<()> {
        let ids: Vec<String> = portion.iter().map(ToString::to_string).collect();
        let query = ListQuery {
            ids: Some(ids.join(",")),
            limit: Some(PORTION as u32),
            ..ListQuery::default()
        };
        let found = self.client.list(&query).await?.jobs;
        let found: HashMap<JobId, JobView> = found.into_iter().map(|job| (job.id, job)).collect();
        for id in portion {
            match found.get(id) {
                Some(job) => self.see(job).await?,
                None => self.miss(*id)?,
            }
        }
        Ok(())
    }

    fn miss(&self, id: JobId) -> anyhow::Result<()> {
        if self.open.contains(&id) {
            bail!("job {id} is gone: it has ended and was deleted, and how it ended is not known");
        }
        Ok(())
    }

    /// What has become of a job.
    async fn see(&mut self, job: &BriefView) -> anyhow::Result<()> {
        if !self.open.contains(&job.id) {
            return Ok(());
        }
        self.view.show(job)?;
        if !job.state.is_final() {
            return Ok(());
        }
        self.open.remove(&job.id);
        self.failed |= job.state == State::Failed;
        self.cancelled |= job.state == State::Cancelled;
        if !self.view.wants_all() {
            return Ok(());
        }
        // One that is not kept is gone already.
        self.view.show_end(job, self.client.job(job.id).await.ok().as_ref())
    }
}

/// What the one who waits sees.
struct View {
    json: bool,
    /// Whether each line says which job it is about.
    several: bool,
    bars: Option<MultiProgress>,
    /// A bar for each job, or one for all.
    single: HashMap<JobId, ProgressBar>,
    whole: Option<ProgressBar>,
    said: HashMap<JobId, String>,
}

impl View {
    fn new(ids: &[JobId], json: bool) -> Self {
        let people = std::io::stdout().is_terminal() && std::io::stderr().is_terminal() && !json;
        let bars = people.then(MultiProgress::new);
        let whole = bars.as_ref().filter(|_| ids.len() > MOST_BARS).map(|bars| {
            let bar = bars.add(ProgressBar::new(ids.len() as u64));
            bar.set_style(style("{pos:>5}/{len} {wide_bar} {elapsed}"));
            bar
        });
        Self {
            json,
            several: ids.len() > 1,
            bars,
            single: HashMap::new(),
            whole,
            said: HashMap::new(),
        }
    }

    /// Shows what has become of a job.
    fn show(&mut self, job: &BriefView) -> anyhow::Result<()> {
        let standing = print::standing(job);
        if self.json || self.said.get(&job.id) == Some(&standing) {
            return Ok(());
        }
        self.said.insert(job.id, standing.clone());
        let ended = job.state.is_final();
        if let Some(whole) = &self.whole {
            whole.inc(u64::from(ended));
        } else if let Some(bars) = &self.bars {
            let bar = self.single.entry(job.id).or_insert_with(|| {
                let bar = bars.add(ProgressBar::new(100));
                bar.set_style(style("{prefix} {bar:30} {pos:>3} % {wide_msg}"));
                bar.set_prefix(job.task.clone());
                bar
            });
            bar.set_position(job.progress.into());
            // The bar has the number.
            bar.set_message(standing.replace(&format!(", {} %", job.progress), ""));
            if ended {
                bar.abandon();
            }
        } else if self.several {
            print::out(&format!("{}  {standing}", job.id))?;
        } else {
            print::out(&standing)?;
        }
        Ok(())
    }

    /// Whether everything about a job that has ended is shown.
    fn wants_all(&self) -> bool {
        self.json || !self.several
    }

    /// Shows a job that has ended: as JSON, or its result. In brief, if that is all there is.
    fn show_end(&self, job: &BriefView, whole: Option<&JobView>) -> anyhow::Result<()> {
        if self.json {
            let text = match (whole, self.several) {
                (Some(whole), true) => serde_json::to_string(whole)?,
                (Some(whole), false) => print::json(whole)?,
                (None, true) => serde_json::to_string(job)?,
                (None, false) => print::json(job)?,
            };
            return print::out(&text);
        }
        let Some(result) = whole.and_then(|whole| whole.result.as_ref()) else {
            return Ok(());
        };
        match &self.bars {
            Some(bars) => Ok(bars.println(result.get())?),
            None => print::out(result.get()),
        }
    }

    fn end(&self) {
        if let Some(whole) = &self.whole {
            whole.abandon();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template of ours that is wrong would be seen at once.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
