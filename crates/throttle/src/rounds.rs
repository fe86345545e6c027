//! Retry rounds: what failed for want of capacity is pooled and tried again later, fewer at a time.
//!
//! | round | how many at once (cap 32) | before it |
//! |---|---|---|
//! | 0, the first pass | 32 | nothing |
//! | 1 | 16 | a pause |
//! | 2 | 10 | a pause |
//!
//! After the last round the pool is given up and handed back: never an endless loop.

use std::future::Future;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tidegate_abort_signal::AbortSignal;
use tidegate_adaptive_semaphore::round_concurrency;
use tokio::time::{Instant, sleep};

/// Whether a later round may fare better.
pub trait Again {
    /// True for what failed for want of capacity; false for what will fail the same way.
    fn again(&self) -> bool;
}

/// A plan of rounds. The numbers of the default, but the floor, are those of the ChatPD pipeline.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use tidegate_throttle::{Again, Rounds};
///
/// #[derive(Debug)]
/// struct Busy;
/// impl Again for Busy {
///     fn again(&self) -> bool {
///         true
///     }
/// }
///
/// // Odd numbers never succeed.
/// let report = Rounds::default().run(0..10, |n| async move { if n % 2 == 0 { Ok(n) } else { Err(Busy) } }).await;
/// assert_eq!(report.done.len(), 5);
/// assert_eq!(report.throttled.len(), 5);
/// assert_eq!(report.per_round.len(), 3);
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rounds {
    /// How many rounds in all, the first pass included. 0 counts as 1.
    pub rounds: u32,
    /// The pause before each round but the first.
    pub pause: Duration,
    /// How many items are under way at once in the first pass. 0 counts as 1.
    pub cap: usize,
    /// How many at least in the later ones; never more than `cap`.
    pub floor: usize,
    signal: Option<AbortSignal>,
}

impl Default for Rounds {
    /// 3 rounds, 90 s before each retry round, 32 at once, at least 1.
    fn default() -> Self {
        Self { rounds: 3, pause: Duration::from_secs(90), cap: 32, floor: 1, signal: None }
    }
}

impl Rounds {
    /// The article's numbers: the default with a floor of 4.
    #[must_use]
    pub fn article() -> Self {
        Self { floor: 4, ..Self::default() }
    }

    /// How many rounds in all, the first pass included.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// The pause before each round but the first.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// How many items are under way at once in the first pass.
    #[must_use]
    pub fn cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// How many at least in the later rounds.
    #[must_use]
    pub fn floor(mut self, floor: usize) -> Self {
        self.floor = floor;
        self
    }

    /// Ends early once `signal` is aborted: what was not begun, and what was under way, is handed back in
    /// [`RoundsReport::left`].
    #[must_use]
    pub fn abort(mut self, signal: AbortSignal) -> Self {
        self.signal = Some(signal);
        self
    }

    /// How many are under way at once in `round`, counted from 0: `cap / (round + 1)`, at least `floor`, at most `cap`.
    #[must_use]
    pub fn concurrency(&self, round: u32) -> usize {
        round_concurrency(self.cap.max(1), round as usize, self.floor.max(1))
    }

    /// Runs `work` on every item, and again, fewer at a time and after a pause, on those that failed with an error that
    /// says [`again`](Again::again).
    ///
    /// Nothing is spawned: the work is polled by whoever polls this future. Memory is bounded by the items and the
    /// outputs; at most `cap` futures exist at once.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work that is under way and every item not yet done.
    ///
    /// # Panics
    /// On its first pause outside a tokio runtime with a timer. A panic of `work` passes through.
    pub async fn run<I, O, E, F, Fut>(
        &self,
        items: impl IntoIterator<Item = I>,
        work: F,
    ) -> RoundsReport<I, O, E>
    where
        I: Clone,
        E: Again,
        F: Fn(I) -> Fut,
        Fut: Future<Output = Result<O, E>>,
    {
        let mut report = RoundsReport::new();
        let mut pool: Vec<I> = items.into_iter().collect();
        let last = self.rounds.max(1) - 1;
        for round in 0..=last {
            if pool.is_empty() || self.is_aborted() || (round > 0 && !self.rest().await) {
                break;
            }
            let again = self.one_round(round, std::mem::take(&mut pool), &work, &mut report).await;
            if round == last {
                report.throttled = again;
            } else {
                pool = again.into_iter().map(|(item, _)| item).collect();
            }
        }
        report.left.append(&mut pool);
        report
    }

