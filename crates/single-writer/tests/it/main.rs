//! The public face of the single writer.
#![cfg(not(tidegate_loom))]

mod commit;
mod end;
mod gather;
mod panics;
mod probe;
