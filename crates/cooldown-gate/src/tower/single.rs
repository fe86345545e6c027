//! One service behind one gate.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{GateError, Judge, Reserved, report};
use crate::{CooldownGate, OwnedPass};

/// Puts a service behind a gate, as [`GateService`].
#[derive(Clone, Debug)]
pub struct GateLayer<J> {
    gate: CooldownGate,
    judge: J,
}

impl<J> GateLayer<J> {
    /// Every service that it wraps is behind this one gate.
    pub const fn new(gate: CooldownGate, judge: J) -> Self {
        Self { gate, judge }
    }
}

impl<S, J: Clone> Layer<S> for GateLayer<J> {
    type Service = GateService<S, J>;

    fn layer(&self, inner: S) -> GateService<S, J> {
        GateService::new(inner, self.gate.clone(), self.judge.clone())
    }
}

/// A service behind a gate.
///
/// `poll_ready` waits at the gate, then for the service behind it: while it stands in the line it holds nothing of that
/// service. Once ready it holds a pass, which `call` takes along and reports when the call is over. If the gate was
/// closed while the service behind got ready, it waits again.
///
/// - A pass is held from `poll_ready` on: call soon, or drop the service. While the gate is half-open, a pass that is held
///   is the probe that all others wait for. Dropping the service gives it back (**CG-6**).
/// - A clone starts without a pass.
/// - If the service behind gets ready with an error, the pass is given back.
#[derive(Debug)]
pub struct GateService<S, J> {
    inner: S,
    reserved: Reserved,
    judge: J,
}

impl<S, J> GateService<S, J> {
    /// Puts `inner` behind `gate`.
    pub const fn new(inner: S, gate: CooldownGate, judge: J) -> Self {
        Self { inner, reserved: Reserved::new(gate), judge }
    }

    /// The service behind the gate.
    pub const fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Clone, J: Clone> Clone for GateService<S, J> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.reserved.gate.clone(), self.judge.clone())
    }
}

impl<S, J, R> Service<R> for GateService<S, J>
where
    S: Service<R>,
    J: Judge<S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = GateError<S::Error>;
    type Future = GateFuture<S::Future, J>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        loop {
            if ready!(self.reserved.poll(cx)).is_err() {
                return Poll::Ready(Err(GateError::ShutDown));
            }
            if let Err(error) = ready!(self.inner.poll_ready(cx)) {
                self.reserved.give_back();
                return Poll::Ready(Err(GateError::Inner(error)));
            }
            if self.reserved.is_valid() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn call(&mut self, request: R) -> Self::Future {
        let pass = self.reserved.take();
        let future = pass.is_some().then(|| self.inner.call(request));
        GateFuture { future, pass, judge: self.judge.clone() }
    }
}

/// A call through a [`GateService`].
///
/// # Cancel safety
/// Dropped before it is ready it gives its pass back, as far as the gate goes. What becomes of the call is up to the
/// service.
#[pin_project]
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct GateFuture<F, J> {
    #[pin]
    future: Option<F>,
    pass: Option<OwnedPass>,
    judge: J,
}

impl<F, J, T, E> Future for GateFuture<F, J>
where
    F: Future<Output = Result<T, E>>,
    J: Judge<T, E>,
{
    type Output = Result<T, GateError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(future) = this.future.as_pin_mut() else { return Poll::Ready(Err(GateError::NotReady)) };
        let result = ready!(future.poll(cx));
        if let Some(pass) = this.pass.take() {
            report(pass, this.judge.judge(&result), result.is_ok());
        }
        Poll::Ready(result.map_err(GateError::Inner))
    }
}
