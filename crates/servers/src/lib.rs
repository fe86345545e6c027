//! Models of rate-limited servers: admission, latency, hints. What the example serves over HTTP and the scenarios of
//! `cargo x storm` run on a paused clock are these.
//!
//! ```
//! use tidegate_servers::{Server, ServerId, Verdict};
//!
//! let mut server = Server::named(ServerId::A1, 7); // a token bucket: 2/s, burst 60, Retry-After
//! let burst = (0..100).take_while(|_| server.admit(0.0) == Verdict::Admitted).count();
//! assert_eq!(burst, 60);
//! assert!(matches!(server.admit(0.0), Verdict::Rejected(Some(hint)) if hint.as_secs() == 1));
//! ```
//!
//! | item | what |
//! |---|---|
//! | [`Model`] | what a server is: its rule, its latency, whether it sends hints; sixteen have a [`ServerId`], seven a [`CapacityId`], others are drawn |
//! | [`Server`] | one server of a model, with its seed: decides on requests |
//! | [`Model::ideal`] | how long a client takes who knows everything |
//! | [`Model::published`] | what a client is told who reads the documentation of the server |
//!
//! Pure logic: no clock, no I/O, and every draw comes from a seeded generator, so a server with the same seed that sees
//! the same requests at the same times answers the same. Times are seconds as `f64`, from the server's first request.

mod capacity;
mod ideal;
mod model;
mod named;
mod random;
mod rules;
mod server;

pub use capacity::CapacityId;
pub use model::{Model, Published};
pub use named::ServerId;
pub use server::{Server, Verdict};
