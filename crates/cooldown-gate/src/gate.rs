//! The gate: handles, and how to make one.

use std::fmt;
use std::time::Duration;

use tidegate_core::HintCap;
use tidegate_sync::Clock;
use tidegate_sync::primitives::Arc;
use tokio::time::Instant;

use crate::cooldown::Cooldown;
use crate::echo::Echo;
use crate::error::Closed;
#[cfg(not(tidegate_loom))]
use crate::error::ShutDown;
use crate::line::Rules;
use crate::machine::Machine;
use crate::pass::{Granted, OwnedPass, Pass};
use crate::passing::{Passing, PassingBy, PassingOwned, Waiting};
use crate::reopen::Reopen;
use crate::shared::{Shared, between};
use crate::state::{Closing, GateSnapshot, GateState, Learned};
use crate::voice::{Name, Voice};
use crate::waiter::Kind;
use crate::word::{Phase, after, tick};

/// A cooldown that everybody shares: a handle, cheap to clone.
///
/// See the [crate's documentation](crate) for what it guarantees and how it reopens.
#[derive(Clone)]
pub struct CooldownGate(Arc<Shared>);

impl Default for CooldownGate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CooldownGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CooldownGate {
    /// An open gate that finds cooldown and pace by itself.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// To choose how it cools and reopens, what it knows already, the patience with probes, and a name.
    pub fn builder() -> CooldownGateBuilder {
        CooldownGateBuilder::default()
    }

    /// Whether a pass asked for now would be granted at once.
    ///
    /// One atomic load while the gate is open; no lock, no clock. While it cools, also a
    /// look at the clock; the first look after the deadline moves the gate on under its lock. It grants nothing:
    /// between this look and the call the gate may close, and a thousand tasks that look at once all see the same. Use
    /// [`try_pass`](CooldownGate::try_pass) to go by it.
    #[must_use]
    #[inline]
    pub fn is_open(&self) -> bool {
        self.0.machine.is_open() || self.0.admits()
    }

