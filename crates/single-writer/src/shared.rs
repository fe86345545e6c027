//! What the handles and the owner thread have in common.

use std::convert::Infallible;

use tidegate_sync::primitives::{Arc, Mutex};
use tokio::sync::{oneshot, watch};

use crate::batch::Item;
use crate::report::Tally;
use crate::{CloseReport, End, Sink, Stats};

/// What stands in the queue.
pub(crate) enum Command<S: Sink> {
    /// A record with its reply.
    Write(Item<S>),
    /// Dropped, never answered, once everything before it is settled.
    Flush(oneshot::Sender<Infallible>),
}

/// The book, and whether it is finished.
pub(crate) struct Shared<E> {
    tally: Arc<Mutex<Tally<E>>>,
    end: watch::Receiver<Option<End>>,
}

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        Self { tally: Arc::clone(&self.tally), end: self.end.clone() }
    }
}

impl<E> Shared<E> {
    /// A new book, and the pen that ends it.
    pub(crate) fn new() -> (Self, Finish) {
        let (finish, end) = watch::channel(None);
        (Self { tally: Arc::new(Mutex::new(Tally::default())), end }, Finish(finish))
    }

    pub(crate) fn tally<R>(&self, change: impl FnOnce(&mut Tally<E>) -> R) -> R {
        change(&mut self.tally.lock())
    }

    pub(crate) fn stats(&self) -> Stats {
        self.tally.lock().stats
    }

    /// Resolves once the thread has closed its sink, or died.
    pub(crate) async fn ended(&self) {
        let mut end = self.end.clone();
        // An error says that the pen is gone, which is an end too.
        let _ = end.wait_for(Option::is_some).await;
    }

    /// The report as of now; `unfinished` says how it ended as long as it has not.
    pub(crate) fn report(&self, unfinished: End) -> CloseReport<E> {
        let end = (*self.end.borrow()).unwrap_or(unfinished);
        CloseReport::new(&self.tally.lock(), end)
    }
}

/// Says how the thread ended: [`End::Died`] if it is dropped without a word.
pub(crate) struct Finish(watch::Sender<Option<End>>);

impl Finish {
    pub(crate) fn say(&self, end: End) {
        self.0.send_replace(Some(end));
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.send_if_modified(|end| match end {
            None => {
                *end = Some(End::Died);
                true
            }
            Some(_) => false,
        });
    }
}
