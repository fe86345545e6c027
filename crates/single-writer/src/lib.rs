//! Many producers, one store that takes one writer at a time: a thread that owns the store, and answers that can be
//! believed.
//!
//! A lock around a database connection makes every caller queue, one transaction and one sync each. Here one thread
//! owns the connection ([`Sink`]); the others send records through a bounded queue and hold a [`Receipt`]. The thread
//! takes whatever is queued into one transaction (group commit), commits it, and only then answers: a receipt that says
//! [`Committed`] also says what the record survives ([`Durability`]).
//!
//! # Fairness
//! First come, first served, also among producers that wait for a place in the queue.
//!
//! # Example
//! ```
//! use std::convert::Infallible;
//! use tidegate_single_writer::{Durability, Sink, Writer};
//!
//! /// Keeps lines in memory.
//! #[derive(Default)]
//! struct Lines {
//!     committed: Vec<String>,
//!     open: Vec<String>,
//!     mark: usize,
//! }
//!
//! impl Sink for Lines {
//!     type Record = String;
//!     type Ack = usize;
//!     type Error = Infallible;
//!
//!     fn begin(&mut self) -> Result<(), Infallible> {
//!         Ok(())
//!     }
//!     fn apply(&mut self, line: &String) -> Result<usize, Infallible> {
//!         self.open.push(line.clone());
//!         Ok(self.committed.len() + self.open.len())
//!     }
//!     fn commit(&mut self) -> Result<Durability, Infallible> {
//!         self.committed.append(&mut self.open);
//!         Ok(Durability::Memory)
//!     }
//!     fn rollback(&mut self) {
//!         self.open.clear();
//!     }
//!     fn savepoint(&mut self) -> Result<(), Infallible> {
//!         self.mark = self.open.len();
//!         Ok(())
//!     }
//!     fn release(&mut self) -> Result<(), Infallible> {
//!         Ok(())
//!     }
//!     fn rollback_to(&mut self) -> Result<(), Infallible> {
//!         self.open.truncate(self.mark);
//!         Ok(())
//!     }
//!     fn close(&mut self) -> Result<(), Infallible> {
//!         Ok(())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let (writer, owner) = Writer::spawn(Lines::default())?;
//!
//! let receipt = writer.send("first".to_owned()).await?;
//! let committed = receipt.await?;
//! assert_eq!(committed.ack, 1);
//! assert_eq!(committed.durability, Durability::Memory);
//!
//! drop(writer); // the last one: the thread drains, closes the sink and ends
//! let report = owner.finished().await;
//! assert!(report.is_clean());
//! assert_eq!(report.rows, 1);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # When not to use it
//! For a store that takes many writers at once (a server database): a pool of connections is faster. For reads: they
//! need no owner, open a second connection. For a stream of bytes that nobody needs acknowledged: a buffered writer
//! costs less than a receipt per record.
//!
//! # Guarantees
//! - **SW-1** A record is acknowledged only after the commit of its transaction has returned, with the durability that
//!   the sink stated for it.
//! - **SW-2** A bad record fails alone: the rest of its batch is rolled back, replayed without it, and committed.
//! - **SW-3** A panic in the sink becomes an error for its record (for its batch, if it was beginning or committing);
//!   the thread lives on, and no producer waits for ever.
//! - **SW-4** When all writers are gone, or the owner closes, the queue is drained, then the sink is closed.
//! - **SW-5** Records of one producer that awaits each `send` are applied, and committed, in that order.
//! - **SW-6** Memory is bounded: the queue, one batch, and one record for each producer that waits for a place.
//!
//! # How it ends
//! | what happens | queued records | then |
//! |---|---|---|
//! | the last [`Writer`] is dropped | written | sink closed, [`End::Drained`] |
//! | [`Owner::close`] | written until the deadline, then failed with [`WriteError::Closed`] | sink closed, [`End::Drained`] or [`End::Deadline`] |
//! | the [abort signal](Builder::abort) | failed with [`WriteError::Aborted`] | what was applied is committed, sink closed, [`End::Aborted`] |
//! | the [`Owner`] is dropped | nothing changes | as with the last writer, but nobody waits for it |
//!
//! # Cancel safety
//! [`Writer::send`] dropped while it waits queues nothing. A [`Receipt`] dropped loses the receipt, not the record.
//!
//! # Panics and errors
//! Nothing here panics, except timed forms outside a tokio runtime with a timer. Errors give the record back
//! ([`Rejected`], [`TrySendError`]) or say why it is not committed ([`WriteError`]).
//!
//! # Performance
//! A record costs one allocation for its receipt and one wake-up of its producer; the clock is read only with a
//! [`linger`](Builder::linger). What is gained is the sync shared by a batch.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod builder;
mod error;
mod owner;
mod receipt;
mod report;
mod shared;
mod sink;
mod worker;
mod writer;

pub use builder::Builder;
pub use error::{Rejected, StartError, TrySendError, WriteError};
pub use owner::Owner;
pub use receipt::{Committed, Receipt};
pub use report::{CloseReport, End, Stats};
pub use sink::{Durability, Sink};
pub use writer::{ReceiptOf, Writer};
