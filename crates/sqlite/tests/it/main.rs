//! The public face of tidegate on SQLite, against real files.
#![cfg(not(tidegate_loom))]

mod contention;
mod kill;
mod open;
mod store;
mod write;
