//! What an aborted caller gets.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::Reason;

/// The signal was aborted, and why. Dereferences to the reason.
///
/// One pointer: a `Result<(), Aborted>` takes 8 bytes on a 64-bit machine. Displayed as `aborted: <reason>`; its
/// [`source`](Error::source) is that of the reason, so a printed chain says everything once.
///
/// ```
/// use tidegate_abort_signal::AbortSignal;
///
/// let signal = AbortSignal::new();
/// signal.abort("quota exhausted");
/// let aborted = signal.check().unwrap_err();
/// assert_eq!(aborted.to_string(), "aborted: quota exhausted");
/// assert_eq!(aborted.text(), "quota exhausted");
/// ```
pub struct Aborted<R = Reason>(Arc<R>);

impl<R> Aborted<R> {
    pub(crate) fn new(reason: Arc<R>) -> Self {
        Self(reason)
    }

    /// Why, shared with every other caller that was told.
    #[must_use]
    pub fn into_reason(self) -> Arc<R> {
        self.0
    }
}

impl<R> Clone for Aborted<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Deref for Aborted<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0
    }
}

impl<R: fmt::Debug> fmt::Debug for Aborted<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Aborted").field(&self.0).finish()
    }
}

impl<R: fmt::Display> fmt::Display for Aborted<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "aborted: {}", self.0)
    }
}

impl<R: Error> Error for Aborted<R> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
