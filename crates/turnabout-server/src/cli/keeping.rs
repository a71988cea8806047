//! How long ended jobs are kept, as it is typed and printed; and `turnabout settings`: what is set for everything.

use std::process::ExitCode;

use jiff::SignedDuration;

use super::global::Global;
use super::print;
use crate::api::types::{GlobalChange, RetentionChange, RetentionView, Seconds};

/// How long ended jobs are kept.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "these are the names of options")]
pub(super) struct Keeping {
    /// Jobs that succeeded are kept for so long (`0s`: they go within seconds); `inherit`: as is set less specifically
    #[arg(long, value_name = "TIME|inherit", value_parser = time)]
    keep_success: Option<Seconds>,
    /// The same for jobs that failed
    #[arg(long, value_name = "TIME|inherit", value_parser = time)]
    keep_failed: Option<Seconds>,
    /// The same for jobs that were cancelled
    #[arg(long, value_name = "TIME|inherit", value_parser = time)]
    keep_cancelled: Option<Seconds>,
}

impl Keeping {
    /// What is to be changed, if anything.
    pub(super) fn change(&self) -> Option<RetentionChange> {
        let change = RetentionChange {
            success_seconds: self.keep_success,
            failed_seconds: self.keep_failed,
            cancelled_seconds: self.keep_cancelled,
        };
        (change != RetentionChange::default()).then_some(change)
    }
}

fn time(text: &str) -> Result<Seconds, String> {
    if text == "inherit" {
        return Ok(Seconds(None));
    }
    super::duration(text).map(|time| Seconds(Some(time.as_secs_f64())))
}

/// What is set, in words.
pub(super) fn words(kept: &RetentionView) -> String {
    let said = [
        ("success", kept.success_seconds),
        ("failed", kept.failed_seconds),
        ("cancelled", kept.cancelled_seconds),
    ];
    let told: Vec<String> = said
        .into_iter()
        .filter_map(|(state, seconds)| {
            let time = SignedDuration::try_from_secs_f64(seconds?).ok()?;
            Some(format!("{state} {time:#}"))
        })
        .collect();
    if told.is_empty() {
        "inherited".to_owned()
    } else {
        told.join(", ")
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Settings {
    #[command(flatten)]
    keeping: Keeping,
    /// Why: for whoever finds it later
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(global: &Global, args: Settings) -> anyhow::Result<ExitCode> {
    let change = GlobalChange {
        retention: args.keeping.change(),
        ..GlobalChange::default()
    };
    let client = global.client().await?;
    let settings = if change == GlobalChange::default() {
        if args.note.is_some() {
            anyhow::bail!("a note says why something is changed; say what, too");
        }
        client.settings().await?
    } else {
        let change = GlobalChange {
            note: args.note,
            ..change
        };
        client.set_settings(&change).await?
    };
    print::out(&if args.json {
        print::json(&settings)?
    } else {
        print::facts([
            ("everything paused", print::paused(settings.paused)),
            ("retention", words(&settings.retention)),
        ])
    })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_typed_as_people_say_it_or_inherited() {
        assert_eq!(time("inherit"), Ok(Seconds(None)));
        assert_eq!(time("30 days"), Ok(Seconds(Some(2_592_000.0))));
        time("soon").expect_err("no time");
        let kept = RetentionView {
            success_seconds: Some(0.0),
            failed_seconds: Some(3600.0),
            cancelled_seconds: None,
        };
        assert_eq!(words(&kept), "success 0s, failed 1h");
        assert_eq!(words(&RetentionView::default()), "inherited");
    }
}
