//! What holds for any expression and any text, tried on random ones.

mod brute_force;
mod spec;
mod texts;
