//! The rules by which a server admits or rejects a request: pure state machines over time in seconds.
//!
//! | rule | admits while | a rejection costs |
//! |---|---|---|
//! | [`Bucket`] | a token is left | nothing |
//! | [`Window`] | the fixed window has room | nothing |
//! | [`Steps`] | fewer requests are in service than the cap of the hour | nothing |
//! | [`Penalty`] | the bucket has a token and the client is not in the box | the box, and every request while in it may extend it |
//! | [`Sliding`] | the last minute holds fewer requests than the cap | itself: rejected requests count |
//!
//! Each has two faces: `wait` tells what a request that came now would hear, and changes nothing that an outsider could
//! see; `take` is that request. No rule reads a clock or does any I/O: `now` comes from the caller and never goes back.

use std::collections::VecDeque;

/// What a rejected client is told, or could be: seconds until it may come again. Zero: it is admitted now.
pub(crate) type Wait = f64;

/// The verdict of a wait.
pub(crate) fn verdict(wait: Wait) -> Result<(), Wait> {
    if wait > 0.0 { Err(wait) } else { Ok(()) }
}

/// A token bucket whose rate may change over time.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) burst: f64,
    level: f64,
    at: f64,
    /// `(from, tokens per second)`, by rising `from`; the first entry starts at zero.
    pub(crate) rates: Vec<(f64, f64)>,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(burst: f64, rates: &[(f64, f64)]) -> Self {
        Self { burst, level: burst, at: 0.0, rates: rates.to_vec() }
    }

    fn refill(&mut self, now: f64) {
        while self.at < now {
            let (rate, until) = segment(&self.rates, self.at);
            let end = until.min(now);
            self.level = rate.mul_add(end - self.at, self.level).min(self.burst);
            self.at = end;
        }
    }

    /// How long one token takes to come at the present rate.
    pub(crate) fn wait(&mut self, now: f64) -> Wait {
        self.refill(now);
        // A token that came due exactly now must not be lost to rounding.
        if self.level >= 1.0 - 1e-9 { 0.0 } else { (1.0 - self.level) / segment(&self.rates, now).0 }
    }

    pub(crate) fn take(&mut self, now: f64) -> Result<(), Wait> {
        verdict(self.wait(now))?;
        self.level = (self.level - 1.0).max(0.0);
        Ok(())
    }
}

/// The value in force at `now`, and until when it holds.
fn segment<T: Copy>(steps: &[(f64, T)], now: f64) -> (T, f64) {
    let next = steps.iter().position(|step| step.0 > now).unwrap_or(steps.len());
    let value = steps[next.saturating_sub(1)].1;
    (value, steps.get(next).map_or(f64::INFINITY, |step| step.0))
}

/// A fixed window: `cap` requests in each interval of `length` seconds, whose borders lie `phase` before a multiple.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) length: f64,
    pub(crate) cap: u32,
    pub(crate) phase: f64,
    opened: f64,
    used: u32,
}

impl Window {
    pub(crate) const fn new(length: f64, cap: u32, phase: f64) -> Self {
        Self { length, cap, phase, opened: f64::NEG_INFINITY, used: 0 }
    }

    pub(crate) fn wait(&mut self, now: f64) -> Wait {
        let opened = ((now + self.phase) / self.length).floor() * self.length - self.phase;
        if opened > self.opened {
            self.opened = opened;
            self.used = 0;
        }
        if self.used < self.cap { 0.0 } else { self.opened + self.length - now }
    }

    pub(crate) fn take(&mut self, now: f64) -> Result<(), Wait> {
        verdict(self.wait(now))?;
        self.used += 1;
        Ok(())
    }
}

/// A cap on the requests in service, which changes over time.
#[derive(Clone, Debug)]
pub(crate) struct Steps(pub(crate) Vec<(f64, usize)>);

impl Steps {
    /// A cap says nothing about when a place will be free: one second is a guess.
    pub(crate) fn wait(&self, now: f64, in_service: usize) -> Wait {
        if in_service < segment(&self.0, now).0 { 0.0 } else { 1.0 }
    }
}

/// A penalty box around a bucket: once over the rate, every request is rejected for `length` seconds.
#[derive(Clone, Debug)]
pub(crate) struct Penalty {
    pub(crate) bucket: Bucket,
    pub(crate) length: f64,
    /// Whether a request made inside the box starts the sentence anew.
    pub(crate) extends: bool,
    until: f64,
}

impl Penalty {
    pub(crate) const fn new(bucket: Bucket, length: f64, extends: bool) -> Self {
        Self { bucket, length, extends, until: f64::NEG_INFINITY }
    }

    /// Until box and bucket let a request in; what the request itself would add to the sentence is not counted.
    pub(crate) fn wait(&mut self, now: f64) -> Wait {
        if now < self.until { self.until - now } else { self.bucket.wait(now) }
    }

    pub(crate) fn take(&mut self, now: f64) -> Result<(), Wait> {
        let boxed = now < self.until;
        if !boxed && self.bucket.take(now).is_ok() {
            return Ok(());
        }
        if !boxed || self.extends {
            self.until = now + self.length;
        }
        Err(self.until - now)
    }
}

