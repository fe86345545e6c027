//! The ways to obey a server that says "slow down".
//!
//! | strategy | on a 429 | knows | gives up |
//! |---|---|---|---|
//! | [`naive`] | this task alone waits 1 s, doubling | nothing | after 5 tries |
//! | [`patient`] | this task alone waits as long as the server says, or 1 s, doubling, with jitter (crate `backon`) | nothing | after 10 tries |
//! | [`told`] | this task alone waits as long as the server says, or 1 s; every request waits for its turn at nine tenths of the rate (crate `governor`) | the rate | never |
//! | [`article`] | a gate closes for 60 s for everybody | nothing | after 3 tries in each of 3 rounds |
//! | [`throttle`] | gate, window and retries together | nothing; warm: as below | never |
//! | [`limited`] | a gate closes for 5 s for everybody, and a limit on what is in flight falls | nothing | never |
//! | [`tidegate`] | a `CooldownGate` closes for everybody | nothing; warm: what it learned in another run | never |

mod article;
mod limited;
mod naive;
mod patient;
mod throttle;
mod tidegate;
mod told;

use std::sync::Arc;

use clap::ValueEnum;
use tidegate_adaptive_semaphore::{Aimd, PacedWindow, Ramp};
use tidegate_cooldown_gate::Learned;
use tidegate_servers::Published;

use crate::crew::{self, Fetch};
use crate::service::Service;

/// What is measured: which servers, and which strategies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Servers that say 429 for all kinds of reasons
    #[default]
    Storm,
    /// Services with a hidden capacity, behind a plain gate of 5 s: what a limit in flight is worth
    Semaphore,
}

impl Suite {
    /// As it is called on the command line and in the rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Storm => "storm",
            Self::Semaphore => "semaphore",
        }
    }
}

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
    /// `Throttle`: a gate and a window of up to 32, cold
    Throttle,
    /// The same, with what its gate learned in a run before, with other seeds
    ThrottleWarm,
    /// The article's limit: one more for 24 successes, never fewer
    RampArticle,
    /// Crate congestion-limiter: one more a round, a tenth less for each refusal
    Congestion,
    /// The adaptive semaphore as it comes
    Ramp,
    /// The same with slow start and soft ceiling
    RampFast,
    /// The adaptive semaphore with `Aimd`
    Aimd,
    /// The adaptive semaphore with `PacedWindow`
    Window,
}

/// What a strategy gets.
pub(crate) struct Terms {
    pub(crate) service: Arc<Service>,
    /// For those that have to be told.
    pub(crate) published: Published,
    pub(crate) tasks: usize,
    pub(crate) papers: usize,
    /// So many papers are done one by one, before the others.
    pub(crate) idle: usize,
    pub(crate) seed: u64,
    /// What a gate begins with.
    pub(crate) learned: Learned,
}

impl Strategy {
    /// As it is called on the command line and in every report.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// All of the storm, in their order.
    pub(crate) fn names() -> impl Iterator<Item = String> {
        let all = Self::value_variants().iter();
        all.filter(|strategy| strategy.suite() == Suite::Storm).map(|strategy| strategy.name())
    }

    pub(crate) const fn suite(self) -> Suite {
        match self {
            Self::RampArticle
            | Self::Congestion
            | Self::Ramp
            | Self::RampFast
            | Self::Aimd
            | Self::Window => Suite::Semaphore,
            _ => Suite::Storm,
        }
    }

    /// Does all papers; how many were given up.
    pub(crate) async fn run(self, terms: &Terms) -> usize {
        match self {
            Self::Naive => work(terms, naive::Naive::new(terms)).await,
            Self::Backon => work(terms, patient::Patient::new(terms)).await,
            Self::Governor => work(terms, told::Told::new(terms)).await,
            Self::Article => article::run(terms).await,
            Self::Tidegate | Self::TidegateWarm => work(terms, tidegate::Gated::new(terms)).await,
            Self::Throttle | Self::ThrottleWarm => throttle::run(terms).await,
            Self::RampArticle => work(terms, limited::Limited::new(terms, Ramp::article())).await,
            Self::Congestion => work(terms, limited::Congested::new(terms)).await,
            Self::Ramp => work(terms, limited::Limited::new(terms, Ramp::new())).await,
            Self::RampFast => {
                work(terms, limited::Limited::new(terms, Ramp::new().slow_start().soft_ceiling())).await
            }
            Self::Aimd => work(terms, limited::Limited::new(terms, Aimd::new())).await,
            Self::Window => work(terms, limited::Limited::new(terms, PacedWindow::new())).await,
        }
    }

    /// What it takes along from a run that does not count, if it does so: with the terms of such a run.
    pub(crate) async fn rehearse(self, terms: impl FnOnce() -> Terms) -> Learned {
        match self {
            Self::TidegateWarm => tidegate::rehearse(&terms()).await,
            Self::ThrottleWarm => throttle::rehearse(&terms()).await,
            _ => Learned::default(),
        }
    }
}

/// All papers in one round, by the number of tasks that everybody has; how many were given up.
async fn work(terms: &Terms, fetch: impl Fetch) -> usize {
    let fetch = Arc::new(fetch);
    let idle = crew::work(1, (0..terms.idle).collect(), Arc::clone(&fetch)).await;
    idle.len() + crew::work(terms.tasks, (terms.idle..terms.papers).collect(), fetch).await.len()
}
