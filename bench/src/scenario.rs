//! The scenarios, a file each: a function from a place and its sizes to what was measured.

pub(crate) mod cost;
pub(crate) mod drain;
pub(crate) mod flood;
pub(crate) mod idle;
pub(crate) mod latency;
pub(crate) mod memory;
mod proxy;
pub(crate) mod schedules;
pub(crate) mod steady;
pub(crate) mod submit;
pub(crate) mod telling;
pub(crate) mod unknown;
