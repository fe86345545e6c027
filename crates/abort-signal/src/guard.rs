//! A guard that aborts unless it is disarmed.

use std::fmt;

use crate::{AbortSignal, Reason};

/// Aborts its signal when dropped, unless [`disarm`](AbortOnDrop::disarm)ed; made by
/// [`abort_on_drop`](AbortSignal::abort_on_drop).
///
/// It covers every way out of a scope: an early return, a `?`, a panic, a cancelled future.
#[must_use = "dropped at once, it aborts at once"]
pub struct AbortOnDrop<R = Reason> {
    armed: Option<(AbortSignal<R>, R)>,
}

impl<R> AbortOnDrop<R> {
    pub(crate) fn new(signal: AbortSignal<R>, reason: R) -> Self {
        Self { armed: Some((signal, reason)) }
    }

    /// All went well: the signal is left alone.
    pub fn disarm(mut self) {
        self.armed = None;
    }
}

impl<R> Drop for AbortOnDrop<R> {
    fn drop(&mut self) {
        if let Some((signal, reason)) = self.armed.take() {
            signal.abort(reason);
        }
    }
}

impl<R> fmt::Debug for AbortOnDrop<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AbortOnDrop").field("armed", &self.armed.is_some()).finish()
    }
}
