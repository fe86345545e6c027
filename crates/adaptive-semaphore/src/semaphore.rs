//! The handle.

use std::fmt;
use std::ops::RangeInclusive;

use tidegate_core::Outcome;
use tidegate_sync::parker;
use tidegate_sync::primitives::{Arc, Mutex};
use tokio::time::Instant;

use crate::acquire::{Acquire, AcquireBy, AcquireOwned};
use crate::builder::Builder;
use crate::change::Change;
use crate::core::{Core, Effects, State};
use crate::drained::Drained;
use crate::error::{Closed, ConfigError, TryAcquireError};
use crate::front::{Front, Grant, Taken};
use crate::permit::{Held, OwnedPermit, Permit};
use crate::summary::{PerfSummary, Snapshot};
use crate::word::{MOST, Refused, View};

/// A first-in-first-out semaphore whose limit is found, not guessed.
///
/// A handle: clones share one semaphore. See the [crate documentation](crate) for what it guarantees.
#[derive(Clone)]
pub struct AdaptiveSemaphore {
    shared: Arc<Shared>,
}

/// What the handles, futures and permits of one semaphore share. The mutex is the only lock; nothing of the user's runs
/// under it but the algorithm.
pub(crate) struct Shared {
    pub(crate) front: Front,
    pub(crate) state: Mutex<State>,
    pub(crate) on_change: Option<Listener>,
    pub(crate) name: Option<Box<str>>,
}

/// Who is told when the limit moves.
pub(crate) type Listener = Box<dyn Fn(&Change) + Send + Sync>;

impl Shared {
    /// Takes a permit that is free, if nobody waits.
    #[inline]
    pub(crate) fn take_free(&self) -> Result<Taken, Refused> {
        let view = self.front.word.take()?;
        if self.front.is_peak(view) {
            self.note(view);
        }
        Ok(Taken { saturated: view.is_full() })
    }

    /// Takes a permit that is free. Overtakes nobody.
    #[inline]
    pub(crate) fn try_take(&self) -> Result<Taken, TryAcquireError> {
        match self.take_free() {
            Ok(taken) => Ok(taken),
            Err(Refused::Closed) => Err(TryAcquireError::Closed),
            Err(Refused::Full) => Err(TryAcquireError::NoPermits),
            Err(Refused::Watched) => self.try_take_locked(),
        }
    }

