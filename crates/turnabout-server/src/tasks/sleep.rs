//! The task `sleep`: does nothing for a while, and fails on request. For trying things out.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use turnabout::{Context, TaskError, TaskResult};

/// What to do: `{"seconds": 2.5, "fail": 1, "steps": 10}`. All of it may be left out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sleep {
    /// How long an attempt takes.
    seconds: f64,
    /// The same, for people: `"5 minutes"`.
    duration: Option<String>,
    /// How many attempts fail before one succeeds.
    fail: u32,
    /// How often an attempt says how far it is.
    steps: u32,
}

impl Default for Sleep {
    fn default() -> Self {
        Self {
            seconds: 1.0,
            duration: None,
            fail: 0,
            steps: 100,
        }
    }
}

impl Sleep {
    /// How long it takes.
    pub(super) fn time(&self) -> Result<Duration, String> {
        match &self.duration {
            Some(text) => crate::config::value::duration(text),
            None => Duration::try_from_secs_f64(self.seconds)
                .map_err(|error| format!("cannot sleep for {} seconds: {error}", self.seconds)),
        }
    }
}

/// Who tries things out does not want to wait for a minute.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);
/// More would not be seen.
const MOST_STEPS: u32 = 10_000;

pub(super) async fn sleep(cx: Context, task: Sleep) -> TaskResult {
    let time = task.time().map_err(TaskError::permanent)?;
    let steps = if time.is_zero() {
        1
    } else {
        task.steps.clamp(1, MOST_STEPS)
    };
    let began = Instant::now();
    cx.progress().set_total(steps.into());
    for step in 1..=steps {
        tokio::select! {
            () = tokio::time::sleep((time / steps * step).saturating_sub(began.elapsed())) => {
                cx.progress().set(step.into())?;
            }
            () = cx.cancelled() => return Err("was told to stop".into()),
        }
    }
    if cx.attempt() <= task.fail {
        return Err(format!("fails {} times, as it was told", task.fail).into());
    }
    Ok(())
}
