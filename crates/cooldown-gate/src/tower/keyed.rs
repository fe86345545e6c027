//! One service behind many gates: each request is behind the gate of its key.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{GateError, Judge, Reserved, report};
use crate::{Full, GateMap, OwnedPass};

/// Puts each request behind the gate of its key, as [`GateMapService`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidegate_cooldown_gate::GateMap;
/// use tidegate_cooldown_gate::tower::GateMapLayer;
/// use tidegate_core::Class;
/// use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
///
/// let hosts: GateMap<String> = GateMap::new();
/// let host = |request: &(&str, u16)| Some(request.0.to_owned());
/// let judge = |result: &Result<u16, std::io::Error>| {
///     matches!(result, Ok(429)).then_some(Class::Throttled(None))
/// };
/// let mut service = ServiceBuilder::new()
///     .layer(GateMapLayer::new(hosts.clone(), host, judge))
///     .service(service_fn(|request: (&str, u16)| async move { Ok::<_, std::io::Error>(request.1) }));
///
/// service.ready().await?.call(("a.org", 429)).await?;
/// assert!(!hosts.gate("a.org")?.is_open());
/// service.ready().await?.call(("b.org", 200)).await?; // its own gate
/// # Ok(()) }
/// ```
pub struct GateMapLayer<K, F, J, S = RandomState> {
    map: GateMap<K, S>,
    key: F,
    judge: J,
}

impl<K, F, J, S> GateMapLayer<K, F, J, S> {
    /// `key` says which gate a request is behind; one without a key passes ungated.
    pub const fn new(map: GateMap<K, S>, key: F, judge: J) -> Self {
        Self { map, key, judge }
    }
}

impl<K, F: Clone, J: Clone, S> Clone for GateMapLayer<K, F, J, S> {
    fn clone(&self) -> Self {
        Self { map: self.map.clone(), key: self.key.clone(), judge: self.judge.clone() }
    }
}

impl<K, F, J, S> fmt::Debug for GateMapLayer<K, F, J, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateMapLayer").field("map", &self.map).finish_non_exhaustive()
    }
}

impl<T, K, F: Clone, J: Clone, S> Layer<T> for GateMapLayer<K, F, J, S> {
    type Service = GateMapService<T, K, F, J, S>;

    fn layer(&self, inner: T) -> Self::Service {
        GateMapService { inner, layer: self.clone() }
    }
}

/// A service in which each request is behind the gate of its key.
///
/// It is always ready, because which gate to wait at is known only with the request. All waiting is in the future that
/// `call` returns: first at the gate, then for a clone of the service behind to get ready, so that a request at a closed
/// gate holds no place that others could use. So there is no backpressure from here: bound how many calls are under way
/// *outside* of it.
///
/// A request whose key finds no place in the map fails with [`GateError::Full`], and nothing is sent.
pub struct GateMapService<T, K, F, J, S = RandomState> {
    inner: T,
    layer: GateMapLayer<K, F, J, S>,
}

impl<T: Clone, K, F: Clone, J: Clone, S> Clone for GateMapService<T, K, F, J, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<T: fmt::Debug, K, F, J, S> fmt::Debug for GateMapService<T, K, F, J, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GateMapService");
        shown.field("inner", &self.inner).field("map", &self.layer.map).finish_non_exhaustive()
    }
}

impl<T, K, F, J, S, R> Service<R> for GateMapService<T, K, F, J, S>
where
    T: Service<R> + Clone,
    K: Hash + Eq,
    S: BuildHasher,
    F: Fn(&R) -> Option<K>,
    J: Judge<T::Response, T::Error> + Clone,
{
    type Response = T::Response;
    type Error = GateError<T::Error>;
    type Future = GateMapFuture<T, R, J>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let gate = (self.layer.key)(&request).map(|key| self.layer.map.gate_of(key)).transpose();
        // `inner` was never polled, so a clone is as good as itself; `ready` is for whoever is called.
        let service = self.inner.clone();
        let (reserved, refused) = match gate {
            Ok(gate) => (gate.map(Reserved::new), None),
            Err(full) => (None, Some(full)),
        };
        let judge = self.layer.judge.clone();
        GateMapFuture { service, request: Some(request), reserved, refused, future: None, pass: None, judge }
    }
}

/// A call through a [`GateMapService`]: the wait, then the call.
///
/// # Cancel safety
/// Dropped before it is ready it gives its place in the line back, or its pass. What becomes of a call that was begun is
/// up to the service.
///
/// # Panics
/// If it has to wait at the gate outside a tokio runtime, or in one without a timer.
#[pin_project]
#[must_use = "a future does nothing unless it is polled"]
pub struct GateMapFuture<T: Service<R>, R, J> {
    service: T,
    request: Option<R>,
    reserved: Option<Reserved>,
    refused: Option<Full>,
    #[pin]
    future: Option<T::Future>,
    pass: Option<OwnedPass>,
    judge: J,
}

impl<T: Service<R>, R, J> fmt::Debug for GateMapFuture<T, R, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GateMapFuture");
        shown.field("reserved", &self.reserved).field("called", &self.future.is_some());
        shown.finish_non_exhaustive()
    }
}

impl<T, R, J> Future for GateMapFuture<T, R, J>
where
    T: Service<R>,
    J: Judge<T::Response, T::Error>,
{
    type Output = Result<T::Response, GateError<T::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(full) = this.refused.take() {
            return Poll::Ready(Err(GateError::Full(full)));
        }
        while this.future.is_none() {
            if let Some(reserved) = this.reserved {
                if ready!(reserved.poll(cx)).is_err() {
                    return Poll::Ready(Err(GateError::ShutDown));
                }
            }
            if let Err(error) = ready!(this.service.poll_ready(cx)) {
                *this.reserved = None;
                return Poll::Ready(Err(GateError::Inner(error)));
            }
            if this.reserved.as_ref().is_some_and(|reserved| !reserved.is_valid()) {
                continue;
            }
            *this.pass = this.reserved.as_mut().and_then(Reserved::take);
            let Some(request) = this.request.take() else { return Poll::Ready(Err(GateError::NotReady)) };
            this.future.set(Some(this.service.call(request)));
        }
        let Some(future) = this.future.as_pin_mut() else { return Poll::Pending };
        let result = ready!(future.poll(cx));
        if let Some(pass) = this.pass.take() {
            report(pass, this.judge.judge(&result), result.is_ok());
        }
        Poll::Ready(result.map_err(GateError::Inner))
    }
}
