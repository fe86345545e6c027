//! The gate as a layer over any tower service, with `tower-layer` and `tower-service` only.
//!
//! | to gate | use | waits in | ready |
//! |---|---|---|---|
//! | one service behind one gate | [`GateLayer`] | `poll_ready`, so that backpressure reaches the caller | once it has a pass |
//! | requests by host or key, each key behind its own gate | [`GateMapLayer`] | the future that `call` returns | always |
//!
//! # What a result tells the gate
//! A [`Judge`] looks at every result, and its word is reported with the pass:
//!
//! | the judge says | the service answered (`Ok`) | the call failed (`Err`) |
//! |---|---|---|
//! | `None` | success | nothing: the pass is given back |
//! | [`Throttled`](Class::Throttled), with or without a hint | throttled | throttled |
//! | [`Terminal`](Class::Terminal), [`Fatal`](Class::Fatal) | success: a 404 or a 401 is an answer, not a refusal for the rate | nothing |
//! | [`Transient`](Class::Transient) | nothing: a 500 says neither | nothing |
//!
//! A future that is dropped before it is ready gives its pass back too (**CG-6**), and so does a service that is dropped
//! with a pass which it reserved in `poll_ready`; a probe among them goes to the next who waits.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidegate_cooldown_gate::tower::GateLayer;
//! use tidegate_cooldown_gate::{Class, CooldownGate};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! let gate = CooldownGate::new();
//! let judge = |result: &Result<u16, std::io::Error>| match result {
//!     Ok(429) => Some(Class::Throttled(None)),
//!     Ok(_) => None,
//!     Err(_) => Some(Class::Transient),
//! };
//! let mut service = ServiceBuilder::new()
//!     .layer(GateLayer::new(gate.clone(), judge))
//!     .service(service_fn(|status: u16| async move { Ok::<_, std::io::Error>(status) }));
//!
//! assert_eq!(service.ready().await?.call(429).await?, 429);
//! assert!(!gate.is_open());
//! # Ok(()) }
//! ```

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidegate_core::Class;
#[cfg(feature = "http")]
use tidegate_core::{ByStatus, Classify, ShowsStatus};

use crate::{CooldownGate, Full, OwnedPass, PassingOwned, ShutDown};

mod keyed;
mod single;

pub use keyed::{GateMapFuture, GateMapLayer, GateMapService};
pub use single::{GateFuture, GateLayer, GateService};

/// Says what a result means for the gate. Any `Fn(&Result<T, E>) -> Option<Class>` is one.
///
/// Called once for each call that ran to its end, outside every lock.
pub trait Judge<T, E> {
    /// `None` for a success, else the class of the failure. [The module](crate::tower) says what the gate makes of it.
    fn judge(&self, result: &Result<T, E>) -> Option<Class>;
}

impl<T, E, F: Fn(&Result<T, E>) -> Option<Class>> Judge<T, E> for F {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        self(result)
    }
}

#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
impl<T: ShowsStatus, E, C: Classify<E>> Judge<T, E> for ByStatus<C> {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        self.judge(result)
    }
}

/// Why a gated call has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateError<E> {
    /// The map of gates has no place for the key of this request.
    Full(Full),
    /// The gate was shut down.
    ShutDown,
    /// `call` without a `poll_ready` that was ready: nothing was sent.
    NotReady,
    /// The service behind the gate failed.
    Inner(E),
}

impl<E> GateError<E> {
    /// The error of the service behind the gate, if it was that.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Inner(error) => Some(error),
            Self::Full(_) | Self::ShutDown | Self::NotReady => None,
        }
    }
}

impl<E> fmt::Display for GateError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::ShutDown => ShutDown.fmt(f),
            Self::NotReady => f.write_str("called before it was ready"),
            Self::Inner(_) => f.write_str("the service behind the gate failed"),
        }
    }
}

impl<E: Error + 'static> Error for GateError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Full(full) => Some(full),
            Self::Inner(error) => Some(error),
            Self::ShutDown | Self::NotReady => None,
        }
    }
}

/// A pass that is reserved before the call: kept between polls, given back when dropped.
#[derive(Debug)]
struct Reserved {
    gate: CooldownGate,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Idle,
    Waiting(PassingOwned),
    Granted(OwnedPass),
}

impl Reserved {
    const fn new(gate: CooldownGate) -> Self {
        Self { gate, step: Step::Idle }
    }

    /// Ready once it holds a pass that is still valid.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ShutDown>> {
        loop {
            self.step = match &mut self.step {
                Step::Idle => Step::Waiting(self.gate.pass_owned()),
                Step::Granted(pass) if pass.still_valid() => return Poll::Ready(Ok(())),
                Step::Granted(_) => Step::Idle,
                Step::Waiting(passing) => match ready!(Pin::new(passing).poll(cx)) {
                    Ok(pass) => Step::Granted(pass),
                    Err(error) => {
                        self.step = Step::Idle;
                        return Poll::Ready(Err(error));
                    }
                },
            };
        }
    }

    fn is_valid(&self) -> bool {
        matches!(&self.step, Step::Granted(pass) if pass.still_valid())
    }

    /// The pass, for the call.
    fn take(&mut self) -> Option<OwnedPass> {
        match std::mem::replace(&mut self.step, Step::Idle) {
            Step::Granted(pass) => Some(pass),
            Step::Idle | Step::Waiting(_) => None,
        }
    }

    /// Gives the pass back, or the place in the line.
    fn give_back(&mut self) {
        self.step = Step::Idle;
    }
}

/// Tells the gate, once, what a result means for it.
fn report(pass: OwnedPass, class: Option<Class>, answered: bool) {
    match class {
        Some(Class::Throttled(hint)) => {
            pass.throttled(hint);
        }
        None | Some(Class::Terminal | Class::Fatal) if answered => pass.success(),
        _ => drop(pass),
    }
}
