//! The futures: waiting for a level, and running another future until the abort.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pin_project::pin_project;
use tidegate_sync::WaitKey;
use tidegate_sync::primitives::Arc as Shared;

use crate::state::State;
use crate::{Aborted, Level, Reason};

/// A place in a list of waiters, with a copy of the waker that stands there: a poll with the same waker takes no lock.
struct Place {
    level: Level,
    held: Option<(WaitKey, Waker)>,
}

impl Place {
    fn new(level: Level) -> Self {
        Self { level, held: None }
    }

    fn poll<R>(&mut self, state: &State<R>, waker: &Waker) -> Poll<()> {
        if state.level() >= self.level {
            return Poll::Ready(());
        }
        if matches!(&self.held, Some((_, held)) if held.will_wake(waker)) {
            return Poll::Pending;
        }
        let key = self.held.as_ref().map(|(key, _)| *key);
        // Both clones first: a clone that panics must not leave an entry behind.
        let (kept, given) = (waker.clone(), waker.clone());
        self.held = state.enlist(self.level, key, given).map(|key| (key, kept));
        if self.held.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn leave<R>(&mut self, state: &State<R>) {
        if let Some((key, _)) = self.held.take() {
            state.leave(self.level, key);
        }
    }
}

/// Looks at the signal first, then polls `future`, then waits for both.
fn poll_run<F: Future, R>(
    future: Pin<&mut F>,
    place: &mut Place,
    state: &State<R>,
    context: &mut Context<'_>,
) -> Poll<Result<F::Output, Aborted<R>>> {
    if let Some(reason) = state.reason_of(Level::Abort) {
        return Poll::Ready(Err(Aborted::new(reason)));
    }
    if let Poll::Ready(output) = future.poll(context) {
        return Poll::Ready(Ok(output));
    }
    match place.poll(state, context.waker()) {
        Poll::Pending => Poll::Pending,
        Poll::Ready(()) => match state.reason_of(Level::Abort) {
            Some(reason) => Poll::Ready(Err(Aborted::new(reason))),
            None => Poll::Pending,
        },
    }
}

macro_rules! reached {
    ($(#[$doc:meta])* $name:ident <$($life:lifetime)?>, $handle:ty) => {
        $(#[$doc])*
        #[must_use = "futures do nothing unless polled or awaited"]
        pub struct $name<$($life,)? R = Reason> {
            state: $handle,
            place: Place,
        }

        impl<$($life,)? R> $name<$($life,)? R> {
            pub(crate) fn new(state: $handle, level: Level) -> Self {
                Self { state, place: Place::new(level) }
            }
        }

        impl<$($life,)? R> Future for $name<$($life,)? R> {
            type Output = ();

            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                let this = &mut *self;
                this.place.poll(&this.state, context.waker())
            }
        }

        impl<$($life,)? R> Drop for $name<$($life,)? R> {
            fn drop(&mut self) {
                self.place.leave(&self.state);
            }
        }

        impl<$($life,)? R> fmt::Debug for $name<$($life,)? R> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct(stringify!($name)).field("level", &self.place.level).finish_non_exhaustive()
            }
        }
    };
}

macro_rules! run {
    ($(#[$doc:meta])* $name:ident <$($life:lifetime)?>, $until:ident, $handle:ty) => {
        $(#[$doc])*
        #[pin_project]
        #[must_use = "futures do nothing unless polled or awaited"]
        pub struct $name<$($life,)? F, R = Reason> {
            #[pin]
            future: F,
            until: $until<$($life,)? R>,
        }

        impl<$($life,)? F, R> $name<$($life,)? F, R> {
            pub(crate) fn new(state: $handle, future: F) -> Self {
                Self { future, until: $until::new(state, Level::Abort) }
            }
        }

        impl<$($life,)? F: Future, R> Future for $name<$($life,)? F, R> {
            type Output = Result<F::Output, Aborted<R>>;

            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                let this = self.project();
                poll_run(this.future, &mut this.until.place, &this.until.state, context)
            }
        }

        impl<$($life,)? F, R> fmt::Debug for $name<$($life,)? F, R> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

reached! {
    /// Resolves once the signal stands at a level or above; made by
    /// [`reached`](crate::AbortSignal::reached) and [`aborted`](crate::AbortSignal::aborted).
    ///
    /// # Cancel safety
    /// Dropping it takes it out of the list of waiters; nothing is left behind and nobody else's wake-up is lost. It
    /// may be polled again after it was ready, and is ready again.
    Reached<'a>, &'a State<R>
}

reached! {
    /// [`Reached`] that owns its share of the signal, for spawned tasks; made by
    /// [`reached_owned`](crate::AbortSignal::reached_owned) and [`aborted_owned`](crate::AbortSignal::aborted_owned).
    ///
    /// # Cancel safety
    /// As [`Reached`].
    ReachedOwned<>, Shared<State<R>>
}

run! {
    /// Runs a future until it is done or the signal aborts; made by [`run`](crate::AbortSignal::run).
    ///
    /// # Cancel safety
    /// Dropping it drops the inner future and leaves nothing in the signal.
    Run<'a>, Reached, &'a State<R>
}

run! {
    /// [`Run`] that owns its share of the signal, for spawned tasks; made by
    /// [`run_owned`](crate::AbortSignal::run_owned).
    ///
    /// # Cancel safety
    /// As [`Run`].
    RunOwned<>, ReachedOwned, Shared<State<R>>
}
