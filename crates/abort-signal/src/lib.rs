//! One caller hits a fatal error; hundreds of others must stop at once, know why, and pay next to nothing for the
//! question while all is well.
//!
//! An [`AbortSignal`] has three [`Level`]s, [`Run`](Level::Run) < [`Drain`](Level::Drain) < [`Abort`](Level::Abort), and
//! a reason for each of the last two: a text ([`Reason`]) or a type of your own ([`AbortSignal::typed`]). Asking is one
//! atomic load. Whoever raises it wakes everybody who waits for that level or a lower one, in the order of their arrival.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use tidegate_abort_signal::{AbortSignal, Aborted};
//!
//! async fn worker(signal: AbortSignal, id: u32) -> Result<u32, Aborted> {
//!     signal.check()?; // before every item
//!     if id == 0 {
//!         signal.abort("401: quota exhausted"); // the first reason wins
//!     }
//!     signal.run(std::future::pending::<()>()).await?; // ends with the signal
//!     Ok(id)
//! }
//!
//! let signal = AbortSignal::new();
//! let other = tokio::spawn(worker(signal.clone(), 1));
//! let first = tokio::spawn(worker(signal.clone(), 0));
//! assert_eq!(first.await.unwrap().unwrap_err().text(), "401: quota exhausted");
//! assert_eq!(other.await.unwrap().unwrap_err().text(), "401: quota exhausted");
//! # }
//! ```
//!
//! | to do | use |
//! |---|---|
//! | stop before the next item | [`check`](AbortSignal::check), [`is_aborted`](AbortSignal::is_aborted) |
//! | stop in the middle of an await | [`run`](AbortSignal::run) |
//! | take no new work | [`level`](AbortSignal::level), [`reached`](AbortSignal::reached)`(Level::Drain)` |
//! | wait on a thread | [`wait_blocking`](AbortSignal::wait_blocking) |
//! | abort when a scope ends badly | [`abort_on_drop`](AbortSignal::abort_on_drop) |
//! | hand it to another primitive of the family | it is a [`Stop`](tidegate_core::Stop) |
//!
//! # When not to use it
//! For normal completion: that is a cascade of dropped senders, which loses nothing, while an abort may drop work in
//! flight. To carry values, take a watch channel. A level never falls: make a new signal for a new run.
//!
//! # Guarantees
//! - **AB-1** Whoever sees the level sees its reason, and all that the raising caller did before.
//! - **AB-2** No wake-up is lost: whoever waits for a level is woken when it, or a higher one, is reached; a wait that is
//!   dropped leaves nothing behind and takes nobody's wake-up with it.
//! - **AB-3** The first reason of each level wins, later calls change nothing, and [`AbortSignal::reason`] gives the
//!   highest level's.
//! - **AB-4** The level only rises; a drain never follows an abort.
//!
//! # Cancel safety
//! Every future may be dropped at any await: it leaves the list of waiters, and nothing stays behind.
//!
//! # Panics and errors
//! Nothing panics by itself. The only error is [`Aborted`]. A panic in a waker that [`abort`](AbortSignal::abort) calls
//! goes on in the aborting caller, after all others were woken.
//!
//! # Performance
//! [`is_aborted`](AbortSignal::is_aborted), [`level`](AbortSignal::level) and a passing
//! [`check`](AbortSignal::check) are one Acquire load behind one pointer: no lock, no write, so cores that only ask
//! share the cache line. A wait takes a short lock when it begins, when its task changes and when it ends early;
//! raising the signal is linear in the number of waiters. Runs on any runtime.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod guard;
mod level;
#[cfg(test)]
mod models;
mod reason;
mod signal;
mod state;
mod wait;

pub use error::Aborted;
pub use guard::AbortOnDrop;
pub use level::Level;
pub use reason::Reason;
pub use signal::{AbortSignal, AbortSnapshot};
pub use wait::{Reached, ReachedOwned, Run, RunOwned};