/// A sliding window that counts what it rejects, too.
#[derive(Clone, Debug)]
pub(crate) struct Sliding {
    pub(crate) length: f64,
    pub(crate) cap: usize,
    seen: VecDeque<f64>,
}

impl Sliding {
    pub(crate) const fn new(length: f64, cap: usize) -> Self {
        Self { length, cap, seen: VecDeque::new() }
    }

    /// With silence from now on, there is room once all but `cap - 1` have left the window.
    pub(crate) fn wait(&mut self, now: f64) -> Wait {
        while self.seen.front().is_some_and(|&seen| seen <= now - self.length) {
            self.seen.pop_front();
        }
        if self.seen.len() < self.cap {
            0.0
        } else {
            self.seen[self.seen.len() - self.cap] + self.length - now
        }
    }

    pub(crate) fn take(&mut self, now: f64) -> Result<(), Wait> {
        let verdict = verdict(self.wait(now));
        self.seen.push_back(now);
        // The rejected request is in the window, too, and has to leave it.
        verdict.map_err(|_| self.seen[self.seen.len() - self.cap] + self.length - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(count: usize, mut take: impl FnMut() -> Result<(), Wait>) -> usize {
        (0..count).filter(|_| take().is_ok()).count()
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let mut bucket = Bucket::new(60.0, &[(0.0, 2.0)]);
        assert_eq!(admitted(100, || bucket.take(0.0)), 60);
        assert_eq!(bucket.take(0.0), Err(0.5));
        assert!(bucket.take(0.49).is_err());
        assert_eq!(bucket.take(0.5), Ok(()));
        assert_eq!(admitted(100, || bucket.take(10.5)), 20);
        assert_eq!(admitted(100, || bucket.take(10_000.0)), 60, "never more than the burst");
    }

    #[test]
    fn a_drifting_bucket_refills_at_the_rate_of_each_stretch() {
        let mut bucket = Bucket::new(1000.0, &[(0.0, 4.0), (60.0, 1.0), (180.0, 6.0)]);
        assert_eq!(admitted(1000, || bucket.take(0.0)), 1000);
        // 4/s for 60 s, 1/s for 120 s, 6/s for 10 s.
        assert_eq!(admitted(1000, || bucket.take(190.0)), 240 + 120 + 60);
    }

    #[test]
    fn a_fixed_window_resets_at_its_own_border_whatever_came_before() {
        let mut window = Window::new(60.0, 120, 45.0);
        assert_eq!(admitted(500, || window.take(14.0)), 120);
        assert_eq!(window.take(14.0), Err(1.0), "the border is at 60 - 45 = 15");
        assert_eq!(admitted(500, || window.take(15.0)), 120);
        assert!(window.take(74.9).is_err());
        assert_eq!(window.take(75.0), Ok(()));
    }

    #[test]
    fn a_cap_counts_what_is_in_service_and_follows_its_steps() {
        let steps = Steps(vec![(0.0, 8), (30.0, 32), (38.0, 12)]);
        let admits = |now, in_service| steps.wait(now, in_service) <= 0.0;
        assert!(admits(0.0, 7) && !admits(29.9, 8));
        assert!(admits(30.0, 31) && !admits(38.0, 12));
        assert!(admits(10_000.0, 11));
    }

    #[test]
    fn every_request_in_an_extending_box_starts_the_sentence_anew() {
        let mut boxed = Penalty::new(Bucket::new(2.0, &[(0.0, 2.0)]), 60.0, true);
        assert_eq!(admitted(2, || boxed.take(0.0)), 2);
        assert_eq!(boxed.take(0.0), Err(60.0));
        assert_eq!(boxed.take(59.0), Err(60.0));
        assert_eq!(boxed.take(118.0), Err(60.0), "until 119, extended to 178");
        assert_eq!(boxed.take(178.0), Ok(()));
    }

    #[test]
    fn a_fixed_box_ends_when_it_said() {
        let mut boxed = Penalty::new(Bucket::new(2.0, &[(0.0, 2.0)]), 60.0, false);
        assert_eq!(admitted(2, || boxed.take(0.0)), 2);
        assert_eq!(boxed.take(0.0), Err(60.0));
        assert_eq!(boxed.take(59.0), Err(1.0));
        assert_eq!(boxed.take(60.0), Ok(()));
    }

    #[test]
    fn a_sliding_window_counts_its_rejections() {
        let mut sliding = Sliding::new(60.0, 3);
        assert_eq!(admitted(3, || sliding.take(0.0)), 3);
        assert_eq!(sliding.take(1.0), Err(59.0));
        assert_eq!(sliding.take(30.0), Err(30.0), "the rejections at 1 and 30 stay for a minute each");
        assert_eq!(sliding.take(60.0), Ok(()), "1, 30 and this one fill it");
        assert_eq!(sliding.take(60.5), Err(29.5), "room when only two are left: 30 must leave");
        let mut hammered = Sliding::new(60.0, 3);
        assert_eq!(admitted(1000, || hammered.take(0.0)), 3);
        assert!(hammered.take(59.0).is_err());
        assert_eq!(hammered.take(60.0), Ok(()));
    }
}
