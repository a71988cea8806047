//! `turnabout demo`: a hundred groups, one of which floods, and how long each waits; with `--fifo`, what it would be like
//! without turns. With `--serve`, the same on the operator's page (`demo/serve.rs`).

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnabout::{Context, Executor, Jobs, Submission, Task, TaskResult};

use super::print;
use super::signals::Signals;

mod serve;

/// The view is drawn anew so often.
const FRAME: Duration = Duration::from_millis(250);
/// Without a terminal, a line is printed so often.
const LINE: Duration = Duration::from_secs(2);
/// The name of the group that floods.
const FLOOD: &str = "flood";

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// First in, first out: the same without turns
    #[arg(long)]
    fifo: bool,
    /// How many groups there are
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    groups: u32,
    /// How many jobs the one has that floods
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    flood: u32,
    /// How many jobs run at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slots: u32,
    /// How long a job takes
    #[arg(long, value_name = "DURATION", default_value = "50ms", value_parser = super::duration)]
    job: Duration,
    /// End after this time [default: when all jobs of the quiet groups are done]
    #[arg(long = "for", value_name = "DURATION", value_parser = super::duration)]
    time: Option<Duration>,
    /// Show it in a browser instead, for as long as you like
    #[arg(long)]
    serve: bool,
    /// Where the browser finds it
    #[arg(long, value_name = "ADDRESS", requires = "serve", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)))]
    address: SocketAddr,
}

/// A job of the demonstration. The group it belongs to in our view: for `--fifo` all are in one group of the store.
#[derive(Debug, Serialize, Deserialize)]
struct Work {
    group: String,
    millis: u64,
}

impl Task for Work {
    const NAME: &'static str = "demo";
}

/// What has become of a group's jobs.
#[derive(Clone, Debug, Default)]
struct Tally {
    submitted: u32,
    running: u32,
    done: u32,
    /// From being submitted to being started, all together and the longest.
    waited: Duration,
    longest: Duration,
}

impl Tally {
    fn waiting(&self) -> u32 {
        self.submitted - self.running - self.done
    }

    fn average(&self) -> Duration {
        self.waited / (self.running + self.done).max(1)
    }
}

/// What the handlers and the view share.
struct Board {
    begun: Instant,
    groups: Mutex<BTreeMap<String, Tally>>,
}

impl Board {
    fn with<T>(&self, group: &str, f: impl FnOnce(&mut Tally) -> T) -> T {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        f(groups.entry(group.to_owned()).or_default())
    }

    fn all(&self) -> Vec<(String, Tally)> {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups
            .iter()
            .map(|(name, tally)| (name.clone(), tally.clone()))
            .collect()
    }
}

async fn work(cx: Context<Arc<Board>>, work: Work) -> TaskResult {
    let board = Arc::clone(cx.state());
    // All were submitted when it began.
    let waited = board.begun.elapsed();
    board.with(&work.group, |tally| {
        tally.running += 1;
        tally.waited += waited;
        tally.longest = tally.longest.max(waited);
    });
    tokio::time::sleep(Duration::from_millis(work.millis)).await;
    board.with(&work.group, |tally| {
        tally.running -= 1;
        tally.done += 1;
    });
    Ok(())
}

pub(crate) async fn run(args: Demo) -> anyhow::Result<ExitCode> {
    if args.serve {
        return serve::run(&args).await;
    }
    let mut signals = Signals::listen()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the demonstration")?;
    let jobs = Jobs::open(format!("sqlite://{}", folder.path().join("demo.db").display())).await?;
    let submissions = submissions(&args);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for (group, _) in &submissions {
        tallies.entry(group.clone()).or_default().submitted += 1;
    }
    for outcome in jobs
        .submit_all(submissions.into_iter().map(|(_, submission)| submission))
        .await
    {
        outcome?;
    }
    let board = Arc::new(Board {
        begun: Instant::now(),
        groups: Mutex::new(tallies),
    });
    let executor = Executor::with_state(&jobs, Arc::clone(&board))
        .task(work)
        .slots(args.slots)
        .start()
        .await?;
    let view = View::new(&args);
    tokio::select! {
        shown = view.show(&board, &args) => shown?,
        () = signals.next() => {}
    }
    view.leave()?;
    executor.shutdown(Duration::ZERO).await;
    drop(jobs);
    print::out(&conclusion(&board, &args))?;
    Ok(ExitCode::SUCCESS)
}

/// The flood first, as it would have come first; then a few jobs of each quiet group.
fn submissions(args: &Demo) -> Vec<(String, Submission)> {
    let flood = (0..args.flood).map(|_| one(args, FLOOD.to_owned()));
    let quiet = (0..3).flat_map(|_| (1..args.groups).map(|n| one(args, format!("group {n:02}"))));
    flood.chain(quiet).collect()
}

/// A job of a group.
fn one(args: &Demo, group: String) -> (String, Submission) {
    let work = Work {
        group: group.clone(),
        millis: u64::try_from(args.job.as_millis()).unwrap_or(u64::MAX),
    };
    let turns = if args.fifo { "all".to_owned() } else { group.clone() };
    (group, Submission::new(work).group(turns))
}

