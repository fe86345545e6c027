//! The two rate-limited services of the example, on loopback, in this process.
//!
//! | file | what |
//! |---|---|
//! | `service.rs` | a model of `tidegate-servers` with a clock and counters |
//! | `render.rs`, `page.rs` | the rendering service and its papers |
//! | `chat.rs`, `catalogue.rs` | the chat service and what it knows |

mod catalogue;
mod chat;
pub(crate) mod page;
mod render;
pub(crate) mod service;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::serve::ListenerExt;
use tidegate_servers::ServerId;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use service::{Service, Tally};

/// A service that listens on loopback until it is dropped.
pub(crate) struct Running {
    /// Where it is, with a trailing slash.
    pub(crate) base: Url,
    service: Arc<Service>,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts the rendering service.
    pub(crate) async fn render(id: ServerId, seed: u64, scale: f64) -> anyhow::Result<Self> {
        let service = Service::new(id, seed, scale, None);
        Self::start(service.clone(), render::router(service, seed)).await
    }

    /// Starts the chat service. Its own seed, so that it is another instance of the same server.
    pub(crate) async fn chat(
        id: ServerId,
        seed: u64,
        scale: f64,
        key: &str,
        quota: Option<u64>,
    ) -> anyhow::Result<Self> {
        let service = Service::new(id, seed.wrapping_add(1), scale, quota);
        Self::start(service.clone(), chat::router(service, key)).await
    }

    async fn start(service: Arc<Service>, router: Router) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let base = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
        // Small answers must not wait for a full segment. A socket that refuses is only slower.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { base, service, task })
    }

    /// What it has counted so far.
    pub(crate) fn tally(&self) -> Tally {
        self.service.tally()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The hint of a rejection, in scaled milliseconds; rounded up, for a hint must be long enough.
fn retry_after(hint: Option<Duration>) -> Option<[(&'static str, HeaderValue); 1]> {
    let milliseconds = hint?.as_nanos().div_ceil(1_000_000);
    Some([("retry-after-ms", HeaderValue::from_str(&milliseconds.to_string()).ok()?)])
}
