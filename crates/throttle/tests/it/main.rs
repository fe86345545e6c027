//! The public face of the throttle, on a paused clock.
#![cfg(not(tidegate_loom))]

mod attempts;
mod fatal;
#[cfg(feature = "http")]
mod http;
mod rounds;
mod together;
mod waits;

use std::fmt;
use std::time::Duration;

use tidegate_core::{Class, RetryHint};
use tidegate_throttle::{Errors, Throttle, ThrottleBuilder};

/// What a service answered, as its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refused(Class);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.0.name())
    }
}

const SLOW_DOWN: Refused = Refused(Class::Throttled(None));
const BUSY: Refused = Refused(Class::Transient);
const GONE: Refused = Refused(Class::Terminal);
const NO_KEY: Refused = Refused(Class::Fatal);

fn wait_for(delay: Duration) -> Refused {
    Refused(Class::Throttled(RetryHint::after(delay)))
}

type Judged = Errors<fn(&Refused) -> Class>;

fn builder() -> ThrottleBuilder<Judged> {
    Throttle::builder().seed(7).classify((|refused: &Refused| refused.0) as fn(&Refused) -> Class)
}

#[test]
fn a_throttle_and_its_calls_can_be_sent_and_shared() {
    fn sendable<T: Send + Sync + 'static>(_: &T) {}
    fn spawnable<T: Send>(_: &T) {}
    let throttle = builder().build();
    sendable(&throttle);
    spawnable(&throttle.call(|_| async { Ok::<_, Refused>(()) }));
}

#[test]
fn debug_shows_numbers_and_no_results() {
    let shown = format!("{:?}", builder().build());
    assert!(shown.starts_with("Throttle") && shown.contains("attempts: 0"), "{shown}");
}
