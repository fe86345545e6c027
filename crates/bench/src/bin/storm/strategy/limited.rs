//! A limit on what is in flight, behind a plain gate: five seconds for everybody, then everybody goes.

use std::sync::Arc;
use std::time::Duration;

use congestion_limiter::limiter::{DefaultLimiter, Limiter, Outcome};
use congestion_limiter::limits::Aimd;
use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Limit};
use tidegate_cooldown_gate::{Closing, Cooldown, CooldownGate, Pass, Reopen};

use super::Terms;
use crate::crew::Fetch;
use crate::service::{Answer, Service, Turn};

const INITIAL: usize = 4;
const MAX: usize = 32;
const COOLDOWN: Duration = Duration::from_secs(5);

fn gate() -> CooldownGate {
    CooldownGate::builder()
        .cooldown(Cooldown::fixed(COOLDOWN).longest(COOLDOWN))
        .reopen(Reopen::AtOnce)
        .build()
}

pub(super) struct Limited {
    service: Arc<Service>,
    gate: CooldownGate,
    permits: AdaptiveSemaphore,
}

impl Limited {
    pub(super) fn new(terms: &Terms, algorithm: impl Limit) -> Self {
        let permits = AdaptiveSemaphore::builder().initial(INITIAL).bounds(1..=MAX).limit(algorithm).build();
        let shown = permits.clone();
        terms.service.show(move || format!("{:?}", shown.snapshot()));
        Self { service: terms.service.clone(), gate: gate(), permits }
    }
}

impl Fetch for Limited {
    async fn fetch(&self, paper: usize) -> bool {
        loop {
            let Ok(pass) = self.gate.pass().await else { return false };
            let Ok(mut permit) = self.permits.acquire().await else { return false };
            if !pass.still_valid() {
                continue;
            }
            permit.tag_epoch(pass.epoch());
            match self.service.request(paper, Turn::Other).await {
                Answer::Done => {
                    pass.success();
                    permit.success();
                    return true;
                }
                Answer::Throttled(_) => {
                    refused(pass);
                    permit.overload();
                }
            }
        }
    }
}

/// The same with the limiter of crate congestion-limiter, which takes a tenth off for each refusal.
pub(super) struct Congested {
    service: Arc<Service>,
    gate: CooldownGate,
    limiter: DefaultLimiter<Aimd>,
}

impl Congested {
    pub(super) fn new(terms: &Terms) -> Self {
        let algorithm = Aimd::new_with_initial_limit(INITIAL).with_max_limit(MAX).decrease_factor(0.9);
        Self { service: terms.service.clone(), gate: gate(), limiter: DefaultLimiter::new(algorithm) }
    }
}

/// Longer than any run.
const FOR_EVER: Duration = Duration::from_secs(24 * 60 * 60);

impl Fetch for Congested {
    async fn fetch(&self, paper: usize) -> bool {
        loop {
            let Ok(pass) = self.gate.pass().await else { return false };
            let Some(token) = self.limiter.acquire_timeout(FOR_EVER).await else { return false };
            if !pass.still_valid() {
                self.limiter.release(token, None).await;
                continue;
            }
            let answer = self.service.request(paper, Turn::Other).await;
            match answer {
                Answer::Done => {
                    pass.success();
                    self.limiter.release(token, Some(Outcome::Success)).await;
                    return true;
                }
                Answer::Throttled(_) => {
                    refused(pass);
                    self.limiter.release(token, Some(Outcome::Overload)).await;
                }
            }
        }
    }
}

fn refused(pass: Pass<'_>) -> Closing {
    pass.throttled(None)
}
