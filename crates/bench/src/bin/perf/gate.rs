//! The cooldown gate, against what people build such a thing from.
#![expect(clippy::panic, reason = "a contestant that does not do its work must not be timed")]

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::{Mutex, RwLock};
use tidegate_cooldown_gate::{CooldownGate, OwnedPass, Pass, PassingOwned};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore, watch};

use crate::contest::{Case, Contestant, Suite, Unit};

pub(crate) const SUITE: Suite = Suite { name: "gate", cases };

const HOUR: Duration = Duration::from_secs(60 * 60);
const CROWD: usize = 1000;
const BOTH: &[usize] = &[1, 2];

fn cases() -> Vec<Case> {
    let nanos = |name, contestants| Case { name, unit: Unit::Nanoseconds, threads: BOTH, contestants };
    vec![
        nanos("check open", check()),
        nanos("pass + success", pass()),
        nanos("extend a cooldown", extend()),
        nanos("close + open_now", reopen()),
        Case { name: "wake 1000 waiters", unit: Unit::Microseconds, threads: &[1], contestants: wake() },
    ]
}

/// "May I call?", and nothing else.
fn check() -> Vec<Contestant> {
    let word = AtomicU64::new(0);
    let gate = CooldownGate::new();
    let async_lock = tokio::sync::RwLock::new(None);
    let lock = RwLock::new(None);
    let seen = watch::channel(None).1;
    let governor = never_full();
    vec![
        // Ordering: Acquire, as a gate that publishes something has it.
        Contestant::each("atomic load", move || word.load(Ordering::Acquire)),
        Contestant::each("tidegate is_open", move || gate.is_open()).at_most(1.2),
        Contestant::each("parking_lot RwLock read", move || has_passed(*lock.read())),
        Contestant::each("tokio watch borrow", move || has_passed(*seen.borrow())),
        Contestant::each("governor check", move || governor.check().is_ok()),
        Contestant::each("tokio RwLock read", move || has_passed(*at_once(async_lock.read()))),
        Contestant::each("Instant::now", Instant::now),
    ]
}

/// The right to make one call, and the word that it went well.
fn pass() -> Vec<Contestant> {
    let (word, count) = (AtomicU64::new(0), AtomicU64::new(0));
    let gate = CooldownGate::new();
    let awaited = gate.clone();
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
    let governor = never_full();
    let mutex = Mutex::new(HomeMade::default());
    vec![
        Contestant::each("compare_exchange + fetch_add", move || {
            // Ordering: AcqRel and Acquire, as the entry into a critical section has it.
            let entered = word.compare_exchange(0, 0, Ordering::AcqRel, Ordering::Acquire);
            // Ordering: Relaxed; a count that publishes nothing.
            (entered, count.fetch_add(1, Ordering::Relaxed))
        }),
        Contestant::each("tidegate try_pass + success", move || gate.try_pass().map(Pass::success))
            .at_most(1.5),
        Contestant::each("tidegate pass().await + success", move || {
            at_once(awaited.pass()).map(Pass::success)
        }),
        Contestant::each("Mutex<Option<Instant>> and a count", move || {
            let open = {
                let mut gate = mutex.lock();
                gate.in_flight += 1;
                has_passed(gate.closed_until)
            };
            mutex.lock().in_flight -= 1;
            open
        }),
        Contestant::each("governor check", move || governor.check().is_ok()),
        Contestant::each("tokio Semaphore acquire + release", move || at_once(semaphore.acquire()).is_ok()),
    ]
}

/// A gate as one builds it in ten lines.
#[derive(Default)]
struct HomeMade {
    closed_until: Option<Instant>,
    in_flight: u64,
}

/// Closing a gate that is closed already, a little longer every time.
fn extend() -> Vec<Contestant> {
    let origin = Instant::now();
    let (word, deadline) = (AtomicU64::new(0), AtomicU64::new(0));
    let (by_length, by_instant) = (CooldownGate::new(), CooldownGate::new());
    let (mutex, read) = (Mutex::new(None), Mutex::new(None));
    vec![
        // Ordering: AcqRel, as a closing that publishes something has it.
        rising("fetch_max", origin, move |at| word.fetch_max(nanos(at), Ordering::AcqRel)),
        Contestant::each("Instant::now + fetch_max", move || {
            // Ordering: AcqRel, as above.
            deadline.fetch_max(nanos(origin.elapsed() + HOUR), Ordering::AcqRel)
        }),
        rising("tidegate close_until", origin, move |at| by_instant.close_until(origin + at)),
        Contestant::each("tidegate close_for", move || by_length.close_for(HOUR)),
        rising("Mutex<Option<Instant>>", origin, move |at| {
            let mut closed_until = mutex.lock();
            *closed_until = (*closed_until).max(Some(origin + at));
        }),
        Contestant::each("Instant::now + Mutex<Option<Instant>>", move || {
            let until = Instant::now() + HOUR;
            let mut closed_until = read.lock();
            *closed_until = (*closed_until).max(Some(until));
        }),
    ]
}

