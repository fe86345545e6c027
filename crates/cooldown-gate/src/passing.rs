//! The futures that wait at the gate.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tidegate_sync::primitives::Arc;
use tokio::time::Sleep;

use crate::error::{Closed, ShutDown};
use crate::machine::Grant;
use crate::pass::{Granted, OwnedPass, Pass};
use crate::shared::{Shared, between};
use crate::waiter::{Kind, Standing, Waiter, Why};
use crate::word::{Phase, length};

/// A place at the gate, given back when dropped: what all futures and the blocking forms are made of.
#[derive(Debug)]
pub(crate) struct Turn<H: Deref<Target = Shared>> {
    pub(crate) gate: H,
    kind: Kind,
    seat: Option<Waiter>,
}

impl<H: Deref<Target = Shared>> Turn<H> {
    #[inline]
    pub(crate) const fn new(gate: H, kind: Kind) -> Self {
        Self { gate, kind, seat: None }
    }

    /// Lets it through if the gate is open and it does not wait yet: without lock and clock.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Grant> {
        if self.seat.is_some() {
            return None;
        }
        self.gate.machine.enter(self.kind).map(|epoch| Grant { epoch, sent: None })
    }

    pub(crate) fn look(&mut self, cx: &Context<'_>, now: u64) -> Standing {
        self.gate.machine.poll(&mut self.seat, self.kind, cx.waker(), now)
    }

    /// Takes the pass if it can be had now.
    pub(crate) fn attempt(&mut self) -> Result<Grant, Closed> {
        if let Some(grant) = self.enter() {
            return Ok(grant);
        }
        let now = self.gate.now();
        let standing = match self.gate.machine.phase() {
            Phase::Cooling { deadline } if deadline > now => {
                Standing::Queued { at: deadline, why: Why::Cooling }
            }
            _ => self.look(&Context::from_waker(Waker::noop()), now),
        };
        self.decide(standing, now)
    }

    /// Takes the pass if it is granted, and leaves the line if it is not.
    fn decide(&mut self, standing: Standing, now: u64) -> Result<Grant, Closed> {
        let closed = match standing {
            Standing::Granted(epoch) => return Ok(Grant { epoch, sent: Some(now) }),
            Standing::ShutDown => return Err(Closed::ShutDown),
            Standing::Queued { why: Why::Probing, .. } => Closed::Probing,
            Standing::Queued { at, why: Why::Cooling } => Closed::Cooling { remaining: between(now, at) },
            Standing::Queued { at, why: Why::Paced } => Closed::Paced { remaining: between(now, at) },
        };
        self.leave().map(|epoch| Grant { epoch, sent: Some(now) }).ok_or(closed)
    }

    /// Leaves the line. The epoch of its pass, if it was granted in the meantime: the pass is then the caller's.
    fn leave(&mut self) -> Option<u64> {
        self.seat.take().and_then(|waiter| self.gate.machine.leave(&waiter))
    }

    #[cold]
    fn abandon(&mut self) {
        let granted = self.leave();
        if let (Some(epoch), Kind::Reports) = (granted, self.kind) {
            self.gate.machine.dropped(epoch, || self.gate.now());
        }
    }
}

impl<H: Deref<Target = Shared>> Drop for Turn<H> {
    #[inline]
    fn drop(&mut self) {
        if self.seat.is_some() {
            self.abandon();
        }
    }
}

/// A waiter's own timer, made when it first has to wait.
#[derive(Debug, Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The tick it is set to, while it runs.
    at: Option<u64>,
}

impl Timer {
    /// Ready once `at` has come.
    fn poll(&mut self, gate: &Shared, at: u64, cx: &mut Context<'_>) -> Poll<()> {
        let instant = || gate.clock.instant(length(at));
        let sleep = self.sleep.get_or_insert_with(|| {
            self.at = Some(at);
            Box::pin(tokio::time::sleep_until(instant()))
        });
        if self.at != Some(at) {
            sleep.as_mut().reset(instant());
            self.at = Some(at);
        }
        ready!(sleep.as_mut().poll(cx));
        self.at = None;
        Poll::Ready(())
    }
}

/// A turn with a timer.
#[derive(Debug)]
struct Timed<H: Deref<Target = Shared>> {
    turn: Turn<H>,
    timer: Timer,
}

impl<H: Deref<Target = Shared>> Timed<H> {
    #[inline]
    fn new(gate: H, kind: Kind) -> Self {
        Self { turn: Turn::new(gate, kind), timer: Timer::default() }
    }

    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Grant, ShutDown>> {
        match self.turn.enter() {
            Some(grant) => Poll::Ready(Ok(grant)),
            None => self.poll_at_the_line(cx),
        }
    }

