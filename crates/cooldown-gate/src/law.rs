//! The law that finds the pace: a pure state machine without clock, lock or runtime.
//!
//! It is told what happens, at which tick, and how many calls went through until then; it says how fast callers may go.
//!
//! # The idea
//! Between two trips the service took `ok` calls. It cannot sustain more than `hi = ok / open time`, or it would not have
//! tripped; it can sustain `lo = ok / time since the previous trip`, because it did. For a token bucket, which is empty at
//! both trips, `lo` is the true rate. The pace is a mean of the two, nearer to `lo` where the outage was short, so each pair
//! of trips narrows the bracket. Between trips the pace is raised now and then, at a cost in proportion to what a trip costs
//! here.
//!
//! # States
//! | state | pace | known from | left by |
//! |---|---|---|---|
//! | innocent | none | never tripped | the first trip: crowded |
//! | crowded | none | a trip with so many in flight | the reopening: half of the crowd per round trip of the probe |
//! | growing | yes, `hi` unknown | reopened after a closing that taught nothing | a trip; nobody waits: innocent |
//! | bracketed | yes | two trips with at least [`ENOUGH`] calls between them | stays |
//!
//! # Rules
//! - R1: a trip with at least [`ENOUGH`] calls since the previous one sets the bracket. With fewer the pace is halved, and the
//!   two intervals are merged.
//! - R2: a trip after a raise returns to the last pace that survived, and `hi` is the pace that did not.
//! - R3: the pace is raised only while it is what limits: at least half of the sends waited for it.
//! - R4: a wide bracket (`hi > WIDE * pace`) is searched by [`SEARCH`] after [`ENOUGH`] calls and an outage's length, never
//!   past the geometric mean of pace and `hi`. A narrow one is left by steps of 10, 20, 40 .. 100 % after [`SURE`] calls and
//!   [`PATIENT`] outages.
//! - R5: the first throttle without a hint against a known pace only lowers the pace, and pauses for an interval. The second
//!   within a round trip (or an interval, if that is longer) after the pause closes the gate.
//!
//! The law and its constants were tuned on the 16 servers of the storm and checked on random ones: `docs/benchmarks`.

use crate::reopen::{Pace, is_rate};

/// Calls between two trips that are enough to judge by.
const ENOUGH: u32 = 4;
/// Calls without a trip after which a narrow bracket is left.
const SURE: u32 = 16;
/// Outages without a trip after which a narrow bracket is left.
const PATIENT: f64 = 5.0;
/// Outages without a trip after which a wide bracket is searched.
const EAGER: f64 = 1.0;
/// A bracket is wide while its upper end is so many times the pace.
const WIDE: f64 = 1.3;
/// The step of a search.
const SEARCH: f64 = 1.25;
/// The first step out of a narrow bracket, in parts of the pace.
const STEP: f64 = 0.1;
/// The largest.
const STRIDE: f64 = 1.0;
/// The weight of `hi` where the outage is long.
const BETWEEN: f64 = 0.4;
/// The weight of `hi` where the outage is short.
const NEAR: f64 = 0.3;
/// An outage is short if it takes less than this part of the time between two trips.
const SHORT: f64 = 0.1;
/// Of the crowd that tripped first, so much is let out per round trip.
const FIRST: f64 = 0.5;
/// The weight of the crowd where the first outage was long.
const BEFORE: f64 = 0.4;
/// Round trips within which a second throttle closes the gate.
const AGAIN: f64 = 1.0;
/// Intervals of the pause after a throttle that only lowers the pace.
const PAUSE: f64 = 1.0;
/// The round trip where nobody reports, in seconds.
const UNSEEN: f64 = 1.0;
/// A probe that came back sooner, in seconds, says no more about the service than this: it was answered on the spot.
const QUICKEST: f64 = 0.001;
/// An outage that lasted longer, in seconds, teaches no more caution than this.
const OUTAGE_MOST: f64 = 300.0;
/// How much of a new round trip enters the smoothed one.
const SMOOTH: f64 = 0.125;

/// Ticks are nanoseconds.
const TICKS: f64 = 1e9;

/// What the law has learned about one service, and what it is watching now.
#[derive(Debug)]
pub(crate) struct Law {
    bounds: Pace,
    /// Calls per second, if known.
    pace: Option<f64>,
    /// The rate that is known to be too much; infinite as long as none is.
    hi: f64,
    /// The pace before the latest raise, until a trip or another raise.
    survived: Option<f64>,
    /// The next step out of a narrow bracket.
    step: f64,
    /// The interval that the next trip will judge.
    span: Span,
    /// Since the latest trip or raise.
    calm: Calm,
    /// In flight at the trip that found no pace.
    crowd: Option<u32>,
    /// When the gate was closed last, and for how long it then was.
    closed_at: u64,
    outage: f64,
    /// When a throttle only lowered the pace.
    slowed_at: Option<u64>,
    /// The smoothed round trip, in seconds.
    round_trip: Option<f64>,
}

