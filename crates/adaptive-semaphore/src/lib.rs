//! A semaphore for work whose right concurrency nobody knows beforehand: it starts small, grows while it is the limit
//! that holds the work back and the work succeeds, and is cut once for each wave of overloads.
//!
//! # Fairness
//! First come, first served. A permit that comes back is handed to the longest waiting, under the same lock: there is
//! no moment at which a newcomer could take it first, and nobody is woken in vain.
//!
//! # Example
//! ```
//! use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate_adaptive_semaphore::Closed> {
//! let semaphore = AdaptiveSemaphore::builder().name("render service").initial(4).bounds(1..=32).build();
//!
//! // Whoever makes an attempt holds a permit meanwhile, and says how it went.
//! let permit = semaphore.acquire().await?;
//! let status = 429; // ... the request ...
//! match status {
//!     200 => permit.success(),
//!     429 | 503 => permit.overload(),
//!     _ => permit.ignore(),
//! }
//! assert_eq!(semaphore.limit(), 3);
//!
//! // Or sets the outcome first, and lets the scope give the permit back, whatever ends it.
//! let mut permit = semaphore.acquire().await?;
//! permit.set_outcome(Outcome::Success);
//! drop(permit);
//! # Ok(())
//! # }
//! ```
//!
//! # When not to use it
//! - The right limit is known and constant: `tokio::sync::Semaphore` is faster and does it. (Here it is [`Fixed`], for
//!   the sake of the outcomes' statistics or a limit that is set at run time.)
//! - The service limits the *rate*, not what is in flight at once: pace the starts instead; a cap on what is in flight
//!   limits a rate only by way of the latency.
//! - Attempts of very different weight: each permit counts as one.
//!
//! # Guarantees
//! - **AS-1** Conservation: a permit is granted only while fewer than `limit` are out, and each comes back exactly once,
//!   for any interleaving of acquire, cancel, drop, [`set_limit`](AdaptiveSemaphore::set_limit) and
//!   [`close`](AdaptiveSemaphore::close).
//! - **AS-2** First in, first out; [`try_acquire`](AdaptiveSemaphore::try_acquire) never overtakes a waiter.
//! - **AS-3** Lowering the limit below what is out takes effect as permits come back: nothing is forgotten, nothing
//!   over-issued.
//! - **AS-4** A wave of k overloads in one epoch is one cut; a stale sample never reaches the algorithm.
//! - **AS-5** No growth while not saturated.
//! - **AS-6** A closed semaphore stays closed.
//! - **AS-7** The limit is at least 1 for every algorithm and factor.
//!
//! # Epochs
//! A permit belongs to the epoch in which it was taken. A cut begins a new one, as does
//! [`begin_epoch`](AdaptiveSemaphore::begin_epoch). What a permit of a past epoch reports tells of a limit that is gone:
//! it is counted, and taught to nobody. A permit may carry the epoch of a gate besides
//! ([`tag_epoch`](Permit::tag_epoch)): then it is stale too once a permit with the same tag, or a later one, has led to a
//! cut, so that attempts that left together count as one wave even if some took their permit after the cut.
//!
//! # Cancel safety
//! Any future can be dropped at any time. One that waits leaves the queue; one that was granted a permit and has not
//! looked yet passes it on.
//!
//! # Panics and errors
//! Nothing panics for any input: limits are taken into their bounds. [`acquire_by`](AdaptiveSemaphore::acquire_by) needs
//! tokio's timer if it has to wait; everything else runs on any runtime, or without one. [`Closed`] is the only way to
//! fail an acquire. A panic while a permit is held gives it back as [`Ignored`](Outcome::Ignored).
//!
//! # Performance
//! While permits are left, acquire and success are one compare-and-swap each: no lock, no allocation, no clock. The lock is
//! taken when somebody waits, and for what may move the limit: an overload, and a success while saturated. The clock is read
//! when the limit moves, and twice a round trip for an algorithm that [wants latencies](Interest::Latency). A waiter takes
//! 40 bytes in a list whose slots are reused, beside its future of 40.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod acquire;
mod builder;
mod change;
mod core;
mod drained;
mod env;
mod error;
mod front;
mod limit;
#[cfg(test)]
mod models;
mod permit;
mod rounds;
mod semaphore;
mod summary;
mod word;

pub use acquire::{Acquire, AcquireBy, AcquireOwned};
pub use builder::Builder;
pub use change::{Cause, Change};
pub use drained::Drained;
pub use error::{AcquireByError, Closed, ConfigError, TryAcquireError};
pub use limit::{Aimd, Fixed, Interest, Limit, PacedWindow, Ramp, Sample};
pub use permit::{OwnedPermit, Permit};
pub use rounds::round_concurrency;
pub use semaphore::AdaptiveSemaphore;
pub use summary::{PerfSummary, Snapshot};
pub use tidegate_core::Outcome;
