//! Which class an error has.
//!
//! [`Classify`](tidegate_core::Classify) is the seam, and any `Fn(&E) -> Class` fits it. Here is what saves writing one: a
//! classifier that finds the telling error inside a chain, and what the kinds of `std::io::Error` mean.

mod chain;
mod io;

pub use chain::ChainClassifier;
pub use io::class_of_io;