/// From one trip to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    began: u64,
    /// Calls that had gone through when it began.
    through: u32,
    /// How long the gate was open in it, without the time since `opened_at`.
    open: u64,
    opened_at: u64,
    /// Whether it began with a trip.
    judged: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Calm {
    began: u64,
    through: u32,
    sends: u32,
    /// Sends that had to wait for their slot.
    waited: u32,
}

impl Law {
    pub(crate) const fn new(bounds: Pace) -> Self {
        Self {
            bounds,
            pace: None,
            hi: f64::INFINITY,
            survived: None,
            step: STEP,
            span: Span { began: 0, through: 0, open: 0, opened_at: 0, judged: false },
            calm: Calm { began: 0, through: 0, sends: 0, waited: 0 },
            crowd: None,
            closed_at: 0,
            outage: 0.0,
            slowed_at: None,
            round_trip: None,
        }
    }

    /// Calls per second, if known.
    pub(crate) const fn pace(&self) -> Option<f64> {
        self.pace
    }

    /// Begins with a pace that was learned before, and with the outage that a trip then cost; nothing if it is none.
    pub(crate) fn restore(&mut self, pace: f64, outage: u64) {
        if is_rate(pace) {
            let pace = self.bounds.bound(pace);
            (self.pace, self.hi) = (Some(pace), pace);
            self.outage = seconds(outage).max(PAUSE / pace).min(OUTAGE_MOST);
        }
    }

    /// From one slot to the next, in ticks; zero without a pace.
    pub(crate) fn interval(&self) -> u64 {
        self.pace.map_or(0, |pace| ticks(1.0 / pace))
    }

    /// The least a closing is good for: one interval.
    pub(crate) fn pause(&self) -> u64 {
        self.pace.map_or(0, |pace| ticks(PAUSE / pace))
    }

    /// Whether the upper end of the bracket is unknown: the pace then grows until something trips.
    pub(crate) const fn is_growing(&self) -> bool {
        self.hi == f64::INFINITY
    }

    /// Whether a throttle is to be forgiven: it is the first for a while (R5).
    pub(crate) fn forgives(&self, now: u64) -> bool {
        self.pace.is_some() && self.slowed_at.is_none_or(|slowed_at| !self.is_again(now, slowed_at))
    }

    /// Whether a throttle is the second of two.
    fn is_again(&self, now: u64, slowed_at: u64) -> bool {
        let round_trip = self.round_trip.unwrap_or(UNSEEN);
        let interval = self.pace.map_or(0.0, |pace| 1.0 / pace);
        seconds(now.saturating_sub(slowed_at)) <= PAUSE * interval + AGAIN * round_trip.max(interval)
    }

    /// A throttle that is forgiven lowers the pace. How long to pause, in ticks.
    pub(crate) fn slow(&mut self, now: u64, through: u32) -> u64 {
        self.slowed_at = Some(now);
        self.judge(now, through);
        let pause = self.pause();
        self.outage = seconds(pause);
        self.begin_calm(now, through);
        pause
    }

    /// The gate was closed by a throttle, with `crowd` calls in flight.
    pub(crate) fn trip(&mut self, now: u64, through: u32, crowd: u32) {
        // A second throttle says no more about the rate than the first, which was judged.
        if self.slowed_at.take().is_none_or(|slowed_at| !self.is_again(now, slowed_at)) {
            self.judge(now, through);
        }
        if self.pace.is_none() {
            self.crowd = Some(crowd);
        }
        self.close(now);
    }

    /// The gate was closed for a reason that says nothing about its rate.
    pub(crate) fn close(&mut self, now: u64) {
        self.span.open = self.span.open.saturating_add(now.saturating_sub(self.span.opened_at));
        self.span.opened_at = now;
        self.closed_at = now;
    }

    /// A probe failed: the same outage goes on.
    pub(crate) const fn fail(&mut self, now: u64) {
        self.span.opened_at = now;
    }

    /// The gate reopens; `round_trip` is the probe's, in ticks, if there was one.
    pub(crate) fn reopen(&mut self, now: u64, through: u32, round_trip: Option<u64>) {
        if let Some(round_trip) = round_trip {
            self.observe(round_trip);
        }
        self.outage = seconds(now.saturating_sub(self.closed_at));
        self.span.opened_at = now;
        self.slowed_at = None;
        self.begin_calm(now, through);
        if self.pace.is_some() {
            return;
        }
        let round_trip = self.round_trip.unwrap_or(UNSEEN).max(QUICKEST);
        let start = match self.crowd {
            Some(crowd) => {
                self.hi = f64::from(crowd.max(1)) / round_trip;
                // All calls before it, as if they had taken no time: no less than what it can sustain.
                let lo = f64::from(through) / self.outage.max(1.0 / TICKS);
                (FIRST * self.hi).min(mean(lo, self.hi, BEFORE))
            }
            None => 1.0 / round_trip,
        };
        self.pace = Some(self.bounds.bound(start));
    }

