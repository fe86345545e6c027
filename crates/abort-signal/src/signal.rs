//! The handle.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tidegate_core::Stop;
use tidegate_sync::parker;
use tidegate_sync::primitives::Arc as Shared;

use crate::state::State;
use crate::{AbortOnDrop, Aborted, Level, Reached, ReachedOwned, Reason, Run, RunOwned};

/// A handle to one signal; clones share it. See the [crate's documentation](crate).
pub struct AbortSignal<R = Reason> {
    state: Shared<State<R>>,
}

/// A signal at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbortSnapshot {
    /// Its level.
    pub level: Level,
    /// How many futures wait for a level: polled at least once, not woken, not dropped.
    pub waiters: usize,
}

impl AbortSignal {
    /// A new signal at [`Level::Run`], with a text as its reason.
    #[must_use]
    pub fn new() -> Self {
        Self::typed()
    }
}

impl<R> AbortSignal<R> {
    /// A new signal at [`Level::Run`], with a reason of your own type.
    ///
    /// ```
    /// use tidegate_abort_signal::AbortSignal;
    ///
    /// #[derive(Debug, PartialEq)]
    /// enum Cause { QuotaExhausted, DiskFull }
    ///
    /// let signal = AbortSignal::<Cause>::typed();
    /// signal.abort(Cause::DiskFull);
    /// assert_eq!(signal.reason().as_deref(), Some(&Cause::DiskFull));
    /// ```
    #[must_use]
    pub fn typed() -> Self {
        Self { state: Shared::new(State::new()) }
    }

