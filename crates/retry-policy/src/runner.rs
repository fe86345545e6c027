//! Sets a run up: policy, classifier, abort signal, observer.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tidegate_core::{Class, Classify, Never, Stop};

use crate::{Decision, Retry, RetryPolicy};

/// Which call of a run this is; given to the operation by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    number: u32,
}

impl Attempt {
    /// Attempt `number`, counted from 1. For those who run operations themselves.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self { number }
    }

    /// Counted from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Whether a call was made before this one.
    #[must_use]
    pub const fn is_retry(self) -> bool {
        self.number > 1
    }
}

/// Hears of every failed call. Any `Fn(Attempt, Class, Decision)` does.
pub trait Observe {
    /// `attempt` failed as `class`, and this is what was decided. Called on the task that runs, after the failed call was
    /// dropped and before the wait.
    fn failed(&self, attempt: Attempt, class: Class, decision: Decision);
}

impl<F: Fn(Attempt, Class, Decision)> Observe for F {
    fn failed(&self, attempt: Attempt, class: Class, decision: Decision) {
        self(attempt, class, decision);
    }
}

/// The observer of a [`Runner`] that was given none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observe for Unobserved {
    fn failed(&self, _: Attempt, _: Class, _: Decision) {}
}

/// The classifier of a [`Runner`] that was given none: every error is transient.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllTransient;

impl<E: ?Sized> Classify<E> for AllTransient {
    fn classify(&self, _: &E) -> Class {
        Class::Transient
    }
}

/// What a run borrows from its runner.
pub(crate) struct Parts<C, S, O> {
    pub(crate) classify: C,
    pub(crate) stop: S,
    pub(crate) observe: O,
    pub(crate) seed: Option<u64>,
}

static PLAIN: Parts<AllTransient, Never, Unobserved> =
    Parts { classify: AllTransient, stop: Never, observe: Unobserved, seed: None };

/// Calls `op` until it succeeds or `policy` gives up, with every error transient. [`Runner`] takes a classifier, an abort
/// signal and an observer as well.
///
/// # Errors
/// Resolves to a [`RetryError`](crate::RetryError) that says why no further call was made.
///
/// # Cancel safety
/// Dropping the future drops the call that runs, or ends the wait. Nothing is left behind.
///
/// # Panics
/// Waits and time limits need tokio's timer: polled outside a tokio runtime, or in one without `enable_time`, the future
/// panics when the first of them begins. A run whose calls succeed at once needs no runtime.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use tidegate_retry_policy::{RetryPolicy, retry};
///
/// let answer = retry(RetryPolicy::new(), |attempt| async move {
///     if attempt.number() < 3 { Err("busy") } else { Ok(42) }
/// });
/// assert_eq!(answer.await.unwrap(), 42);
/// # }
/// ```
pub fn retry<T, E, F, Fut>(policy: RetryPolicy, op: F) -> Retry<'static, F, Fut, E>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retry::new(policy, &PLAIN, op)
}

/// A policy with what it needs to know: how to classify, what to listen to, whom to tell. Made once, runs many.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::io;
/// use tidegate_retry_policy::{ChainClassifier, RetryPolicy, Runner, StopReason};
///
/// let runner = Runner::new(RetryPolicy::new())
///     .classify(ChainClassifier::new().io())
///     .observe(|attempt, class, decision| { let _ = (attempt, class, decision); });
///
/// let mut calls = 0;
/// let missing = runner.run(|_| {
///     calls += 1;
///     async { Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)) }
/// });
/// assert_eq!(missing.await.unwrap_err().reason, StopReason::Terminal);
/// assert_eq!(calls, 1);
/// # }
/// ```
pub struct Runner<C = AllTransient, S = Never, O = Unobserved> {
    policy: RetryPolicy,
    parts: Parts<C, S, O>,
}

impl Runner {
    /// A runner for which every error is transient, that nothing stops and nobody watches.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        let parts = Parts { classify: AllTransient, stop: Never, observe: Unobserved, seed: None };
        Self { policy, parts }
    }
}

impl<C, S, O> Runner<C, S, O> {
    /// Judges errors with `classify`: a closure `Fn(&E) -> Class`, a
    /// [`ChainClassifier`](crate::ChainClassifier), a preset. The last one given counts.
    #[must_use]
    pub fn classify<D>(self, classify: D) -> Runner<D, S, O> {
        let Parts { stop, observe, seed, .. } = self.parts;
        Runner { policy: self.policy, parts: Parts { classify, stop, observe, seed } }
    }

    /// Listens to an abort signal: no call begins and no wait goes on once it is raised (**RP-4**). A call that runs then
    /// is left to end; if it fails, it is not retried.
    #[must_use]
    pub fn abort<A: Stop>(self, stop: A) -> Runner<C, A, O> {
        let Parts { classify, observe, seed, .. } = self.parts;
        Runner { policy: self.policy, parts: Parts { classify, stop, observe, seed } }
    }

    /// Tells `observe` of every failed call and of what was decided. A call that was cut off counts as transient.
    #[must_use]
    pub fn observe<P: Fn(Attempt, Class, Decision)>(self, observe: P) -> Runner<C, S, P> {
        let Parts { classify, stop, seed, .. } = self.parts;
        Runner { policy: self.policy, parts: Parts { classify, stop, observe, seed } }
    }

    /// Sets the policy's [`deadline`](RetryPolicy::deadline).
    #[must_use]
    pub fn deadline(mut self, total: Duration) -> Self {
        self.policy = self.policy.deadline(total);
        self
    }

    /// Sets the policy's [`attempt_timeout`](RetryPolicy::attempt_timeout).
    #[must_use]
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.policy = self.policy.attempt_timeout(limit);
        self
    }

    /// Takes jitter from `seed`, for tests: every run has the same delays.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.parts.seed = Some(seed);
        self
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> RetryPolicy {
        self.policy
    }

    /// Calls `op` until it succeeds or the policy gives up. Errors, cancel safety and panics as for [`retry`].
    ///
    /// The call's future is dropped before the wait begins: what it holds, a permit for instance, is not held through
    /// the wait.
    pub fn run<T, E, F, Fut>(&self, op: F) -> Retry<'_, F, Fut, E, C, S, O>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: Classify<E>,
        S: Stop,
        O: Observe,
    {
        Retry::new(self.policy, &self.parts, op)
    }
}

impl<C: Clone, S: Clone, O: Clone> Clone for Runner<C, S, O> {
    fn clone(&self) -> Self {
        let Parts { classify, stop, observe, seed } = &self.parts;
        let parts =
            Parts { classify: classify.clone(), stop: stop.clone(), observe: observe.clone(), seed: *seed };
        Self { policy: self.policy, parts }
    }
}

impl<C, S, O> fmt::Debug for Runner<C, S, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Runner").field("policy", &self.policy).finish_non_exhaustive()
    }
}
