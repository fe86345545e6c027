//! What a report does to the gate.

use std::time::Duration;

use tidegate_cooldown_gate::{Closing, CooldownGate, GateState, HintCap, Reopen};
use tokio::time::advance;

use crate::{assert_idle, hint, secs};

fn remaining(gate: &CooldownGate) -> Duration {
    gate.snapshot().remaining
}

#[tokio::test(start_paused = true)]
async fn cg4_eight_throttles_of_one_burst_are_one_strike() {
    let gate = CooldownGate::builder().cooldown(secs(60)).build();
    let burst: Vec<_> = (0..8).map(|_| gate.try_pass().unwrap()).collect();
    let told: Vec<_> = burst.into_iter().map(|pass| pass.throttled(None)).collect();
    assert_eq!(told[0], Closing::Closed);
    assert!(told[1..].iter().all(|closing| *closing == Closing::Kept));
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.strikes, snapshot.throttled, snapshot.epoch), (1, 8, 1));
    assert_eq!(snapshot.remaining, secs(60));
    assert_idle(&snapshot);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_probe_closes_for_the_next_longer_step_and_a_success_ends_the_row() {
    let gate =
        CooldownGate::builder().cooldown(secs(10)).max_cooldown(secs(60)).reopen(Reopen::AtOnce).build();
    for (strike, length) in [10, 20, 40, 60, 60].into_iter().enumerate() {
        assert_eq!(gate.epoch(), strike as u64);
        assert_eq!(gate.pass().await.unwrap().throttled(None), Closing::Closed);
        assert_eq!(remaining(&gate), secs(length));
        assert_eq!(gate.snapshot().strikes as usize, strike + 1);
    }
    gate.pass().await.unwrap().success();
    assert_eq!((gate.state(), gate.snapshot().strikes), (GateState::Open, 0));
    gate.try_pass().unwrap().throttled(None);
    assert_eq!((remaining(&gate), gate.snapshot().strikes), (secs(60), 1), "that long it took the last time");
}

#[tokio::test(start_paused = true)]
async fn the_default_cooldown_is_a_ladder_that_starts_below_what_worked() {
    let gate = CooldownGate::default();
    for length in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
        gate.pass().await.unwrap().throttled(None);
        assert_eq!(remaining(&gate), secs(length));
    }
    gate.pass().await.unwrap().success();
    gate.pass().await.unwrap().throttled(hint(secs(1)));
    gate.pass().await.unwrap().throttled(None);
    assert_eq!(remaining(&gate), secs(128));
}

