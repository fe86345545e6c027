//! The adaptive semaphore, against one whose limit is fixed and one whose limit is found otherwise.
#![expect(clippy::panic, reason = "a contestant that does not do its work must not be timed")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use congestion_limiter::limiter::{DefaultLimiter, Limiter, Outcome};
use congestion_limiter::limits::Aimd;
use parking_lot::Mutex;
use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Fixed, Permit};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::contest::{Case, Contestant, Goal, Suite, Unit};
use crate::gate::at_once;

pub(crate) const SUITE: Suite = Suite { name: "semaphore", cases };

const LIMIT: usize = 32;
const TASKS: usize = 8;
/// More than one, so that the runtime always has a task to run and does not park between two.
const PERMITS: usize = 4;
const TOKIO: &str = "tokio acquire + drop";
const CONGESTION: &str = "congestion-limiter try_acquire + release";

fn cases() -> Vec<Case> {
    vec![
        Case { name: "acquire + success", unit: Unit::Nanoseconds, threads: &[1, 2], contestants: free() },
        Case {
            name: "queued, 8 tasks and 4 permits",
            unit: Unit::Nanoseconds,
            threads: &[1],
            contestants: queued(),
        },
    ]
}

/// Permits are left.
fn free() -> Vec<Contestant> {
    let word = AtomicU64::new(0);
    let semaphore = adaptive(LIMIT);
    let (awaited, fixed) =
        (semaphore.clone(), AdaptiveSemaphore::builder().initial(LIMIT).limit(Fixed).build());
    let tokio = Semaphore::new(LIMIT);
    let congestion = DefaultLimiter::new(Aimd::new_with_initial_limit(LIMIT).with_max_limit(LIMIT));
    let promises = |contestant: Contestant| {
        let of = |most, of, threads| Goal { most, of, threads: Some(threads) };
        (contestant.promises(of(1.5, None, 1)))
            .promises(of(0.6, Some(TOKIO), 1))
            .promises(of(0.7, Some(TOKIO), 2))
            .promises(Goal { most: 0.2, of: Some(CONGESTION), threads: None })
    };
    vec![
        Contestant::each("compare_exchange twice", move || {
            let taken = exchange(&word, |value| value + 1);
            (taken, exchange(&word, |value| value - 1))
        }),
        promises(Contestant::each("tidegate try_acquire + success", move || {
            semaphore.try_acquire().map(Permit::success)
        })),
        Contestant::each("tidegate acquire().await + success", move || {
            at_once(awaited.acquire()).map(Permit::success)
        }),
        Contestant::each("tidegate try_acquire + success, Fixed", move || {
            fixed.try_acquire().map(Permit::success)
        }),
        Contestant::each(TOKIO, move || at_once(tokio.acquire()).is_ok()),
        Contestant::each(CONGESTION, move || {
            let Some(token) = at_once(congestion.try_acquire()) else { panic!("no permit was left") };
            at_once(congestion.release(token, Some(Outcome::Success)))
        }),
    ]
}

/// More tasks than permits, on one thread: a permit goes from task to task.
fn queued() -> Vec<Contestant> {
    let semaphore = adaptive(PERMITS);
    let tokio = Arc::new(Semaphore::new(PERMITS));
    let of_tokio = Goal { most: 0.8, of: Some("tokio acquire + drop"), threads: None };
    vec![
        on_a_runtime("yield only", || async {
            tokio::task::yield_now().await;
        }),
        on_a_runtime("tidegate acquire + success", move || {
            let semaphore = semaphore.clone();
            async move {
                let permit = semaphore.acquire().await;
                tokio::task::yield_now().await;
                let Ok(permit) = permit else { panic!("nobody closed it") };
                permit.success();
            }
        })
        .promises(of_tokio),
        on_a_runtime("tokio acquire + drop", move || {
            let tokio = Arc::clone(&tokio);
            async move {
                let permit = tokio.acquire().await;
                tokio::task::yield_now().await;
                assert!(permit.is_ok(), "nobody closed it");
            }
        }),
    ]
}

/// Does it in eight tasks on a runtime of one thread, over and over.
fn on_a_runtime<F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    operation: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Contestant {
    let runtime = Mutex::new(runtime());
    Contestant::timed(name, move |iterations| {
        let each = iterations / TASKS as u64 + 1;
        let tasks = || {
            (0..TASKS).map(|_| {
                let operation = operation.clone();
                async move {
                    for _ in 0..each {
                        operation().await;
                    }
                }
            })
        };
        runtime.lock().block_on(async {
            let start = Instant::now();
            let running: Vec<_> = tasks().map(tokio::spawn).collect();
            for task in running {
                assert!(task.await.is_ok(), "a task panicked");
            }
            // As many as were asked for.
            start.elapsed().mul_f64(iterations as f64 / (each * TASKS as u64) as f64)
        })
    })
}

fn adaptive(limit: usize) -> AdaptiveSemaphore {
    AdaptiveSemaphore::builder().initial(limit).bounds(1..=limit).build()
}

fn exchange(word: &AtomicU64, next: impl Fn(u64) -> u64) -> u64 {
    // Ordering: Relaxed; a guess, which the exchange checks.
    let mut value = word.load(Ordering::Relaxed);
    loop {
        // Ordering: AcqRel and Relaxed, as the entry into a critical section and the way out of it have them.
        match word.compare_exchange_weak(value, next(value), Ordering::AcqRel, Ordering::Relaxed) {
            Ok(value) => return value,
            Err(other) => value = other,
        }
    }
}

fn runtime() -> Runtime {
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}
