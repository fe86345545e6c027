//! Many calls through one throttle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidegate_adaptive_semaphore::AdaptiveSemaphore;
use tidegate_core::Class;
use tidegate_throttle::StopReason;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Refused, SLOW_DOWN, builder};

#[tokio::test(start_paused = true)]
async fn th1_a_burst_of_429s_is_one_strike_and_one_cut() {
    const BURST: usize = 32;
    let permits = AdaptiveSemaphore::builder().initial(BURST).build();
    let throttle = builder().permits(permits).build();
    let all_in_flight = Arc::new(Barrier::new(BURST));
    let mut calls = JoinSet::new();
    for _ in 0..BURST {
        let (throttle, all) = (throttle.clone(), Arc::clone(&all_in_flight));
        calls.spawn(async move {
            throttle
                .call(|attempt| {
                    let all = Arc::clone(&all);
                    async move {
                        if attempt.number() > 1 {
                            return Ok(());
                        }
                        all.wait().await;
                        Err(SLOW_DOWN)
                    }
                })
                .await
        });
    }
    while let Some(joined) = calls.join_next().await {
        joined.unwrap().unwrap();
    }
    let stats = throttle.stats();
    assert_eq!((stats.throttled, stats.attempts), (BURST as u64, 2 * BURST as u64));
    assert_eq!(stats.throttled_retries, 0);
    assert_eq!(throttle.gate().snapshot().closures, 1);
    let summary = throttle.permits().summary();
    assert_eq!((summary.cuts, throttle.permits().limit()), (1, BURST * 3 / 4));
}

#[tokio::test(start_paused = true)]
async fn nobody_calls_while_the_gate_is_closed_and_one_probe_goes_first() {
    let throttle = builder().build();
    throttle.gate().close_for(Duration::from_secs(60));
    let (began, in_flight) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let (throttle, in_flight) = (throttle.clone(), Arc::clone(&in_flight));
        calls.spawn(async move {
            throttle
                .call(|_| async {
                    let others = in_flight.fetch_add(1, Ordering::Relaxed);
                    let at = began.elapsed();
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    in_flight.fetch_sub(1, Ordering::Relaxed);
                    Ok::<_, Refused>((at, others))
                })
                .await
                .unwrap()
        });
    }
    let mut seen = calls.join_all().await;
    seen.sort_unstable();
    assert!(seen[0].0 >= Duration::from_secs(60));
    assert_eq!(seen[0].1, 0);
    assert!(seen[1].0 >= seen[0].0 + Duration::from_secs(1), "{:?}", &seen[..3]);
}

#[tokio::test(start_paused = true)]
async fn th2_a_call_that_waits_holds_no_permit() {
    let throttle = builder().permits(AdaptiveSemaphore::builder().initial(1).bounds(1..=1).build()).build();
    for (answer, waits_at_least) in [(SLOW_DOWN, 1), (Refused(Class::Transient), 0)] {
        let waiting = throttle.clone();
        let mut call =
            Box::pin(waiting.call(move |attempt| async move {
                if attempt.number() == 1 { Err(answer) } else { Ok(()) }
            }));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        assert_eq!(throttle.permits().in_flight(), 0, "{answer}");
        assert!(throttle.permits().try_acquire().is_ok(), "{answer}");
        let began = Instant::now();
        call.await.unwrap();
        assert!(began.elapsed() >= Duration::from_secs(waits_at_least));
    }
}

#[tokio::test(start_paused = true)]
async fn th4_a_pass_outdated_by_the_time_a_permit_comes_is_not_used() {
    let throttle = builder().permits(AdaptiveSemaphore::builder().initial(1).bounds(1..=1).build()).build();
    let held = throttle.permits().try_acquire().unwrap();
    let mut call = Box::pin(throttle.call(|_| async { Ok::<_, Refused>(Instant::now()) }));
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    let began = Instant::now();
    throttle.gate().close_for(Duration::from_secs(40));
    drop(held);
    assert!(call.await.unwrap() - began >= Duration::from_secs(40));
    assert_eq!(throttle.stats().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_longer_than_the_deadline_ends_the_call_unsent() {
    let throttle = builder().deadline(Duration::from_secs(10)).build();
    throttle.gate().close_for(Duration::from_secs(60));
    let error = throttle.call(|_| async { Ok::<_, Refused>(()) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Throttled, 0));
    assert_eq!(error.elapsed, Duration::from_secs(10));
    assert_eq!(throttle.gate().snapshot().waiting, 0);
}