    /// Whether it stands at [`Level::Abort`]. One load, Acquire: what the aborting caller did before is visible to
    /// whoever sees true (**AB-1**).
    #[inline]
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.level() >= Level::Abort
    }

    /// The level. One load, Acquire, as [`is_aborted`](Self::is_aborted). It never falls (**AB-4**).
    #[inline]
    #[must_use]
    pub fn level(&self) -> Level {
        self.state.level()
    }

    /// For `?` at the start of each item. One load while the signal is not aborted; then also a short lock, for the
    /// reason.
    ///
    /// # Errors
    /// [`Aborted`] with the reason, once the signal stands at [`Level::Abort`]. Draining is no error.
    #[inline]
    pub fn check(&self) -> Result<(), Aborted<R>> {
        match self.state.reason_of(Level::Abort) {
            None => Ok(()),
            Some(reason) => Err(Aborted::new(reason)),
        }
    }

    /// Rises to [`Level::Abort`] and wakes everybody who waits for any level. Returns whether this call did it: the
    /// first reason wins, every later call changes nothing (**AB-3**).
    ///
    /// Wakers are called on this thread, outside the lock. If one of them panics, the others are still called, and the
    /// panic goes on.
    pub fn abort(&self, reason: impl Into<R>) -> bool {
        self.state.raise(Level::Abort, reason.into())
    }

    /// Rises from [`Level::Run`] to [`Level::Drain`] and wakes those who wait for it. Returns whether this call did it:
    /// false if the signal already drains or is aborted (**AB-3**, **AB-4**).
    pub fn drain(&self, reason: impl Into<R>) -> bool {
        self.state.raise(Level::Drain, reason.into())
    }

    /// The reason of the highest level entered: the abort's if it is aborted, else the drain's. `Some` whenever the
    /// level is above [`Level::Run`] (**AB-1**, **AB-3**). Takes a short lock then.
    #[must_use]
    pub fn reason(&self) -> Option<Arc<R>> {
        self.state.reason()
    }

    /// The reason with which `level` itself was entered: after a drain and an abort, [`Level::Drain`] still tells the
    /// drain's. None if it was never entered, and always for [`Level::Run`].
    #[must_use]
    pub fn reason_of(&self, level: Level) -> Option<Arc<R>> {
        self.state.reason_of(level)
    }

    /// Resolves once the signal is aborted, at once if it already is. Runs on any runtime.
    ///
    /// Everybody who waits is woken, in the order of arrival within each level (**AB-2**).
    pub fn aborted(&self) -> Reached<'_, R> {
        self.reached(Level::Abort)
    }

    /// Resolves once the signal stands at `level` or above. [`Level::Run`] is ready at once.
    pub fn reached(&self, level: Level) -> Reached<'_, R> {
        Reached::new(&self.state, level)
    }

    /// [`aborted`](Self::aborted) as a `'static` future.
    pub fn aborted_owned(&self) -> ReachedOwned<R> {
        self.reached_owned(Level::Abort)
    }

    /// [`reached`](Self::reached) as a `'static` future.
    pub fn reached_owned(&self, level: Level) -> ReachedOwned<R> {
        ReachedOwned::new(Shared::clone(&self.state), level)
    }

    /// Runs `future` until it is done or the signal aborts. Looks at the signal *first* at every poll: once aborted, the
    /// future is not polled again, even if it is ready.
    ///
    /// The future itself is dropped with the returned one, not before. Repeated polls of one task take no lock.
    ///
    /// # Errors
    /// Resolves to [`Aborted`] with the reason, if the abort came first.
    ///
    /// # Cancel safety
    /// Dropping it drops `future` and leaves nothing in the signal.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use tidegate_abort_signal::AbortSignal;
    ///
    /// let signal = AbortSignal::new();
    /// assert_eq!(signal.run(async { 1 }).await.unwrap(), 1);
    /// signal.abort("disk full");
    /// assert_eq!(signal.run(async { 2 }).await.unwrap_err().text(), "disk full");
    /// # }
    /// ```
    pub fn run<F: Future>(&self, future: F) -> Run<'_, F, R> {
        Run::new(&self.state, future)
    }

    /// [`run`](Self::run) as a future that owns its share of the signal: `'static` if `future` is.
    pub fn run_owned<F: Future>(&self, future: F) -> RunOwned<F, R> {
        RunOwned::new(Shared::clone(&self.state), future)
    }

    /// Blocks this thread until the signal is aborted. For std threads and rayon; not inside an async task.
    pub fn wait_blocking(&self) {
        self.reached_blocking(Level::Abort);
    }

    /// Blocks this thread until the signal stands at `level` or above. Not inside an async task.
    pub fn reached_blocking(&self, level: Level) {
        parker::block_on(self.reached(level));
    }

    /// A guard that aborts with `reason` unless it is disarmed before its drop: early returns, panics and cancelled
    /// futures included.
    ///
    /// ```
    /// use tidegate_abort_signal::AbortSignal;
    ///
    /// fn stage(signal: &AbortSignal, fails: bool) -> Option<()> {
    ///     let guard = signal.abort_on_drop("the stage ended early");
    ///     if fails {
    ///         return None;
    ///     }
    ///     guard.disarm();
    ///     Some(())
    /// }
    ///
    /// let signal = AbortSignal::new();
    /// stage(&signal, false);
    /// assert!(!signal.is_aborted());
    /// stage(&signal, true);
    /// assert!(signal.is_aborted());
    /// ```
    pub fn abort_on_drop(&self, reason: impl Into<R>) -> AbortOnDrop<R> {
        AbortOnDrop::new(self.clone(), reason.into())
    }

    /// Level and number of waiters, of one moment.
    #[must_use]
    pub fn snapshot(&self) -> AbortSnapshot {
        let (level, waiters) = self.state.look();
        AbortSnapshot { level, waiters }
    }
}

impl<R> Clone for AbortSignal<R> {
    fn clone(&self) -> Self {
        Self { state: Shared::clone(&self.state) }
    }
}

impl<R> Default for AbortSignal<R> {
    fn default() -> Self {
        Self::typed()
    }
}

/// Shows level and waiters, never the reason.
impl<R> fmt::Debug for AbortSignal<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, waiters) = self.state.look();
        formatter.debug_struct("AbortSignal").field("level", &level).field("waiters", &waiters).finish()
    }
}

/// Stops at [`Level::Abort`]: draining lets begun work finish.
impl<R: Send + Sync + 'static> Stop for AbortSignal<R> {
    type Why = Arc<R>;
    type Stopped<'a> = Reached<'a, R>;

    fn is_stopped(&self) -> bool {
        self.is_aborted()
    }

    fn stopped(&self) -> Reached<'_, R> {
        self.aborted()
    }

    fn why(&self) -> Option<Arc<R>> {
        self.state.reason_of(Level::Abort)
    }
}
