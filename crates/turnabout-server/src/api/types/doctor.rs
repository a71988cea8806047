//! What is wrong now, and what mends it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wrong now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Diagnosis {
    /// The most important in a sentence.
    pub(crate) verdict: String,
    /// What is wrong, in the order of harm. Empty: all is well.
    pub(crate) findings: Vec<Finding>,
}

/// How bad something is. What is worse is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Jobs do not run that should.
    Critical,
    /// Jobs run late, or will not run soon.
    Warning,
    /// Good to know.
    Notice,
}

impl Severity {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Finding {
    /// How bad it is.
    pub(crate) severity: Severity,
    /// A word that does not change: `unknown-task`, ..
    pub(crate) code: String,
    /// What is wrong, in a sentence.
    pub(crate) what: String,
    /// What that is known from.
    pub(crate) evidence: String,
    /// What mends it: a command, or what to do.
    pub(crate) mend: String,
    /// Where to see more: a path of this API.
    pub(crate) link: Option<String>,
}
