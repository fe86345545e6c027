//! One call, the whole way.
//!
//! # The order of an attempt
//! | step | waits | holds | ends the call when |
//! |---|---|---|---|
//! | 1 abort check | no | nothing | aborted |
//! | 2 gate | until the gate passes it | nothing | aborted, shut down, or the deadline passes: `Throttled` |
//! | 3 permit | until the semaphore grants one | a pass | aborted, closed, or the deadline passes: `Deadline` |
//! | 4 still valid? | no | a pass and a permit | never: both go back, and 1 follows |
//! | 5 attempt | until it ends or its time is up | a pass and a permit | aborted |
//! | 6 report | no | a pass and a permit: both end here | success, terminal, fatal |
//! | 7 back-off | the delay of the policy | nothing | no attempt or time is left, or aborted |
//!
//! # Invariants
//! - I1: nothing is held in a wait but the pass while the permit is awaited (step 3): a permit held through a gate or a
//!   back-off starves those who could use it.
//! - I2: step 6 is reached once for each attempt that ended by itself, and tells gate and semaphore the same thing with
//!   the same epoch; so one 429 is one strike and one cut.
//! - I3: a throttled attempt sleeps at the gate only (2), never in a back-off of its own (7).

use std::fmt;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tidegate_abort_signal::{AbortSignal, Reason};
use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Permit};
use tidegate_cooldown_gate::{CooldownGate, Pass};
use tidegate_core::Class;
use tidegate_retry_policy::{Attempt, Decision, Progress, RetryPolicy, StopReason};
use tokio::time::{Instant, sleep, timeout};

use crate::builder::ThrottleBuilder;
use crate::observe::{Counters, Observed, Observer};
use crate::{CallError, EveryErrorTransient, Judge, ThrottleStats};

/// Guards every call to one service: many tasks share it by cloning.
///
/// See the [crate documentation](crate) for what it does and how to use it.
pub struct Throttle<J = EveryErrorTransient>(Arc<Inner<J>>);

pub(crate) struct Inner<J> {
    pub(crate) gate: CooldownGate,
    pub(crate) permits: AdaptiveSemaphore,
    pub(crate) retry: RetryPolicy,
    pub(crate) signal: AbortSignal,
    pub(crate) judge: J,
    pub(crate) observer: Observer,
    pub(crate) seed: u64,
    pub(crate) counters: Counters,
}

impl Throttle {
    /// A throttle with parts of its own: a gate of 60 s, permits from 4 to 32, five attempts, ten minutes.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Chooses the parts.
    pub fn builder() -> ThrottleBuilder<EveryErrorTransient> {
        ThrottleBuilder::new()
    }
}

impl Default for Throttle {
    fn default() -> Self {
        Self::new()
    }
}

impl<J> Throttle<J> {
    pub(crate) fn from_parts(inner: Inner<J>) -> Self {
        Self(Arc::new(inner))
    }

    /// The gate that every attempt passes.
    #[must_use]
    pub fn gate(&self) -> &CooldownGate {
        &self.0.gate
    }

    /// The semaphore that bounds the attempts in flight.
    #[must_use]
    pub fn permits(&self) -> &AdaptiveSemaphore {
        &self.0.permits
    }

    /// The signal that ends every call; a fatal failure sets it.
    #[must_use]
    pub fn signal(&self) -> &AbortSignal {
        &self.0.signal
    }

    /// What it did so far, in exact counts.
    #[must_use]
    pub fn stats(&self) -> ThrottleStats {
        self.0.counters.read()
    }

    /// Calls `op` until it succeeds or nothing more may be tried.
    ///
    /// `op` makes one attempt: it is called anew for each, with the number of the attempt, and does the whole exchange
    /// (a response whose body is read later is not covered by the permit). Each attempt takes the way that the
    /// [crate documentation](crate) describes.
    ///
    /// # Errors
    /// [`CallError`], whose `reason` is one of
    /// - `Terminal`, `Fatal`: the judge said so. After `Fatal` the signal is aborted, so every other call ends too;
    /// - `Attempts`: the policy's attempts are spent. A throttled attempt is not charged to them;
    /// - `Throttled`: the deadline passed while the gate was closed;
    /// - `Deadline`: it passed elsewhere, or would pass during the next back-off;
    /// - `HintTooLong`: the service asked for more patience than the policy has;
    /// - `Aborted`: the signal was aborted, the gate shut down, or the semaphore closed.
    ///
    /// # Cancel safety
    /// Dropping the future at any point gives back its permit and its place at the gate and teaches neither anything; the
    /// attempt under way is dropped with it.
    ///
    /// # Panics
    /// Outside a tokio runtime with a timer. A panic of `op` passes through; permit and pass are given back.
    pub async fn call<T, E, F, Fut>(&self, mut op: F) -> Result<T, CallError<T, E>>
    where
        J: Judge<T, E>,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let mut call = Call::new(&self.0);
        let mut last = None;
        loop {
            let (pass, permit) = match call.admit().await {
                Ok(admitted) => admitted,
                Err(reason) => return Err(call.error(reason, last)),
            };
            let begun = Instant::now();
            let attempt = call.begin();
            let class = match call.attempt(op(attempt)).await {
                Ended::Aborted => return Err(call.error(StopReason::Aborted, last)),
                Ended::TimedOut => {
                    drop((pass, permit));
                    self.0.counters.timed_out();
                    Class::Transient
                }
                Ended::Result(result) => match (self.0.judge.judge(&result), result) {
                    (None, Ok(value)) => {
                        report(pass, permit, None, true);
                        call.ended(None, begun);
                        return Ok(value);
                    }
                    (class, result) => {
                        // An error that the judge calls a success has no value to return: it is terminal.
                        let class = class.unwrap_or(Class::Terminal);
                        report(pass, permit, Some(class), result.is_ok());
                        self.stop_if_fatal(class, &result);
                        last = Some(result);
                        class
                    }
                },
            };
            call.ended(Some(class), begun);
            if let Err(reason) = call.rest(class).await {
                return Err(call.error(reason, last));
            }
        }
    }

    fn stop_if_fatal<T, E>(&self, class: Class, result: &Result<T, E>)
    where
        J: Judge<T, E>,
    {
        if class == Class::Fatal {
            self.0.signal.abort(Reason::new(self.0.judge.why(result)));
        }
    }
}

