//! One caller is told to slow down; all the others, who do not know yet, go on and make it worse, and when the cooldown
//! ends they all come back at once.
//!
//! A [`CooldownGate`] is the one place where everybody asks before a call. Whoever is throttled closes it for
//! everybody; it stays closed until the latest deadline that anybody gave; then one probe goes out, and only when that
//! succeeds do the others follow, in the order in which they came, at a pace that the gate learns.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tidegate_cooldown_gate::{Closed, CooldownGate, GateState, RetryHint};
//!
//! let gate = CooldownGate::new(); // cheap to clone: every task has one
//!
//! let pass = gate.pass().await?; // before every call
//! pass.throttled(RetryHint::after(Duration::from_secs(30))); // 429, Retry-After: 30
//! assert!(matches!(gate.try_pass(), Err(Closed::Cooling { .. })));
//!
//! let probe = gate.pass().await?; // 30 s later, and for one caller only
//! assert_eq!(gate.try_pass().unwrap_err(), Closed::Probing);
//! probe.success();
//! assert_eq!(gate.state(), GateState::Paced); // the others follow, one after the other
//! # Ok(()) }
//! ```
//!
//! | to do | use |
//! |---|---|
//! | make a call and say how it went | [`pass`](CooldownGate::pass), then [`Pass::success`] or [`Pass::throttled`] |
//! | the same in a task of its own, on a thread, within a time | [`pass_owned`](CooldownGate::pass_owned), [`pass_blocking`](CooldownGate::pass_blocking), [`pass_by`](CooldownGate::pass_by) |
//! | go now or do something else | [`try_pass`](CooldownGate::try_pass) |
//! | only stay away while others are told to | [`wait`](CooldownGate::wait), [`wait_blocking`](CooldownGate::wait_blocking) |
//! | close it for a reason of your own | [`close_for`](CooldownGate::close_for), [`close_until`](CooldownGate::close_until) |
//! | choose how it cools and reopens | [`Cooldown`], [`Reopen`], [`Pace`] |
//! | keep what it learned | [`learned`](CooldownGate::learned), [`restore`](CooldownGateBuilder::restore) |
//! | overrule it | [`open_now`](CooldownGate::open_now), [`shutdown`](CooldownGate::shutdown) |
//! | have one gate for each host or key | [`GateMap`] |
//! | share closings with other processes | [`store::Link`] |
//! | gate a tower service, such as a `reqwest::Client` | `tower::GateLayer`, `tower::GateMapLayer` |
//! | look | [`is_open`](CooldownGate::is_open), [`state`](CooldownGate::state), [`snapshot`](CooldownGate::snapshot) |
//!
//! # How it closes and reopens
//! - Every closing begins a new *epoch*, and every pass carries the epoch in which it was granted. The first pass of an
//!   epoch that is throttled closes the gate: one *strike*. The others of the same burst come from an epoch that is
//!   over by then: a hint of theirs may extend the cooldown, nothing else.
//! - A hint from the server replaces the default [cooldown](Cooldown). Without one the gate closes for the default, which
//!   climbs with every strike in a row, up to a bound, and starts again near what worked once the gate opened.
//! - When the deadline has passed and at most half of the passes that were out at the closing still are, the gate is
//!   *half-open*: the longest waiter gets a pass as the *probe*, or, if nobody waits, whoever asks next. Success opens the
//!   gate, another throttle closes it, and a probe that is dropped without a word goes to the next waiter. A probe that stays
//!   silent for the [patience](CooldownGateBuilder::probe_patience) is joined by a second, so that one stuck task stops
//!   nobody for ever.
//! - Open does not mean open for all at once: by default ([`Reopen::Paced`]) one goes after the other, from slot to slot. What
//!   the service took between two throttles, and for how long it was then closed, bracket the rate that it sustains; the pace
//!   is set in between, raised while nobody is throttled, and lowered by the first throttle without closing. The gate knows
//!   no rate before it is first throttled: until then, everybody passes.
//! - A [`wait`](CooldownGate::wait) reports nothing, so it cannot be a probe: where it is the longest waiter, the gate
//!   opens by time alone. It takes its slot like everybody else.
//!
//! # Fairness
//! First come, first served. An arrival never overtakes somebody who waits, [`try_pass`](CooldownGate::try_pass)
//! included. A pass is granted at the moment when the gate opens, even if its task runs later:
//! [`Pass::still_valid`] tells whether the gate was closed again in between.
//!
//! # When not to use it
//! To keep within a rate that you know and that does not change: a rate limiter spaces calls from the first one on, the gate
//! from the first refusal on. For services that
//! fail rather than refuse, a circuit breaker counts failures; the gate closes on the first word. To bound how many
//! calls are in flight, take a semaphore, after the gate.
//!
//! # Guarantees
//! - **CG-1** Closing only extends: while the gate is closed its deadline never moves earlier, whatever races, except
//!   by [`open_now`](CooldownGate::open_now) or [`shutdown`](CooldownGate::shutdown).
//! - **CG-2** No pass is granted before the deadline in force at that moment.
//! - **CG-3** No waiter sleeps past the opening, or past a deadline that moved earlier because a probe ended, beyond
//!   the timer's millisecond; an early opening or shutdown wakes everybody.
//! - **CG-4** One burst is one strike: a throttle reported by a pass of an older epoch may extend the deadline by its
//!   hint, but never steps the escalation and never closes the gate.
//! - **CG-5** Reopening is no herd: before a probe succeeded, no more passes of a new epoch are out than probes are allowed;
//!   after it, one pass goes for each slot of the pace, and nobody gets slots that nobody took. Only
//!   [`Reopen::AtOnce`] and [`open_now`](CooldownGate::open_now) let everybody in at once.
//! - **CG-6** Passes and waiters that are dropped leave nothing behind, and a probe among them goes to the next.
//! - **CG-7** No hint closes the gate for longer than its [cap](CooldownGateBuilder::hint_cap), whatever the server sent.
//! - **CG-8** A gate of a [`GateMap`] never leaves while it is closed or in somebody's hands, so one key never has two
//!   gates in use.
//!
//! # Cancel safety
//! Every future may be dropped at any await. It gives up its place in the line; if it was granted a pass in that
//! moment, the pass is dropped without a word.
//!
//! # Panics and errors
//! No input panics: lengths and deadlines saturate 73 years after the gate was made. The futures use tokio's timer and
//! panic if they have to wait outside its runtime; an open gate needs none, nor do the blocking forms. The errors are
//! [`ShutDown`] and [`Closed`].
//!
//! # Performance
//! [`is_open`](CooldownGate::is_open) is one atomic load while the gate is open. A pass through an open gate is that load and
//! an atomic addition, its end an addition and a load: no lock, no clock, no allocation. A gate that was never throttled is
//! open; one that goes by a pace takes one short lock and two looks at the clock for a pass and its end. Extending a
//! cooldown is one atomic maximum. Waiting costs one short lock a look, two small allocations (its place and its timer), and
//! about three looks for each cooldown; opening is linear in the number of waiters, a slot is not.
//!
//! # Events and metrics
//! A gate tells what happens to it once, not once for each task that it stops. With feature `tracing` as an event with the
//! target `tidegate_cooldown_gate`, with feature `metrics` as a metric with the label `gate`, which is its name. A key of a
//! [`GateMap`] is in neither: it may be a secret.
//!
//! | what happened | event: level, fields | metric |
//! |---|---|---|
//! | closed | info: `epoch`, `cooldown`, `strikes` | counter `tidegate_gate_closings_total`, histogram `tidegate_gate_cooldown_seconds` |
//! | closed for longer | info: `cooldown` | counter `tidegate_gate_extensions_total` |
//! | the cooldown is over, a probe goes out | debug: `epoch` | counter `tidegate_gate_probes_total` |
//! | opened | info: `epoch`, `pace_per_second` if it goes by one | counter `tidegate_gate_openings_total`, gauge `tidegate_gate_pace_per_second` |
//! | the pace changed | debug: `epoch`, `pace_per_second` | gauge `tidegate_gate_pace_per_second` |
//! | everybody is let in again | debug: `epoch` | |
//! | shut down | info | |
//!
//! Two changes within microseconds, by two threads, may be told in either order; [`snapshot`](CooldownGate::snapshot) is
//! exact. `describe_metrics` tells a recorder units and meanings.
//!
//! # Features
//! None is on by default, and none changes what is there without it.
//!
//! | feature | adds | on top of |
//! |---|---|---|
//! | `tower` | `tower`: the gate as a layer | `tower-layer`, `tower-service`, `pin-project` |
//! | `tracing` | one [event](#events-and-metrics) for each change of a gate | `tracing` |
//! | `metrics` | the same in numbers | `metrics` |
//! | `serde` | [`GateSnapshot`] can be written, [`Learned`] written and read | `serde` |
//! | `http` | `ByStatus`, a judge for the layers by status and headers | `http`, `httpdate`, `humantime` |
//! | `reqwest` | the same for the responses of reqwest | `reqwest` |
//! | `conformance` | `store::conformance`: what every [`GateStore`](store::GateStore) has to pass | |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(tidegate_loom))]
mod blocking;
mod cooldown;
mod echo;
mod effects;
mod error;
mod flight;
mod gate;
mod law;
mod line;
mod machine;
mod map;
#[cfg(test)]
mod models;
mod pass;
mod passing;
mod reopen;
mod shared;
mod state;
pub mod store;
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub mod tower;
mod voice;
mod waiter;
mod word;

pub use cooldown::Cooldown;
pub use error::{Closed, ShutDown};
pub use gate::{CooldownGate, CooldownGateBuilder};
pub use map::{Full, GateMap, GateMapBuilder, GateMapSnapshot};
pub use pass::{OwnedPass, Pass};
pub use passing::{Passing, PassingBy, PassingOwned, Waiting};
pub use reopen::{Pace, Reopen};
pub use state::{Closing, GateSnapshot, GateState, Learned};
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
pub use tidegate_core::{ByStatus, ShowsStatus};
pub use tidegate_core::{Class, Classify, HintCap, RetryHint};
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use voice::count::describe_metrics;
