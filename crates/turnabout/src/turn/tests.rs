//! Turns, tried out in a tiny world: what must hold after every single claim, whoever claims and in whatever order.

mod caps;
mod lanes;
mod peeks;
mod rotation;
pub(super) mod world;