/// Tells gate and semaphore, once, what an attempt means for them (I2), and gives pass and permit back.
///
/// An answer that was judged terminal or fatal is an answer all the same: the service had capacity. An error says so only
/// if it is a throttle.
fn report(pass: Pass<'_>, permit: Permit<'_>, class: Option<Class>, answered: bool) {
    match class {
        Some(Class::Throttled(hint)) => {
            pass.throttled(hint);
            permit.overload();
        }
        None | Some(Class::Terminal | Class::Fatal) if answered => {
            pass.success();
            permit.success();
        }
        _ => drop((pass, permit)),
    }
}

/// How an attempt ended.
enum Ended<R> {
    Result(R),
    TimedOut,
    Aborted,
}

/// One call under way.
struct Call<'a, J> {
    inner: &'a Inner<J>,
    started: Instant,
    attempts: u32,
    progress: Progress,
}

impl<'a, J> Call<'a, J> {
    fn new(inner: &'a Inner<J>) -> Self {
        let number = inner.counters.call();
        let progress = Progress::seeded(inner.seed.wrapping_add(number));
        Self { inner, started: Instant::now(), attempts: 0, progress }
    }

    fn left(&self) -> Duration {
        self.inner.retry.time_left(self.started.elapsed()).unwrap_or(Duration::MAX)
    }

    /// Steps 1 to 4.
    async fn admit(&self) -> Result<(Pass<'a>, Permit<'a>), StopReason> {
        loop {
            let pass = self.within(self.inner.gate.pass(), StopReason::Throttled).await?;
            let pass = pass.map_err(|_| StopReason::Aborted)?;
            let permit = self.within(self.inner.permits.acquire(), StopReason::Deadline).await?;
            let mut permit = permit.map_err(|_| StopReason::Aborted)?;
            if pass.still_valid() {
                permit.tag_epoch(pass.epoch());
                return Ok((pass, permit));
            }
        }
    }

    /// Waits, but not past an abort or the deadline.
    async fn within<T>(&self, wait: impl Future<Output = T>, late: StopReason) -> Result<T, StopReason> {
        let waited = self.inner.signal.run(timeout(self.left(), wait)).await;
        waited.map_err(|_| StopReason::Aborted)?.map_err(|_| late)
    }

    fn begin(&mut self) -> Attempt {
        self.attempts = self.attempts.saturating_add(1);
        self.inner.counters.begun(self.attempts);
        Attempt::new(self.attempts)
    }

    /// Step 5.
    async fn attempt<R>(&self, work: impl Future<Output = R>) -> Ended<R> {
        let limit = self.inner.retry.attempt_limit(self.started.elapsed()).unwrap_or(Duration::MAX);
        match self.inner.signal.run(timeout(limit, work)).await {
            Err(_) => Ended::Aborted,
            Ok(Err(_)) => Ended::TimedOut,
            Ok(Ok(result)) => Ended::Result(result),
        }
    }

    fn ended(&self, class: Option<Class>, begun: Instant) {
        self.inner.counters.ended(self.attempts, class);
        self.inner.observer.tell(&Observed { attempt: self.attempts, class, took: begun.elapsed() });
    }

    /// Step 7. Whether to go on.
    async fn rest(&mut self, class: Class) -> Result<(), StopReason> {
        match self.inner.retry.decide(&mut self.progress, class, self.started.elapsed()) {
            Decision::Retry { delay } if delay.is_zero() => Ok(()),
            Decision::Retry { delay } => {
                self.inner.signal.run(sleep(delay)).await.map_err(|_| StopReason::Aborted)
            }
            Decision::Stop(reason) => Err(reason),
            // A decision of a later version.
            _ => Err(StopReason::Attempts),
        }
    }

    fn error<T, E>(&self, reason: StopReason, last: Option<Result<T, E>>) -> CallError<T, E> {
        CallError { reason, last, attempts: self.attempts, elapsed: self.started.elapsed() }
    }
}

impl<J> Clone for Throttle<J> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<J> Debug for Throttle<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle")
            .field("gate", &self.0.gate)
            .field("permits", &self.0.permits)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
