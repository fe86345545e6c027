//! Retry rounds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tidegate_abort_signal::AbortSignal;
use tidegate_throttle::{Again, Rounds};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Busy,
    Broken,
}

impl Again for Failed {
    fn again(&self) -> bool {
        *self == Self::Busy
    }
}

#[tokio::test(start_paused = true)]
async fn three_rounds_shrink_and_pause_then_give_up() {
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let began = Instant::now();
    let report = Rounds::article()
        .run(0..100_u32, |_| async {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::Relaxed);
            Err::<(), _>(Failed::Busy)
        })
        .await;
    let shape: Vec<_> =
        report.per_round.iter().map(|round| (round.concurrency, round.items, round.pooled)).collect();
    assert_eq!(shape, [(32, 100, 100), (16, 100, 100), (10, 100, 100)]);
    assert_eq!(most.into_inner(), 32);
    assert_eq!(report.throttled.len(), 100);
    // 100 items at 32, 16 and 10 a second, and two pauses of 90 s.
    assert_eq!(began.elapsed(), Duration::from_secs(4 + 7 + 10 + 180));
}

#[tokio::test(start_paused = true)]
async fn no_pause_comes_before_a_round_that_has_nothing_to_do() {
    let began = Instant::now();
    let report = Rounds::default().run(0..10, |n| async move { Ok::<_, Failed>(n) }).await;
    assert_eq!((report.done.len(), report.per_round.len()), (10, 1));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[test]
fn a_plan_of_nothing_is_one_round_of_one() {
    let rounds = Rounds::default().rounds(0).cap(0).floor(0);
    assert_eq!(rounds.concurrency(0), 1);
    assert_eq!(rounds.concurrency(u32::MAX), 1);
    assert_eq!(Rounds::article().concurrency(u32::MAX), 4);
    assert_eq!(Rounds::default().concurrency(u32::MAX), 1);
}

#[tokio::test(start_paused = true)]
async fn an_abort_in_a_round_or_a_pause_hands_the_rest_back() {
    for after in [Duration::from_millis(1500), Duration::from_secs(50)] {
        let signal = AbortSignal::new();
        let rounds = Rounds::default().cap(2).abort(signal.clone());
        let work = rounds.run(0..10_u32, |_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err::<(), _>(Failed::Busy)
        });
        let abort = async {
            tokio::time::sleep(after).await;
            signal.abort("enough");
        };
        let (report, ()) = tokio::join!(work, abort);
        assert!(report.throttled.is_empty());
        let mut left = report.left.clone();
        left.sort_unstable();
        assert_eq!(left, (0..10).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn every_item_ends_in_exactly_one_list(
        fates in prop::collection::vec(0..6_u32, 0..60),
        rounds in 0..5_u32, cap in 0..9_usize, abort_after in prop::option::of(0..200_u64),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let signal = AbortSignal::new();
            let plan = Rounds::default().rounds(rounds).cap(cap).abort(signal.clone());
            let tries: Vec<_> = fates.iter().map(|_| AtomicUsize::new(0)).collect();
            let work = plan.run(0..fates.len(), |item| {
                let (fate, tries) = (fates[item], &tries[item]);
                async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let tried = tries.fetch_add(1, Ordering::Relaxed);
                    match fate {
                        0..=2 if tried >= fate as usize => Ok(item),
                        5 => Err(Failed::Broken),
                        _ => Err(Failed::Busy),
                    }
                }
            });
            let abort = async {
                if let Some(after) = abort_after {
                    tokio::time::sleep(Duration::from_secs(after)).await;
                    signal.abort("enough");
                }
            };
            let (report, ()) = tokio::join!(work, abort);
            let mut all = report.done.clone();
            all.extend(&report.left);
            all.extend(report.throttled.iter().chain(&report.failed).map(|(item, _)| item));
            prop_assert!(report.throttled.iter().all(|(_, error)| *error == Failed::Busy));
            all.sort_unstable();
            prop_assert_eq!(all, (0..fates.len()).collect::<Vec<_>>());
            prop_assert!(report.failed.iter().all(|(item, _)| fates[*item] == 5));
            Ok(())
        })?;
    }
}
