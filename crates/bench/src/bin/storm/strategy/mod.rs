//! The ways to obey a server that says "slow down".
//!
//! | strategy | on a 429 | knows | gives up |
//! |---|---|---|---|
//! | [`naive`] | this task alone waits 1 s, doubling | nothing | after 5 tries |
//! | [`patient`] | this task alone waits as long as the server says, or 1 s, doubling, with jitter (crate `backon`) | nothing | after 10 tries |
//! | [`told`] | this task alone waits as long as the server says, or 1 s; every request waits for its turn at nine tenths of the rate (crate `governor`) | the rate | never |
//! | [`article`] | a gate closes for 60 s for everybody | nothing | after 3 tries in each of 3 rounds |
//! | [`tidegate`] | a `CooldownGate` closes for everybody | nothing; warm: what it learned in another run | never |

mod article;
mod naive;
mod patient;
mod tidegate;
mod told;

use std::sync::Arc;

use clap::ValueEnum;
use tidegate_cooldown_gate::Learned;
use tidegate_servers::Published;

use crate::crew::{self, Fetch};
use crate::service::Service;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Each task retries alone: 1 s, doubling, 5 tries
    Naive,
    /// Each task retries alone with crate backon: jitter, Retry-After, 10 tries
    Backon,
    /// A rate limiter of crate governor that is told 90 % of the rate
    Governor,
    /// The article: a gate of 60 s, 4 to 32 in flight, three rounds
    Article,
    /// One `CooldownGate`, cold
    Tidegate,
    /// The same, with what it learned in a run before, with other seeds
    TidegateWarm,
}

/// What a strategy gets.
pub(crate) struct Terms {
    pub(crate) service: Arc<Service>,
    /// For those that have to be told.
    pub(crate) published: Published,
    pub(crate) tasks: usize,
    pub(crate) papers: usize,
    pub(crate) seed: u64,
    /// What a gate begins with.
    pub(crate) learned: Learned,
}

impl Strategy {
    /// As it is called on the command line and in every report.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// All of them, in their order.
    pub(crate) fn names() -> impl Iterator<Item = String> {
        Self::value_variants().iter().map(|strategy| strategy.name())
    }

    /// Does all papers; how many were given up.
    pub(crate) async fn run(self, terms: &Terms) -> usize {
        match self {
            Self::Naive => work(terms, naive::Naive::new(terms)).await,
            Self::Backon => work(terms, patient::Patient::new(terms)).await,
            Self::Governor => work(terms, told::Told::new(terms)).await,
            Self::Article => article::run(terms).await,
            Self::Tidegate | Self::TidegateWarm => work(terms, tidegate::Gated::new(terms)).await,
        }
    }

    /// What it takes along from a run that does not count, if it does so: with the terms of such a run.
    pub(crate) async fn rehearse(self, terms: impl FnOnce() -> Terms) -> Learned {
        if self == Self::TidegateWarm { tidegate::rehearse(&terms()).await } else { Learned::default() }
    }
}

/// All papers in one round, by the number of tasks that everybody has; how many were given up.
async fn work(terms: &Terms, fetch: impl Fetch) -> usize {
    crew::work(terms.tasks, (0..terms.papers).collect(), Arc::new(fetch)).await.len()
}