#[tokio::test(start_paused = true)]
async fn a_longest_cooldown_below_the_first_is_the_first() {
    let gate = CooldownGate::builder().cooldown(secs(10)).max_cooldown(secs(1)).build();
    for _ in 0..3 {
        gate.pass().await.unwrap().throttled(None);
        assert_eq!(remaining(&gate), secs(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_replaces_the_default_cooldown() {
    let gate = CooldownGate::builder().cooldown(secs(60)).build();
    gate.pass().await.unwrap().throttled(hint(secs(3)));
    assert_eq!(remaining(&gate), secs(3));
    gate.pass().await.unwrap().throttled(hint(secs(3600)));
    assert_eq!(remaining(&gate), secs(3600), "the longest default does not bound a hint");
}

#[tokio::test(start_paused = true)]
async fn cg7_a_hint_beyond_the_cap_is_clamped_or_refused() {
    let closed_for = |gate: CooldownGate, length| {
        gate.try_pass().unwrap().throttled(hint(length));
        remaining(&gate)
    };
    let day = secs(86_400);
    assert_eq!(closed_for(CooldownGate::new(), day * 3), day, "unless set");

    let with = |cap| CooldownGate::builder().cooldown(secs(7)).hint_cap(cap).build();
    assert_eq!(closed_for(with(HintCap::NONE), day * 3), day * 3);
    for (length, clamped, refused) in [(59, 59, 59), (60, 60, 60), (61, 60, 7)] {
        assert_eq!(closed_for(with(HintCap::Clamp(secs(60))), secs(length)), secs(clamped), "{length}");
        assert_eq!(closed_for(with(HintCap::Refuse(secs(60))), secs(length)), secs(refused), "{length}");
    }
}

#[tokio::test(start_paused = true)]
async fn cg7_a_late_hint_beyond_the_cap_extends_no_further_than_it() {
    for (cap, closing, left) in
        [(HintCap::Clamp(secs(90)), Closing::Extended, 90), (HintCap::Refuse(secs(90)), Closing::Kept, 60)]
    {
        let gate = CooldownGate::builder().cooldown(secs(60)).hint_cap(cap).build();
        let late = gate.try_pass().unwrap();
        gate.try_pass().unwrap().throttled(None);
        assert_eq!(late.throttled(hint(secs(3600))), closing, "{cap:?}");
        assert_eq!(remaining(&gate), secs(left), "{cap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cg4_a_later_hint_of_the_burst_extends_the_cooldown_but_does_not_shorten_it() {
    let gate = CooldownGate::builder().cooldown(secs(60)).build();
    let mut burst: Vec<_> = (0..3).map(|_| gate.try_pass().unwrap()).collect();
    burst.pop().unwrap().throttled(None);
    assert_eq!(burst.pop().unwrap().throttled(hint(secs(5))), Closing::Kept);
    assert_eq!(burst.pop().unwrap().throttled(hint(secs(90))), Closing::Extended);
    assert_eq!((remaining(&gate), gate.snapshot().strikes, gate.epoch()), (secs(90), 1, 1));
}

#[tokio::test(start_paused = true)]
async fn cg4_a_pass_of_an_older_epoch_neither_closes_nor_opens_nor_strikes() {
    let gate =
        CooldownGate::builder().cooldown(secs(60)).reopen(Reopen::AtOnce).probe_patience(secs(5)).build();
    let mut old: Vec<_> = (0..6).map(|_| gate.try_pass().unwrap()).collect();
    old.pop().unwrap().throttled(None);
    assert!(old.iter().all(|pass| pass.epoch() == 0 && !pass.still_valid()));
    old.pop().unwrap().success();
    assert_eq!(remaining(&gate), secs(60), "an old success opened the gate");

    let probe = gate.pass().await.unwrap();
    assert_eq!(probe.epoch(), 1);
    assert_eq!(old.pop().unwrap().throttled(hint(secs(90))), Closing::Kept);
    assert!(probe.still_valid());
    old.pop().unwrap().success();
    drop(old.pop());
    assert_eq!(gate.state(), GateState::HalfOpen);
    assert!(gate.try_pass().is_err(), "an old pass gave the probe's slot away");

    probe.success();
    assert_eq!(old.pop().unwrap().throttled(hint(secs(90))), Closing::Kept);
    assert_eq!((gate.state(), gate.snapshot().strikes, gate.epoch()), (GateState::Open, 0, 1));
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn a_pass_is_valid_until_the_gate_closes_and_not_again_when_it_reopens() {
    let gate = CooldownGate::builder().reopen(Reopen::AtOnce).build();
    let held = gate.pass().await.unwrap();
    let owned = gate.pass_owned().await.unwrap();
    assert!(held.still_valid() && owned.still_valid());
    gate.close_for(secs(1));
    assert!(!held.still_valid() && !owned.still_valid());
    advance(secs(1)).await;
    gate.wait().await.unwrap();
    assert!(!held.still_valid() && !owned.still_valid());
    assert_eq!((held.epoch(), owned.epoch(), gate.epoch()), (0, 0, 1));
    assert!(gate.try_pass_owned().unwrap().still_valid());
}

#[tokio::test(start_paused = true)]
async fn other_outcomes_of_an_open_gate_change_nothing_but_the_count() {
    let gate = CooldownGate::new();
    let passes: Vec<_> = (0..10).map(|_| gate.try_pass().unwrap()).collect();
    assert_eq!(gate.snapshot().in_flight, 10);
    for (number, pass) in passes.into_iter().enumerate() {
        if number % 2 == 0 { pass.success() } else { drop(pass) }
    }
    assert_eq!((gate.state(), gate.epoch(), gate.snapshot().throttled), (GateState::Open, 0, 0));
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn an_early_opening_starts_the_escalation_over_and_leaves_a_probe_an_ordinary_pass() {
    let gate = CooldownGate::builder().cooldown(secs(10)).build();
    gate.pass().await.unwrap().throttled(None);
    let probe = gate.pass().await.unwrap();
    gate.open_now();
    assert_eq!((gate.snapshot().strikes, gate.epoch()), (0, 1));
    assert!(probe.still_valid());
    assert_eq!(probe.throttled(None), Closing::Closed);
    assert_eq!(remaining(&gate), secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_of_no_length_still_lets_only_a_probe_out() {
    let gate = CooldownGate::builder().cooldown(Duration::ZERO).reopen(Reopen::AtOnce).build();
    assert_eq!(gate.pass().await.unwrap().throttled(None), Closing::Closed);
    advance(Duration::from_nanos(1)).await;
    let probe = gate.try_pass().unwrap();
    assert!(gate.try_pass().is_err());
    probe.success();
    assert_eq!(gate.state(), GateState::Open);
}
