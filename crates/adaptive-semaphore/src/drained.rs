//! Waiting until nothing is in flight.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_sync::WaitKey;

use crate::semaphore::Shared;

/// The future of [`drained`](crate::AdaptiveSemaphore::drained).
///
/// It resolves if there was a moment, at or after its first poll, at which nothing was in flight.
#[must_use = "futures do nothing unless polled"]
pub struct Drained<'a> {
    shared: &'a Shared,
    key: Option<WaitKey>,
}

impl<'a> Drained<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared, key: None }
    }
}

impl Future for Drained<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let waiting = match self.key {
            None => {
                let joined = self.shared.locked(|core| core.join_idle(waker));
                self.key = joined.ok();
                self.key.is_some()
            }
            Some(key) => {
                let renewed = self.shared.locked(|core| core.renew_idle(key, waker));
                renewed.is_ok()
            }
        };
        if waiting {
            return Poll::Pending;
        }
        self.key = None;
        Poll::Ready(())
    }
}

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let _waker = self.shared.locked(|core| core.leave_idle(key));
        }
    }
}

impl fmt::Debug for Drained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("queued", &self.key.is_some()).finish_non_exhaustive()
    }
}
