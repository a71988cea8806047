//! The tasks that the program knows by itself.

mod sleep;

pub(crate) use sleep::sleep;