/// Whether all but the flood is done.
fn quiet_are_done(board: &Board) -> bool {
    board
        .all()
        .iter()
        .all(|(name, tally)| name == FLOOD || tally.done == tally.submitted)
}

/// What is drawn: in a terminal a picture that changes, elsewhere a line now and then.
struct View {
    live: bool,
    head: String,
}

impl View {
    fn new(args: &Demo) -> Self {
        let rule = if args.fifo { "first in, first out" } else { "turns" };
        let head = format!(
            "{} groups, {} slots, {} a job, by {rule}; `{FLOOD}` has {} jobs, the others 3 each. Ctrl-C ends it.",
            args.groups,
            args.slots,
            crate::config::value::words(args.job),
            args.flood
        );
        Self {
            live: std::io::stdout().is_terminal(),
            head,
        }
    }

    async fn show(&self, board: &Board, args: &Demo) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        if self.live {
            // The other screen, without a cursor: what was there before is there afterwards.
            write!(out, "\x1b[?1049h\x1b[?25l")?;
        } else {
            print::out(&self.head)?;
        }
        loop {
            let over = args.time.is_some_and(|time| board.begun.elapsed() >= time);
            let done = args.time.is_none() && quiet_are_done(board);
            if self.live {
                write!(out, "\x1b[H{}\x1b[J", self.picture(board).replace('\n', "\x1b[K\n"))?;
                out.flush()?;
            } else {
                print::out(&line(board))?;
            }
            if over || done {
                return Ok(());
            }
            let pause = if self.live { FRAME } else { LINE };
            let left = args
                .time
                .map_or(pause, |time| time.saturating_sub(board.begun.elapsed()));
            tokio::time::sleep(pause.min(left)).await;
        }
    }

    /// As many groups as there is room for: the flood, then those that have waited longest.
    fn picture(&self, board: &Board) -> String {
        let (rows, columns) = console_size();
        let mut groups = board.all();
        groups.sort_by_key(|(name, tally)| {
            (
                name != FLOOD,
                tally.done == tally.submitted,
                std::cmp::Reverse(tally.longest),
            )
        });
        let cell = |(name, tally): &(String, Tally)| {
            [
                name.clone(),
                tally.waiting().to_string(),
                tally.running.to_string(),
                tally.done.to_string(),
                seconds(tally.average()),
                seconds(tally.longest),
                bar(tally, columns.saturating_sub(64).clamp(5, 60)),
            ]
        };
        let head = ["GROUP", "WAITING", "RUNNING", "DONE", "WAITED", "LONGEST", ""];
        let table = print::table(head, groups.iter().take(rows.saturating_sub(5)).map(cell));
        format!("{}\n{}\n\n{table}\n", self.head, line(board))
    }

    fn leave(&self) -> anyhow::Result<()> {
        if self.live {
            let mut out = std::io::stdout();
            write!(out, "\x1b[?25h\x1b[?1049l")?;
            out.flush()?;
        }
        Ok(())
    }
}

fn console_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.filter(|size| size.ws_row > 0)
        .map_or((24, 80), |size| (size.ws_row.into(), size.ws_col.into()))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// How much of a group's work is done.
fn bar(tally: &Tally, width: usize) -> String {
    let full = width * tally.done as usize / tally.submitted.max(1) as usize;
    format!("{}{}", "#".repeat(full), ".".repeat(width - full))
}

/// How it stands, in a line.
fn line(board: &Board) -> String {
    let groups = board.all();
    let sum = |f: fn(&Tally) -> u32| groups.iter().map(|(_, tally)| f(tally)).sum::<u32>();
    let finished = groups.iter().filter(|(_, tally)| tally.done == tally.submitted).count();
    format!(
        "{:>6}: {} waiting, {} running, {} done; {finished} groups have all they wanted",
        seconds(board.begun.elapsed()),
        sum(Tally::waiting),
        sum(|tally| tally.running),
        sum(|tally| tally.done),
    )
}

/// What it has shown.
fn conclusion(board: &Board, args: &Demo) -> String {
    let groups = board.all();
    let quiet: Vec<&Tally> = groups
        .iter()
        .filter(|(name, _)| name != FLOOD)
        .map(|(_, tally)| tally)
        .collect();
    let begun: u32 = quiet.iter().map(|tally| tally.running + tally.done).sum();
    let waited: Duration = quiet.iter().map(|tally| tally.waited).sum();
    let longest = quiet.iter().map(|tally| tally.longest).max().unwrap_or_default();
    let asked: u32 = quiet.iter().map(|tally| tally.submitted).sum();
    let flood = groups
        .iter()
        .find(|(name, _)| name == FLOOD)
        .map_or(0, |(_, tally)| tally.done);
    let other = if args.fifo {
        "turnabout demo"
    } else {
        "turnabout demo --fifo"
    };
    format!(
        "{begun} of {asked} jobs of the quiet groups were started; they waited {} on average, {} at the most. \
         The flood had {flood} jobs done by then.\nFor contrast: {other}",
        seconds(waited / begun.max(1)),
        seconds(longest),
    )
}