    /// What closed the gate last had nothing to do with its rate: the outage is taken out of the interval.
    pub(crate) const fn excuse(&mut self, now: u64) {
        self.span.began = self.span.began.saturating_add(now.saturating_sub(self.closed_at));
    }

    /// Nobody is limited by a pace that was only growing: it is forgotten.
    pub(crate) const fn forget(&mut self) {
        self.pace = None;
    }

    /// A call was let out; `waited` if it had to wait for its slot.
    pub(crate) const fn sent(&mut self, waited: bool) {
        self.calm.sends = self.calm.sends.saturating_add(1);
        if waited {
            self.calm.waited = self.calm.waited.saturating_add(1);
        }
    }

    /// A call went through. Whether the pace was raised.
    pub(crate) fn landed(&mut self, now: u64, through: u32, round_trip: Option<u64>) -> bool {
        if let Some(round_trip) = round_trip {
            self.observe(round_trip);
        }
        let Some(pace) = self.pace else { return false };
        if self.calm.waited.saturating_mul(2) < self.calm.sends {
            return false;
        }
        let calls = through.wrapping_sub(self.calm.through);
        let calm = seconds(now.saturating_sub(self.calm.began));
        let raised = if self.is_growing() {
            (calls >= 1 && calm >= self.round_trip.unwrap_or(UNSEEN)).then_some(2.0 * pace)
        } else if self.hi > WIDE * pace {
            let due = calls >= ENOUGH && calm >= EAGER * self.outage;
            due.then(|| (SEARCH * pace).min((pace * self.hi).sqrt()))
        } else {
            let due = calls >= SURE && calm >= PATIENT * self.outage;
            let step = self.step;
            due.then(|| {
                self.step = (2.0 * step).min(STRIDE);
                (1.0 + step) * pace
            })
        };
        let Some(raised) = raised.map(|raised| self.bounds.bound(raised)) else { return false };
        self.begin_calm(now, through);
        if raised <= pace {
            return false;
        }
        self.survived = Some(pace);
        self.pace = Some(raised);
        true
    }

    /// Draws the lesson of a trip (R1, R2).
    fn judge(&mut self, now: u64, through: u32) {
        let span = self.span;
        let calls = through.wrapping_sub(span.through);
        let open = seconds(span.open.saturating_add(now.saturating_sub(span.opened_at)));
        let whole = seconds(now.saturating_sub(span.began));
        self.step = STEP;
        let failed = self.pace;
        let enough = calls >= ENOUGH && span.judged && open > 0.0;
        let bracket = enough.then(|| {
            let calls = f64::from(calls);
            let (lo, hi) = (calls / whole, calls / open);
            let weight = if whole - open < SHORT * whole { NEAR } else { BETWEEN };
            (self.bounds.bound(mean(lo, hi, weight)), hi)
        });
        if let (Some(survived), Some(failed)) = (self.survived.take(), failed) {
            self.pace = Some(bracket.map_or(survived, |(pace, _)| pace.min(survived)));
            self.hi = failed;
        } else if let Some((pace, hi)) = bracket {
            (self.pace, self.hi) = (Some(pace), hi);
        } else {
            if let Some(pace) = self.pace {
                self.pace = Some(self.bounds.bound(pace / 2.0));
                self.hi = self.hi.min(pace);
            }
            if span.judged {
                // Merged with what comes.
                return;
            }
        }
        self.span = Span { began: now, through, open: 0, opened_at: now, judged: true };
    }

    fn begin_calm(&mut self, now: u64, through: u32) {
        self.calm = Calm { began: now, through, sends: 0, waited: 0 };
        self.outage = self.outage.min(OUTAGE_MOST);
    }

    fn observe(&mut self, round_trip: u64) {
        let round_trip = seconds(round_trip);
        let smoothed = self.round_trip.map_or(round_trip, |old| (round_trip - old).mul_add(SMOOTH, old));
        self.round_trip = Some(smoothed);
    }
}

/// The geometric mean of two rates, with a weight for the second.
fn mean(lo: f64, hi: f64, weight: f64) -> f64 {
    lo * (hi / lo).powf(weight)
}

/// Ticks in seconds.
#[expect(clippy::cast_precision_loss, reason = "two weeks are exact to a nanosecond, a year to a few")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS
}

/// Seconds in ticks; at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float that does not fit saturates, and one that is no number is zero"
)]
fn ticks(seconds: f64) -> u64 {
    ((seconds * TICKS) as u64).max(1)
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests;
