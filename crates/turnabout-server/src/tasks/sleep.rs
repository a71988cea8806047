//! The task `sleep`: does nothing for a while, and fails on request. For trying things out.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use turnabout::{Context, Task, TaskError, TaskResult};

/// An attempt reports how far it is so often.
const PARTS: u32 = 100;

/// What to do: `{"seconds": 2.5, "fail": 1}`. All of it may be left out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sleep {
    /// How long an attempt takes.
    seconds: f64,
    /// How many attempts fail before one succeeds.
    fail: u32,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { seconds: 1.0, fail: 0 }
    }
}

impl Task for Sleep {
    const NAME: &'static str = "sleep";
    /// Who tries things out does not want to wait for a minute.
    const RETRY_DELAY: Duration = Duration::from_secs(1);
}

pub(crate) async fn sleep(cx: Context, task: Sleep) -> TaskResult {
    let time = Duration::try_from_secs_f64(task.seconds)
        .map_err(|error| TaskError::permanent(format!("cannot sleep for {} seconds: {error}", task.seconds)))?;
    let began = Instant::now();
    for part in 1..=PARTS {
        tokio::select! {
            () = tokio::time::sleep((time / PARTS * part).saturating_sub(began.elapsed())) => {
                cx.progress().set(part.into())?;
            }
            () = cx.cancelled() => return Err("was told to stop".into()),
        }
    }
    if cx.attempt() <= task.fail {
        return Err(format!("fails {} times, as it was told", task.fail).into());
    }
    Ok(())
}
