//! The article's remedies: one gate for everybody, jitter, a limit that ramps up, rounds for what is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};

use super::Terms;
use crate::crew::{self, Fetch};
use crate::service::{Answer, Service, Turn};

/// Tasks of each round.
const ROUNDS: [usize; 3] = [32, 16, 10];
const ROUND_PAUSE: Duration = Duration::from_secs(90);
const COOLDOWN: Duration = Duration::from_secs(60);
/// The article counts 597 wasted calls of 199 callers: three each.
const TRIES: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_secs(1);
const INITIAL: usize = 4;
const MAX: usize = 32;
const STEP_EVERY: usize = 24;

/// All papers, in three rounds; how many were given up.
pub(super) async fn run(terms: &Terms) -> usize {
    let article = Arc::new(Article::new(terms));
    let shown = Arc::clone(&article);
    terms.service.show(move || shown.gauge());
    let mut papers: Vec<usize> = (0..terms.papers).collect();
    for (n, tasks) in ROUNDS.into_iter().enumerate() {
        if n > 0 && !papers.is_empty() {
            sleep(ROUND_PAUSE).await;
        }
        papers = crew::work(tasks, papers, Arc::clone(&article)).await;
    }
    papers.len()
}

struct Article {
    service: Arc<Service>,
    permits: Semaphore,
    state: Mutex<State>,
}

struct State {
    /// Nobody sends before this; it only ever moves later.
    closed_until: Instant,
    /// Nothing was sent since it was closed last.
    fresh: bool,
    limit: usize,
    successes: usize,
    rng: StdRng,
}

impl State {
    /// Whether a request that leaves now is the first since the gate opened again. Those that got past the gate before it
    /// closed, and only now have their permit, are not.
    fn is_first(&mut self) -> bool {
        self.closed_until <= Instant::now() && std::mem::take(&mut self.fresh)
    }
}

impl Article {
    fn new(terms: &Terms) -> Self {
        let state = State {
            closed_until: Instant::now(),
            fresh: false,
            limit: INITIAL,
            successes: 0,
            rng: StdRng::seed_from_u64(terms.seed),
        };
        Self { service: terms.service.clone(), permits: Semaphore::new(INITIAL), state: Mutex::new(state) }
    }

    /// Waits for gate and permit, and tells both what came of it.
    async fn attempt(&self, paper: usize) -> Answer {
        loop {
            let until = self.state().closed_until;
            if until <= Instant::now() {
                break;
            }
            sleep_until(until).await;
        }
        // Never closed.
        let permit = self.permits.acquire().await;
        let turn = Turn::first_if(self.state().is_first());
        let answer = self.service.request(paper, turn).await;
        match answer {
            Answer::Done => self.succeeded(),
            Answer::Throttled(_) => self.close(),
        }
        drop(permit);
        answer
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed_until = state.closed_until.max(Instant::now() + COOLDOWN);
        state.fresh = true;
    }

    /// One more permit after every so many successes; never fewer.
    fn succeeded(&self) {
        let mut state = self.state();
        state.successes += 1;
        if state.successes.is_multiple_of(STEP_EVERY) && state.limit < MAX {
            state.limit += 1;
            self.permits.add_permits(1);
        }
    }

    fn pause(&self, tried: u32) -> Duration {
        FIRST_DELAY * 2_u32.pow(tried - 1) + JITTER.mul_f64(self.state().rng.random_range(0.0..1.0))
    }

    fn gauge(&self) -> String {
        let state = self.state();
        let left = state.closed_until.saturating_duration_since(Instant::now());
        format!("closed {:.1} s, limit {}", left.as_secs_f64(), state.limit)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetch for Article {
    async fn fetch(&self, paper: usize) -> bool {
        for tried in 0..TRIES {
            if tried > 0 {
                sleep(self.pause(tried)).await;
            }
            if self.attempt(paper).await == Answer::Done {
                return true;
            }
        }
        false
    }
}
