//! What can be said to `turnabout schedule`.

use jiff::Timestamp;
use serde_json::value::RawValue;
use turnabout::Priority;
use turnabout::schedule::Overlap;

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Those of this group
    #[arg(long)]
    pub(super) group: Option<String>,
    /// Those of this owner
    #[arg(long)]
    pub(super) owner: Option<String>,
    /// Those whose jobs run this task
    #[arg(long)]
    pub(super) task: Option<String>,
    /// How many at the most
    #[arg(long, default_value_t = 100)]
    pub(super) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// The schedule
    pub(super) name: String,
    /// The group that it belongs to [default: the token's, or the system]
    #[arg(long)]
    pub(super) group: Option<String>,
    /// The owner, inside the group, that it belongs to
    #[arg(long)]
    pub(super) owner: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Set {
    #[command(flatten)]
    pub(super) which: Which,
    /// When: `0 2 * * *`, `Mon..Fri 15:00`, `every 10 minutes`
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) at: Option<String>,
    /// The time zone, by its IANA name
    #[arg(long)]
    pub(super) zone: Option<String>,
    /// The task that its jobs run
    #[arg(long)]
    pub(super) task: Option<String>,
    /// Their arguments, as JSON
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub(super) args: Option<Box<RawValue>>,
    /// Which executors may take them
    #[arg(long)]
    pub(super) queue: Option<String>,
    /// How urgent they are inside their group: high, normal, low
    #[arg(long)]
    pub(super) priority: Option<Priority>,
    /// A line about them, for people
    #[arg(long)]
    pub(super) subject: Option<String>,
    /// What becomes of a time that comes while the previous job is unfinished: skip, wait, cancel, allow
    #[arg(long)]
    pub(super) overlap: Option<Overlap>,
    /// What becomes of times at which no executor was there: one, skip, `each 24`
    #[arg(long)]
    pub(super) missed: Option<String>,
    /// Fire up to so much later, always by the same: `10 minutes`
    #[arg(long)]
    pub(super) jitter: Option<String>,
    /// No time before this moment counts
    #[arg(long)]
    pub(super) start: Option<Timestamp>,
    /// No time after this moment counts
    #[arg(long)]
    pub(super) end: Option<Timestamp>,
    /// Days or times that are left out; may be given several times
    #[arg(long)]
    pub(super) exclude: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Pause {
    #[command(flatten)]
    pub(super) which: Which,
    /// Why, for people
    #[arg(long)]
    pub(super) note: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) which: Which,
    /// Also while one of its jobs is unfinished
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Next {
    #[command(flatten)]
    pub(super) which: Which,
    /// How many
    #[arg(long, default_value_t = 5)]
    pub(super) count: u32,
}

#[derive(Debug, clap::Args)]
pub(super) struct Backfill {
    #[command(flatten)]
    pub(super) which: Which,
    /// From this moment on: `2026-01-01T00:00:00Z`
    #[arg(long)]
    pub(super) from: Timestamp,
    /// Up to this one
    #[arg(long)]
    pub(super) to: Timestamp,
}

#[derive(Debug, clap::Args)]
pub(super) struct History {
    #[command(flatten)]
    pub(super) which: Which,
    /// How many
    #[arg(long, default_value_t = 20)]
    pub(super) limit: u32,
}

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// The expression
    pub(super) expression: String,
    /// The time zone, by its IANA name
    #[arg(long)]
    pub(super) zone: Option<String>,
    /// How many times
    #[arg(long, default_value_t = 5)]
    pub(super) next: u32,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn json(text: &str) -> Result<Box<RawValue>, String> {
    RawValue::from_string(text.to_owned()).map_err(|error| format!("it is not JSON: {error}"))
}
