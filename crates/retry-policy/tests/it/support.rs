//! What several tests need.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_retry_policy::Stop;

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A stop that a test pulls. A mute one does not tell who waits: they find out when they look.
#[derive(Clone, Default)]
pub(crate) struct Lever {
    state: Arc<Mutex<(bool, Vec<Waker>)>>,
    mute: bool,
}

impl Lever {
    pub(crate) fn mute() -> Self {
        Self { mute: true, ..Self::default() }
    }

    pub(crate) fn pull(&self) {
        let woken = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

pub(crate) struct Pulled<'a>(&'a Lever);

impl Future for Pulled<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 && !self.0.mute {
            return Poll::Ready(());
        }
        state.1.push(context.waker().clone());
        Poll::Pending
    }
}

impl Stop for Lever {
    type Why = ();
    type Stopped<'a> = Pulled<'a>;

    fn is_stopped(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn stopped(&self) -> Pulled<'_> {
        Pulled(self)
    }

    fn why(&self) -> Option<()> {
        self.is_stopped().then_some(())
    }
}
