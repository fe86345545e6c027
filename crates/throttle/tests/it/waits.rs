//! What is left behind when a call is dropped or panics.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt, poll};
use tidegate_adaptive_semaphore::AdaptiveSemaphore;
use tidegate_throttle::Throttle;

use crate::{BUSY, Judged, Refused, builder};

fn assert_nothing_held(throttle: &Throttle<Judged>) {
    assert_eq!(throttle.permits().in_flight(), 0);
    let gate = throttle.gate().snapshot();
    assert_eq!((gate.waiting, gate.in_flight), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_wait_leaves_nothing_behind() {
    let throttle = builder().permits(AdaptiveSemaphore::builder().initial(1).bounds(1..=1).build()).build();
    throttle.gate().close_for(Duration::from_secs(5));
    let mut at_the_gate = Box::pin(throttle.call(|_| async { Ok::<_, Refused>(()) }));
    assert!(poll!(at_the_gate.as_mut()).is_pending());
    drop(at_the_gate);
    assert_nothing_held(&throttle);

    throttle.gate().open_now();
    let held = throttle.permits().try_acquire().unwrap();
    let mut at_the_semaphore = Box::pin(throttle.call(|_| async { Ok::<_, Refused>(()) }));
    assert!(poll!(at_the_semaphore.as_mut()).is_pending());
    drop(at_the_semaphore);
    drop(held);
    assert_nothing_held(&throttle);

    let mut in_its_attempt = Box::pin(throttle.call(|_| pending::<Result<(), Refused>>()));
    assert!(poll!(in_its_attempt.as_mut()).is_pending());
    drop(in_its_attempt);
    assert_nothing_held(&throttle);

    let mut in_its_back_off = Box::pin(throttle.call(|_| async { Err::<(), _>(BUSY) }));
    assert!(poll!(in_its_back_off.as_mut()).is_pending());
    drop(in_its_back_off);
    assert_nothing_held(&throttle);
    assert!(throttle.call(|_| async { Ok::<_, Refused>(()) }).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_panicking_attempt_gives_everything_back() {
    let throttle = builder().build();
    let explodes = throttle.call(|_| async { Err::<(), _>(explode()) });
    assert!(AssertUnwindSafe(explodes).catch_unwind().await.is_err());
    assert_nothing_held(&throttle);
}

fn explode() -> Refused {
    std::panic::resume_unwind(Box::new("an attempt of the user's"))
}

#[tokio::test(start_paused = true)]
async fn a_probe_dropped_in_mid_attempt_is_handed_on() {
    let throttle = builder().build();
    throttle.gate().close_for(Duration::from_secs(5));
    let mut probe = Box::pin(throttle.call(|_| pending::<Result<(), Refused>>()));
    assert!(poll!(probe.as_mut()).is_pending());
    let other = throttle.clone();
    let next = tokio::spawn(async move { other.call(|_| async { Ok::<_, Refused>(()) }).await });
    tokio::select! {
        _ = &mut probe => unreachable!("it never ends"),
        () = tokio::time::sleep(Duration::from_secs(6)) => drop(probe),
    }
    assert!(next.await.unwrap().is_ok());
}
