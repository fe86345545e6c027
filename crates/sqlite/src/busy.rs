//! Waiting for another connection's lock, beyond what SQLite does by itself.

use std::thread;
use std::time::{Duration, Instant};

use tidegate_retry_policy::{Class, Decision, Progress, RetryPolicy};

use crate::classify::class_of_sqlite;
use crate::options::OnBusy;

/// Tries a statement again while the database is busy, as a policy says.
///
/// SQLite's own busy time-out does not cover everything: where waiting could be a deadlock, and at some commits, it
/// answers at once.
pub(crate) struct Patience {
    policy: RetryPolicy,
    on_busy: Option<OnBusy>,
}

impl Patience {
    pub(crate) fn new(policy: RetryPolicy, on_busy: Option<OnBusy>) -> Self {
        Self { policy, on_busy }
    }

    /// Runs `statement` until it succeeds, fails for another reason, or the policy gives up. Blocks the thread.
    pub(crate) fn run<T>(
        &mut self,
        mut statement: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut waiting: Option<(Progress, Instant)> = None;
        let mut attempt: u32 = 0;
        loop {
            let error = match statement() {
                Err(error) if class_of_sqlite(&error) == Some(Class::Transient) => error,
                done => return done,
            };
            attempt = attempt.saturating_add(1);
            let (progress, since) = waiting.get_or_insert_with(|| (Progress::new(), Instant::now()));
            let Decision::Retry { delay } = self.policy.decide(progress, Class::Transient, since.elapsed())
            else {
                return Err(error);
            };
            self.pause(attempt, delay);
        }
    }

    fn pause(&mut self, attempt: u32, delay: Duration) {
        if let Some(on_busy) = &mut self.on_busy {
            on_busy(attempt, delay);
        }
        thread::sleep(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::{Error, ffi};
    use std::sync::{Arc, Mutex};

    fn failure(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    /// Runs a statement that fails with each code in turn and then succeeds; gives the result, and the pauses.
    fn run(policy: RetryPolicy, codes: &[i32]) -> (rusqlite::Result<usize>, Vec<(u32, Duration)>) {
        let pauses = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&pauses);
        let on_busy = move |attempt, pause| told.lock().unwrap().push((attempt, pause));
        let mut codes = codes.iter();
        let mut calls = 0;
        let done = Patience::new(policy, Some(Box::new(on_busy))).run(|| {
            calls += 1;
            codes.next().map_or(Ok(calls), |code| Err(failure(*code)))
        });
        let pauses = pauses.lock().unwrap().clone();
        (done, pauses)
    }

    fn quick() -> RetryPolicy {
        RetryPolicy::new().initial_delay(Duration::from_nanos(1))
    }

    #[test]
    fn busy_and_locked_are_tried_again_with_growing_pauses() {
        let (done, pauses) = run(quick(), &[ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_BUSY_RECOVERY]);
        assert_eq!(done, Ok(4));
        assert_eq!(
            pauses,
            [(1, 1), (2, 2), (3, 4)].map(|(attempt, nanos)| (attempt, Duration::from_nanos(nanos)))
        );
    }

    #[test]
    fn the_policy_decides_when_it_is_enough() {
        let (done, pauses) = run(quick(), &[ffi::SQLITE_BUSY; 9]);
        assert_eq!(done, Err(failure(ffi::SQLITE_BUSY)));
        assert_eq!(pauses.len(), 4, "five calls");
    }

    #[test]
    fn any_other_failure_is_given_at_once() {
        let (done, pauses) = run(quick(), &[ffi::SQLITE_BUSY, ffi::SQLITE_FULL]);
        assert_eq!(done, Err(failure(ffi::SQLITE_FULL)));
        assert_eq!(pauses.len(), 1);
    }
}
