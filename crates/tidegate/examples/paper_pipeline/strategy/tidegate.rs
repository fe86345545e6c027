//! This library: one throttle a service.

use std::time::Duration;

use ::tidegate::adaptive_semaphore::{AdaptiveSemaphore, Ramp};
use ::tidegate::cooldown_gate::{CooldownGate, GateState};
use ::tidegate::core::Class;
use ::tidegate::retry_policy::{Jitter, RetryPolicy};
use ::tidegate::throttle::{CallError, Judge, StopReason, Throttle};

use super::super::http::{Answer, SendError};
use super::super::judge::{Exchange, Kind};
use super::{Fault, Performance, Terms};

/// Longer than any call takes: a probe that is silent for so long is not coming back.
const PROBE_PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Tidegate {
    kind: Kind,
    throttle: Throttle<Kind>,
}

impl Tidegate {
    pub(super) fn new(terms: &Terms<'_>) -> Self {
        let (settings, ramp) = (terms.settings, terms.ramp);
        let gate = CooldownGate::builder().cooldown(settings.cooldown).probe_patience(PROBE_PATIENCE).build();
        let permits = AdaptiveSemaphore::builder()
            .initial(ramp.initial)
            .bounds(ramp.min..=ramp.max)
            .limit(Ramp::new().step_every(ramp.step_every))
            .build();
        let retry = RetryPolicy::new()
            .initial_delay(terms.scaled(Duration::from_millis(500)))
            .max_delay(terms.scaled(Duration::from_secs(30)))
            .jitter(Jitter::Equal);
        let throttle = Throttle::builder()
            .gate(gate)
            .permits(permits)
            .retry(retry)
            .deadline(settings.deadline)
            .abort(terms.signal.clone())
            .seed(terms.seed)
            .judge(terms.kind)
            .build();
        Self { kind: terms.kind, throttle }
    }

    pub(super) async fn call<F, Fut>(&self, exchange: F) -> Result<Answer, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        self.throttle.call(|_attempt| exchange()).await.map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &CallError<Answer, SendError>) -> Fault {
        let of = |exchange: &Exchange, class| Fault::of(self.kind, class, exchange);
        match (error.reason, &error.last) {
            (StopReason::Aborted, _) => Fault::Stopped,
            (StopReason::Throttled | StopReason::HintTooLong, Some(last)) => of(last, Class::Throttled(None)),
            (_, Some(last)) => of(last, self.kind.judge(last).unwrap_or(Class::Transient)),
            // No attempt came to an end in time: the gate was closed, or no permit free, all the while.
            (reason, None) => {
                Fault::Throttled(format!("{reason}, after {:.1} s", error.elapsed.as_secs_f64()))
            }
        }
    }

    pub(super) fn performance(&self) -> Performance {
        let summary = self.throttle.permits().summary();
        Performance {
            initial: summary.initial_limit,
            peak: summary.peak_limit,
            last: summary.final_limit,
            ramp_per_s: summary.slots_added_per_second(),
            cooldowns: self.throttle.gate().snapshot().closures,
        }
    }

    pub(super) fn state_text(&self) -> String {
        let gate = self.throttle.gate().snapshot();
        match gate.state {
            GateState::Open => "gate open".to_owned(),
            GateState::Cooling { remaining } => format!("gate closed {:.1} s", remaining.as_secs_f64()),
            GateState::HalfOpen => "gate half-open".to_owned(),
            GateState::Paced => match gate.pace {
                Some(pace) => format!("gate paced {pace:.1}/s"),
                None => "gate paced".to_owned(),
            },
            GateState::ShutDown => "gate shut down".to_owned(),
            _ => String::new(),
        }
    }
}
