//! The gate as a layer.

use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_cooldown_gate::tower::{
    GateError, GateFuture, GateLayer, GateMapLayer, GateMapService, GateService,
};
use tidegate_cooldown_gate::{CooldownGate, GateMap, GateState, RetryHint};
use tidegate_core::Class;
use tokio::sync::oneshot;
use tower::util::ServiceFn;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use super::{assert_idle, let_others_run, poll_once, secs, timed};

type Answer = Result<u16, io::Error>;

/// 429 is a throttle, 404 terminal, 401 fatal, 500 transient; so is every error.
fn judge(result: &Answer) -> Option<Class> {
    match result {
        Ok(429) => Some(Class::Throttled(RetryHint::after(secs(7)))),
        Ok(404) => Some(Class::Terminal),
        Ok(401) => Some(Class::Fatal),
        Ok(500) => Some(Class::Transient),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => Some(Class::Throttled(None)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Class::Terminal),
        Err(_) => Some(Class::Transient),
    }
}

type Judge = fn(&Answer) -> Option<Class>;
type Gated = GateService<ServiceFn<fn(u16) -> Ready<Answer>>, Judge>;

fn judged() -> Judge {
    judge
}

fn echo(status: u16) -> Ready<Answer> {
    ready(match status {
        0 => Err(io::ErrorKind::QuotaExceeded.into()),
        1 => Err(io::ErrorKind::NotFound.into()),
        2 => Err(io::ErrorKind::TimedOut.into()),
        status => Ok(status),
    })
}

fn gated(gate: &CooldownGate) -> Gated {
    ServiceBuilder::new()
        .layer(GateLayer::new(gate.clone(), judged()))
        .service(service_fn(echo as fn(u16) -> _))
}

