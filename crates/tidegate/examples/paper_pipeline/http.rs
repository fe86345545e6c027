//! One exchange with a service: sent, and read whole.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode};
use url::Url;

use super::settings::Key;

/// No page and no answer is longer; what is may not fill the memory.
const LIMIT: usize = 16 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer, body included.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum SendError {
    /// Nothing listens there, or the name leads nowhere.
    Refused { host: String, why: String },
    /// No answer in time.
    TimedOut { host: String },
    /// The connection broke, or spoke no HTTP.
    Broken { host: String, why: String },
    /// The answer exceeds the limit.
    TooLong,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { host, why } => write!(f, "cannot connect to {host}: {why}"),
            Self::TimedOut { host } => write!(f, "no answer from {host} in {} s", PATIENCE.as_secs()),
            Self::Broken { host, why } => write!(f, "the exchange with {host} failed: {why}"),
            Self::TooLong => write!(f, "the answer is longer than {} MiB", LIMIT >> 20),
        }
    }
}

impl std::error::Error for SendError {}

/// Speaks to both services.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
}

impl Http {
    /// A client that follows the proxies of the environment, unless it is for services on loopback.
    ///
    /// # Errors
    /// The TLS stack cannot be set up.
    pub(crate) fn new(loopback: bool) -> Result<Self> {
        // Another call in the same process may have installed it: then it is there.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("tidegate-paper-pipeline/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(PATIENCE);
        let builder = if loopback { builder.no_proxy() } else { builder };
        Ok(Self { client: builder.build().context("cannot set up the HTTP client")? })
    }

    /// Gets a page.
    pub(crate) async fn get(&self, url: &Url) -> Result<Answer, SendError> {
        exchange(self.client.get(url.clone()), url).await
    }

    /// Posts a JSON body, with the key in its header.
    pub(crate) async fn post(
        &self,
        url: &Url,
        key: Option<&Key>,
        body: Vec<u8>,
    ) -> Result<Answer, SendError> {
        let mut request = self.client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        let bearer = key.and_then(|key| HeaderValue::from_str(&format!("Bearer {}", key.reveal())).ok());
        if let Some(mut bearer) = bearer {
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        exchange(request, url).await
    }
}

async fn exchange(request: RequestBuilder, url: &Url) -> Result<Answer, SendError> {
    let failed = |error| failure(url, error);
    let mut response = request.send().await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > LIMIT {
            return Err(SendError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status: response.status(), headers: std::mem::take(response.headers_mut()), body })
}

fn failure(url: &Url, error: reqwest::Error) -> SendError {
    let host = host(url);
    // The URL may hold a password; the host says enough.
    let error = error.without_url();
    if error.is_connect() {
        SendError::Refused { host, why: root(&error) }
    } else if error.is_timeout() {
        SendError::TimedOut { host }
    } else {
        SendError::Broken { host, why: root(&error) }
    }
}

/// Scheme, host and port.
pub(crate) fn host(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The innermost cause: what is around it says "error sending request".
fn root(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
