//! Waiting for a level, and running a future until the abort.

use std::future::{Future, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tidegate_abort_signal::{AbortSignal, Level};

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that notes its number when woken.
struct Notes(usize, Arc<Mutex<Vec<usize>>>);
impl Wake for Notes {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

#[tokio::test]
async fn ab2_a_wait_made_before_the_abort_and_first_polled_after_it_is_ready() {
    let signal = AbortSignal::new();
    let aborted = signal.aborted();
    signal.abort("stop");
    aborted.await;
}

#[test]
fn ab2_no_wake_up_is_lost_between_the_look_and_the_wait() {
    for _ in 0..200 {
        let signal = AbortSignal::new();
        std::thread::scope(|scope| {
            scope.spawn(|| signal.wait_blocking());
            scope.spawn(|| signal.reached_blocking(Level::Drain));
            scope.spawn(|| signal.abort("stop"));
        });
        assert_eq!(signal.snapshot().waiters, 0);
    }
}

#[tokio::test]
async fn ab2_every_waiting_task_is_woken_once_the_signal_aborts() {
    let signal = AbortSignal::new();
    let tasks: Vec<_> = (0..1000).map(|_| tokio::spawn(signal.aborted_owned())).collect();
    while signal.snapshot().waiters < tasks.len() {
        tokio::task::yield_now().await;
    }
    signal.abort("stop");
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(signal.snapshot().waiters, 0);
}

#[tokio::test]
async fn a_drain_wakes_who_waits_for_it_and_the_abort_wakes_the_rest() {
    let signal = AbortSignal::new();
    let mut drained = pin!(signal.reached(Level::Drain));
    let mut aborted = pin!(signal.aborted());
    assert!(poll_once(drained.as_mut()).is_pending());
    assert!(poll_once(aborted.as_mut()).is_pending());
    signal.drain("closing");
    assert_eq!(signal.snapshot().waiters, 1);
    assert!(poll_once(drained.as_mut()).is_ready());
    assert!(poll_once(aborted.as_mut()).is_pending());
    signal.abort("now");
    assert!(poll_once(aborted.as_mut()).is_ready());
    assert!(poll_once(aborted.as_mut()).is_ready(), "ready once, ready ever after");
}

#[tokio::test]
async fn the_level_run_is_reached_from_the_start() {
    AbortSignal::new().reached(Level::Run).await;
}

#[test]
fn waiters_are_woken_in_the_order_they_came() {
    let signal = AbortSignal::new();
    let woken = Arc::default();
    let mut waits: Vec<_> = (0..100).map(|_| signal.aborted()).collect();
    for (number, wait) in waits.iter_mut().enumerate() {
        let waker = Waker::from(Arc::new(Notes(number, Arc::clone(&woken))));
        assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(waits.remove(50));
    signal.abort("stop");
    let expected: Vec<usize> = (0..100).filter(|number| *number != 50).collect();
    assert_eq!(*woken.lock().unwrap(), expected);
}

#[test]
fn a_wait_polled_by_another_task_wakes_that_one() {
    let signal = AbortSignal::new();
    let woken = Arc::default();
    let mut wait = pin!(signal.aborted());
    for number in 0..3 {
        let waker = Waker::from(Arc::new(Notes(number, Arc::clone(&woken))));
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(signal.snapshot().waiters, 1);
    signal.abort("stop");
    assert_eq!(*woken.lock().unwrap(), [2]);
}

#[test]
fn ab2_a_million_waits_dropped_leave_nothing_behind() {
    let signal = AbortSignal::new();
    for _ in 0..1_000_000 {
        let mut wait = pin!(signal.aborted());
        assert!(poll_once(wait.as_mut()).is_pending());
    }
    assert_eq!(signal.snapshot().waiters, 0);
}

#[test]
fn a_waker_that_uses_the_signal_never_finds_it_locked() {
    struct Enters(AbortSignal);
    impl Wake for Enters {
        fn wake(self: Arc<Self>) {
            let _ = self.0.snapshot();
        }
    }
    impl Drop for Enters {
        fn drop(&mut self) {
            let _ = self.0.snapshot();
        }
    }
    let waker = |signal: &AbortSignal| Waker::from(Arc::new(Enters(signal.clone())));
    let signal = AbortSignal::new();
    let mut wait = pin!(signal.aborted());
    for _ in 0..2 {
        let waker = waker(&signal);
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let mut left = signal.aborted();
    assert!(Pin::new(&mut left).poll(&mut Context::from_waker(&waker(&signal))).is_pending());
    drop(left);
    signal.abort("stop");
}

#[test]
fn a_panicking_waker_leaves_nobody_asleep() {
    struct Explodes;
    impl Wake for Explodes {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a waker of the user's"));
        }
    }
    let signal = AbortSignal::new();
    let woken = Arc::default();
    let mut bad = pin!(signal.aborted());
    let mut good = pin!(signal.aborted());
    assert!(bad.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Explodes)))).is_pending());
    let waker = Waker::from(Arc::new(Notes(7, Arc::clone(&woken))));
    assert!(good.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| signal.abort("stop")));
    assert!(caught.is_err());
    assert_eq!(*woken.lock().unwrap(), [7]);
    assert!(signal.is_aborted());
}

#[tokio::test]
async fn a_run_gives_the_value_of_its_future() {
    let signal = AbortSignal::new();
    assert_eq!(signal.run(ready(5)).await.unwrap(), 5);
    signal.drain("closing");
    assert_eq!(signal.run_owned(ready(6)).await.unwrap(), 6, "draining lets begun work finish");
}

#[tokio::test]
async fn a_run_looks_at_the_signal_before_it_polls() {
    let signal = AbortSignal::new();
    let polls = AtomicUsize::new(0);
    let mut run = pin!(signal.run(poll_fn(|_| {
        polls.fetch_add(1, Ordering::Relaxed);
        Poll::<()>::Pending
    })));
    assert!(poll_once(run.as_mut()).is_pending());
    signal.abort("stop");
    assert!(matches!(poll_once(run.as_mut()), Poll::Ready(Err(aborted)) if aborted.text() == "stop"));
    assert_eq!(polls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_future_that_aborts_the_signal_it_runs_under_ends_the_run_in_that_poll() {
    let signal = AbortSignal::new();
    let mut run = pin!(signal.run(poll_fn(|_| {
        signal.abort("from inside");
        Poll::<()>::Pending
    })));
    assert!(matches!(poll_once(run.as_mut()), Poll::Ready(Err(_))));
}

#[tokio::test]
async fn an_abort_ends_a_run_that_would_never_end() {
    let signal = AbortSignal::new();
    let task = tokio::spawn(signal.run_owned(pending::<()>()));
    tokio::task::yield_now().await;
    assert_eq!(signal.snapshot().waiters, 1);
    signal.abort("stop");
    assert_eq!(task.await.unwrap().unwrap_err().text(), "stop");
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing_behind() {
    let signal = AbortSignal::new();
    for _ in 0..1000 {
        let mut run = Box::pin(signal.run(pending::<()>()));
        assert!(poll_once(run.as_mut()).is_pending());
    }
    assert_eq!(signal.snapshot().waiters, 0);
}
