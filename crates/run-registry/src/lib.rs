//! At most one live run for each thread: check and creation in one step, enforced transitions, a cancel that can be
//! repeated.
//!
//! A gateway starts *runs* (an agent's turn, an import, a build) on *threads* (a conversation, a tenant, a repository),
//! and two runs on one thread would trample on each other. Asking "is one live?" and then creating is a race that two
//! callers lose together; [`RunRegistry::create_or_reject`] asks and creates in one critical section, and tells the loser
//! who was faster. This crate keeps the runs of one process in memory.
//!
//! # Fairness
//! None is promised: of callers that create at the same time on one thread, the first to reach the critical section wins
//! and the others are refused at once. Nobody waits in a line.
//!
//! # Example: a gateway that answers 409 with the run that blocks
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use tidegate_run_registry::{CancelOutcome, Ending, Run, RunId, RunRegistry, RunSpec, Status, TransitionError};
//!
//! /// `POST /threads/{thread}/runs`: a status code and a body.
//! fn start_run(runs: &RunRegistry, thread: &str) -> (u16, String) {
//!     match runs.create_or_reject(thread, RunSpec::new().owner("gateway-1")) {
//!         Ok(run) => {
//!             let answer = (202, run.id().to_string());
//!             tokio::spawn(work(run)); // the handle goes with the work: if that panics, the thread is free again
//!             answer
//!         }
//!         Err(conflict) => (409, conflict.to_string()),
//!     }
//! }
//!
//! async fn work(run: Run) -> Result<(), TransitionError> {
//!     run.start()?; // a run that was cancelled before never starts
//!     let answer = std::future::pending::<String>(); // a model that thinks for a long time
//!     match run.signal().run(answer).await {
//!         Ok(_text) => run.finish(Ending::Success),
//!         Err(_aborted) => run.finish(Ending::Interrupted),
//!     }
//! }
//!
//! let runs = RunRegistry::new();
//! let (code, id) = start_run(&runs, "chat-7");
//! assert_eq!(code, 202);
//! let id: RunId = id.parse().unwrap();
//!
//! let (code, body) = start_run(&runs, "chat-7");
//! assert_eq!(code, 409);
//! assert!(body.starts_with(&format!("thread \"chat-7\" is occupied by run {id} (pending")), "{body}");
//! assert!(body.ends_with("owner gateway-1)"), "{body}");
//!
//! tokio::task::yield_now().await; // the worker starts
//! assert_eq!(runs.cancel_with(id, "the user pressed stop"), CancelOutcome::Cancelling);
//! assert_eq!(runs.wait_terminal(id).await, Some(Status::Interrupted));
//! assert_eq!(start_run(&runs, "chat-7").0, 202);
//! # }
//! ```
//!
//! | to do | use |
//! |---|---|
//! | create, or learn who blocks | [`create_or_reject`](RunRegistry::create_or_reject), [`create`](RunRegistry::create) |
//! | carry a run out | [`Run`]: [`start`](Run::start), [`signal`](Run::signal), [`finish`](Run::finish) |
//! | stop it from outside | [`cancel`](RunRegistry::cancel), [`finish`](RunRegistry::finish) by id |
//! | wait until it is over | [`wait_terminal`](RunRegistry::wait_terminal) |
//! | look | [`get`](RunRegistry::get), [`list_by_thread`](RunRegistry::list_by_thread), [`snapshot`](RunRegistry::snapshot) |
//! | forget what is over | [`cleanup`](RunRegistry::cleanup) |
//!
//! # When not to use it
//! To let callers wait for their turn, take a lock per key; this registry refuses. To share threads between processes, a
//! registry in memory is blind to the others: that takes a constraint in their common database. Runs are gone when the
//! process is.
//!
//! # Guarantees
//! - **RR-1** No check-then-act gap: at most one live run for each thread at any moment, whatever calls race. A run that
//!   is over has ceased to block in the same step.
//! - **RR-4** [`TRANSITIONS`] is enforced on every path. Terminal statuses are final; of a cancel and a completion that race
//!   exactly one wins, and both learn which.
//! - **RR-6** Finished runs leave by [`cleanup`](RunRegistry::cleanup), with everything that belonged to them; live runs
//!   never do, however old.
//! - **RR-8** Whoever waits for the end of a run is woken by it: no wake-up is lost.
//!
//! # Cancel safety
//! Only [`WaitTerminal`] is a future; it may be dropped at any time. A task that is dropped with its [`Run`] in it ends the
//! run.
//!
//! # Panics and errors
//! Nothing panics by itself. Errors are [`Conflict`] and [`TransitionError`]; [`CancelOutcome`] is an answer, not an error.
//! A panic in a waker that the end of a run calls goes on in the one who ended it, after the others were woken.
//!
//! # Performance
//! Every operation by id or by thread is O(1) in the number of runs: a create locks one shard of a sharded map for the
//! thread and, inside, one for the id; start, finish and cancel look the id up and then lock that run only. Threads of
//! different shards do not meet, and no lock is held over anything but a few moves in memory. Only
//! [`cleanup`](RunRegistry::cleanup) and [`snapshot`](RunRegistry::snapshot) visit everything.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
#[cfg(test)]
mod models;
mod record;
mod registry;
mod run;
mod state;
mod status;

pub use error::{CancelOutcome, Conflict, TransitionError};
pub use record::{Cause, Ending, ParseRunIdError, RunId, RunRecord, RunSpec, ThreadId};
pub use registry::{Admission, OnConflict, RegistrySnapshot, RunRegistry};
pub use run::{Run, WaitTerminal};
pub use status::{Status, TRANSITIONS};
