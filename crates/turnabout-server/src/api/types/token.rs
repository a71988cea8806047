//! Tokens for browsers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::JobId;
use utoipa::ToSchema;

/// What a token is to allow. It is for jobs, for a group, or for an owner of a group; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MintRequest {
    /// These jobs, at most 100.
    #[schema(value_type = Vec<Uuid>, max_items = 100)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) jobs: Vec<JobId>,
    /// The jobs of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Those of this owner of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Whether the jobs may be cancelled with it.
    pub(crate) cancel: bool,
    /// How long it lives: 15 minutes unless said otherwise, from 1 second to 1 day.
    #[schema(example = "15 minutes")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lifetime: Option<String>,
}

/// A token that was minted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MintedToken)]
pub(crate) struct MintedView {
    /// The token: send it as `Authorization: Bearer TOKEN`.
    pub(crate) token: String,
    /// When it ends.
    pub(crate) expires: Timestamp,
}
