//! How a semaphore is made.

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;

use tidegate_sync::primitives::Mutex;

use crate::change::Change;
use crate::core::State;
use crate::front::Front;
use crate::limit::{Limit, Ramp};
use crate::semaphore::{AdaptiveSemaphore, Listener, Shared};

pub(crate) const DEFAULT_INITIAL: usize = 4;
pub(crate) const DEFAULT_MIN: usize = 1;
pub(crate) const DEFAULT_MAX: usize = 32;

/// Settings of an [`AdaptiveSemaphore`]; begin with [`AdaptiveSemaphore::builder`].
///
/// ```
/// use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Ramp};
///
/// let semaphore = AdaptiveSemaphore::builder()
///     .name("render service")
///     .initial(8)
///     .bounds(2..=64)
///     .limit(Ramp::new().cut_to(0.5))
///     .build();
/// assert_eq!(semaphore.limit(), 8);
/// ```
#[must_use]
pub struct Builder {
    pub(crate) initial: usize,
    pub(crate) min: Option<usize>,
    pub(crate) max: Option<usize>,
    pub(crate) algorithm: Algorithm,
    on_change: Option<Listener>,
    name: Option<Box<str>>,
}

/// A ramp is kept as such, so that its step can still be set from the environment.
pub(crate) enum Algorithm {
    Ramp(Ramp),
    Other(Box<dyn Limit>),
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            initial: DEFAULT_INITIAL,
            min: None,
            max: None,
            algorithm: Algorithm::Ramp(Ramp::new()),
            on_change: None,
            name: None,
        }
    }

    /// The limit to start with: 4 unless set. Taken into the bounds if they are set; without bounds the upper one makes
    /// room for it.
    pub fn initial(mut self, limit: usize) -> Self {
        self.initial = limit;
        self
    }

    /// Where the limit may go: `1..=32` unless set. A lower bound of 0 counts as 1, an upper bound below the lower one
    /// as equal to it, one above [`MAX_LIMIT`](AdaptiveSemaphore::MAX_LIMIT) as that.
    pub fn bounds(mut self, bounds: RangeInclusive<usize>) -> Self {
        (self.min, self.max) = (Some(*bounds.start()), Some(*bounds.end()));
        self
    }

    /// The algorithm: [`Ramp::new`] unless set.
    pub fn limit(mut self, algorithm: impl Limit) -> Self {
        let ramp = (&algorithm as &dyn Any).downcast_ref::<Ramp>().copied();
        self.algorithm = ramp.map_or_else(|| Algorithm::Other(Box::new(algorithm)), Algorithm::Ramp);
        self
    }

    /// Called after each move of the limit, outside the lock, on the thread that caused it. It may call the semaphore.
    /// Two moves at once can arrive in either order: see [`Change::number`]. A panic in it reaches that caller; the
    /// semaphore is sound.
    pub fn on_change(mut self, listener: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Box::new(listener));
        self
    }

    /// A name for logs and `Debug`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// The bounds as they stand, before they are put in order: what was set, else the defaults, widened to what was set.
    pub(crate) fn range(&self) -> RangeInclusive<usize> {
        let min = self.min.unwrap_or(DEFAULT_MIN);
        min..=self.max.unwrap_or(DEFAULT_MAX.max(self.initial))
    }

    /// The semaphore.
    #[must_use]
    pub fn build(self) -> AdaptiveSemaphore {
        let range = self.range();
        let algorithm = match self.algorithm {
            Algorithm::Ramp(ramp) => Box::new(ramp),
            Algorithm::Other(other) => other,
        };
        let interest = algorithm.interest();
        let (state, limit) = State::new(self.initial, &range, algorithm);
        AdaptiveSemaphore::from_shared(Shared {
            front: Front::new(limit, interest),
            state: Mutex::new(state),
            on_change: self.on_change,
            name: self.name,
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("initial", &self.initial)
            .field("bounds", &self.range())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