    /// Waits for a pass; at once while the gate is open.
    ///
    /// First come, first served: whoever asks while others wait goes behind them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tidegate_cooldown_gate::ShutDown> {
    /// let gate = tidegate_cooldown_gate::CooldownGate::new();
    /// let pass = gate.pass().await?;
    /// // ... the call ...
    /// pass.success();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ShutDown`] once the gate was shut down.
    #[inline]
    pub fn pass(&self) -> Passing<'_> {
        Passing::new(&self.0)
    }

    /// As [`pass`](CooldownGate::pass), for a pass that can be moved into another task.
    ///
    /// # Errors
    /// [`ShutDown`] once the gate was shut down.
    #[inline]
    pub fn pass_owned(&self) -> PassingOwned {
        PassingOwned::new(Arc::clone(&self.0))
    }

    /// As [`pass`](CooldownGate::pass), but fails at `by`, or at once if the gate cools for longer than that.
    ///
    /// If it is extended past `by` meanwhile, that is noticed at the deadline that was known before, not at `by`. Takes
    /// an `Instant` of std or of tokio. A pass that can be had at once is granted even if `by` has passed.
    ///
    /// # Errors
    /// [`Closed`], which says why.
    pub fn pass_by(&self, by: impl Into<Instant>) -> PassingBy<'_> {
        PassingBy::new(&self.0, tick(self.0.clock.reading(by.into())))
    }

    /// A pass, if one can be had now. Never overtakes somebody who waits.
    ///
    /// # Errors
    /// [`Closed`], which says why and, where known, for how long.
    #[inline]
    pub fn try_pass(&self) -> Result<Pass<'_>, Closed> {
        let gate: &Shared = &self.0;
        gate.attempt().map(|grant| Pass(Granted::new(gate, grant)))
    }

    /// As [`try_pass`](CooldownGate::try_pass), for a pass that can be moved into another task.
    ///
    /// # Errors
    /// [`Closed`], as there.
    #[inline]
    pub fn try_pass_owned(&self) -> Result<OwnedPass, Closed> {
        self.0.attempt().map(|grant| OwnedPass(Granted::new(Arc::clone(&self.0), grant)))
    }

    /// Blocks this thread until it has a pass. Not for use inside an async task.
    ///
    /// # Errors
    /// [`ShutDown`] once the gate was shut down.
    #[cfg(not(tidegate_loom))]
    pub fn pass_blocking(&self) -> Result<Pass<'_>, ShutDown> {
        crate::blocking::pass(&self.0, Kind::Reports).map(|grant| Pass(Granted::new(&self.0, grant)))
    }

    /// Waits until the gate lets it through, and reports nothing.
    ///
    /// For callers who only want to stay away while others are told to. Since nobody will say how it fared, there is
    /// nothing to wait for after it: when the deadline passed and a `wait` is the longest in line, the gate opens for
    /// everybody, by time alone, as if a probe had succeeded. So does the first `wait` at a gate whose deadline passed
    /// with nobody in line. A gate that is used with [`pass`](CooldownGate::pass) throughout reopens by probe.
    ///
    /// # Errors
    /// [`ShutDown`] once the gate was shut down.
    #[inline]
    pub fn wait(&self) -> Waiting<'_> {
        Waiting::new(&self.0)
    }

    /// Blocks this thread until the gate lets it through, as [`wait`](CooldownGate::wait) does. Not for use inside an
    /// async task.
    ///
    /// # Errors
    /// [`ShutDown`] once the gate was shut down.
    #[cfg(not(tidegate_loom))]
    pub fn wait_blocking(&self) -> Result<(), ShutDown> {
        crate::blocking::pass(&self.0, Kind::Silent).map(|_grant| ())
    }

    /// Closes the gate for `length` from now, for everybody; never shortens (**CG-1**).
    ///
    /// A length of zero changes nothing. `Duration::MAX` is far, not an overflow.
    pub fn close_for(&self, length: Duration) -> Closing {
        let now = self.0.now();
        self.0.machine.close(after(now, tick(length)), now)
    }

    /// Closes the gate until `deadline`, an `Instant` of std or of tokio, for everybody; never shortens (**CG-1**).
    ///
    /// A deadline that has passed changes nothing.
    pub fn close_until(&self, deadline: impl Into<Instant>) -> Closing {
        self.0.machine.close(tick(self.0.clock.reading(deadline.into())), self.0.now())
    }

    /// Opens the gate now, whatever its deadline, and lets everybody who waits through in order (**CG-3**). The default
    /// cooldown starts from its first length again. Nothing happens if the gate was shut down.
    pub fn open_now(&self) {
        self.0.machine.open_now(self.0.now());
    }

    /// Turns everybody away who waits or asks from now on (**CG-3**), for good. Passes already granted stay in their
    /// holders' hands, and are no longer [valid](Pass::still_valid).
    pub fn shutdown(&self) {
        self.0.machine.shut_down();
    }

    /// Where the gate stands. As [`is_open`](CooldownGate::is_open), the first look after the deadline moves it on.
    #[must_use]
    pub fn state(&self) -> GateState {
        self.snapshot().state
    }

    /// The epoch of a pass granted now; while the gate cools, that of the pass granted next. It rises by one with every
    /// closing, and never falls.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.0.machine.epoch()
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.machine.voice.name.as_deref()
    }

    /// Whether nobody else holds a handle, an owned pass, or a future that waits for one. Whatever they did with it is
    /// visible then.
    pub(crate) fn is_sole(&mut self) -> bool {
        Arc::get_mut(&mut self.0).is_some()
    }

    /// Rings whenever the gate is closed, extended or shut down.
    pub(crate) fn echo(&self) -> &Echo {
        &self.0.machine.voice.echo
    }

    /// Everything the gate knows about itself, at one moment. Takes the lock; the first look after the deadline moves
    /// the gate on, as [`is_open`](CooldownGate::is_open) does.
    #[must_use]
    pub fn snapshot(&self) -> GateSnapshot {
        let now = self.0.now();
        let numbers = self.0.machine.look(now);
        let state = match numbers.phase {
            Phase::Open { .. } => GateState::Open,
            Phase::Paced { .. } => GateState::Paced,
            Phase::Ready { .. } | Phase::Probing { .. } => GateState::HalfOpen,
            Phase::ShutDown => GateState::ShutDown,
            // The cooldown is over, but too many passes from before it are out for a probe.
            Phase::Cooling { deadline } if deadline <= now => GateState::HalfOpen,
            Phase::Cooling { deadline } => GateState::Cooling { remaining: between(now, deadline) },
        };
        GateSnapshot {
            state,
            remaining: if let GateState::Cooling { remaining } = state { remaining } else { Duration::ZERO },
            epoch: numbers.epoch,
            waiting: numbers.waiting,
            in_flight: numbers.in_flight,
            closures: numbers.epoch,
            throttled: numbers.throttled,
            strikes: numbers.strikes,
            pace: numbers.pace,
        }
    }

    /// What the gate learned about its service so far, for [`restore`](CooldownGateBuilder::restore). Takes the lock.
    #[must_use]
    pub fn learned(&self) -> Learned {
        self.0.machine.learned()
    }
}

