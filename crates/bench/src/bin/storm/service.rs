//! A server as its clients see it: requests travel, are decided on, served and answered, and all of it is counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tidegate_servers::{Model, Server, Verdict};
use tokio::time::{Instant, sleep};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The paper is done.
    Done,
    /// 429, with what the server says how long to stay away.
    Throttled(Option<Duration>),
}

/// What a run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    /// Papers that were served.
    pub(crate) done: u64,
    /// Answered 429.
    pub(crate) throttled: u64,
    /// Answered 429, for a paper that had been answered 429 before.
    pub(crate) throttled_retries: u64,
    /// Requests that were the first after a cooldown, and how many of them succeeded. See [`Turn`].
    pub(crate) firsts: u64,
    pub(crate) firsts_ok: u64,
}

/// Where a request stands in the pacing of its strategy.
///
/// "The first request after a cooldown" shows whether a cooldown was long enough. Where all tasks share a gate it is the
/// first one that is sent in each new epoch of the gate, probes included; where each task backs off alone it is every
/// retry, because each follows a cooldown of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    FirstAfterCooldown,
    Other,
}

impl Turn {
    pub(crate) const fn first_if(first: bool) -> Self {
        if first { Self::FirstAfterCooldown } else { Self::Other }
    }
}

type Gauge = Box<dyn Fn() -> String + Send + Sync>;

struct State {
    server: Server,
    /// When each request in service leaves.
    leaving: BinaryHeap<Reverse<Instant>>,
    tally: Tally,
    /// Per paper: whether it was ever answered 429.
    was_throttled: Vec<bool>,
    /// The server's time starts with its first request.
    first: Option<Instant>,
}

/// One server, and the network before it.
pub(crate) struct Service {
    begun: Instant,
    state: Mutex<State>,
    /// For a trace: what the strategy shows of itself.
    gauge: OnceLock<Gauge>,
    /// One line for each event, if anybody wants to know.
    trace: Option<Mutex<Vec<String>>>,
}

impl Service {
    /// A service that gets requests for papers `0..papers`.
    pub(crate) fn new(model: &Model, seed: u64, papers: usize, traced: bool) -> Arc<Self> {
        let state = State {
            server: Server::new(model, seed),
            leaving: BinaryHeap::new(),
            tally: Tally::default(),
            was_throttled: vec![false; papers],
            first: None,
        };
        let trace = traced.then(Mutex::default);
        Arc::new(Self { begun: Instant::now(), state: Mutex::new(state), gauge: OnceLock::new(), trace })
    }

    /// Seconds since the run began.
    pub(crate) fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.state().tally
    }

    /// What was traced so far, if this is a traced run.
    pub(crate) fn take_trace(&self) -> Vec<String> {
        self.trace.as_ref().map(|trace| std::mem::take(&mut *lock(trace))).unwrap_or_default()
    }

    /// Shows `gauge` with each event of a trace.
    pub(crate) fn show(&self, gauge: impl Fn() -> String + Send + Sync + 'static) {
        // One strategy runs on a service, and shows itself once.
        let _ = self.gauge.set(Box::new(gauge));
    }

    /// Asks for a paper: there, through the service or against its door, and back.
    ///
    /// Must be awaited to its end.
    pub(crate) async fn request(&self, paper: usize, turn: Turn) -> Answer {
        let way = self.send(paper, turn);
        sleep(way).await;
        let (answer, rest) = self.arrive(paper, turn);
        sleep(rest).await;
        self.note(paper, || match answer {
            Answer::Done => "ok".to_owned(),
            Answer::Throttled(None) => "429".to_owned(),
            Answer::Throttled(Some(hint)) => format!("429 {}s", hint.as_secs()),
        });
        answer
    }

    fn send(&self, paper: usize, turn: Turn) -> Duration {
        self.note(paper, || if turn == Turn::Other { "send" } else { "send first" }.to_owned());
        let mut state = self.state();
        state.tally.requests += 1;
        state.first.get_or_insert_with(Instant::now);
        seconds(state.server.travel_time())
    }

    /// What becomes of a request, and how long it takes from here until the client knows.
    fn arrive(&self, paper: usize, turn: Turn) -> (Answer, Duration) {
        let now = Instant::now();
        let mut state = self.state();
        while state.leaving.peek().is_some_and(|Reverse(left)| *left <= now) {
            state.leaving.pop();
            state.server.leave();
        }
        let since = state.first.map_or(0.0, |first| (now - first).as_secs_f64());
        let verdict = state.server.admit(since);
        let back = seconds(state.server.travel_time());
        let first = u64::from(turn == Turn::FirstAfterCooldown);
        state.tally.firsts += first;
        match verdict {
            Verdict::Admitted => {
                let time = seconds(state.server.service_time());
                state.leaving.push(Reverse(now + time));
                state.tally.done += 1;
                state.tally.firsts_ok += first;
                (Answer::Done, time + back)
            }
            Verdict::Rejected(hint) => {
                state.tally.throttled += 1;
                let again = std::mem::replace(&mut state.was_throttled[paper], true);
                state.tally.throttled_retries += u64::from(again);
                (Answer::Throttled(hint), back)
            }
        }
    }

    fn note(&self, paper: usize, event: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let gauge = self.gauge.get().map_or_else(String::new, |gauge| gauge());
            let line = format!("{:10.3}  {:<10}  paper {paper:<4}  {gauge}", self.elapsed(), event());
            lock(trace).push(line.trim_end().to_owned());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Nothing panics under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}
