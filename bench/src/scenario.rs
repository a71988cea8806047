//! The scenarios, a file each: a function from a place and its sizes to what was measured.

pub(crate) mod asleep;
pub(crate) mod cost;
mod delay;
pub(crate) mod drain;
pub(crate) mod flood;
pub(crate) mod idle;
pub(crate) mod latency;
pub(crate) mod life;
pub(crate) mod limited;
pub(crate) mod memory;
pub(crate) mod network;
mod proxy;
pub(crate) mod schedules;
pub(crate) mod steady;
pub(crate) mod submit;
pub(crate) mod telling;
pub(crate) mod unknown;
