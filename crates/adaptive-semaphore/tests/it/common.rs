use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Fixed, OwnedPermit};

pub(crate) fn fixed(limit: usize) -> AdaptiveSemaphore {
    AdaptiveSemaphore::builder().initial(limit).limit(Fixed).build()
}

pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

pub(crate) fn take(semaphore: &AdaptiveSemaphore, count: usize) -> Vec<OwnedPermit> {
    (0..count).map(|_| semaphore.try_acquire_owned().unwrap()).collect()
}

/// Takes every permit and reports `count` saturated successes with it, keeping the others out.
pub(crate) fn succeed_saturated(semaphore: &AdaptiveSemaphore, count: usize) {
    for _ in 0..count {
        let mut all = take(semaphore, semaphore.limit());
        all.pop().unwrap().success();
    }
}

/// Counts its wakes.
#[derive(Default)]
pub(crate) struct Bell(AtomicUsize);

impl Bell {
    pub(crate) fn rung(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn poll<F: Future + Unpin>(self: &Arc<Self>, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(self));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