    #[cold]
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method itself is for one lifetime only"
    )]
    fn try_take_locked(&self) -> Result<Taken, TryAcquireError> {
        self.change(|core, effects| core.try_take(effects))
    }

    #[cold]
    fn note(&self, view: View) {
        self.locked(|core| core.note(view));
    }

    /// A permit comes back with what it learned.
    #[inline]
    pub(crate) fn release(&self, grant: &Grant, outcome: Outcome) {
        let before = self.front.word.give_back(outcome == Outcome::Success);
        if before.is_watched() || self.front.concerns(grant, outcome, before) {
            self.returned(grant, outcome, before);
        }
    }

    #[inline(never)]
    fn returned(&self, grant: &Grant, outcome: Outcome, before: View) {
        self.change(|core, effects| core.returned(grant, outcome, before, effects));
    }

    /// A look or a transition under the lock that causes nothing outside.
    pub(crate) fn locked<R>(&self, look: impl FnOnce(&mut Core<'_>) -> R) -> R {
        look(&mut Core { front: &self.front, state: &mut self.state.lock() })
    }

    /// A transition under the lock, and its effects after it. If the transition panics, the lock is released first and
    /// the wakes happen all the same.
    pub(crate) fn change<R>(&self, transition: impl FnOnce(&mut Core<'_>, &mut Effects) -> R) -> R {
        let mut effects = Effects::default();
        let result = self.locked(|core| transition(core, &mut effects));
        effects.wakes.wake_all();
        if let (Some(change), Some(listener)) = (effects.change, &self.on_change) {
            listener(&change);
        }
        result
    }
}

impl Default for AdaptiveSemaphore {
    fn default() -> Self {
        Self::new()
    }
}

impl AdaptiveSemaphore {
    /// The highest limit there can be: 1,048,575. A higher one is taken for it.
    pub const MAX_LIMIT: usize = MOST;

    /// [`Ramp::new`](crate::Ramp::new) from 4 up to 32: one more permit per `max(24, limit)` successes while saturated,
    /// three quarters after a wave of overloads, never below 1.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts from the defaults of [`new`](Self::new).
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The defaults of [`new`](Self::new), overridden by the environment: `PREFIX_INITIAL`, `PREFIX_MIN`, `PREFIX_MAX`,
    /// `PREFIX_STEP_EVERY`, each a whole number of at least 1. See [`Builder::env`].
    ///
    /// # Errors
    /// If a variable is set to something else, or `PREFIX_INITIAL` lies outside the bounds: names the variable, its
    /// value and what is allowed.
    pub fn from_env(prefix: &str) -> Result<Self, ConfigError> {
        Ok(Self::builder().env(prefix)?.build())
    }

    pub(crate) fn from_shared(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Waits for a permit, first come first served.
    ///
    /// ```
    /// # use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Closed};
    /// # async fn example() -> Result<(), Closed> {
    /// let semaphore = AdaptiveSemaphore::new();
    /// let permit = semaphore.acquire().await?;
    /// // ... one attempt ...
    /// permit.success();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Closed`] once the semaphore is closed. A grant made before the close stands.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves its place in the queue; if it had been granted a permit that nobody looked at
    /// yet, the permit goes to the next in line.
    #[inline]
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire::new(&self.shared)
    }

    /// As [`acquire`](Self::acquire), with a future and a permit that borrow nothing.
    ///
    /// # Errors
    /// [`Closed`] once the semaphore is closed.
    pub fn acquire_owned(&self) -> AcquireOwned {
        AcquireOwned::new(Arc::clone(&self.shared))
    }

    /// As [`acquire`](Self::acquire), but gives up at `deadline`. A permit that is free, or was granted by then, is never
    /// refused, also when the deadline has passed already.
    ///
    /// # Errors
    /// [`AcquireByError`](crate::AcquireByError): closed, or timed out.
    ///
    /// # Panics
    /// If it has to wait outside a tokio runtime with its timer enabled.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub fn acquire_by(&self, deadline: Instant) -> AcquireBy<'_> {
        AcquireBy::new(&self.shared, deadline)
    }

    /// As [`acquire`](Self::acquire), blocking this thread. Not for use inside an async task.
    ///
    /// # Errors
    /// [`Closed`] once the semaphore is closed.
    pub fn acquire_blocking(&self) -> Result<Permit<'_>, Closed> {
        parker::block_on(self.acquire())
    }

    /// Takes a permit if one is free; never overtakes anyone who waits (AS-2).
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`] if all are out, [`TryAcquireError::Closed`] if the semaphore is closed.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_>, TryAcquireError> {
        let taken = self.shared.try_take()?;
        Ok(Permit::new(Held::new(&*self.shared, taken)))
    }

    /// As [`try_acquire`](Self::try_acquire), with a permit that borrows nothing.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_owned(&self) -> Result<OwnedPermit, TryAcquireError> {
        let taken = self.shared.try_take()?;
        Ok(OwnedPermit::new(Held::new(Arc::clone(&self.shared), taken)))
    }

    /// Sets the limit, taken into the bounds, and returns what is in force.
    ///
    /// A higher limit wakes as many waiters as now fit. A lower one takes effect as permits come back: none is revoked,
    /// none is forgotten (AS-3). The algorithm goes on from there. A closed semaphore stays closed (AS-6).
    ///
    /// No epoch begins: call [`begin_epoch`](Self::begin_epoch) too if what is in flight shall not be judged against
    /// the new limit.
    pub fn set_limit(&self, limit: usize) -> usize {
        self.shared.change(|core, effects| core.set_limit(limit, effects))
    }

    /// Sets the bounds and takes the limit into them; returns the limit in force. A lower bound of 0 counts as 1, an
    /// upper bound below the lower one as equal to it.
    pub fn set_bounds(&self, bounds: RangeInclusive<usize>) -> usize {
        self.shared.change(|core, effects| core.set_bounds(&bounds, effects))
    }

    /// How many permits may be out.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.shared.front.word.view().limit()
    }

    /// How many permits are out, those included that were granted to a waiter that has not looked yet. More than the
    /// limit for a while after it was lowered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.front.word.view().out()
    }

    /// Begins a new epoch and returns its number: whatever is in flight now is stale and will teach the algorithm
    /// nothing. For a change of conditions that the semaphore cannot see. Each cut does the same by itself.
    ///
    /// Report the overload that made you call this *before* the call, or it is stale too.
    pub fn begin_epoch(&self) -> u64 {
        self.shared.change(|core, _| core.begin_epoch())
    }

    /// Closes for good: everybody who waits is refused, as is every newcomer. Permits that are out stay valid. Closing
    /// again changes nothing.
    pub fn close(&self) {
        self.shared.change(|core, effects| {
            core.close(effects);
        });
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.front.word.view().is_closed()
    }

    /// Resolves once no permit is out, and at once if none is. Then nobody waits either. To shut down, close first:
    /// otherwise the next one may come in right after.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn drained(&self) -> Drained<'_> {
        Drained::new(&self.shared)
    }

    /// The state now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.shared.locked(|core| core.snapshot())
    }

    /// The whole life so far, in numbers.
    #[must_use]
    pub fn summary(&self) -> PerfSummary {
        self.shared.locked(|core| core.summary(self.shared.front.now()))
    }

    /// The name it was built with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.shared.name.as_deref()
    }
}

impl fmt::Debug for AdaptiveSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.snapshot();
        let mut out = f.debug_struct("AdaptiveSemaphore");
        if let Some(name) = self.name() {
            out.field("name", &name);
        }
        out.field("limit", &state.limit)
            .field("in_flight", &state.in_flight)
            .field("waiting", &state.waiting)
            .field("epoch", &state.epoch)
            .field("closed", &state.closed)
            .finish_non_exhaustive()
    }
}
