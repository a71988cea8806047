//! How long ended jobs are kept: what is set, and changes of that.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use turnabout::State;
use turnabout::group::GlobalSettings;
use turnabout::retention::Retention;
use utoipa::ToSchema;

use super::given;
use super::problem::Problem;

/// How many seconds jobs are kept after they have ended, by how they ended. Null: as the next, less specific setting says (the
/// group's, then the task's, then the one for all jobs, then `retention` of the configuration).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Retention)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "what is sent says its unit")]
pub(crate) struct RetentionView {
    /// Those that succeeded. 0: they go within seconds.
    pub(crate) success_seconds: Option<f64>,
    /// Those that failed.
    pub(crate) failed_seconds: Option<f64>,
    /// Those that were cancelled.
    pub(crate) cancelled_seconds: Option<f64>,
}

impl From<Retention> for RetentionView {
    fn from(kept: Retention) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            success_seconds: seconds(kept.success),
            failed_seconds: seconds(kept.failed),
            cancelled_seconds: seconds(kept.cancelled),
        }
    }
}

/// A time in seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Seconds(pub(crate) Option<f64>);

/// How many seconds jobs are to be kept after they have ended. What is left out stays as it is; null: as the next, less specific
/// setting says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "what is sent says its unit")]
pub(crate) struct RetentionChange {
    /// Those that succeed. 0: they go within seconds.
    #[schema(value_type = Option<f64>, minimum = 0)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) success_seconds: Option<Seconds>,
    /// Those that fail.
    #[schema(value_type = Option<f64>, minimum = 0)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) failed_seconds: Option<Seconds>,
    /// Those that are cancelled.
    #[schema(value_type = Option<f64>, minimum = 0)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled_seconds: Option<Seconds>,
}

impl RetentionChange {
    /// What is to be changed, state by state.
    pub(crate) fn said(self) -> Result<Vec<(State, Option<Duration>)>, Problem> {
        let said = [
            (State::Success, self.success_seconds),
            (State::Failed, self.failed_seconds),
            (State::Cancelled, self.cancelled_seconds),
        ];
        let time = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| Problem::invalid("retention", "say how many seconds: 0 or more, or null"))
        };
        said.into_iter()
            .filter_map(|(state, given)| Some((state, given?)))
            .map(|(state, Seconds(seconds))| Ok((state, seconds.map(time).transpose()?)))
            .collect()
    }
}

/// What is set for everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = GlobalSettings)]
pub(crate) struct GlobalView {
    /// Whether everything is paused: no further job is taken at all.
    #[serde(default)]
    pub(crate) paused: bool,
    /// How long ended jobs are kept of which neither group nor task says anything.
    pub(crate) retention: RetentionView,
}

impl From<GlobalSettings> for GlobalView {
    fn from(set: GlobalSettings) -> Self {
        Self {
            paused: set.paused,
            retention: set.retention.into(),
        }
    }
}

/// What is to be set for everything. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GlobalChange {
    /// True: no further job is taken at all; those that run go on. False: jobs are taken again, but for what is paused by itself.
    #[schema(value_type = bool)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// How long ended jobs are kept of which neither group nor task says anything.
    #[schema(value_type = RetentionChange)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) retention: Option<RetentionChange>,
    /// Why: for whoever finds it later.
    #[schema(value_type = String)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}
