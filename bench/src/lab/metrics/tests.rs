//! The numbers, on examples made by hand.