/// Closing an open gate, and opening it again.
fn reopen() -> Vec<Contestant> {
    let word = AtomicU64::new(0);
    let gate = CooldownGate::new();
    let mutex = Mutex::new(None);
    let seen = watch::Sender::new(None);
    vec![
        Contestant::each("fetch_max + store", move || {
            // Ordering: AcqRel and Release, as a closing and an opening that publish something have it.
            word.fetch_max(1, Ordering::AcqRel);
            word.store(0, Ordering::Release);
        }),
        Contestant::each("tidegate close_for + open_now", move || {
            gate.close_for(HOUR);
            gate.open_now();
        }),
        Contestant::each("Mutex<Option<Instant>>", move || {
            *mutex.lock() = Some(Instant::now() + HOUR);
            *mutex.lock() = None;
        }),
        Contestant::each("tokio watch send_replace", move || {
            seen.send_replace(Some(Instant::now() + HOUR));
            seen.send_replace(None);
        }),
    ]
}

/// Letting a crowd go: only the call that wakes it is timed, not its joining and leaving.
fn wake() -> Vec<Contestant> {
    let timer = Arc::new(timer());
    let wakers = Mutex::new(Vec::with_capacity(CROWD));
    let gate = CooldownGate::new();
    let notify = Arc::new(Notify::new());
    let crowd = Crowd { tasks: (0..CROWD).map(|_| Arc::default()).collect() };
    let crowd = Arc::new(crowd);
    let floor = {
        let crowd = Arc::clone(&crowd);
        move |iterations| {
            let join = |waker: &Waker| wakers.lock().push(waker.clone());
            let open = || std::mem::take(&mut *wakers.lock()).into_iter().for_each(Waker::wake);
            (0..iterations).map(|_| crowd.wake(join, open, |(), _| {})).sum()
        }
    };
    let notified = {
        let crowd = Arc::clone(&crowd);
        move |iterations| {
            let join = |waker: &Waker| waiting(Box::pin(Arc::clone(&notify).notified_owned()), waker);
            let leave = |mut waiter, waker: &Waker| done(&mut waiter, waker);
            (0..iterations).map(|_| crowd.wake(join, || notify.notify_waiters(), leave)).sum()
        }
    };
    let passed = move |iterations| {
        let _timer = timer.enter();
        let join = |waker: &Waker| waiting(gate.pass_owned(), waker);
        let leave =
            |mut waiter: PassingOwned, waker: &Waker| done(&mut waiter, waker).map(OwnedPass::success);
        let once = |_| {
            gate.close_for(HOUR);
            crowd.wake(join, || gate.open_now(), leave)
        };
        (0..iterations).map(once).sum()
    };
    vec![
        Contestant::timed("a Vec of wakers", floor),
        Contestant::timed("tidegate open_now", passed),
        Contestant::timed("tokio Notify notify_waiters", notified),
    ]
}

/// A task, as far as its waker knows.
#[derive(Default)]
struct Task {
    woken: AtomicBool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // Ordering: Relaxed; read by the same thread.
        self.woken.store(true, Ordering::Relaxed);
    }
}

struct Crowd {
    tasks: Vec<Arc<Task>>,
}

impl Crowd {
    /// Has every task join, opens, and has every task leave; how long the opening took.
    ///
    /// # Panics
    /// If the opening left somebody asleep.
    fn wake<W, R>(
        &self,
        join: impl Fn(&Waker) -> W,
        open: impl Fn(),
        leave: impl Fn(W, &Waker) -> R,
    ) -> Duration {
        let wakers: Vec<Waker> = self.tasks.iter().map(|task| Arc::clone(task).into()).collect();
        let waiters: Vec<W> = wakers.iter().map(join).collect();
        let start = Instant::now();
        open();
        let time = start.elapsed();
        for ((task, waker), waiter) in self.tasks.iter().zip(&wakers).zip(waiters) {
            // Ordering: Relaxed; written by the same thread.
            assert!(task.woken.swap(false, Ordering::Relaxed), "somebody sleeps on");
            drop(leave(waiter, waker));
        }
        time
    }
}

/// Polls a future that has to wait.
fn waiting<F: Future + Unpin>(mut future: F, waker: &Waker) -> F {
    let polled = Pin::new(&mut future).poll(&mut Context::from_waker(waker));
    assert!(polled.is_pending(), "nobody waits here");
    future
}

/// Polls a future that was woken.
fn done<F: Future + Unpin>(future: &mut F, waker: &Waker) -> F::Output {
    match Pin::new(future).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("woken for nothing"),
    }
}

/// What a future gives that need not wait. Inlined: the helper's own call is not to be measured.
#[inline(always)]
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it has to wait"),
    }
}

/// Gives every call a later point in time: the nanoseconds since `origin`, and one more each time.
fn rising<T>(
    name: &'static str,
    origin: Instant,
    close: impl Fn(Duration) -> T + Sync + 'static,
) -> Contestant {
    Contestant::timed(name, move |iterations| {
        let start = Instant::now();
        let first = start.duration_since(origin) + HOUR;
        for n in 0..iterations {
            std::hint::black_box(close(first + Duration::from_nanos(n)));
        }
        start.elapsed()
    })
}

/// Whether a gate with such a deadline is open: the clock is read only if there is one.
fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|deadline| Instant::now() >= deadline)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A rate limiter that grants a call every nanosecond: more than anybody asks for.
fn never_full() -> DefaultDirectRateLimiter {
    const PER_SECOND: NonZeroU32 = NonZeroU32::new(1_000_000_000).unwrap();
    let limiter = RateLimiter::direct(Quota::per_second(PER_SECOND));
    assert!(limiter.check().is_ok(), "the limiter should be out of the way");
    limiter
}

/// A runtime whose timer the waiters use; nothing runs on it.
fn timer() -> Runtime {
    match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}
