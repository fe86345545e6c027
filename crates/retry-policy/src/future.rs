//! The future of a run.
//!
//! # States
//! | phase | `attempt` | what it waits for | goes on to |
//! |---|---|---|---|
//! | `Ready` | none | nothing: looks at the stop, then calls the operation | `Calling`, or ends |
//! | `Calling` | some | the call, and its limit if there is one | `Ready`, `Waiting`, or ends |
//! | `Waiting` | none | the stop first, then the sleep | `Ready`, or ends |
//! | `Done` | none | nothing; polled again it stays pending | - |
//!
//! # Invariants
//! - I1: the call's future is dropped before its failure is judged, so nothing of it is held through a wait.
//! - I2: every call begins in `Ready`, after a look at the stop (RP-4).
//! - I3: `timer` is allocated when the first wait begins, or when a call with a limit is pending for the first time.
//! - I4: without a deadline the clock is first read when a call fails or is pending, with one when the run begins. A call
//!   that succeeds at once costs no clock reading.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project::pin_project;
use tidegate_core::{Class, Classify, Never, Stop};
use tokio::time::{Instant, Sleep, sleep};

use crate::runner::Parts;
use crate::{
    AllTransient, Attempt, Decision, Observe, Progress, RetryError, RetryPolicy, StopReason, Unobserved,
};

/// A run of calls; made by [`retry`](crate::retry) and [`Runner::run`](crate::Runner::run).
///
/// `Send` if the operation and its futures are. Allocates nothing until the first wait or the first pending call that
/// has a limit.
#[pin_project(project = Running)]
#[must_use = "futures do nothing unless polled or awaited"]
pub struct Retry<'a, F, Fut, E, C = AllTransient, S: Stop = Never, O = Unobserved> {
    policy: RetryPolicy,
    parts: &'a Parts<C, S, O>,
    op: F,
    #[pin]
    attempt: Option<Fut>,
    phase: Phase,
    /// How many calls were begun.
    number: u32,
    started: Option<Instant>,
    timer: Option<Pin<Box<Timer<S::Stopped<'a>>>>>,
    /// Whether the timer runs for the present call.
    limited: bool,
    progress: Option<Progress>,
    last: Option<E>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Ready,
    Calling,
    Waiting,
    Done,
}

/// How a call ended.
enum Called<T, E> {
    Returned(Result<T, E>),
    TimedOut,
}

#[pin_project]
struct Timer<W> {
    #[pin]
    sleep: Sleep,
    #[pin]
    stopped: W,
}

impl<'a, F, Fut, E, C, S: Stop, O> Retry<'a, F, Fut, E, C, S, O> {
    pub(crate) fn new(policy: RetryPolicy, parts: &'a Parts<C, S, O>, op: F) -> Self {
        Self {
            policy,
            parts,
            op,
            attempt: None,
            phase: Phase::Ready,
            number: 0,
            started: None,
            timer: None,
            limited: false,
            progress: None,
            last: None,
        }
    }
}

impl<T, E, F, Fut, C, S, O> Future for Retry<'_, F, Fut, E, C, S, O>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classify<E>,
    S: Stop,
    O: Observe,
{
    type Output = Result<T, RetryError<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.phase {
                Phase::Ready => {
                    if this.parts.stop.is_stopped() {
                        return Poll::Ready(Err(this.give_up(StopReason::Aborted, false)));
                    }
                    this.call();
                }
                Phase::Calling => {
                    let decision = match ready!(this.poll_call(context)) {
                        Called::Returned(Ok(value)) => {
                            this.attempt.set(None);
                            *this.phase = Phase::Done;
                            return Poll::Ready(Ok(value));
                        }
                        Called::Returned(Err(error)) => this.failed(error),
                        Called::TimedOut => this.timed_out(),
                    };
                    match decision {
                        Ok(Duration::ZERO) => {
                            // No timer tick, but one turn of the executor: others run, and an abort can arrive.
                            *this.phase = Phase::Ready;
                            context.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                        Ok(delay) => {
                            this.arm(delay);
                            *this.phase = Phase::Waiting;
                        }
                        Err(gave_up) => return Poll::Ready(Err(gave_up)),
                    }
                }
                Phase::Waiting => {
                    if ready!(this.poll_wait(context)) {
                        return Poll::Ready(Err(this.give_up(StopReason::Aborted, false)));
                    }
                    *this.phase = Phase::Ready;
                }
                Phase::Done => return Poll::Pending,
            }
        }
    }
}

