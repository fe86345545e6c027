//! Blocks a thread on a future.

/// Runs `future` to its end on this thread, which sleeps while it is pending.
///
/// Cost: one allocation a call, nothing while it waits. Blocks the thread: not for use inside an async task.
#[cfg(tidegate_loom)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    loom::future::block_on(future)
}

/// As [`block_on`]: the checker knows no time, so the deadline never comes.
#[cfg(tidegate_loom)]
pub fn block_on_until<F: Future>(
    future: F,
    _clock: &crate::Clock,
    _deadline: core::time::Duration,
) -> Option<F::Output> {
    Some(loom::future::block_on(future))
}

#[cfg(not(tidegate_loom))]
pub use real::{block_on, block_on_until};

#[cfg(not(tidegate_loom))]
mod real {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread::{self, Thread};
    use std::time::Duration;

    use crate::Clock;

    /// Runs `future` to its end on this thread, which sleeps while it is pending.
    ///
    /// Cost: one allocation a call, nothing while it waits. Blocks the thread: not for use inside an async task.
    pub fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let parker = Arc::new(Parker::current());
        let waker = Waker::from(Arc::clone(&parker));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            while !parker.take() {
                thread::park();
            }
        }
    }

    /// As [`block_on`], but `None` once `clock` reads `deadline` or later and the future is still pending.
    ///
    /// The future is polled once more at the deadline, so what is ready by then is never refused.
    pub fn block_on_until<F: Future>(future: F, clock: &Clock, deadline: Duration) -> Option<F::Output> {
        let mut future = pin!(future);
        let parker = Arc::new(Parker::current());
        let waker = Waker::from(Arc::clone(&parker));
        let mut context = Context::from_waker(&waker);
        let _watch = clock.watch(&parker.thread);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            let left = deadline.saturating_sub(clock.now());
            if left.is_zero() {
                return None;
            }
            if !parker.take() {
                clock.park(left);
            }
        }
    }

    struct Parker {
        thread: Thread,
        notified: AtomicBool,
    }

    impl Parker {
        fn current() -> Self {
            Self { thread: thread::current(), notified: AtomicBool::new(false) }
        }

        /// Takes the notification, if there is one.
        fn take(&self) -> bool {
            // Ordering: Acquire; pairs with the Release in `wake`: what the waker did before is visible to the poll.
            self.notified.swap(false, Ordering::Acquire)
        }
    }

    impl Wake for Parker {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            // Ordering: Release; pairs with the Acquire in `take`.
            self.notified.store(true, Ordering::Release);
            self.thread.unpark();
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::future::{pending, poll_fn, ready};
        use std::sync::Mutex;
        use std::sync::mpsc;

        #[test]
        fn a_ready_future_returns_at_once() {
            assert_eq!(block_on(ready(7)), 7);
        }

        #[test]
        fn a_wake_from_another_thread_ends_the_wait() {
            let (send, receive) = mpsc::channel::<Waker>();
            let waker = thread::spawn(move || receive.recv().unwrap().wake());
            let mut polls = 0;
            let polled = block_on(poll_fn(|context| {
                polls += 1;
                if polls == 1 {
                    send.send(context.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                Poll::Ready(polls)
            }));
            waker.join().unwrap();
            assert_eq!(polled, 2);
        }

        #[test]
        fn a_wait_inside_a_wait_does_not_swallow_the_outer_wake() {
            let mut first = true;
            block_on(poll_fn(|context| {
                if !std::mem::take(&mut first) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                block_on(ready(()));
                Poll::Pending
            }));
        }

        #[test]
        fn a_manual_clock_ends_a_timed_wait() {
            let clock = Clock::manual();
            let hand = clock.hand().unwrap();
            let (polled, seen) = mpsc::channel();
            let polled = Mutex::new(polled);
            let waiting = thread::spawn(move || {
                let never = poll_fn(|_| {
                    polled.lock().unwrap().send(()).unwrap();
                    Poll::<()>::Pending
                });
                block_on_until(never, &clock, Duration::from_secs(60))
            });
            seen.recv().unwrap();
            hand.advance(Duration::from_secs(59));
            seen.recv().unwrap();
            hand.advance(Duration::from_secs(1));
            assert_eq!(waiting.join().unwrap(), None);
        }

        #[test]
        fn a_deadline_that_passed_still_polls_once() {
            let clock = Clock::manual();
            assert_eq!(block_on_until(ready(1), &clock, Duration::ZERO), Some(1));
            assert_eq!(block_on_until(pending::<()>(), &clock, Duration::ZERO), None);
        }
    }
}
