//! One file per command; each has `Args` (what clap reads) and `run` (whether all passed, or whether it ran).

pub(crate) mod bench;
pub(crate) mod ci;
pub(crate) mod fuzz;
pub(crate) mod loom;
pub(crate) mod mutants;
pub(crate) mod storm;
pub(crate) mod test;
pub(crate) mod tidy;
