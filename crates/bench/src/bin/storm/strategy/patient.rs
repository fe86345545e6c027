//! What one writes with a good retry crate: each task alone, but long enough, spread, and as the server says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::time::sleep;

use super::Terms;
use crate::crew::Fetch;
use crate::service::{Answer, Service, Turn};

/// After the first try.
const RETRIES: usize = 9;

pub(super) struct Patient {
    service: Arc<Service>,
    /// Of the jitter of the next paper.
    seed: AtomicU64,
}

impl Patient {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { service: terms.service.clone(), seed: AtomicU64::new(terms.seed) }
    }
}

/// A 429, with what the server says.
struct Throttled(Option<Duration>);

impl Fetch for Patient {
    async fn fetch(&self, paper: usize) -> bool {
        // Ordering: Relaxed; one thread.
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        // The delays of the builder: 1 s, doubling, at most 60 s, and with jitter up to twice that.
        let delays =
            ExponentialBuilder::default().with_jitter().with_jitter_seed(seed).with_max_times(RETRIES);
        let mut turn = Turn::Other;
        let attempt = || {
            let turn = std::mem::replace(&mut turn, Turn::FirstAfterCooldown);
            async move {
                match self.service.request(paper, turn).await {
                    Answer::Done => Ok(()),
                    Answer::Throttled(hint) => Err(Throttled(hint)),
                }
            }
        };
        // Out of tries, `delay` is none, and a hint must not make it one more.
        let adjust =
            |throttled: &Throttled, delay: Option<Duration>| delay.map(|delay| throttled.0.unwrap_or(delay));
        attempt.retry(delays).sleep(sleep).adjust(adjust).await.is_ok()
    }
}