impl<'a, F, Fut, E, C, S: Stop, O> Running<'_, 'a, F, Fut, E, C, S, O> {
    /// Begins the next call.
    fn call(&mut self)
    where
        F: FnMut(Attempt) -> Fut,
    {
        if self.policy.time_left(Duration::ZERO).is_some() {
            self.elapsed();
        }
        *self.number = self.number.saturating_add(1);
        *self.limited = false;
        let call = (self.op)(Attempt::new(*self.number));
        self.attempt.set(Some(call));
        *self.phase = Phase::Calling;
    }

    /// Since the run began; the first reading is the beginning (I4).
    fn elapsed(&mut self) -> Duration {
        self.started.get_or_insert_with(Instant::now).elapsed()
    }

    fn poll_call<T>(&mut self, context: &mut Context<'_>) -> Poll<Called<T, E>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(call) = self.attempt.as_mut().as_pin_mut() {
            if let Poll::Ready(result) = call.poll(context) {
                return Poll::Ready(Called::Returned(result));
            }
        }
        if !*self.limited {
            let elapsed = self.elapsed();
            let Some(limit) = self.policy.attempt_limit(elapsed) else { return Poll::Pending };
            self.arm(limit);
            *self.limited = true;
        }
        match self.timer {
            Some(timer) => timer.as_mut().project().sleep.poll(context).map(|()| Called::TimedOut),
            None => Poll::Pending,
        }
    }

    /// Sets the timer to `delay` from now.
    fn arm(&mut self, delay: Duration) {
        match self.timer {
            Some(timer) => timer.as_mut().project().sleep.set(sleep(delay)),
            None => {
                let stopped = self.parts.stop.stopped();
                *self.timer = Some(Box::pin(Timer { sleep: sleep(delay), stopped }));
            }
        }
    }

    /// Looks at the stop first, then at the sleep. True if stopped.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let Some(timer) = self.timer else { return Poll::Ready(false) };
        let timer = timer.as_mut().project();
        if timer.stopped.poll(context).is_ready() {
            return Poll::Ready(true);
        }
        timer.sleep.poll(context).map(|()| false)
    }

    fn failed(&mut self, error: E) -> Result<Duration, RetryError<E>>
    where
        C: Classify<E>,
        O: Observe,
    {
        self.attempt.set(None);
        let class = self.parts.classify.classify(&error);
        *self.last = Some(error);
        let elapsed = self.elapsed();
        let decision = self.decide(class, elapsed);
        self.heed(class, decision, false)
    }

    fn timed_out(&mut self) -> Result<Duration, RetryError<E>>
    where
        O: Observe,
    {
        self.attempt.set(None);
        let elapsed = self.elapsed();
        let decision = match self.policy.time_left(elapsed) {
            Some(Duration::ZERO) => Decision::Stop(StopReason::Deadline),
            _ => self.decide(Class::Transient, elapsed),
        };
        self.heed(Class::Transient, decision, true)
    }

    fn decide(&mut self, class: Class, elapsed: Duration) -> Decision {
        let seed = self.parts.seed;
        let progress = self.progress.get_or_insert_with(|| seed.map_or_else(Progress::new, Progress::seeded));
        self.policy.decide(progress, class, elapsed)
    }

    fn heed(&mut self, class: Class, decision: Decision, timed_out: bool) -> Result<Duration, RetryError<E>>
    where
        O: Observe,
    {
        self.parts.observe.failed(Attempt::new(*self.number), class, decision);
        match decision {
            Decision::Retry { delay } => Ok(delay),
            Decision::Stop(reason) => Err(self.give_up(reason, timed_out)),
        }
    }

    fn give_up(&mut self, reason: StopReason, timed_out: bool) -> RetryError<E> {
        *self.phase = Phase::Done;
        RetryError {
            last: self.last.take(),
            attempts: *self.number,
            elapsed: self.elapsed(),
            timed_out,
            ..RetryError::new(reason)
        }
    }
}

impl<F, Fut, E, C, S: Stop, O> fmt::Debug for Retry<'_, F, Fut, E, C, S, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Retry")
            .field("attempt", &self.number)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
