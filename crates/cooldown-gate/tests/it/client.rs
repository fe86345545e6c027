//! The layers over a `reqwest::Client`, against a server on the loopback, in real time: nothing here waits for a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::routing::get;
use reqwest::{Client, Request};
use tidegate_cooldown_gate::tower::{GateLayer, GateMapLayer};
use tidegate_cooldown_gate::{ByStatus, Class, CooldownGate, GateMap};
use tokio::net::TcpListener;
use tower::{Service, ServiceBuilder, ServiceExt};

use super::{assert_idle, secs};

/// Answers every path with the status that it names; 429 says to come back in an hour.
async fn serve() -> (String, Arc<AtomicUsize>) {
    let served = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&served);
    let answer = move |Path(status): Path<u16>| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { (StatusCode::from_u16(status).unwrap(), [(RETRY_AFTER, "3600")], "why") }
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/{status}", get(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://{address}"), served)
}

fn judge() -> ByStatus<fn(&reqwest::Error) -> Class> {
    ByStatus(|_| Class::Transient)
}

fn request(url: &str, status: u16) -> Request {
    Request::new(reqwest::Method::GET, format!("{url}/{status}").parse().unwrap())
}

fn client() -> Client {
    // Nothing here is encrypted, but a client is not built without a provider. The second of two finds the first's.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

fn assert_cools_for_an_hour(gate: &CooldownGate) {
    let remaining = gate.snapshot().remaining;
    assert!(remaining > secs(3500) && remaining <= secs(3600), "{gate:?}");
}

#[tokio::test]
async fn a_client_behind_a_gate_closes_it_by_the_header_and_keeps_the_body() {
    let (url, served) = serve().await;
    let gate = CooldownGate::new();
    let mut client = ServiceBuilder::new().layer(GateLayer::new(gate.clone(), judge())).service(client());

    let response = client.ready().await.unwrap().call(request(&url, 429)).await.unwrap();
    assert_cools_for_an_hour(&gate);
    assert_eq!(response.text().await.unwrap(), "why");
    assert!(tokio::time::timeout(std::time::Duration::ZERO, client.ready()).await.is_err());

    gate.open_now();
    let response = client.ready().await.unwrap().call(request(&url, 200)).await.unwrap();
    assert_eq!((response.status().as_u16(), served.load(Ordering::Relaxed)), (200, 2));
    assert_idle(&gate.snapshot());
}

#[tokio::test]
async fn a_client_behind_a_map_of_gates_closes_one_host_only() {
    let ((slow, _), (fast, served)) = (serve().await, serve().await);
    let map: GateMap<String> = GateMap::new();
    let key = |request: &Request| Some(request.url().authority().to_owned());
    let layer = GateMapLayer::new(map.clone(), key, judge());
    let mut client = ServiceBuilder::new().layer(layer).service(client());

    client.ready().await.unwrap().call(request(&slow, 429)).await.unwrap();
    for _ in 0..3 {
        let response = client.ready().await.unwrap().call(request(&fast, 200)).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
    }
    assert_cools_for_an_hour(&map.get(slow.trim_start_matches("http://")).unwrap());
    assert_eq!((map.len(), map.snapshot().cooling, served.load(Ordering::Relaxed)), (2, 1, 3));
}
