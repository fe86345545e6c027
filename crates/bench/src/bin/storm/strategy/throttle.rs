//! The whole: gate, window and retries together, as `tidegate-throttle` puts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_adaptive_semaphore::{AdaptiveSemaphore, PacedWindow};
use tidegate_cooldown_gate::{Class, CooldownGate, Learned, RetryHint};
use tidegate_throttle::{Outcomes, Throttle};

use super::Terms;
use crate::crew::{self, Fetch};
use crate::service::{Answer, Service, Turn};

/// As many as the window may ever let out.
const TASKS: usize = 32;

type Judge = Outcomes<fn(&Result<Answer, ()>) -> Option<Class>>;

pub(super) struct Throttled {
    service: Arc<Service>,
    throttle: Throttle<Judge>,
    /// The epoch of the latest request.
    epoch: AtomicU64,
}

impl Throttled {
    fn new(terms: &Terms) -> Self {
        let gate = CooldownGate::builder().restore(terms.learned).build();
        let permits =
            AdaptiveSemaphore::builder().initial(12).bounds(1..=TASKS).limit(PacedWindow::new()).build();
        let throttle = (Throttle::builder().judge(Outcomes(judge as fn(&_) -> _)))
            .gate(gate.clone())
            .permits(permits.clone())
            .seed(terms.seed)
            .build();
        let epoch = AtomicU64::new(gate.epoch());
        terms.service.show(move || format!("{:?}, limit {}", gate.snapshot(), permits.limit()));
        Self { service: terms.service.clone(), throttle, epoch }
    }
}

fn judge(result: &Result<Answer, ()>) -> Option<Class> {
    match result {
        Ok(Answer::Throttled(hint)) => Some(Class::Throttled(hint.and_then(RetryHint::after))),
        _ => None,
    }
}

/// Works through all papers; how many were given up.
pub(super) async fn run(terms: &Terms) -> usize {
    work(terms, Arc::new(Throttled::new(terms))).await
}

/// Works through all papers of a server of its own, for what the gate learns from that.
pub(super) async fn rehearse(terms: &Terms) -> Learned {
    let throttled = Arc::new(Throttled::new(terms));
    let gate = throttled.throttle.gate().clone();
    work(terms, throttled).await;
    gate.learned()
}

async fn work(terms: &Terms, throttled: Arc<Throttled>) -> usize {
    crew::work(TASKS, (0..terms.papers).collect(), throttled).await.len()
}

impl Fetch for Throttled {
    async fn fetch(&self, paper: usize) -> bool {
        let attempt = |_| {
            let epoch = self.throttle.gate().epoch();
            // Ordering: Relaxed; one thread.
            let turn = Turn::first_if(self.epoch.swap(epoch, Ordering::Relaxed) != epoch);
            async move { Ok::<_, ()>(self.service.request(paper, turn).await) }
        };
        self.throttle.call(attempt).await.is_ok()
    }
}
