//! The article's remedies: one gate for everybody, jitter, a limit that ramps up.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::tidegate::core::Class;
use ::tidegate::throttle::Judge;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::super::http::Answer;
use super::super::judge::{Exchange, Kind};
use super::super::settings::Ramp;
use super::{Fault, Judged, Performance, Terms, persist};

/// The article counts 597 wasted calls of 199 callers: three each.
const TRIES: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_secs(1);

pub(crate) struct Article {
    kind: Kind,
    cooldown: Duration,
    first_delay: Duration,
    jitter: Duration,
    ramp: Ramp,
    permits: Semaphore,
    state: Mutex<State>,
}

struct State {
    /// Nobody sends before this; it only ever moves later.
    closed_until: Instant,
    cooldowns: u64,
    limit: usize,
    successes: usize,
    begun: Option<Instant>,
    ramped: Option<Instant>,
    rng: StdRng,
}

impl Article {
    pub(super) fn new(terms: &Terms<'_>) -> Self {
        let state = State {
            closed_until: Instant::now(),
            cooldowns: 0,
            limit: terms.ramp.initial,
            successes: 0,
            begun: None,
            ramped: None,
            rng: StdRng::seed_from_u64(terms.seed),
        };
        Self {
            kind: terms.kind,
            cooldown: terms.settings.cooldown,
            first_delay: terms.scaled(FIRST_DELAY),
            jitter: terms.scaled(JITTER),
            ramp: terms.ramp,
            permits: Semaphore::new(terms.ramp.initial),
            state: Mutex::new(state),
        }
    }

    pub(super) async fn call<F, Fut>(&self, exchange: F) -> Result<Answer, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        let pause = |tried: u32| {
            let jitter = self.state().rng.random_range(0.0..1.0);
            self.first_delay * 2_u32.pow(tried - 1) + self.jitter.mul_f64(jitter)
        };
        persist(self.kind, TRIES, || self.attempt(&exchange), pause).await
    }

    /// Waits for gate and permit, and tells both what came of it.
    async fn attempt<F, Fut>(&self, exchange: &F) -> Result<Judged, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        loop {
            let until = self.state().closed_until;
            if until <= Instant::now() {
                break;
            }
            sleep_until(until).await;
        }
        let permit = self.permits.acquire().await.map_err(|_| Fault::Stopped)?;
        self.state().begun.get_or_insert_with(Instant::now);
        let result = exchange().await;
        let class = self.kind.judge(&result);
        match class {
            Some(Class::Throttled(_)) => self.close(),
            None => self.succeeded(),
            Some(_) => {}
        }
        drop(permit);
        Ok((class, result))
    }

    fn close(&self) {
        let mut state = self.state();
        let (now, before) = (Instant::now(), state.closed_until);
        state.closed_until = before.max(now + self.cooldown);
        state.cooldowns += u64::from(before <= now);
    }

    /// One more permit after every so many successes; never fewer.
    fn succeeded(&self) {
        let mut state = self.state();
        state.successes += 1;
        if state.successes % self.ramp.step_every == 0 && state.limit < self.ramp.max {
            state.limit += 1;
            state.ramped = Some(Instant::now());
            self.permits.add_permits(1);
        }
    }

    pub(super) fn performance(&self) -> Performance {
        let state = self.state();
        let ramping = state.begun.zip(state.ramped).map(|(begun, ramped)| (ramped - begun).as_secs_f64());
        let added = u32::try_from(state.limit - self.ramp.initial).unwrap_or(u32::MAX);
        Performance {
            initial: self.ramp.initial,
            peak: state.limit,
            last: state.limit,
            ramp_per_s: ramping.filter(|time| *time > 0.0).map_or(0.0, |time| f64::from(added) / time),
            cooldowns: state.cooldowns,
        }
    }

    pub(super) fn state_text(&self) -> String {
        let left = self.state().closed_until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            "gate open".to_owned()
        } else {
            format!("gate closed {:.1} s", left.as_secs_f64())
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
