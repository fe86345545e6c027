//! Closing by hand.

use std::time::Duration;

use tidegate_cooldown_gate::{Closed, Closing, CooldownGate, GateState, Pass, ShutDown};
use tokio::time::{Instant, advance, timeout};

use crate::{assert_idle, assert_took, let_others_run, poll_once, secs, timed};

#[tokio::test(start_paused = true)]
async fn cg1_a_shorter_cooldown_never_overwrites_a_longer_one() {
    let gate = CooldownGate::new();
    assert_eq!(gate.close_for(secs(60)), Closing::Closed);
    assert_eq!(gate.close_for(secs(5)), Closing::Kept);
    assert_eq!(gate.close_for(secs(60)), Closing::Kept);
    assert_eq!(gate.snapshot().remaining, secs(60));
    advance(secs(10)).await;
    assert_eq!(gate.close_for(secs(60)), Closing::Extended);
    assert_eq!(gate.state(), GateState::Cooling { remaining: secs(60) });
    assert_eq!((gate.epoch(), gate.snapshot().closures), (1, 1), "extending is not closing again");
}

#[tokio::test(start_paused = true)]
async fn closing_for_no_time_changes_nothing() {
    let gate = CooldownGate::new();
    assert_eq!(gate.close_for(Duration::ZERO), Closing::Kept);
    assert_eq!(gate.close_until(Instant::now()), Closing::Kept);
    advance(secs(5)).await;
    assert_eq!(gate.close_until(Instant::now() - secs(1)), Closing::Kept);
    assert!(gate.is_open());
    assert_eq!(gate.epoch(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_may_be_an_instant_of_std_or_of_tokio() {
    let gate = CooldownGate::new();
    assert_eq!(gate.close_until(Instant::now() + secs(7)), Closing::Closed);
    assert_eq!(gate.snapshot().remaining, secs(7));
    assert_eq!(gate.close_until((Instant::now() + secs(9)).into_std()), Closing::Extended);
    assert_eq!(gate.snapshot().remaining, secs(9));
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_is_far_and_no_overflow() {
    let gate = CooldownGate::builder()
        .cooldown(Duration::MAX)
        .max_cooldown(Duration::ZERO)
        .probe_patience(Duration::MAX)
        .build();
    assert_eq!(gate.close_for(Duration::MAX), Closing::Closed);
    assert_eq!(gate.close_for(Duration::MAX), Closing::Kept);
    assert!(timeout(secs(365 * 24 * 3600), gate.pass()).await.is_err(), "it opened within a year");
    assert!(gate.snapshot().remaining > secs(60 * 365 * 24 * 3600));
    gate.open_now();
    gate.pass().await.unwrap().throttled(None);
    assert_eq!(gate.try_pass().unwrap_err().retry_after(), Some(gate.snapshot().remaining));
}

#[tokio::test(start_paused = true)]
async fn is_open_says_whether_a_pass_would_be_granted() {
    let gate = CooldownGate::new();
    assert!(gate.is_open());
    gate.close_for(secs(10));
    assert!(!gate.is_open());
    advance(secs(10)).await;
    assert!(gate.is_open(), "the deadline passed and nobody is ahead");
    assert_eq!(gate.state(), GateState::HalfOpen);
    let probe = gate.try_pass().unwrap();
    assert!(!gate.is_open(), "a probe is out");
    probe.success();
    assert!(gate.is_open());
    gate.shutdown();
    assert!(!gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_look_is_no_reservation_and_the_pass_looks_again() {
    let gate = CooldownGate::new();
    let passing = gate.pass();
    assert!(gate.is_open());
    gate.close_for(secs(10));
    assert_eq!(gate.try_pass().unwrap_err(), Closed::Cooling { remaining: secs(10) });
    let (took, pass) = timed(passing).await;
    assert_took(took, secs(10));
    pass.unwrap().success();
}

#[tokio::test(start_paused = true)]
async fn cg3_an_early_opening_lets_everybody_through_at_once() {
    let gate = CooldownGate::new();
    gate.close_for(Duration::MAX);
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let gate = gate.clone();
            tokio::spawn(async move {
                if number % 2 == 0 { gate.wait().await } else { gate.pass().await.map(Pass::success) }
            })
        })
        .collect();
    let_others_run().await;
    assert_eq!(gate.snapshot().waiting, 50);
    let (took, ()) = timed(async {
        gate.open_now();
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
    })
    .await;
    assert_eq!(took, Duration::ZERO);
    assert_eq!(gate.state(), GateState::Open);
    gate.open_now();
    assert_eq!(gate.epoch(), 1, "opening an open gate changes nothing");
}

#[tokio::test(start_paused = true)]
async fn cg3_a_shutdown_turns_everybody_away_and_is_for_good() {
    let gate = CooldownGate::new();
    let held = gate.pass().await.unwrap();
    gate.close_for(secs(60));
    let waiting = {
        let gate = gate.clone();
        tokio::spawn(async move { gate.pass().await.map(|pass| pass.epoch()) })
    };
    let_others_run().await;
    gate.shutdown();
    assert_eq!(waiting.await.unwrap(), Err(ShutDown));
    assert!(!held.still_valid());
    held.success();

    gate.open_now();
    gate.shutdown();
    assert_eq!(gate.close_for(secs(1)), Closing::Kept);
    assert_eq!(gate.try_pass().unwrap_err(), Closed::ShutDown);
    assert_eq!(gate.try_pass_owned().unwrap_err(), Closed::ShutDown);
    assert_eq!(gate.pass_by(Instant::now()).await.unwrap_err(), Closed::ShutDown);
    assert_eq!(gate.wait().await, Err(ShutDown));
    assert!(poll_once(&mut gate.pass_owned()).is_ready());
    assert_eq!((gate.state(), gate.epoch()), (GateState::ShutDown, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_be_in_time_is_told_at_once() {
    let gate = CooldownGate::new();
    let past = Instant::now() - secs(1);
    drop(gate.pass_by(past).await.unwrap());

    gate.close_for(secs(10));
    let (took, refused) = timed(gate.pass_by(Instant::now() + secs(9))).await;
    assert_eq!((took, refused.unwrap_err()), (Duration::ZERO, Closed::Cooling { remaining: secs(10) }));
    let (took, granted) = timed(gate.pass_by((Instant::now() + secs(10)).into_std())).await;
    assert_took(took, secs(10));
    let probe = granted.unwrap();

    let (took, refused) = timed(gate.pass_by(Instant::now() + secs(3))).await;
    assert_took(took, secs(3));
    assert_eq!(refused.unwrap_err(), Closed::Probing);
    probe.success();
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_with_a_time_limit_is_told_when_an_extension_makes_it_hopeless() {
    let gate = CooldownGate::new();
    gate.close_for(secs(10));
    let start = Instant::now();
    let waiting = {
        let gate = gate.clone();
        tokio::spawn(async move { gate.pass_by(start + secs(15)).await.map(Pass::success) })
    };
    let_others_run().await;
    gate.close_for(secs(20));
    let refused = waiting.await.unwrap().unwrap_err();
    // It slept to the deadline that it knew.
    assert_took(start.elapsed(), secs(10));
    let Closed::Cooling { remaining } = refused else { panic!("{refused:?}") };
    assert!(remaining <= secs(10) && remaining >= secs(10) - Duration::from_millis(1));
    assert_idle(&gate.snapshot());
}