    async fn one_round<I, O, E, F, Fut>(
        &self,
        round: u32,
        pool: Vec<I>,
        work: &F,
        report: &mut RoundsReport<I, O, E>,
    ) -> Vec<(I, E)>
    where
        I: Clone,
        E: Again,
        F: Fn(I) -> Fut,
        Fut: Future<Output = Result<O, E>>,
    {
        let concurrency = self.concurrency(round);
        let begun = Instant::now();
        let mut tally = RoundTally { round, concurrency, items: pool.len(), ..RoundTally::default() };
        let mut waiting = pool.into_iter().enumerate();
        let mut under_way = FuturesUnordered::new();
        // What is under way, by its number, so that an abort can hand it back.
        let mut begun_items = std::collections::BTreeMap::new();
        let mut again = Vec::new();
        loop {
            while under_way.len() < concurrency && !self.is_aborted() {
                let Some((number, item)) = waiting.next() else { break };
                begun_items.insert(number, item.clone());
                let doing = work(item);
                under_way.push(async move { (number, doing.await) });
            }
            let Some(Some((number, result))) = self.unless_aborted(under_way.next()).await else { break };
            let item = begun_items.remove(&number);
            match result {
                Ok(output) => {
                    tally.done += 1;
                    report.done.push(output);
                }
                Err(error) if error.again() => {
                    tally.pooled += 1;
                    again.extend(item.map(|item| (item, error)));
                }
                Err(error) => {
                    tally.failed += 1;
                    report.failed.extend(item.map(|item| (item, error)));
                }
            }
        }
        report.left.extend(begun_items.into_values().chain(waiting.map(|(_, item)| item)));
        tally.wall = begun.elapsed();
        report.per_round.push(tally);
        again
    }

    fn is_aborted(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::is_aborted)
    }

    /// The pause; false if it was cut short by an abort.
    async fn rest(&self) -> bool {
        self.unless_aborted(sleep(self.pause)).await.is_some()
    }

    async fn unless_aborted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match &self.signal {
            Some(signal) => signal.run(work).await.ok(),
            None => Some(work.await),
        }
    }
}

/// What the rounds came to. Every item is in exactly one of the four lists.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct RoundsReport<I, O, E> {
    /// What the successes returned, in the order they ended.
    pub done: Vec<O>,
    /// What still failed for want of capacity in the last round, with the error it failed with then.
    pub throttled: Vec<(I, E)>,
    /// What failed for good, with its error.
    pub failed: Vec<(I, E)>,
    /// What an abort left undone.
    pub left: Vec<I>,
    /// One tally a round that began.
    pub per_round: Vec<RoundTally>,
}

impl<I, O, E> RoundsReport<I, O, E> {
    fn new() -> Self {
        Self {
            done: Vec::new(),
            throttled: Vec::new(),
            failed: Vec::new(),
            left: Vec::new(),
            per_round: Vec::new(),
        }
    }
}

/// What one round came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundTally {
    /// Which round, counted from 0.
    pub round: u32,
    /// How many items were under way at once at the most.
    pub concurrency: usize,
    /// How many items it began with.
    pub items: usize,
    /// How many succeeded.
    pub done: usize,
    /// How many go on to the next round, or are given up if there is none.
    pub pooled: usize,
    /// How many failed for good.
    pub failed: usize,
    /// How long it took, without the pause before it.
    pub wall: Duration,
}
