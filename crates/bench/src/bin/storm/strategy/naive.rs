//! Every task for itself: back off alone, wake together.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Terms;
use crate::crew::Fetch;
use crate::service::{Answer, Service, Turn};

/// A task gives its paper up after this many tries, having slept 15 s between them.
const TRIES: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_secs(1);

pub(super) struct Naive(Arc<Service>);

impl Naive {
    pub(super) fn new(terms: &Terms) -> Self {
        Self(terms.service.clone())
    }
}

impl Fetch for Naive {
    async fn fetch(&self, paper: usize) -> bool {
        for tried in 0..TRIES {
            if tried > 0 {
                sleep(FIRST_DELAY * 2_u32.pow(tried - 1)).await;
            }
            if self.0.request(paper, Turn::first_if(tried > 0)).await == Answer::Done {
                return true;
            }
        }
        false
    }
}
