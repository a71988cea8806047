//! Traces for OpenTelemetry: a job's run belongs to the trace in which it was submitted, whichever process runs it.
//!
//! What ties them together is a `traceparent` (W3C) in the job's meta, which travels with it. Without an endpoint nothing
//! is recorded, and what others have recorded is handed on all the same. Recording needs the feature `otel`.

#[cfg(feature = "otel")]
mod recorded;
#[cfg(not(feature = "otel"))]
mod unrecorded;

use std::collections::BTreeMap;

#[cfg(feature = "otel")]
pub(crate) use recorded::{Sender, belongs, current};
#[cfg(not(feature = "otel"))]
pub(crate) use unrecorded::{Sender, belongs, current};

/// Where a trace is noted in a job's meta, in a request's headers and, in capitals, in the environment.
pub(crate) const PARENT: &str = "traceparent";

/// Notes in a job's meta which trace it belongs to, unless its submitter has: the present one, or the caller's.
pub(crate) fn note(meta: &mut BTreeMap<String, String>, caller: Option<&str>) {
    if !meta.contains_key(PARENT)
        && let Some(parent) = current().or_else(|| caller.map(str::to_owned))
    {
        meta.insert(PARENT.to_owned(), parent);
    }
}
