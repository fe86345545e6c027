//! Calls one service: exchange, meter and strategy together.

use std::sync::Arc;

use url::Url;

use super::http::{Answer, Http, SendError, host};
use super::judge::{Exchange, Kind};
use super::meter::{Counts, Meter};
use super::reach::Reach;
use super::settings::Key;
use super::strategy::{Fault, Pacer, Performance};

/// See the module.
pub(crate) struct Caller {
    kind: Kind,
    http: Http,
    meter: Meter,
    reach: Reach,
    pacer: Pacer,
}

/// Where the language model is, and what it wants to see.
pub(crate) struct Model {
    pub(crate) url: Url,
    pub(crate) name: String,
    pub(crate) key: Option<Key>,
}

impl Caller {
    pub(crate) fn new(kind: Kind, http: Http, pacer: Pacer) -> Self {
        Self { kind, http, meter: Meter::default(), reach: Reach::default(), pacer }
    }

    /// Gets the page of a paper.
    pub(crate) async fn fetch(&self, paper: &Arc<str>, url: &Url) -> Result<Answer, Fault> {
        self.call(paper, url, || self.http.get(url)).await
    }

    /// Asks the language model about a paper.
    pub(crate) async fn ask(&self, paper: &Arc<str>, model: &Model, body: &[u8]) -> Result<Answer, Fault> {
        self.call(paper, &model.url, || self.http.post(&model.url, model.key.as_ref(), body.to_vec())).await
    }

    async fn call<F, Fut>(&self, paper: &Arc<str>, url: &Url, exchange: F) -> Result<Answer, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        let host = host(url);
        if self.reach.is_hopeless(&host) {
            return Err(self.hopeless(&host));
        }
        let result = self.pacer.call(|| self.metered(paper, &host, exchange())).await;
        match result {
            Err(Fault::Transient { refused: true, .. }) => {
                self.reach.refused(&host);
                // The papers that waited together with this one tell the rest of the story.
                if self.kind == Kind::Llm && self.reach.is_hopeless(&host) {
                    Err(self.hopeless(&host))
                } else {
                    result
                }
            }
            result => result,
        }
    }

    async fn metered(
        &self,
        paper: &Arc<str>,
        host: &str,
        exchange: impl Future<Output = Exchange>,
    ) -> Exchange {
        let exchange = self.meter.measure(self.kind, paper, exchange).await;
        if !matches!(exchange, Err(SendError::Refused { .. })) {
            self.reach.answered(host);
        }
        exchange
    }

    /// Other pages may come from other hosts, but without its language model the pipeline has no business.
    fn hopeless(&self, host: &str) -> Fault {
        let message = format!("{host} refuses every connection");
        match self.kind {
            Kind::Pages => Fault::Transient { message, refused: true },
            Kind::Llm => Fault::Fatal(message),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.meter.counts()
    }

    pub(crate) fn performance(&self) -> Performance {
        self.pacer.performance()
    }

    /// What everybody waits for now, in a word or two.
    pub(crate) fn state(&self) -> String {
        self.pacer.state()
    }
}
