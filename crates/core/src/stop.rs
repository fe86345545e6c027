//! How a primitive listens to an abort signal without depending on one.

use core::convert::Infallible;
use core::future::{Future, Pending, pending};

/// What others need of an abort signal: look, wait, and ask why.
///
/// `tidegate-abort-signal` implements it; [`Never`] is the default of everything that takes one.
pub trait Stop: Clone + Send + Sync + 'static {
    /// Why it stopped.
    type Why: Send + Sync + 'static;
    /// What [`stopped`](Stop::stopped) returns.
    type Stopped<'a>: Future<Output = ()> + Send + 'a;

    /// Whether it has stopped. Cheap enough to be asked before every item.
    fn is_stopped(&self) -> bool;

    /// Resolves once it has stopped, at once if it already has. Dropping the future leaves nothing behind.
    fn stopped(&self) -> Self::Stopped<'_>;

    /// Why it stopped: `Some` whenever [`is_stopped`](Stop::is_stopped) is true.
    fn why(&self) -> Option<Self::Why>;
}

/// A [`Stop`] that never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Never;

/// The future of [`Never`]: it is never ready.
pub type NeverStopped = Pending<()>;

impl Stop for Never {
    type Why = Infallible;
    type Stopped<'a> = NeverStopped;

    fn is_stopped(&self) -> bool {
        false
    }

    fn stopped(&self) -> NeverStopped {
        pending()
    }

    fn why(&self) -> Option<Infallible> {
        None
    }
}
