//! A number that many workers add to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A statistic: a plain sum, or nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        // Ordering: Relaxed; a statistic that publishes nothing. Whoever needs the final value joined the writers first.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn one(&self) {
        self.add(1);
    }

    pub(crate) fn add_time(&self, more: Duration) {
        self.add(u64::try_from(more.as_nanos()).unwrap_or(u64::MAX));
    }

    #[must_use]
    pub(crate) fn get(&self) -> u64 {
        // Ordering: Relaxed; see `add`.
        self.0.load(Ordering::Relaxed)
    }

    #[must_use]
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.get())
    }
}

/// Measures from its making to its drop, less what `except` grew by meanwhile.
///
/// By drop, so that a future that is given up in the middle is measured too.
pub(crate) struct Span<'a> {
    into: &'a Count,
    except: &'a Count,
    before: Duration,
    since: Instant,
}

impl<'a> Span<'a> {
    #[must_use]
    pub(crate) fn start(into: &'a Count, except: &'a Count) -> Self {
        Self { into, except, before: except.time(), since: Instant::now() }
    }

    #[must_use]
    pub(crate) fn elapsed(&self) -> Duration {
        let apart = self.except.time().saturating_sub(self.before);
        self.since.elapsed().saturating_sub(apart)
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        self.into.add_time(self.elapsed());
    }
}

/// Awaits `future` and adds the time for which it was pending to each of `into`; reads no clock if it is ready at once.
pub(crate) async fn waiting<F: Future, const N: usize>(future: F, into: [&Count; N]) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut wait = Wait { since: None, into };
    std::future::poll_fn(|context| {
        let poll = future.as_mut().poll(context);
        if poll.is_pending() {
            wait.since.get_or_insert_with(Instant::now);
        }
        poll
    })
    .await
}

struct Wait<'a, const N: usize> {
    since: Option<Instant>,
    into: [&'a Count; N],
}

impl<const N: usize> Drop for Wait<'_, N> {
    fn drop(&mut self) {
        if let Some(since) = self.since {
            let waited = since.elapsed();
            for count in self.into {
                count.add_time(waited);
            }
        }
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_span_leaves_out_what_its_exception_grew_by() {
        let (busy, blocked) = (Count::default(), Count::default());
        let span = Span::start(&busy, &blocked);
        tokio::time::advance(Duration::from_secs(5)).await;
        blocked.add_time(Duration::from_secs(2));
        drop(span);
        assert_eq!(busy.time(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_counted_when_it_ends_and_when_it_is_given_up() {
        let count = Count::default();
        waiting(tokio::time::sleep(Duration::from_secs(1)), [&count]).await;
        assert_eq!(count.time(), Duration::from_secs(1));
        let given_up = waiting(std::future::pending::<()>(), [&count]);
        assert!(tokio::time::timeout(Duration::from_secs(2), given_up).await.is_err());
        assert_eq!(count.time(), Duration::from_secs(3));
        waiting(std::future::ready(()), [&count]).await;
        assert_eq!(count.time(), Duration::from_secs(3));
    }
}
