//! A rate limiter that is told what the server allows, and keeps a tenth below it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tidegate_servers::Published;
use tokio::time::{Instant, sleep};

use super::Terms;
use crate::crew::Fetch;
use crate::service::{Answer, Service, Turn};

/// Of the rate and of the burst.
const SHARE: f64 = 0.9;
/// Where the server does not say.
const DELAY: Duration = Duration::from_secs(1);

pub(super) struct Told {
    service: Arc<Service>,
    limiter: RateLimiter<NotKeyed, InMemoryState, Runtime, NoOpMiddleware<Nanos>>,
}

impl Told {
    pub(super) fn new(terms: &Terms) -> Self {
        let clock = Runtime { begun: Instant::now() };
        let limiter = RateLimiter::direct_with_clock(quota(terms.published), clock);
        Self { service: terms.service.clone(), limiter }
    }

    async fn turn(&self) {
        while let Err(not_until) = self.limiter.check() {
            sleep(not_until.wait_time_from(self.limiter.clock().now())).await;
        }
    }
}

impl Fetch for Told {
    async fn fetch(&self, paper: usize) -> bool {
        let mut turn = Turn::Other;
        loop {
            self.turn().await;
            match self.service.request(paper, turn).await {
                Answer::Done => return true,
                Answer::Throttled(hint) => sleep(hint.unwrap_or(DELAY)).await,
            }
            turn = Turn::FirstAfterCooldown;
        }
    }
}

fn quota(published: Published) -> Quota {
    let interval = Duration::try_from_secs_f64(1.0 / (published.rate * SHARE)).unwrap_or(DELAY);
    let burst = (1..=10_000).take_while(|n| f64::from(*n) <= published.burst * SHARE).last().unwrap_or(1);
    let even = Quota::with_period(interval).unwrap_or(Quota::per_second(NonZeroU32::MIN));
    even.allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN))
}

/// The limiter's view of tokio's clock, which is paused; its own clocks are not.
#[derive(Clone)]
struct Runtime {
    begun: Instant,
}

impl Clock for Runtime {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.begun.elapsed().into()
    }
}
