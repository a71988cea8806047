//! Waiting for jobs to end: bars for people who watch, lines for those who do not.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use turnabout::{JobId, State};

use super::client::Client;
use super::print;
use crate::api::types::{JobView, ListQuery};

/// Jobs are looked at again after this time, then less and less often.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LATER_LOOKS: Duration = Duration::from_millis(500);
/// Jobs in one request.
const PORTION: usize = 200;
/// More bars than this are one.
const MOST_BARS: usize = 20;
/// The exit code for a job that was cancelled.
const CANCELLED: u8 = 3;

/// Waits for all, and says what became of them: by the exit code, and on the way.
pub(super) async fn all(client: &Client, ids: &[JobId], json: bool) -> anyhow::Result<ExitCode> {
    let mut view = View::new(ids, json);
    let mut open: Vec<JobId> = ids.to_vec();
    open.sort_unstable();
    open.dedup();
    let (mut failed, mut cancelled) = (false, false);
    let mut pause = FIRST_LOOK;
    while !open.is_empty() {
        let jobs = look(client, &open).await?;
        let mut news = false;
        for id in &open {
            match jobs.get(id) {
                Some(job) => news |= view.show(job)?,
                None => bail!("job {id} is gone: it has ended and was deleted, and how it ended is not known"),
            }
        }
        open.retain(|id| !jobs[id].state.is_final());
        failed |= jobs.values().any(|job| job.state == State::Failed);
        cancelled |= jobs.values().any(|job| job.state == State::Cancelled);
        if !open.is_empty() {
            pause = if news { FIRST_LOOK } else { (pause * 2).min(LATER_LOOKS) };
            tokio::time::sleep(pause).await;
        }
    }
    view.end();
    Ok(match (failed, cancelled) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::from(CANCELLED),
        (false, false) => ExitCode::SUCCESS,
    })
}

async fn look(client: &Client, ids: &[JobId]) -> anyhow::Result<HashMap<JobId, JobView>> {
    let mut jobs = HashMap::new();
    for portion in ids.chunks(PORTION) {
        let ids: Vec<String> = portion.iter().map(ToString::to_string).collect();
        let query = ListQuery {
            ids: Some(ids.join(",")),
            limit: Some(PORTION as u32),
            ..ListQuery::default()
        };
        jobs.extend(client.list(&query).await?.jobs.into_iter().map(|job| (job.id, job)));
    }
    Ok(jobs)
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

    /// Shows what has become of a job. Says whether that is new.
    fn show(&mut self, job: &JobView) -> anyhow::Result<bool> {
        let standing = print::standing(job);
        if self.said.get(&job.id) == Some(&standing) {
            return Ok(false);
        }
        self.said.insert(job.id, standing.clone());
        let ended = job.state.is_final();
        if self.json {
            if ended {
                print::out(&if self.several {
                    serde_json::to_string(job)?
                } else {
                    print::json(job)?
                })?;
            }
        } else if let Some(whole) = &self.whole {
            whole.inc(u64::from(ended));
        } else if let Some(bars) = &self.bars {
            let bar = self.single.entry(job.id).or_insert_with(|| {
                let bar = bars.add(ProgressBar::new(100));
                bar.set_style(style("{prefix} {bar:30} {pos:>3} % {wide_msg}"));
                bar.set_prefix(job.task.clone());
                bar
            });
            bar.set_position(job.progress.into());
            bar.set_message(standing);
            if ended {
                bar.abandon();
            }
        } else if self.several {
            print::out(&format!("{}  {standing}", job.id))?;
        } else {
            print::out(&standing)?;
        }
        if let (Some(result), true, false) = (&job.result, ended, self.json || self.several) {
            match &self.bars {
                Some(bars) => bars.println(result.to_string())?,
                None => print::out(&result.to_string())?,
            }
        }
        Ok(true)
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