fn poll_ready<R, S: Service<R>>(service: &mut S) -> Poll<Result<(), S::Error>> {
    service.poll_ready(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn a_throttled_response_closes_the_gate_and_the_next_waits_in_ready() {
    let gate = CooldownGate::new();
    let mut service = gated(&gate);
    assert_eq!(service.ready().await.unwrap().call(429).await.unwrap(), 429);
    assert_eq!(gate.state(), GateState::Cooling { remaining: secs(7) });
    let (took, ready) = timed(service.ready()).await;
    assert!(took >= secs(7) && took <= secs(7) + Duration::from_millis(1), "{took:?}");
    assert_eq!(ready.unwrap().call(200).await.unwrap(), 200);
    assert_eq!(gate.state(), GateState::Paced);
    assert_idle(&gate.snapshot());
}

/// What each outcome of a probe does to the gate.
#[tokio::test(start_paused = true)]
async fn every_class_of_a_probe_tells_the_gate_what_the_table_says() {
    let cases = [
        (200, "open"),
        (404, "open"),
        (401, "open"),
        (500, "nothing"),
        (429, "closed"),
        (0, "closed"),
        (1, "nothing"),
        (2, "nothing"),
    ];
    for (status, outcome) in cases {
        let gate = CooldownGate::new();
        let mut service = gated(&gate);
        gate.close_for(secs(1));
        let _ = service.ready().await.unwrap().call(status).await;
        let seen = match gate.state() {
            GateState::Open => "open",
            GateState::HalfOpen => "nothing",
            _ => "closed",
        };
        assert_eq!(seen, outcome, "a probe that came to {status}");
        assert_idle(&gate.snapshot());
    }
}

#[tokio::test(start_paused = true)]
async fn cg6_a_service_that_is_dropped_gives_its_reserved_probe_to_the_next() {
    let gate = CooldownGate::new();
    gate.close_for(secs(1));
    let (mut first, mut second) = (gated(&gate), gated(&gate));
    first.ready().await.unwrap();
    assert!(poll_ready::<u16, _>(&mut second).is_pending(), "two probes");
    drop(first);
    second.ready().await.unwrap().call(200).await.unwrap();
    assert!(gate.is_open());
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn cg6_a_service_that_is_dropped_while_it_waits_leaves_the_line() {
    let gate = CooldownGate::new();
    gate.close_for(secs(1));
    let mut service = gated(&gate);
    assert!(poll_ready::<u16, _>(&mut service).is_pending());
    assert!(poll_ready::<u16, _>(&mut service).is_pending());
    assert_eq!(gate.snapshot().waiting, 1, "one place, kept between polls");
    drop(service);
    assert_idle(&gate.snapshot());
}

#[tokio::test]
async fn a_clone_starts_without_a_pass() {
    let gate = CooldownGate::new();
    let mut service = gated(&gate);
    service.ready().await.unwrap();
    let mut clone = service.clone();
    assert_eq!(gate.snapshot().in_flight, 1);
    assert!(matches!(clone.call(200).await, Err(GateError::NotReady)));
    assert_eq!(service.call(200).await.unwrap(), 200);
    assert_idle(&gate.snapshot());
}

#[tokio::test]
async fn cg6_a_call_that_is_dropped_gives_its_pass_back() {
    let gate = CooldownGate::new();
    let layer = GateLayer::new(gate.clone(), judged());
    let mut service =
        ServiceBuilder::new().layer(layer).service(service_fn(|_: u16| std::future::pending::<Answer>()));
    let mut call = Box::pin(service.ready().await.unwrap().call(200));
    assert!(poll_once(&mut call).is_pending());
    assert_eq!(gate.snapshot().in_flight, 1);
    drop(call);
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_went_stale_while_the_service_got_ready_is_replaced() {
    /// Becomes ready when it is told to.
    struct Slow(Option<oneshot::Receiver<()>>);
    impl Service<u16> for Slow {
        type Response = u16;
        type Error = io::Error;
        type Future = Ready<Answer>;
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
            let Some(told) = &mut self.0 else { return Poll::Ready(Ok(())) };
            std::pin::Pin::new(told).poll(cx).map(|_| {
                self.0 = None;
                Ok(())
            })
        }
        fn call(&mut self, status: u16) -> Ready<Answer> {
            echo(status)
        }
    }
    let gate = CooldownGate::new();
    let (tell, told) = oneshot::channel();
    let mut service = GateService::new(Slow(Some(told)), gate.clone(), judged());
    assert!(poll_ready::<u16, _>(&mut service).is_pending());
    assert_eq!(gate.snapshot().in_flight, 1);
    gate.close_for(secs(5));
    tell.send(()).unwrap();
    let (took, _) = timed(service.ready()).await;
    assert!(took >= secs(5), "a call went out {took:?} after the gate was closed for 5 s");
}

#[tokio::test]
async fn cg6_a_service_that_fails_to_get_ready_gives_the_pass_back() {
    #[derive(Clone)]
    struct Broken;
    impl Service<u16> for Broken {
        type Response = u16;
        type Error = io::Error;
        type Future = Ready<Answer>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }
        fn call(&mut self, status: u16) -> Ready<Answer> {
            echo(status)
        }
    }
    let gate = CooldownGate::new();
    let mut service = GateService::new(Broken, gate.clone(), judged());
    let Err(error) = service.ready().await else { panic!("a broken service was ready") };
    assert_eq!(error.into_inner().unwrap().kind(), io::ErrorKind::BrokenPipe);
    assert_idle(&gate.snapshot());

    let map: GateMap<u16> = GateMap::new();
    let mut keyed = ServiceBuilder::new()
        .layer(GateMapLayer::new(map.clone(), |key: &u16| Some(*key), judged()))
        .service(Broken);
    let mut call = Box::pin(keyed.ready().await.unwrap().call(200));
    assert!(matches!((&mut call).await, Err(GateError::Inner(_))));
    assert_idle(&map.get(&200).unwrap().snapshot());
}

#[tokio::test]
async fn a_gate_that_was_shut_down_says_so_instead_of_calling() {
    let gate = CooldownGate::new();
    let mut service = gated(&gate);
    service.ready().await.unwrap();
    gate.shutdown();
    assert!(matches!(poll_ready::<u16, _>(&mut service), Poll::Ready(Err(GateError::ShutDown))));
    let error = GateError::<io::Error>::ShutDown;
    assert_eq!(error.to_string(), "the gate was shut down");
}

/// Requests are (host, status).
fn hosts(
    map: &GateMap<&'static str>,
    calls: &Arc<AtomicUsize>,
) -> impl Service<(&'static str, u16), Response = u16, Error = GateError<io::Error>> + Clone {
    let calls = Arc::clone(calls);
    let key = |request: &(&'static str, u16)| Some(request.0).filter(|host| !host.is_empty());
    ServiceBuilder::new().layer(GateMapLayer::new(map.clone(), key, judged())).service(service_fn(
        move |request: (&'static str, u16)| {
            calls.fetch_add(1, Ordering::Relaxed);
            echo(request.1)
        },
    ))
}

#[tokio::test(start_paused = true)]
async fn each_host_has_its_own_gate_and_waits_in_call() {
    let (map, calls) = (GateMap::new(), Arc::default());
    let mut service = hosts(&map, &calls);
    service.ready().await.unwrap().call(("a", 429)).await.unwrap();
    let (took, answer) = timed(service.ready().await.unwrap().call(("b", 200))).await;
    assert_eq!((took, answer.unwrap()), (Duration::ZERO, 200));
    let (took, answer) = timed(service.ready().await.unwrap().call(("a", 200))).await;
    assert!(took >= secs(7) && answer.unwrap() == 200, "{took:?}");
    assert_eq!(map.gate(&"a").unwrap().state(), GateState::Paced);
    assert_eq!((map.len(), calls.load(Ordering::Relaxed)), (2, 3));
    assert_eq!((map.snapshot().in_flight, map.snapshot().waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_key_passes_ungated() {
    let (map, calls) = (GateMap::new(), Arc::default());
    let mut service = hosts(&map, &calls);
    assert_eq!(service.ready().await.unwrap().call(("", 429)).await.unwrap(), 429);
    assert_eq!(service.ready().await.unwrap().call(("", 200)).await.unwrap(), 200);
    assert!(map.is_empty());
}

#[tokio::test]
async fn a_key_without_a_place_is_an_error_and_nothing_is_sent() {
    let (map, calls) = (GateMap::<&'static str>::builder().capacity(1).build(), Arc::default());
    let mut service = hosts(&map, &calls);
    service.ready().await.unwrap().call(("a", 200)).await.unwrap();
    let error = service.ready().await.unwrap().call(("b", 200)).await.unwrap_err();
    assert!(matches!(error, GateError::Full(full) if full.capacity == 1), "{error:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    map.shutdown();
    let error = service.ready().await.unwrap().call(("a", 200)).await.unwrap_err();
    assert!(matches!(error, GateError::ShutDown), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn cg6_a_request_that_is_dropped_while_it_waits_leaves_the_line() {
    let (map, calls) = (GateMap::new(), Arc::default());
    let mut service = hosts(&map, &calls);
    map.gate(&"a").unwrap().close_for(secs(5));
    let mut call = Box::pin(service.ready().await.unwrap().call(("a", 200)));
    assert!(poll_once(&mut call).is_pending());
    assert_eq!(map.snapshot().waiting, 1);
    drop(call);
    assert_eq!((map.snapshot().waiting, calls.load(Ordering::Relaxed)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_at_a_closed_gate_holds_no_place_of_the_service_behind() {
    let map: GateMap<&'static str> = GateMap::new();
    let key = |request: &(&'static str, u16)| Some(request.0);
    let service = ServiceBuilder::new()
        .layer(GateMapLayer::new(map.clone(), key, judged()))
        .concurrency_limit(1)
        .service(service_fn(|request: (&'static str, u16)| echo(request.1)));
    map.gate(&"closed").unwrap().close_for(secs(5));
    let waiting = tokio::spawn(service.clone().oneshot(("closed", 200)));
    let_others_run().await;
    let (took, answer) = timed(service.oneshot(("open", 200))).await;
    assert_eq!((took, answer.unwrap()), (Duration::ZERO, 200));
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
}

#[test]
fn services_and_layers_can_be_sent_and_shared() {
    fn sent_and_shared<T: Send + Sync + 'static>() {}
    sent_and_shared::<GateLayer<Judge>>();
    sent_and_shared::<GateService<(), Judge>>();
    sent_and_shared::<GateFuture<Ready<Answer>, Judge>>();
    sent_and_shared::<GateMapLayer<String, Judge, Judge>>();
    sent_and_shared::<GateMapService<(), String, Judge, Judge>>();
    sent_and_shared::<GateError<io::Error>>();
}