    #[cold]
    fn poll_at_the_line(&mut self, cx: &mut Context<'_>) -> Poll<Result<Grant, ShutDown>> {
        loop {
            let now = self.turn.gate.now();
            match self.turn.look(cx, now) {
                Standing::Granted(epoch) => return Poll::Ready(Ok(Grant { epoch, sent: Some(now) })),
                Standing::ShutDown => return Poll::Ready(Err(ShutDown)),
                // After the sleep it looks again: the cooldown may have been extended meanwhile.
                Standing::Queued { at, .. } => ready!(self.timer.poll(&self.turn.gate, at, cx)),
            }
        }
    }

    /// As `poll`, but gives up at the tick `by`, or as soon as it knows that it cannot be in time.
    fn poll_by(&mut self, by: u64, cx: &mut Context<'_>) -> Poll<Result<Grant, Closed>> {
        if let Some(grant) = self.turn.enter() {
            return Poll::Ready(Ok(grant));
        }
        loop {
            let now = self.turn.gate.now();
            let standing = self.turn.look(cx, now);
            match standing {
                Standing::Queued { at, why } if by > now && (at <= by || why != Why::Cooling) => {
                    ready!(self.timer.poll(&self.turn.gate, at.min(by), cx));
                }
                _ => return Poll::Ready(self.turn.decide(standing, now)),
            }
        }
    }
}

macro_rules! passing {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? over $holder:ty => $pass:ident) => {
        $(#[$doc])*
        ///
        /// # Cancel safety
        /// Dropped at any moment it leaves nothing behind: a place in the line is given up, a pass already granted is
        /// dropped without a word (**CG-6**).
        ///
        /// # Panics
        /// If it has to wait outside a tokio runtime, or in one without a timer.
        #[must_use = "a future does nothing unless it is polled"]
        #[derive(Debug)]
        pub struct $name $(<$life>)? (Timed<$holder>);

        impl $(<$life>)? $name $(<$life>)? {
            #[inline]
            pub(crate) fn new(gate: $holder) -> Self {
                Self(Timed::new(gate, Kind::Reports))
            }
        }

        impl $(<$life>)? Future for $name $(<$life>)? {
            type Output = Result<$pass $(<$life>)?, ShutDown>;

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let timed = &mut self.get_mut().0;
                let grant = ready!(timed.poll(cx));
                Poll::Ready(grant.map(|grant| $pass(Granted::new(timed.turn.gate.clone(), grant))))
            }
        }
    };
}

passing! {
    /// Waits for a pass; from [`CooldownGate::pass`](crate::CooldownGate::pass).
    Passing<'a> over &'a Shared => Pass
}

passing! {
    /// Waits for a pass of its own; from [`CooldownGate::pass_owned`](crate::CooldownGate::pass_owned).
    PassingOwned over Arc<Shared> => OwnedPass
}

/// Waits for a pass, but not longer than is of use; from [`CooldownGate::pass_by`](crate::CooldownGate::pass_by).
///
/// # Cancel safety
/// As [`Passing`].
///
/// # Panics
/// As [`Passing`].
#[must_use = "a future does nothing unless it is polled"]
#[derive(Debug)]
pub struct PassingBy<'a> {
    timed: Timed<&'a Shared>,
    by: u64,
}

impl<'a> PassingBy<'a> {
    pub(crate) fn new(gate: &'a Shared, by: u64) -> Self {
        Self { timed: Timed::new(gate, Kind::Reports), by }
    }
}

impl<'a> Future for PassingBy<'a> {
    type Output = Result<Pass<'a>, Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let grant = ready!(this.timed.poll_by(this.by, cx));
        Poll::Ready(grant.map(|grant| Pass(Granted::new(this.timed.turn.gate, grant))))
    }
}

/// Waits until the gate lets it through, and reports nothing; from [`CooldownGate::wait`](crate::CooldownGate::wait).
///
/// # Cancel safety
/// Dropped at any moment it leaves nothing behind: it gives up its place in the line.
///
/// # Panics
/// As [`Passing`].
#[must_use = "a future does nothing unless it is polled"]
#[derive(Debug)]
pub struct Waiting<'a>(Timed<&'a Shared>);

impl<'a> Waiting<'a> {
    pub(crate) fn new(gate: &'a Shared) -> Self {
        Self(Timed::new(gate, Kind::Silent))
    }
}

impl Future for Waiting<'_> {
    type Output = Result<(), ShutDown>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(cx).map_ok(|_grant| ())
    }
}
