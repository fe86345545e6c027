//! The window: wide at once, narrowed to what worked.

use tidegate_core::Outcome;

use super::{Interest, Limit, Sample};

/// A window that opens fast, and after an overload stays where it worked: for a semaphore beside a gate that paces.
///
/// - It doubles each round trip while it is what limits, up to its bound, until the first overload.
/// - An overload narrows it to one less than was in flight, not to a share: where the service takes so many at once, that
///   many less one is what it takes.
/// - For eight round trips after that it does not grow; then by one permit a round trip, and by one more with each round
///   trip that went well, so that a capacity that came back is found.
///
/// A round trip is measured: the semaphore times one permit at a time for it ([`Interest::Latency`]). It begins best with
/// [`initial(12)`](crate::Builder::initial).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacedWindow {
    narrowed: bool,
    /// Round trips to stay as it is.
    hold: u32,
    /// Permits that the next round trip adds.
    step: usize,
    /// Permits that were earned by round trips, to be added with the next success that was held back.
    due: usize,
}

/// Round trips without growth after an overload.
const HOLD: u32 = 8;

impl PacedWindow {
    /// A window that was not narrowed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { narrowed: false, hold: 0, step: 1, due: 0 }
    }

    fn round_trip(&mut self) {
        if self.hold > 0 {
            self.hold -= 1;
        } else {
            self.due = self.due.saturating_add(self.step);
            self.step = self.step.saturating_add(1);
        }
    }
}

impl Limit for PacedWindow {
    fn interest(&self) -> Interest {
        Interest::Latency
    }

    fn on_sample(&mut self, sample: &Sample) -> usize {
        match sample.outcome {
            Outcome::Overload => {
                *self = Self { narrowed: true, hold: HOLD, ..Self::new() };
                sample.in_flight.min(sample.limit).saturating_sub(1)
            }
            Outcome::Success if !self.narrowed && sample.saturated => sample.limit.saturating_add(1),
            Outcome::Success if self.narrowed => {
                if sample.latency.is_some() && sample.saturated {
                    self.round_trip();
                }
                let due = if sample.saturated { std::mem::take(&mut self.due) } else { 0 };
                sample.limit.saturating_add(due)
            }
            _ => sample.limit,
        }
    }

    fn on_limit_set(&mut self, _: usize) {
        self.due = 0;
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn success(window: &mut PacedWindow, limit: usize) -> usize {
        window.on_sample(&Sample::new(Outcome::Success, limit))
    }

    /// A whole round trip: one timed success, and the others.
    fn round(window: &mut PacedWindow, limit: usize) -> usize {
        let timed = Sample { latency: Some(Duration::from_secs(1)), ..Sample::new(Outcome::Success, limit) };
        (1..limit).fold(window.on_sample(&timed), |limit, _| success(window, limit))
    }

    #[test]
    fn it_doubles_each_round_trip_until_the_first_overload() {
        let mut window = PacedWindow::new();
        assert_eq!(round(&mut window, 12), 24);
        let idle = Sample { saturated: false, ..Sample::new(Outcome::Success, 24) };
        assert_eq!(window.on_sample(&idle), 24);
    }

    #[test]
    fn an_overload_leaves_one_less_than_was_in_flight_for_eight_round_trips() {
        let mut window = PacedWindow::new();
        let overload = Sample { in_flight: 9, ..Sample::new(Outcome::Overload, 24) };
        let mut limit = window.on_sample(&overload);
        assert_eq!(limit, 8);
        for trip in 0..HOLD {
            limit = round(&mut window, limit);
            assert_eq!(limit, 8, "round trip {trip}");
        }
        let limits: Vec<_> = (0..4)
            .map(|_| {
                limit = round(&mut window, limit);
                limit
            })
            .collect();
        assert_eq!(limits, [9, 11, 14, 18], "by one more each time");
        assert_eq!(window.on_sample(&Sample { in_flight: 99, ..Sample::new(Outcome::Overload, 18) }), 17);
        assert_eq!(round(&mut window, 17), 17);
    }

    #[test]
    fn the_last_permit_in_flight_leaves_nothing_and_the_semaphore_one() {
        let overload = Sample { in_flight: 1, ..Sample::new(Outcome::Overload, 1) };
        assert_eq!(PacedWindow::new().on_sample(&overload), 0);
    }
}
