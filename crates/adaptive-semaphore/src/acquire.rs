//! Waiting for a permit: one private core, generic over how it holds the semaphore, with its public faces.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tidegate_sync::WaitKey;
use tidegate_sync::primitives::Arc;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::core::{Asked, Left};
use crate::error::{AcquireByError, Closed};
use crate::front::Taken;
use crate::permit::{Held, OwnedPermit, Permit};
use crate::semaphore::Shared;

/// An acquire: idle until polled and again once it has its answer, else with a place in the queue.
pub(crate) struct Waiting<H: Deref<Target = Shared>> {
    shared: H,
    place: Option<WaitKey>,
}

impl<H: Deref<Target = Shared> + Clone> Waiting<H> {
    #[inline]
    pub(crate) fn new(shared: H) -> Self {
        Self { shared, place: None }
    }

    #[inline]
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Result<Held<H>, Closed>> {
        if self.place.is_none() {
            if let Ok(taken) = self.shared.take_free() {
                return Poll::Ready(Ok(Held::new(self.shared.clone(), taken)));
            }
        }
        self.poll_queued(waker)
    }

    fn poll_queued(&mut self, waker: &Waker) -> Poll<Result<Held<H>, Closed>> {
        let answer = match self.place {
            None => self.join(waker),
            Some(place) => self.ask(place, waker),
        };
        match answer {
            Some(answer) => Poll::Ready(self.accept(answer)),
            None => Poll::Pending,
        }
    }

    /// Gives up, unless the answer is there already.
    pub(crate) fn leave(&mut self) -> Option<Result<Held<H>, Closed>> {
        let place = self.place.take()?;
        let left = self.shared.locked(|core| core.leave(place));
        match left {
            Left::Answered(answer) => Some(self.accept(answer)),
            Left::Waiting(waker) => {
                drop(waker);
                None
            }
        }
    }

    fn accept(&mut self, answer: Result<Taken, Closed>) -> Result<Held<H>, Closed> {
        self.place = None;
        answer.map(|taken| Held::new(self.shared.clone(), taken))
    }

    fn join(&mut self, waker: &Waker) -> Option<Result<Taken, Closed>> {
        // Cloned outside the lock, and only by those who found no permit. Dropped outside it, too, if not needed.
        let mut waker = Some(waker.clone());
        let place = &mut self.place;
        self.shared.change(|core, effects| core.join(&mut waker, place, effects))
    }

    fn ask(&self, place: WaitKey, waker: &Waker) -> Option<Result<Taken, Closed>> {
        if self.shared.front.was_granted(place.stamp()) {
            return Some(Ok(Taken { saturated: true }));
        }
        let asked = self.shared.locked(|core| core.ask(place, waker));
        match asked {
            Asked::Answered(answer) => Some(answer),
            Asked::Waiting => None,
            Asked::Moved => {
                let waker = waker.clone();
                let (_spare, answer) = self.shared.locked(|core| core.renew(place, waker));
                answer
            }
        }
    }
}

impl<H: Deref<Target = Shared>> Drop for Waiting<H> {
    #[inline]
    fn drop(&mut self) {
        if let Some(place) = self.place {
            cancel(&self.shared, place);
        }
    }
}

#[cold]
fn cancel(shared: &Shared, place: WaitKey) {
    let waker = shared.change(|core, effects| core.cancel(place, effects));
    drop(waker);
}

macro_rules! acquire {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $hold:ty, $permit:ty) => {
        $(#[$doc])*
        ///
        /// Resolves to a permit, or [`Closed`]. Polled again after that, it waits for another permit.
        #[must_use = "futures do nothing unless polled"]
        pub struct $name $(<$life>)? (Waiting<$hold>);

        impl $(<$life>)? $name $(<$life>)? {
            #[inline]
            pub(crate) fn new(shared: $hold) -> Self {
                Self(Waiting::new(shared))
            }
        }

        impl $(<$life>)? Future for $name $(<$life>)? {
            type Output = Result<$permit, Closed>;

            #[inline]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.0.poll(cx.waker()).map_ok(<$permit>::new)
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("queued", &self.0.place.is_some()).finish_non_exhaustive()
            }
        }
    };
}

acquire! {
    /// The future of [`acquire`](crate::AdaptiveSemaphore::acquire). 40 bytes, `Unpin`, allocates nothing.
    Acquire<'a>, &'a Shared, Permit<'a>
}

acquire! {
    /// The future of [`acquire_owned`](crate::AdaptiveSemaphore::acquire_owned).
    AcquireOwned, Arc<Shared>, OwnedPermit
}

/// The future of [`acquire_by`](crate::AdaptiveSemaphore::acquire_by).
///
/// Allocates its timer when it has to wait.
#[must_use = "futures do nothing unless polled"]
pub struct AcquireBy<'a> {
    waiting: Waiting<&'a Shared>,
    deadline: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'a> AcquireBy<'a> {
    pub(crate) fn new(shared: &'a Shared, deadline: Instant) -> Self {
        Self { waiting: Waiting::new(shared), deadline, sleep: None }
    }
}

impl<'a> Future for AcquireBy<'a> {
    type Output = Result<Permit<'a>, AcquireByError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let answer = match this.waiting.poll(cx.waker()) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => {
                let sleep = this.sleep.get_or_insert_with(|| Box::pin(sleep_until(this.deadline)));
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                // A permit that was granted between the look above and now is kept, not lost.
                this.waiting.leave()
            }
        };
        this.sleep = None;
        Poll::Ready(match answer {
            Some(answer) => answer.map(Permit::new).map_err(AcquireByError::from),
            None => Err(AcquireByError::TimedOut),
        })
    }
}

impl fmt::Debug for AcquireBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquireBy")
            .field("queued", &self.waiting.place.is_some())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