/// Makes a [`CooldownGate`].
///
/// ```
/// use std::time::Duration;
/// use tidegate_cooldown_gate::CooldownGate;
///
/// let gate = CooldownGate::builder()
///     .cooldown(Duration::from_secs(5))
///     .max_cooldown(Duration::from_secs(120))
///     .name("llm")
///     .build();
/// assert_eq!(gate.name(), Some("llm"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder makes nothing until `build` is called"]
pub struct CooldownGateBuilder {
    cooldown: Cooldown,
    max_cooldown: Option<Duration>,
    reopen: Reopen,
    hint_cap: HintCap,
    probe_patience: Duration,
    learned: Learned,
    name: Option<Name>,
    clock: Option<Clock>,
}

impl Default for CooldownGateBuilder {
    fn default() -> Self {
        Self {
            cooldown: Cooldown::default(),
            max_cooldown: None,
            reopen: Reopen::default(),
            hint_cap: HintCap::default(),
            probe_patience: Duration::from_secs(60),
            learned: Learned::default(),
            name: None,
            clock: None,
        }
    }
}

impl CooldownGateBuilder {
    /// How long the gate closes when a pass is throttled without a hint; [`Cooldown::ladder`] unless set. A `Duration` is
    /// [`Cooldown::fixed`].
    pub fn cooldown(mut self, cooldown: impl Into<Cooldown>) -> Self {
        self.cooldown = cooldown.into();
        self
    }

    /// How far the default cooldown grows at most, as [`Cooldown::longest`].
    ///
    /// It bounds neither a hint, as [`hint_cap`](Self::hint_cap) does, nor what a caller closes the gate for.
    pub fn max_cooldown(mut self, max_cooldown: Duration) -> Self {
        self.max_cooldown = Some(max_cooldown);
        self
    }

    /// How much of a server's hint is believed; up to 24 hours unless set. It does not bound what a caller closes the gate
    /// for.
    ///
    /// A hint that is refused counts as a throttle without a hint: the gate closes for its default cooldown.
    pub fn hint_cap(mut self, hint_cap: HintCap) -> Self {
        self.hint_cap = hint_cap;
        self
    }

    /// How the gate lets callers in again; [`Reopen::Paced`] unless set.
    pub fn reopen(mut self, reopen: Reopen) -> Self {
        self.reopen = reopen;
        self
    }

    /// How long a probe may stay silent before the next waiter is let out beside it; 60 s unless set.
    ///
    /// Without it one task that holds on to its pass, or is granted one and never polled again, would keep everybody
    /// out. Choose it above the longest time that a call may take; `Duration::MAX` waits for ever. The same time after a
    /// deadline the first probe goes out, however many passes from before the cooldown are still out.
    pub fn probe_patience(mut self, probe_patience: Duration) -> Self {
        self.probe_patience = probe_patience;
        self
    }

    /// Begins with what another gate of the same service [learned](CooldownGate::learned): it is paced from the first pass.
    ///
    /// Values that make no sense are taken for none.
    pub fn restore(mut self, learned: Learned) -> Self {
        self.learned = learned;
        self
    }

    /// A name for logs, metrics and tables.
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Another clock than tokio's: for tests of the blocking forms.
    #[doc(hidden)]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// A gate, open unless it was [restored](CooldownGateBuilder::restore) with a pace.
    #[must_use]
    pub fn build(self) -> CooldownGate {
        let cooldown = match self.max_cooldown {
            Some(longest) => self.cooldown.longest(longest),
            None => self.cooldown,
        };
        let rules = Rules { cooldown, reopen: self.reopen, patience: tick(self.probe_patience) };
        let machine = Machine::new(rules, Voice { name: self.name, echo: Echo::default() });
        machine.restore(&self.learned);
        let clock = self.clock.unwrap_or_default();
        CooldownGate(Arc::new(Shared { machine, clock, hint_cap: self.hint_cap }))
    }
}
